"""Write files atomically."""

from __future__ import annotations

from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.errors import UsageError


def write_whole(path: str, data: bytes) -> None:
    """Write a file completely or not at all: write it beside its place and move it there. Its folder is made.

    Raises:
        UsageError: the file can't be written; an older one in its place is unchanged.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a device, which must not be replaced
        raise UsageError(f"{path!a} is no regular file; give another path")
    beside = f"{path}.{os.getpid()}.new"
    try:
        make_folder(os.path.dirname(path) or ".")
        with open(beside, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        _forget(beside)
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"{path!a} can't be written ({why}); give another path") from error


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except (OSError, ValueError):  # it was never made
        pass
