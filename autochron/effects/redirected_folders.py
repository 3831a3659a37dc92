"""Make the stand-ins for `os.listdir` and `os.scandir`, for use during a replay."""

from __future__ import annotations

import functools
import stat
from collections.abc import Callable, Iterator
from typing import Any, Self

from autochron._runtime.own_frames import drop_frame, drop_frames
from autochron._runtime.unpatched import os
from autochron.effects.redirection import folder_of, in_force, locate, name_as_given
from autochron.effects.scratch import Scratch
from autochron.effects.undisturbed import is_busy, undisturbed


def listing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `os.listdir`."""

    @functools.wraps(original)
    def listdir(path: Any = None) -> Any:
        __tracebackhide__ = True
        folder = _folder_to_list(path)
        try:
            if folder is None:
                return original(path)
            names = _names_of(*folder, path)
        except BaseException as error:
            drop_frames(error)
            raise
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    return listdir


def _folder_to_list(path: Any) -> tuple[Scratch, str] | None:
    """Return the scratch folder and the folder to list; None if the listing on the disk is right."""
    redirection = in_force()
    if redirection is None or is_busy():
        return None
    with undisturbed():
        folder = folder_of(path) if isinstance(path, int) else locate("." if path is None else path)
        if folder is None or redirection.scratch.leaves_alone(folder):
            return None
        scratch = redirection.scratch
        located = scratch.resolve(folder)
        if located == os.path.realpath(folder):
            exists = os.path.isdir(scratch.to_read(located))
            if scratch.names_in(located) is None if exists else not scratch.knows(located):
                return None
    return scratch, located


def _names_of(scratch: Scratch, located: str, path: Any) -> list[str]:
    """List a folder as the replay sees it; an error names the path that the program gave."""
    try:
        with undisturbed():
            names = scratch.names_in(located)
            return os.listdir(scratch.to_read(located)) if names is None else names
    except OSError as error:
        name_as_given(error, path)
        raise


class FolderEntry:
    """An entry of a folder as the replay sees it, with the interface of `os.DirEntry`."""

    __slots__ = ("_file", "name", "path")

    def __init__(self, name: Any, path: Any, file: str) -> None:
        """Describe the entry by the name and path that the program sees, and by the file that holds it."""
        self.name = name
        self.path = path
        self._file = file

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def _mode(self, *, follow_symlinks: bool) -> int:
        try:
            with undisturbed():
                return os.stat(self._file, follow_symlinks=follow_symlinks).st_mode
        except FileNotFoundError:
            return 0

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISDIR(self._mode(follow_symlinks=follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISREG(self._mode(follow_symlinks=follow_symlinks))

    def is_symlink(self) -> bool:
        return stat.S_ISLNK(self._mode(follow_symlinks=False))

    def is_junction(self) -> bool:
        return False

    def inode(self) -> int:
        return self.stat(follow_symlinks=False).st_ino

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        try:
            with undisturbed():
                return os.stat(self._file, follow_symlinks=follow_symlinks)
        except BaseException as error:
            drop_frames(error)
            raise


class _Entries:
    """The result of the stand-in for `os.scandir`: an iterator and context manager."""

    def __init__(self, entries: list[FolderEntry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[FolderEntry]:
        return self

    def __next__(self) -> FolderEntry:
        try:
            return next(self._entries)
        except BaseException as error:
            drop_frame(error)
            raise

    def close(self) -> None:
        self._entries = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def scanning(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `os.scandir`."""

    @functools.wraps(original)
    def scandir(path: Any = None) -> Any:
        __tracebackhide__ = True
        folder = _folder_to_list(path)
        try:
            if folder is None:
                return original(path)
            scratch, located = folder
            names = _names_of(scratch, located, path)
        except BaseException as error:
            drop_frames(error)
            raise
        with undisturbed():
            files = [scratch.to_read(os.path.join(located, name)) for name in names]
        is_bytes = isinstance(path, bytes)
        base: Any = "." if path is None else "" if isinstance(path, int) else os.fspath(path)
        entries = []
        for name, file in zip(names, files, strict=True):
            shown: Any = os.fsencode(name) if is_bytes else name
            entries.append(FolderEntry(shown, os.path.join(base, shown) if base else shown, file))
        return _Entries(entries)

    return scandir
