"""What stands in the place of `open` and of the functions of `os` that take a path, while a replay is under way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from autochron._runtime.unpatched import os
from autochron.effects.file_copies import copy_content
from autochron.effects.redirection import in_force, locate, named_as_given, redirected
from autochron.effects.scratch import Scratch, is_real_folder
from autochron.effects.undisturbed import is_busy, undisturbed

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OF_LINKS = frozenset({"lchflags", "lchmod", "lchown", "lstat", "mkdir", "mkfifo", "mknod", "readlink"})
"""Functions that never follow a symbolic link at the end of a path."""

_UNNAMED = getattr(os, "O_TMPFILE", 0)

# --- opening -------------------------------------------------------------------------------------------------------------


def _writes(mode: Any) -> bool:
    return isinstance(mode, str) and not set(mode).isdisjoint("wax+")


def opened(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `open`."""

    @functools.wraps(original)
    def open(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001 - its name is shown
        __tracebackhide__ = True
        found = redirected(file, None, writes=_writes(mode))
        if found is None:
            _note_read(file, mode)
            return original(file, mode, *args, **kwargs)
        scratch, path = found
        with undisturbed():
            path = scratch.followed(path)
            if not _writes(mode) or ("x" in mode and scratch.exists(path)):
                there = read_at(scratch, path)
            else:
                there = scratch.to_write(path, is_whole="w" in mode)
        try:
            opened = original(there, mode, *args, **kwargs)
        except OSError as error:
            raise named_as_given(error, file) from error.__cause__
        _name(opened, file)
        if _writes(mode):
            scratch.handles.add(opened)
        return opened

    return open


def _name(file: Any, given: Any) -> None:
    """Have a file object name what the program named."""
    raw = file
    while (inner := getattr(raw, "buffer", None) or getattr(raw, "raw", None)) is not None:
        raw = inner
    try:
        raw.name = given
    except (AttributeError, TypeError):
        pass


def read_at(scratch: Scratch, path: str) -> str:
    """Return where a path is read, and note what is read on the disk."""
    there, now = scratch.to_read(path), in_force()
    if now is not None and now.is_live():
        now.on_touch(path, is_read_on_disk=there == path)
    return there


def _note_read(path: Any, mode: Any) -> None:
    now = in_force()
    if now is not None and not _writes(mode) and not is_busy() and now.is_live():
        with undisturbed():
            found = locate(path)
            if found is not None:
                now.on_touch(found, is_read_on_disk=True)


def opened_by_os(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.open`."""

    @functools.wraps(original)
    def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # noqa: A001 - as above
        __tracebackhide__ = True
        writes = bool(flags & _WRITES) and flags & _UNNAMED != (_UNNAMED or -1)
        found = redirected(path, dir_fd, writes=writes)
        if found is None:
            if not writes and dir_fd is None:
                _note_read(path, "r")
            return int(original(path, flags, mode, dir_fd=dir_fd))
        scratch, located = found
        with undisturbed():
            if not flags & getattr(os, "O_NOFOLLOW", 0):
                located = scratch.followed(located)
            creates = bool(flags & os.O_CREAT)
            # Where Python is about to raise, nothing is copied: what must be there isn't, or what must not be there is.
            is_refused = scratch.exists(located) and creates and flags & os.O_EXCL
            if not writes:
                there = read_at(scratch, located)
            elif is_refused or not (creates or scratch.exists(located)):
                there = scratch.to_read(located)
            else:
                there = scratch.to_write(located, is_whole=bool(flags & os.O_TRUNC))
        try:
            return int(original(there, flags, mode))
        except OSError as error:
            raise named_as_given(error, path) from error.__cause__

    return open


# --- looking and changing ------------------------------------------------------------------------------------------------


_Place: TypeAlias = Callable[[Scratch, str], str]
"""Returns where a path is to be looked at, or changed, in the scratch folder or on the disk."""


def _with_path(original: Callable[..., Any], place: _Place, *, writes: bool) -> Callable[..., Any]:
    """Return what stands in the place of a function whose first argument is a path."""
    never_follows = original.__name__ in _OF_LINKS

    @functools.wraps(original)
    def call(path: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        found = redirected(path, kwargs.get("dir_fd"), writes=writes)
        if found is None:
            return original(path, *args, **kwargs)
        scratch, located = found
        with undisturbed():
            if not never_follows and kwargs.get("follow_symlinks", True):
                located = scratch.followed(located)
            there = place(scratch, located)
        kwargs.pop("dir_fd", None)
        try:
            return original(there, *args, **kwargs)
        except OSError as error:
            raise named_as_given(error, path) from error.__cause__

    return call


def looking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of a function that looks at a path."""
    return _with_path(original, Scratch.to_read, writes=False)


def altering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of a function that changes something about a path: its mode, its times, its length."""

    def place(scratch: Scratch, path: str) -> str:
        return scratch.to_write(path) if scratch.exists(path) else scratch.to_read(path)

    return _with_path(original, place, writes=True)


def _place_of_new(scratch: Scratch, path: str) -> str:
    """Return where something is made: where a path is there already, Python raises."""
    return scratch.to_read(path) if scratch.exists(path) else scratch.to_write(path)


def making(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of a function that makes a folder, a pipe or a device."""
    return _with_path(original, _place_of_new, writes=True)


def removing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.remove` and `os.rmdir`."""
    is_folder = original.__name__ == "rmdir"

    @functools.wraps(original)
    def remove(path: Any, *, dir_fd: int | None = None) -> None:
        __tracebackhide__ = True
        found = redirected(path, dir_fd, writes=True)
        if found is None:
            original(path, dir_fd=dir_fd)
            return
        scratch, located = found
        error: OSError | None = None
        with undisturbed():
            there = scratch.to_read(located)
            is_there_folder = is_real_folder(there)
            if not os.path.lexists(there):
                error = FileNotFoundError(2, os.strerror(2), path)
            elif is_folder and not is_there_folder:
                error = NotADirectoryError(20, os.strerror(20), path)
            elif is_folder and (scratch.names_in(located) or _listed(scratch, located)):
                error = OSError(39, os.strerror(39), path)
            elif not is_folder and is_there_folder:
                error = IsADirectoryError(21, os.strerror(21), path)
            else:
                scratch.remove(located)
        if error is not None:
            raise error

    return remove


def _listed(scratch: Scratch, path: str) -> list[str]:
    return [] if scratch.names_in(path) is not None else os.listdir(path)


def moving(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.rename` and `os.replace`."""

    @functools.wraps(original)
    def move(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        __tracebackhide__ = True
        one = redirected(src, src_dir_fd, writes=True)
        other = redirected(dst, dst_dir_fd, writes=True)
        if one is None and other is None:
            original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            return
        error: OSError | None = None
        with undisturbed():
            if one is None:
                assert other is not None  # noqa: S101 - one of both is
                _brought_in(other[0], src, other[1])
                return
            scratch, located = one
            there = scratch.to_read(located)
            target = locate(dst, dst_dir_fd) or ""
            is_folder = is_real_folder(there)
            if not os.path.lexists(there) or not os.path.isdir(scratch.to_read(os.path.dirname(target))):
                error = FileNotFoundError(2, os.strerror(2), src, None, dst)
            elif is_real_folder(scratch.to_read(target)) is not is_folder and scratch.exists(target):
                error = OSError(20 if is_folder else 21, os.strerror(20 if is_folder else 21), src, None, dst)
            elif is_folder and scratch.exists(target) and _names_of(scratch, target):
                error = OSError(39, os.strerror(39), src, None, dst)
            elif located != target:
                scratch.move(located, target)
        if error is not None:
            raise error

    return move


def _brought_in(scratch: Scratch, source: Any, target: str) -> None:
    """Move a temporary file, which lies where it was made, to a path of the scratch folder."""
    import shutil  # lazy: it is rare

    given = locate(source)
    there = scratch.to_write(target, is_whole=True)
    if given is not None and scratch.leaves_alone(given):
        shutil.move(given, there)
    elif given is not None:  # the program's own file, which stays
        copy_content(given, there)
        shutil.copystat(given, there)


def _names_of(scratch: Scratch, path: str) -> list[str]:
    names = scratch.names_in(path)
    return os.listdir(path) if names is None else names


def linking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.link` and `os.symlink`."""
    is_hard = original.__name__ == "link"

    @functools.wraps(original)
    def link(src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        found = redirected(dst, kwargs.get("dst_dir_fd" if is_hard else "dir_fd"), writes=True)
        if found is None:
            original(src, dst, *args, **kwargs)
            return
        scratch, located = found
        with undisturbed():
            there = _place_of_new(scratch, located)
            source = locate(src, kwargs.get("src_dir_fd")) if is_hard else None
            given = src if source is None else scratch.to_write(source)
            scratch.has_links |= not is_hard
        try:
            original(given, there)
        except OSError as error:
            raise named_as_given(error, src, dst) from error.__cause__

    return link
