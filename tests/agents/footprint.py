"""What tools of test programs leave behind when they really run, where no replay redirects it.

A replay makes changes of files on scratch copies, but not below `/dev`. So the file lies in `/dev/shm`.
"""

import os
import tempfile
from pathlib import Path

VARIABLE = "FOOTPRINTS"
"""The environment variable with the file's path."""

FOLDER = Path("/dev/shm")


def left(name):
    """Append a tool's name to the file. Lines of several threads and processes don't mix."""
    descriptor = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, f"{name}\n".encode())
    finally:
        os.close(descriptor)


class Footprints:
    """The file, as the test sees it."""

    def __init__(self):
        descriptor, name = tempfile.mkstemp(prefix="footprints-", dir=FOLDER)
        os.close(descriptor)
        self.path = Path(name)

    def taken(self):
        """Return the names that were left since the last call, sorted, and forget them."""
        names = sorted(self.path.read_text(encoding="utf-8").split())
        self.path.write_text("", encoding="utf-8")
        return names

    def close(self):
        self.path.unlink()
