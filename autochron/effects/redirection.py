"""Which path a call of the program means while a replay is under way, and whether that is one of the scratch folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from autochron._runtime.unpatched import getframe, os
from autochron.effects.events import path_of_descriptor
from autochron.effects.scratch import Scratch
from autochron.effects.undisturbed import is_busy, undisturbed


class Redirection(NamedTuple):
    """A scratch folder, and for which calls it is in force.

    Attributes:
        is_live: tells whether a live crossing is open around what runs now.
        everywhere: whether it is in force outside of them, too: in a process that only replays.
    """

    scratch: Scratch
    is_live: Callable[[], bool]
    everywhere: bool
    on_touch: Callable[..., None]
    """Is told of each path that is opened, and whether it is read where it lies."""
    on_attach: Callable[[str], None] = lambda _: None
    """Is told of a file that is to be attached to a database, which is refused."""
    denies_files: bool = False
    """Whether a live crossing may not change files: then what it tries is left to be refused."""


_in_force: Redirection | None = None


def put_in_force(what: Redirection | None) -> None:
    """Have calls redirected to a scratch folder from now on, or no longer."""
    global _in_force  # noqa: PLW0603 - there is one file system for the process
    _in_force = what


def in_force() -> Redirection | None:
    """Return the redirection in force; None without one."""
    return _in_force


def locate(path: Any, dir_fd: int | None = None) -> str | None:
    """Return the absolute path that a call means, with links in its parent folders resolved; None for no path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        return None
    if not text or "\0" in text:
        return None
    if dir_fd is not None and not text.startswith("/"):
        folder = folder_of(dir_fd)
        if folder is None:
            return None
        text = os.path.join(folder, text)
    # Without what `..` means after a link: no more than Python's own `abspath` does for the program.
    text = os.path.abspath(text)
    parent, name = os.path.split(text)
    if not name:
        return text
    now = _in_force
    return os.path.join(os.path.realpath(parent) if now is None else now.scratch.resolve(parent), name)


def folder_of(descriptor: int) -> str | None:
    """Return the folder of a descriptor, as the program knows it."""
    folder = path_of_descriptor(descriptor)
    now = _in_force
    if now is not None and folder is not None:
        own = os.path.join(now.scratch.folder, "files")
        if folder == own or folder.startswith(f"{own}/"):
            return folder[len(own) :] or "/"
    return folder


def redirected(path: Any, dir_fd: int | None, *, writes: bool) -> tuple[Scratch, str] | None:
    """Return the scratch folder and the path that a call means, where it is to be redirected."""
    now = _in_force
    if now is None or is_busy() or path is None or isinstance(path, int):
        return None
    scratch = now.scratch
    if not writes and not (dir_fd is not None or _may_know(scratch, path)):
        return None
    live = now.is_live()
    if writes and live and now.denies_files:
        return None
    caller = getframe(1).f_back
    if caller is not None and str(caller.f_globals.get("__name__")).startswith("autochron."):
        return None
    with undisturbed():
        found = locate(path, dir_fd)
        if found is None or scratch.leaves_alone(found):
            return None
        if not (live or now.everywhere or scratch.knows(found)):
            parent = os.path.dirname(os.path.abspath(os.fsdecode(path)))
            if not scratch.has_links or scratch.resolve(parent) == os.path.realpath(parent):
                return None
        scratch.know_as(found, os.fsdecode(path))
    if live and writes:
        now.on_touch(found, is_read_on_disk=False)
    return scratch, found


def _may_know(scratch: Scratch, path: Any) -> bool:
    try:
        if scratch.may_know(os.fsdecode(path)):
            return True
    except TypeError:
        return False
    with undisturbed():
        return scratch.has_any and os.path.islink(path)  # which may lead to one that it knows


def named_as_given(error: OSError, given: Any, other: Any = None) -> OSError:
    """Have an error name what the program named, and not the file of the scratch folder."""
    if error.filename is not None:
        error.filename = given
    if error.filename2 is not None:
        error.filename2 = other
    return error
