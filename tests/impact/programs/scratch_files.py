import os
import tempfile

from boundary import send


def main():
    with tempfile.TemporaryDirectory() as folder:  # harmless
        with open(os.path.join(folder, "notes"), "w") as file:
            file.write("x")
    handle, name = tempfile.mkstemp()  # harmless
    os.write(handle, b"x")
    os.close(handle)
    os.remove(name)
    os.rmdir(tempfile.mkdtemp())  # harmless
    send("done")
