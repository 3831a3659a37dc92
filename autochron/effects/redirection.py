"""Decide which path a call means during a replay, and whether the call goes to the scratch folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from autochron._runtime.unpatched import getframe, os
from autochron.effects.events import STAND_INS, path_of_descriptor
from autochron.effects.scratch import Scratch
from autochron.effects.undisturbed import is_busy, undisturbed


class Redirection(NamedTuple):
    """A scratch folder, and the calls that are redirected to it.

    Attributes:
        is_live: returns whether the running code is inside a live crossing.
        everywhere: whether calls outside live crossings are redirected too. They are in a process that only replays.
    """

    scratch: Scratch
    is_live: Callable[[], bool]
    everywhere: bool
    on_touch: Callable[..., None]
    """Called with each path that a live crossing opens, and `is_read_on_disk`: whether the file itself is read."""
    on_attach: Callable[[str], None] = lambda _: None
    """Called with the path of a file that is to be attached to a database; that is refused."""
    denies_files: bool = False
    """Whether live crossings may not change files. The audit hook refuses their changes then."""


_in_force: Redirection | None = None


def put_in_force(redirection: Redirection | None) -> None:
    """Set the redirection in force; None ends it."""
    global _in_force  # noqa: PLW0603 - there is one file system for the process
    _in_force = redirection


def in_force() -> Redirection | None:
    """Return the redirection in force; None without one."""
    return _in_force


def locate(path: Any, dir_fd: int | None = None) -> str | None:
    """Return the absolute path that a call means, with links in its parent folders resolved.

    Args:
        path: the call's argument, of any type.
        dir_fd: the descriptor of the folder that a relative path starts from.

    Returns:
        The path; None if the argument is no path, or if the folder has none.
    """
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
    # `..` after a symbolic link is removed as text, as Python's own `abspath` does.
    text = os.path.abspath(text)
    parent, name = os.path.split(text)
    if not name:
        return text
    redirection = _in_force
    return os.path.join(
        os.path.realpath(parent) if redirection is None else redirection.scratch.resolve(parent), name
    )


def folder_of(descriptor: int) -> str | None:
    """Return the folder of a descriptor by the program's path; None if it has none."""
    folder = path_of_descriptor(descriptor)
    return None if folder is None else path_as_given(folder)


def path_as_given(path: str) -> str:
    """Return the program's path of a file in the scratch folder; any other path as it is."""
    redirection = _in_force
    if redirection is not None:
        files = os.path.join(redirection.scratch.folder, "files")
        if path == files or path.startswith(f"{files}/"):
            return path[len(files) :] or "/"
    return path


def redirected(path: Any, dir_fd: int | None, *, writes: bool) -> tuple[Scratch, str] | None:
    """Return the scratch folder and the path that a call means; None if the call is not redirected.

    The stand-ins call this directly: it looks at the caller's caller, and redirects no call of our own modules.

    Args:
        path: the call's argument.
        dir_fd: the descriptor of the folder that a relative path starts from.
        writes: whether the call changes the file.
    """
    redirection = _in_force
    if redirection is None or is_busy() or path is None or isinstance(path, int):
        return None
    scratch = redirection.scratch
    if not writes and not (dir_fd is not None or _may_know(scratch, path)):
        return None
    live = redirection.is_live()
    if writes and live and redirection.denies_files:
        return None
    caller = getframe(1).f_back
    while caller is not None and caller.f_globals.get("__name__") in STAND_INS:
        caller = caller.f_back  # one stand-in has called another
    if caller is not None and str(caller.f_globals.get("__name__")).startswith("autochron."):
        return None
    with undisturbed():
        located = locate(path, dir_fd)
        if located is None or scratch.leaves_alone(located):
            return None
        if not (live or redirection.everywhere or scratch.knows(located)):
            parent = os.path.dirname(os.path.abspath(os.fsdecode(path)))
            if not scratch.has_links or scratch.resolve(parent) == os.path.realpath(parent):
                return None
        scratch.know_as(located, os.fsdecode(path))
    if live and writes:
        redirection.on_touch(located, is_read_on_disk=False)
    return scratch, located


def _may_know(scratch: Scratch, path: Any) -> bool:
    """Return False if a path can't mean a file that the scratch folder knows. This is quick for most paths."""
    try:
        if scratch.may_know(os.fsdecode(path)):
            return True
    except TypeError:
        return False
    with undisturbed():
        return scratch.has_any and os.path.islink(path)  # the link may lead to a file that it knows


def name_as_given(error: BaseException, path: Any, second_path: Any = None) -> None:
    """Replace the files of the scratch folder in an OSError with the paths that the program gave."""
    if not isinstance(error, OSError):
        return
    if error.filename is not None:
        error.filename = plain_path(path)
    if error.filename2 is not None:
        error.filename2 = plain_path(second_path)


def plain_path(path: Any) -> Any:
    """Return a path as Python shows it in errors and in the `name` of a file: the text of a `pathlib.Path`."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path
