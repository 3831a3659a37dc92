"""The folder `.autochron`, in which we keep what we make beside a project."""

from __future__ import annotations

from autochron._runtime.unpatched import os

NAME = ".autochron"


def make_folder(path: str) -> None:
    """Make a folder, and those above it, where it is not there yet.

    Raises:
        OSError: it can't be made.
    """
    if not os.path.isdir(path):
        os.makedirs(path, exist_ok=True)
        keep_out_of_git(path)


def keep_out_of_git(path: str) -> None:
    """Put a `.gitignore` into our folder if a new folder is it, or lies directly in it; nothing where that can't be done."""
    for folder in (path, os.path.dirname(path)):
        if os.path.basename(folder) == NAME:
            try:
                file = os.open(
                    os.path.join(folder, ".gitignore"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644
                )
            except OSError:
                return
            try:
                os.write(file, b"*\n")
            finally:
                os.close(file)
