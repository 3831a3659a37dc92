import os
import tempfile

from boundary import send


def main():
    with tempfile.TemporaryDirectory() as folder:  # untried
        with open(os.path.join(folder, "notes"), "w") as file:
            file.write("x")
    handle, name = tempfile.mkstemp()  # untried
    os.write(handle, b"x")
    os.close(handle)
    os.remove(name)
    os.rmdir(tempfile.mkdtemp())  # untried
    send("done")
