"""Copying a file before a replay writes it: with its permissions and times, and a database as one.

What is no regular file, or too large, is refused in words that say what to do.
"""

from __future__ import annotations

import stat

from autochron._runtime.unpatched import os
from autochron.effects.databases import copy_database, is_database
from autochron.effects.lock_safe import open_to_read
from autochron.errors import StoreError

MOST_COPIED = 1 << 30
"""Bytes of a file up to which it is copied to the scratch folder when it is about to be written."""

_CHUNK = 1 << 20


def copy_file(source: str, target: str, path: str, *, is_whole: bool) -> None:
    """Copy what is about to be written; with `is_whole` its content is not, since that is about to be replaced.

    Args:
        source: where it lies; a symbolic link is copied as one.
        target: the copy, which is not there yet.
        path: how it is named in messages.

    Raises:
        StoreError: it is too large to be copied, or no regular file.
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
    """Copy what a file holds."""
    import shutil  # lazy: 4 ms that most replays save

    with open_to_read(source) as given, open(target, "wb") as copy:
        shutil.copyfileobj(given, copy, _CHUNK)
