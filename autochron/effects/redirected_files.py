"""Make the stand-ins for `open` and for the functions of `os` that take a path, for use during a replay."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from autochron._runtime.own_frames import drop_frame
from autochron._runtime.unpatched import os
from autochron.effects.file_copies import copy_content
from autochron.effects.redirection import in_force, locate, name_as_given, plain_path, redirected
from autochron.effects.scratch import Scratch, is_real_folder
from autochron.effects.undisturbed import is_busy, undisturbed

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OF_LINKS = frozenset({"lchflags", "lchmod", "lchown", "lstat", "mkdir", "mkfifo", "mknod", "readlink"})
"""Functions that do not follow a symbolic link at the end of a path."""

_UNNAMED = getattr(os, "O_TMPFILE", 0)
"""Flags of an unnamed temporary file; 0 where the system has none."""

# --- opening -------------------------------------------------------------------------------------------------------------


def _writes(mode: Any) -> bool:
    return isinstance(mode, str) and not set(mode).isdisjoint("wax+")


def opened(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `open`."""

    @functools.wraps(original)
    def open(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001 - its name is shown
        __tracebackhide__ = True
        target, place = redirected(file, None, writes=_writes(mode)), file
        if target is None:
            _note_read(file, mode)
        else:
            scratch, path = target
            with undisturbed():
                path = scratch.followed(path)
                if not _writes(mode) or ("x" in mode and scratch.exists(path)):
                    place = read_at(scratch, path)
                else:
                    place = scratch.to_write(path, is_whole="w" in mode)
        try:
            result = original(place, mode, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            if target is not None:
                name_as_given(error, file)
            raise
        if target is not None:
            _name(result, file)
            if _writes(mode):
                target[0].handles.add(result)
        return result

    return open


def _name(file: Any, path: Any) -> None:
    """Set the `name` of a file object to the path that the program gave."""
    raw = file
    while (inner := getattr(raw, "buffer", None) or getattr(raw, "raw", None)) is not None:
        raw = inner
    try:
        raw.name = plain_path(path)
    except (AttributeError, TypeError):
        pass


def read_at(scratch: Scratch, path: str) -> str:
    """Return the file that is read for a path; inside a live crossing, report the reading."""
    place, redirection = scratch.to_read(path), in_force()
    if redirection is not None and redirection.is_live():
        redirection.on_touch(path, is_read_on_disk=place == path)
    return place


def _note_read(path: Any, mode: Any) -> None:
    """Report that a live crossing reads a file that is not redirected."""
    redirection = in_force()
    if redirection is not None and not _writes(mode) and not is_busy() and redirection.is_live():
        with undisturbed():
            located = locate(path)
            if located is not None:
                redirection.on_touch(located, is_read_on_disk=True)


def opened_by_os(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `os.open`."""

    @functools.wraps(original)
    def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # noqa: A001 - as above
        __tracebackhide__ = True
        writes = bool(flags & _WRITES) and flags & _UNNAMED != (_UNNAMED or -1)
        target, place = redirected(path, dir_fd, writes=writes), path
        if target is not None:
            place = _place_to_open(*target, flags, writes=writes)
        elif not writes and dir_fd is None:
            _note_read(path, "r")
        try:
            return int(original(place, flags, mode, dir_fd=dir_fd if target is None else None))
        except BaseException as error:
            drop_frame(error)
            if target is not None:
                name_as_given(error, path)
            raise

    return open


def _place_to_open(scratch: Scratch, located: str, flags: int, *, writes: bool) -> str:
    """Return the file that `os.open` opens for a path."""
    with undisturbed():
        if not flags & getattr(os, "O_NOFOLLOW", 0):
            located = scratch.followed(located)
        if not writes:
            return read_at(scratch, located)
        creates = bool(flags & os.O_CREAT)
        # Nothing is copied if the call is going to fail, because the file is missing or must not exist.
        is_refused = scratch.exists(located) and creates and flags & os.O_EXCL
        if is_refused or not (creates or scratch.exists(located)):
            return scratch.to_read(located)
        return scratch.to_write(located, is_whole=bool(flags & os.O_TRUNC))


# --- looking and changing ------------------------------------------------------------------------------------------------


_Place: TypeAlias = Callable[[Scratch, str], str]
"""Returns the file in the scratch folder or on the disk that a path means for some call."""


def _with_path(original: Callable[..., Any], place: _Place, *, writes: bool) -> Callable[..., Any]:
    """Return the stand-in for a function whose first argument is a path.

    Args:
        original: the function.
        place: returns the file that is passed to it.
        writes: whether the function changes the file.
    """
    never_follows = original.__name__ in _OF_LINKS

    @functools.wraps(original)
    def call(path: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        target, destination = redirected(path, kwargs.get("dir_fd"), writes=writes), path
        if target is not None:
            scratch, located = target
            with undisturbed():
                if not never_follows and kwargs.get("follow_symlinks", True):
                    located = scratch.followed(located)
                destination = place(scratch, located)
            kwargs.pop("dir_fd", None)
        try:
            return original(destination, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            if target is not None:
                name_as_given(error, path)
            raise

    return call


def looking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for a function that reads facts about a path, such as `os.stat`."""
    return _with_path(original, Scratch.to_read, writes=False)


def altering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for a function that changes the mode, the times or the length of a file."""

    def place(scratch: Scratch, path: str) -> str:
        return scratch.to_write(path) if scratch.exists(path) else scratch.to_read(path)

    return _with_path(original, place, writes=True)


def _place_of_new(scratch: Scratch, path: str) -> str:
    """Return the place of a path that is about to be created; if it exists, the call is going to raise."""
    return scratch.to_read(path) if scratch.exists(path) else scratch.to_write(path)


def making(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for a function that creates a folder, a pipe or a device."""
    return _with_path(original, _place_of_new, writes=True)


def removing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `os.remove`, `os.unlink` or `os.rmdir`."""
    is_folder = original.__name__ == "rmdir"

    @functools.wraps(original)
    def remove(path: Any, *, dir_fd: int | None = None) -> None:
        __tracebackhide__ = True
        target = redirected(path, dir_fd, writes=True)
        try:
            if target is None:
                original(path, dir_fd=dir_fd)
                return
            number = _remove(*target, is_folder=is_folder)
            if number is not None:
                raise _error(number, path)
        except BaseException as error:
            drop_frame(error)
            raise

    return remove


def _remove(scratch: Scratch, located: str, *, is_folder: bool) -> int | None:
    """Remove a file, or an empty folder, from the replay's view. Return the error's number if that can't be done."""
    with undisturbed():
        place = scratch.to_read(located)
        is_folder_there = is_real_folder(place)
        if not os.path.lexists(place):
            return errno.ENOENT
        if is_folder and not is_folder_there:
            return errno.ENOTDIR
        if is_folder and (scratch.names_in(located) or _listed(scratch, located)):
            return errno.ENOTEMPTY
        if not is_folder and is_folder_there:
            return errno.EISDIR
        scratch.remove(located)
        return None


def _error(number: int, path: Any, second_path: Any = None) -> OSError:
    """Return the exception of Python's own for an error number of this system."""
    second_name = None if second_path is None else plain_path(second_path)
    return OSError(number, os.strerror(number), plain_path(path), None, second_name)


def _listed(scratch: Scratch, path: str) -> list[str]:
    """Return the names in a folder on the disk; none if the scratch folder knows the folder's names."""
    return [] if scratch.names_in(path) is not None else os.listdir(path)


def moving(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `os.rename` or `os.replace`."""

    @functools.wraps(original)
    def move(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        __tracebackhide__ = True
        from_target = redirected(src, src_dir_fd, writes=True)
        to_target = redirected(dst, dst_dir_fd, writes=True)
        try:
            if from_target is not None:
                number = _move(*from_target, dst, dst_dir_fd)
                if number is not None:
                    raise _error(number, src, dst)
            elif to_target is not None:
                with undisturbed():
                    _brought_in(to_target[0], src, to_target[1])
            else:
                original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        except BaseException as error:
            drop_frame(error)
            raise

    return move


def _move(scratch: Scratch, located: str, target: Any, target_folder: int | None) -> int | None:
    """Move a file or folder in the replay's view. Return the error's number if that can't be done."""
    with undisturbed():
        place = scratch.to_read(located)
        new_path = locate(target, target_folder) or ""
        is_folder = is_real_folder(place)
        if not os.path.lexists(place) or not os.path.isdir(scratch.to_read(os.path.dirname(new_path))):
            return errno.ENOENT
        if is_real_folder(scratch.to_read(new_path)) is not is_folder and scratch.exists(new_path):
            return errno.ENOTDIR if is_folder else errno.EISDIR
        if is_folder and scratch.exists(new_path) and _names_of(scratch, new_path):
            return errno.ENOTEMPTY
        if located != new_path:
            scratch.move(located, new_path)
        return None


def _brought_in(scratch: Scratch, source: Any, target: str) -> None:
    """Move a temporary file, which is not redirected, to a path of the scratch folder."""
    import shutil  # lazy: rarely needed

    located = locate(source)
    place = scratch.to_write(target, is_whole=True)
    if located is not None and scratch.leaves_alone(located):
        shutil.move(located, place)
    elif located is not None:  # the program's own file is copied and stays
        copy_content(located, place)
        shutil.copystat(located, place)


def _names_of(scratch: Scratch, path: str) -> list[str]:
    """Return the names in a folder as the replay sees it."""
    names = scratch.names_in(path)
    return os.listdir(path) if names is None else names


def linking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `os.link` or `os.symlink`."""
    is_hard = original.__name__ == "link"

    @functools.wraps(original)
    def link(src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        target = redirected(dst, kwargs.get("dst_dir_fd" if is_hard else "dir_fd"), writes=True)
        link_source, place = src, dst
        if target is not None:
            scratch, located = target
            with undisturbed():
                place = _place_of_new(scratch, located)
                source = locate(src, kwargs.get("src_dir_fd")) if is_hard else None
                link_source = src if source is None else scratch.to_write(source)
                scratch.has_links |= not is_hard
            args, kwargs = (), {}
        try:
            original(link_source, place, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            if target is not None:
                name_as_given(error, src, dst)
            raise

    return link
