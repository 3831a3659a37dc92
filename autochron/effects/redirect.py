"""Calls that name a path, redirected to the scratch folder of a replay.

In the place of `open`, of the functions of `os` that take a path, and of `sqlite3.connect` stand functions that look where a
path is to be read or written. `pathlib`, `shutil`, `glob`, `tempfile`, `shelve`, SQLAlchemy and aiosqlite come by these. They
are put in place once, at the first replay that needs them, also where a module has imported one of them by name, and stay:
without a scratch folder in force each costs a test and a call.

Not seen is a library of C that opens a file by itself, and a reference to one of these functions that no module holds under
a name of its own. A change that gets past is refused by the audit hook of a replay (`isolation`), where Python audits it.

Rejected: a mount namespace, which redirects everything, but which many containers forbid and a process with threads can't
enter; changing the C functions in place, which is unsafe.
"""

from __future__ import annotations

import builtins
import functools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import quote, unquote

from autochron.effects.scratch import Scratch, copy_content, is_real_folder
from autochron.effects.undisturbed import is_busy, undisturbed

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OF_LINKS = frozenset({"lchflags", "lchmod", "lchown", "lstat", "mkdir", "mkfifo", "mknod", "readlink"})
"""Functions that never follow a symbolic link at the end of a path."""

_UNNAMED = getattr(os, "O_TMPFILE", 0)

_CLASSES_OF = frozenset({"glob", "pathlib", "pathlib._abc", "pathlib._local", "tempfile"})
"""Modules whose classes hold functions of `os` under names of their own."""


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
_installed = False


def put_in_force(what: Redirection | None) -> None:
    """Redirect calls to a scratch folder from now on, or no longer.

    The functions are put in place with the first one.
    """
    global _in_force  # noqa: PLW0603 - there is one file system for the process
    if what is not None:
        _install()
    _in_force = what


def locate(path: Any, dir_fd: int | None = None) -> str | None:
    """Return the absolute path that a call means, with links in its parent folders resolved; None for no path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        return None
    if not text or "\0" in text:
        return None
    if dir_fd is not None and not text.startswith("/"):
        folder = _folder_of(dir_fd)
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


def _folder_of(descriptor: int) -> str | None:
    """Return the folder of a descriptor, as the program knows it."""
    try:
        folder = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # no Linux
        return None
    now = _in_force
    if now is not None:
        own = os.path.join(now.scratch.folder, "files")
        if folder == own or folder.startswith(f"{own}/"):
            return folder[len(own) :] or "/"
    return folder


def _redirected(path: Any, dir_fd: int | None, *, writes: bool) -> tuple[Scratch, str] | None:
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
    caller = sys._getframe(1).f_back
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


def _named(error: OSError, given: Any, other: Any = None) -> OSError:
    """Have an error name what the program named, and not the file of the scratch folder."""
    if error.filename is not None:
        error.filename = given
    if error.filename2 is not None:
        error.filename2 = other
    return error


# --- opening -------------------------------------------------------------------------------------------------------------


def _writes(mode: Any) -> bool:
    return isinstance(mode, str) and not set(mode).isdisjoint("wax+")


def _opened(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `open`."""

    @functools.wraps(original)
    def open(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001 - its name is shown
        __tracebackhide__ = True
        found = _redirected(file, None, writes=_writes(mode))
        if found is None:
            _note_read(file, mode)
            return original(file, mode, *args, **kwargs)
        scratch, path = found
        with undisturbed():
            path = scratch.followed(path)
            if not _writes(mode) or ("x" in mode and scratch.exists(path)):
                there = _read_at(scratch, path)
            else:
                there = scratch.to_write(path, is_whole="w" in mode)
        try:
            opened = original(there, mode, *args, **kwargs)
        except OSError as error:
            raise _named(error, file) from error.__cause__
        _name(opened, file)
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


def _read_at(scratch: Scratch, path: str) -> str:
    """Return where a path is read, and note what is read on the disk."""
    there, now = scratch.to_read(path), _in_force
    if now is not None and now.is_live():
        now.on_touch(path, is_read_on_disk=there == path)
    return there


def _note_read(path: Any, mode: Any) -> None:
    now = _in_force
    if now is not None and not _writes(mode) and not is_busy() and now.is_live():
        with undisturbed():
            found = locate(path)
            if found is not None:
                now.on_touch(found, is_read_on_disk=True)


def _os_open(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # noqa: A001 - as above
        __tracebackhide__ = True
        writes = bool(flags & _WRITES) and flags & _UNNAMED != (_UNNAMED or -1)
        found = _redirected(path, dir_fd, writes=writes)
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
                there = _read_at(scratch, located)
            elif is_refused or not (creates or scratch.exists(located)):
                there = scratch.to_read(located)
            else:
                there = scratch.to_write(located, is_whole=bool(flags & os.O_TRUNC))
        try:
            return int(original(there, flags, mode))
        except OSError as error:
            raise _named(error, path) from error.__cause__

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
        found = _redirected(path, kwargs.get("dir_fd"), writes=writes)
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
            raise _named(error, path) from error.__cause__

    return call


def _looks(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of a function that looks at a path."""
    return _with_path(original, Scratch.to_read, writes=False)


def _alters(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of a function that changes something about a path: its mode, its times, its length."""

    def place(scratch: Scratch, path: str) -> str:
        return scratch.to_write(path) if scratch.exists(path) else scratch.to_read(path)

    return _with_path(original, place, writes=True)


def _place_of_new(scratch: Scratch, path: str) -> str:
    """Return where something is made: where a path is there already, Python raises."""
    return scratch.to_read(path) if scratch.exists(path) else scratch.to_write(path)


def _makes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of a function that makes a folder, a pipe or a device."""
    return _with_path(original, _place_of_new, writes=True)


def _removes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.remove` and `os.rmdir`."""
    is_folder = original.__name__ == "rmdir"

    @functools.wraps(original)
    def remove(path: Any, *, dir_fd: int | None = None) -> None:
        __tracebackhide__ = True
        found = _redirected(path, dir_fd, writes=True)
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


def _moves(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.rename` and `os.replace`."""

    @functools.wraps(original)
    def move(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        __tracebackhide__ = True
        one = _redirected(src, src_dir_fd, writes=True)
        other = _redirected(dst, dst_dir_fd, writes=True)
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


def _links(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `os.link` and `os.symlink`."""
    is_hard = original.__name__ == "link"

    @functools.wraps(original)
    def link(src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        found = _redirected(dst, kwargs.get("dst_dir_fd" if is_hard else "dir_fd"), writes=True)
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
            raise _named(error, src, dst) from error.__cause__

    return link


# --- listing -------------------------------------------------------------------------------------------------------------


def _lists(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def listdir(path: Any = None) -> Any:
        __tracebackhide__ = True
        found = _folder_to_list(path)
        if found is None:
            return original(path)
        scratch, located = found
        try:
            with undisturbed():
                names = scratch.names_in(located)
                if names is None:
                    names = os.listdir(scratch.to_read(located))
        except OSError as error:
            raise _named(error, path) from error.__cause__
        return [os.fsencode(each) for each in names] if isinstance(path, bytes) else names

    return listdir


def _folder_to_list(path: Any) -> tuple[Scratch, str] | None:
    """Return the scratch folder and the folder that is listed, where it is another than on the disk."""
    now = _in_force
    if now is None or is_busy():
        return None
    with undisturbed():
        given = _folder_of(path) if isinstance(path, int) else locate("." if path is None else path)
        if given is None or now.scratch.leaves_alone(given):
            return None
        scratch = now.scratch
        located = scratch.resolve(given)
        if located == os.path.realpath(given):
            is_there = os.path.isdir(scratch.to_read(located))
            if scratch.names_in(located) is None if is_there else not scratch.knows(located):
                return None
    return scratch, located


class Entry:
    """An entry of a folder as the replay sees it; it has what `os.DirEntry` has."""

    __slots__ = ("_dir_fd", "_there", "name", "path")

    def __init__(self, name: Any, path: Any, there: str) -> None:
        self.name = name
        self.path = path
        self._there = there

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def _mode(self, *, follow_symlinks: bool) -> int:
        try:
            with undisturbed():
                return os.stat(self._there, follow_symlinks=follow_symlinks).st_mode
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
        with undisturbed():
            return os.stat(self._there, follow_symlinks=follow_symlinks)


class _Entries:
    """What `os.scandir` returns: an iterator that is closed by `with`."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Entry]:
        return self

    def __next__(self) -> Entry:
        return next(self._entries)

    def close(self) -> None:
        self._entries = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _scans(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def scandir(path: Any = None) -> Any:
        __tracebackhide__ = True
        found = _folder_to_list(path)
        if found is None:
            return original(path)
        scratch, located = found
        try:
            with undisturbed():
                names = scratch.names_in(located)
                if names is None:
                    names = os.listdir(scratch.to_read(located))
                there = [scratch.to_read(os.path.join(located, name)) for name in names]
        except OSError as error:
            raise _named(error, path) from error.__cause__
        is_bytes = isinstance(path, bytes)
        base: Any = "." if path is None else "" if isinstance(path, int) else os.fspath(path)
        entries = []
        for name, at in zip(names, there, strict=True):
            shown: Any = os.fsencode(name) if is_bytes else name
            entries.append(Entry(shown, os.path.join(base, shown) if base else shown, at))
        return _Entries(entries)

    return scandir


# --- databases -----------------------------------------------------------------------------------------------------------


def _connects(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        is_uri = bool(kwargs.get("uri", args[6] if len(args) > 6 else False))
        path, options = _database_path(database, is_uri=is_uri)
        if path is None:
            return _guarded(original(database, *args, **kwargs))
        reads = "mode=ro" in options or "immutable=1" in options
        found = _redirected(path, None, writes=not reads)
        if found is None:
            return _guarded(original(database, *args, **kwargs))
        scratch, located = found
        with undisturbed():
            located = scratch.followed(located)
            is_missing = "mode=rw" in options and "mode=rwc" not in options and not scratch.exists(located)
            there = scratch.to_read(located) if reads or is_missing else scratch.to_write(located)
        given = f"file:{quote(there)}?{options}" if is_uri and options else there
        return _guarded(original(given, *args, **kwargs))

    return connect


def _guarded(connection: Any) -> Any:
    """Refuse to attach a file to a connection: SQLite opens that by itself, so it can't be redirected."""
    now = _in_force
    if now is None or is_busy() or not (now.everywhere or now.is_live()):
        return connection
    import sqlite3  # lazy: it is imported, or nobody would connect

    if not isinstance(connection, sqlite3.Connection):
        return connection

    def authorize(action: int, first: str | None, *_: Any) -> int:
        scratch = _in_force
        if action != sqlite3.SQLITE_ATTACH or scratch is None or first in {"", ":memory:"} or is_busy():
            return sqlite3.SQLITE_OK
        if first is not None and first.startswith(scratch.scratch.folder):
            return sqlite3.SQLITE_OK
        scratch.on_attach(first or "a file")
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    return connection


def _database_path(database: Any, *, is_uri: bool) -> tuple[str | None, str]:
    """Return the path of a database, and the options of a URI; None for one in memory."""
    try:
        text = os.fsdecode(database)
    except TypeError:
        return None, ""
    options = ""
    if is_uri and text.startswith("file:"):
        text, _, options = text.removeprefix("file:").partition("#")[0].partition("?")
        if text.startswith("//"):
            text = "/" + text.removeprefix("//").partition("/")[2]
        text = unquote(text)
    if text in {"", ":memory:"} or "mode=memory" in options:
        return None, options
    return text, options


# --- putting in place ----------------------------------------------------------------------------------------------------

_WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(
        ("stat", "lstat", "access", "readlink", "statvfs", "getxattr", "listxattr", "pathconf"), _looks
    ),
    **dict.fromkeys(
        ("chmod", "lchmod", "chown", "lchown", "utime", "truncate", "setxattr", "removexattr"), _alters
    ),
    **dict.fromkeys(("chflags", "lchflags"), _alters),
    **dict.fromkeys(("mkdir", "mkfifo", "mknod"), _makes),
    **dict.fromkeys(("remove", "unlink", "rmdir"), _removes),
    **dict.fromkeys(("rename", "replace"), _moves),
    **dict.fromkeys(("link", "symlink"), _links),
    "open": _os_open,
    "listdir": _lists,
    "scandir": _scans,
}

_stand_ins: dict[int, tuple[Any, Callable[..., Any]]] = {}
"""By the id of an original: it, and what stands in its place."""


def _install() -> None:
    """Put what redirects in the place of what it stands for, in each module that holds it."""
    global _installed  # noqa: PLW0603 - as above
    if _installed:
        return
    _installed = True
    _stand_in(builtins.open, _opened)
    for name, way in _WAYS.items():
        original = getattr(os, name, None)
        if original is not None:
            made = _stand_in(original, way)
            for group in (
                os.supports_dir_fd,
                os.supports_fd,
                os.supports_follow_symlinks,
                os.supports_effective_ids,
            ):
                if original in group:
                    group.add(made)
    for module in list(sys.modules.values()):
        _adopt(module)
    if "sqlite3" in sys.modules:
        watch_databases()


def watch_databases() -> None:
    """Redirect `sqlite3.connect`, once that module is imported."""
    if not _installed:
        return
    import sqlite3  # lazy: it is imported, or about to be

    if id(sqlite3.connect) in {id(made) for _, made in _stand_ins.values()}:
        return
    _stand_in(sqlite3.connect, _connects)
    for module in list(sys.modules.values()):
        _adopt(module)


def _stand_in(original: Any, way: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    if id(original) not in _stand_ins:
        _stand_ins[id(original)] = (original, way(original))
    return _stand_ins[id(original)][1]


_KEEPS = frozenset({"posix", "importlib._bootstrap_external", "zipimport"})
"""Modules by which Python itself imports, which need no scratch folder."""


def _adopt(module: Any) -> None:
    """Put what redirects where a module holds an original under a name of its own."""
    name = getattr(module, "__name__", None)
    if not isinstance(module, ModuleType) or name in _KEEPS or str(name).startswith("autochron."):
        return
    for key, value in list(vars(module).items()):
        known = _stand_ins.get(id(value))
        if known is not None and known[0] is value:
            setattr(module, key, known[1])
        elif name in _CLASSES_OF and isinstance(value, type):
            for attribute, held in list(vars(value).items()):
                inner = held.__func__ if isinstance(held, staticmethod) else None
                known = None if inner is None else _stand_ins.get(id(inner))
                if known is not None and known[0] is inner:
                    setattr(value, attribute, staticmethod(known[1]))
