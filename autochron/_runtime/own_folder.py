"""The folder `.autochron` of a project, for the files that we create."""

from __future__ import annotations

from autochron._runtime.unpatched import os

NAME = ".autochron"


def make_folder(path: str) -> None:
    """Create a folder and its parents, if it does not exist; git ignores a new `.autochron`.

    Raises:
        OSError: it can't be created.
    """
    if not os.path.isdir(path):
        os.makedirs(path, exist_ok=True)
        keep_out_of_git(path)


def keep_out_of_git(path: str) -> None:
    """Write a `.gitignore` into our folder, which is the new folder `path` or its parent; do nothing if that fails."""
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
