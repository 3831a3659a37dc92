"""Files that are there whole or not at all."""

from __future__ import annotations

from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.errors import UsageError


def write_whole(path: str, data: bytes) -> None:
    """Write a file beside its place and move it there in one step; its folder is made.

    Raises:
        UsageError: where that can't be done; what stood there before still does.
    """
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
    except (OSError, ValueError):  # it wasn't made
        pass
