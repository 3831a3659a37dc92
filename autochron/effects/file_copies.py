"""Copy a file to the scratch folder before a replay writes it, with its permissions and times.

A database is copied in its committed state. A file that is too large, or that is no regular file, is refused.
"""

from __future__ import annotations

import stat

from autochron._runtime.unpatched import os
from autochron.effects.databases import copy_database, is_database
from autochron.effects.lock_safe import open_to_read
from autochron.errors import StoreError

MOST_COPIED = 1 << 30
"""Largest size in bytes of a file that is copied to the scratch folder."""

_CHUNK = 1 << 20
"""Bytes that are copied at once."""


def copy_file(source: str, target: str, path: str, *, is_whole: bool) -> None:
    """Copy a file that is about to be written.

    Args:
        source: the file; a symbolic link is copied as a link.
        target: the path of the copy, which must not exist.
        path: the file's name in messages.
        is_whole: whether the content is about to be replaced; the copy is then empty.

    Raises:
        StoreError: the file is too large, or no regular file.
    """
    facts = os.lstat(source)
    if stat.S_ISLNK(facts.st_mode):
        os.symlink(os.readlink(source), target)
    elif not stat.S_ISREG(facts.st_mode):
        raise StoreError(
            f"{path} is no regular file, so a replay can't work on a copy of it; have the tool served"
        )
    elif is_whole:
        with open(target, "wb"):
            os.chmod(target, stat.S_IMODE(facts.st_mode) | stat.S_IWUSR)
    elif facts.st_size > MOST_COPIED:
        raise StoreError(
            f"{path} has {facts.st_size >> 20:,} MB, more than a replay copies ({MOST_COPIED >> 20:,} MB);"
            " let the tool work on a smaller file, or have it served"
        )
    elif is_database(source):
        copy_database(source, target)
    else:
        copy_content(source, target)
        os.chmod(target, stat.S_IMODE(facts.st_mode) | stat.S_IWUSR)
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def copy_content(source: str, target: str) -> None:
    """Copy a file's content, without permissions and times."""
    import shutil  # lazy: 4 ms that most replays save

    with open_to_read(source) as original, open(target, "wb") as copy:
        shutil.copyfileobj(original, copy, _CHUNK)
