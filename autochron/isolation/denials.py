"""What live crossings are kept from: which audit events reach for the network, another process, or a change of a file.

Not a sandbox: it finds out what a tool under test would do to the world, and what an audit event does not show (a write to a
descriptor that is open already, a library in C that connects by itself) it does not see.
"""

from __future__ import annotations

import functools
import re
import stat
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Literal, NamedTuple

from autochron._runtime.unpatched import os, program_os
from autochron.effects.events import STAND_INS, path_of_descriptor
from autochron.isolation import network, sqlite
from autochron.project import Project, line_of_project
from autochron.replaying.plan import Reach

_BIND = "socket.bind"

_PROCESSES = network.CHILDREN | {"os.exec", "pty.spawn"}

_OWN = "autochron."
"""Stands before the names of our own events: what CPython doesn't audit."""


class _Change(NamedTuple):
    """What an event does to a file.

    `at` is the index of the path, `folder` that of the descriptor which a relative path is below. Where the path is not as
    `wants` says, Python is about to raise and nothing changes: `os.makedirs(..., exist_ok=True)` tries first.
    """

    says: str
    at: int = 0
    folder: int | None = None
    wants: Literal["there", "free"] = "there"


_CHANGES = {
    "os.remove": _Change("removes", folder=1),
    "os.rmdir": _Change("removes the folder", folder=1),
    "shutil.rmtree": _Change("removes the folder", folder=1),
    "os.rename": _Change("renames", folder=2),
    "os.mkdir": _Change("makes the folder", folder=2, wants="free"),
    "os.link": _Change("makes the link", 1, 3, "free"),
    "os.symlink": _Change("makes the link", 1, 2, "free"),
    f"{_OWN}os.mkfifo": _Change("makes the pipe", wants="free"),
    f"{_OWN}os.mknod": _Change("makes the file", wants="free"),
    "os.chmod": _Change("changes the mode of", folder=2),
    "os.chown": _Change("changes the owner of", folder=3),
    "os.chflags": _Change("changes the flags of"),
    "os.utime": _Change("changes the times of", folder=3),
    "os.truncate": _Change("truncates"),
    "os.setxattr": _Change("changes the attributes of"),
    "os.removexattr": _Change("changes the attributes of"),
}
"""Not `shutil.copy` and its like: they are seen by what they call."""

_BY_DESCRIPTOR = frozenset({"os.chmod", "os.chown", "os.removexattr", "os.setxattr", "os.utime"})
"""Events by which also a file is changed that is open to be read alone."""

_TEMPORARY = {
    "tempfile.mkstemp": "makes a temporary file in",
    "tempfile.mkdtemp": "makes a temporary folder in",
}

_DATABASE = "sqlite3.connect"

_FILES = frozenset({"open", _BIND, _DATABASE, *_CHANGES, *_TEMPORARY})

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_UNNAMED = getattr(os, "O_TMPFILE", -1)

_DESCRIPTORS = ("/dev/fd/", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/proc/self/fd/")

_READ_ONLY = re.compile(r"file:[^?]*\?(.*&)?(mode=(ro|memory)|immutable=1)(&|$)")

_EVENTS: dict[Reach, frozenset[str]] = {
    "network": network.EVENTS | {_BIND},
    "subprocess": _PROCESSES,
    "files": _FILES,
}


_DENIED: dict[Reach, str] = {
    "network": "the network is",
    "subprocess": "other processes are",
    "files": "changes of files are",
}


def paths_of(event: str, arguments: tuple[Any, ...]) -> list[Any]:
    """Return the paths that an event changes."""
    if event == _DATABASE:
        path = _path((_plain(arguments[0]),), 0)
        return [] if path is None else [path]
    if event in _BY_DESCRIPTOR and isinstance(arguments[0], int):
        path = _path_read(arguments[0])
        return [] if path is None else [path]
    places: tuple[tuple[int, int | None], ...] = ((0, None),)
    if event == "os.rename":
        places = ((0, 2), (1, 3))
    elif event in _CHANGES:
        places = ((_CHANGES[event].at, _CHANGES[event].folder),)
    return [path for at, folder in places if (path := _path(arguments, at, folder)) is not None]


def changes_of(
    isolation: Isolation, event: str, arguments: tuple[Any, ...], frame: FrameType | None
) -> str | None:
    """Say what an event does to files; None where it changes none, or where Python does so for itself."""
    if event not in _FILES:
        return None
    says = isolation.change(
        event, (_plain(arguments[0]), *arguments[1:]) if event == _DATABASE else arguments
    )
    return None if says is None or _is_housekeeping(frame) else says


def words_of(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """Return the words of a command that is about to be run."""
    if event == "os.system":
        return network.words_of(network.text_of(arguments[0]))
    words = arguments[2 if event == "os.spawn" else 1] if len(arguments) > 1 else ()
    if isinstance(words, (str, bytes)):
        return network.words_of(network.text_of(words))
    try:
        found = [network.text_of(os.fsdecode(each)) for each in words]
    except TypeError:
        return []
    # A shell's command is one word of its own.
    return [*found, *(part for each in found if " " in each for part in network.words_of(each))]


def _plain(database: Any) -> Any:
    """Return the path that a URI of SQLite means."""
    from urllib.parse import unquote  # lazy: 2 ms

    if isinstance(database, str) and database.startswith("file:") and not _READ_ONLY.match(database):
        return unquote(database.removeprefix("file:").partition("?")[0])
    return database


class Reached(NamedTuple):
    """What is reached for: in a word of the plan's, and in a phrase such as `reaches for 127.0.0.1:80`."""

    reach: Reach
    says: str


class Isolation:
    """Decides whether an event reaches for what is denied."""

    def __init__(self, deny: Iterable[Reach], project: Project) -> None:
        self.deny = frozenset(deny)
        self._project = project
        self._seen: set[tuple[str, str]] = set()

    @property
    def events(self) -> frozenset[str]:
        """The events to hear of."""
        if not self.deny:
            return frozenset()
        found = set[str]().union(*(_EVENTS[each] for each in self.deny))
        found |= {"os.exec"} if self.is_partial else set()
        return frozenset(found)

    @property
    def is_partial(self) -> bool:
        """Whether processes may be started, but not do all that they might."""
        return bool(self.deny) and "subprocess" not in self.deny

    def reached(self, event: str, arguments: tuple[Any, ...], frame: FrameType | None) -> Reached | None:
        """Say what an event reaches for, where that is denied. `frame` is where it was raised."""
        if "network" in self.deny and event in _EVENTS["network"]:
            says = _connection(event, arguments)
            if says is not None:
                return Reached("network", says)
        if "subprocess" in self.deny and event in _PROCESSES:
            says = started(event, arguments)
            return None if says is None else Reached("subprocess", says)
        if "files" in self.deny and event in _FILES:
            says = self.change(event, arguments)
            if says is not None and not _is_housekeeping(frame):
                return Reached("files", says)
        return None

    def writing(self, path: str) -> Reached:
        """Say that a database is changed."""
        return Reached("files", f"writes to the database {self._name(path)}")

    def refusal(self, reached: Reached, address: str, site: str) -> str:
        """Return the words of a refusal."""
        line = line_of_project(self._project, 2)
        place = f"at {line}" if line else f"in {site}" if site else "outside the project"
        return (
            f"{address} {reached.says} {place}, and {_DENIED[reached.reach]} denied to what is live; have it served, swap"
            f" what reaches there, or leave {reached.reach} out of what is denied"
        )

    def is_new(self, address: str, reached: Reached) -> bool:
        """Return whether this crossing reaches there for the first time."""
        key = (address, reached.says)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    # --- files ---------------------------------------------------------------------------------------------------------

    def change(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        """Say what an event does to a file; None where it changes none."""
        if event == "open":
            given: tuple[Any, ...] = (*arguments, None, None)  # anyone may raise an event of that name
            return self._opening(given[0], given[1], given[2] or 0)
        if event == _BIND:
            path = _path(arguments, 1)
            is_made = path and not path.startswith("\0") and not os.path.lexists(path)
            return f"makes the socket {self._name(path)}" if is_made else None
        if event == _DATABASE:
            return self._database(arguments[0])
        if event in _TEMPORARY:
            return f"{_TEMPORARY[event]} {self._name(os.path.dirname(os.fsdecode(arguments[0])))}"
        change = _CHANGES[event]
        is_read = event in _BY_DESCRIPTOR and isinstance(arguments[0], int)
        path = _path_read(arguments[0]) if is_read else _path(arguments, change.at, change.folder)
        if path is None or os.path.lexists(path) is not (change.wants == "there"):
            return None
        to = f" to {self._name(_path(arguments, 1, 3))}" if event == "os.rename" else ""
        return f"{change.says} {self._name(path)}{to}"

    def _opening(self, given: Any, mode: Any, flags: int) -> str | None:
        path = _path((given,), 0)
        if path is None or path.startswith(_DESCRIPTORS):
            return None
        # C code that calls `fopen` says how in words.
        if not (flags & _WRITES or (isinstance(mode, str) and set(mode) & set("wax+"))):
            return None
        try:
            found = os.stat(path).st_mode
        except (OSError, ValueError):
            found = 0
        if stat.S_ISDIR(found):
            # So does `tempfile`, with an opener or without a name; else Python is about to raise.
            is_temporary = isinstance(mode, str) or flags & _UNNAMED == _UNNAMED
            return f"makes a temporary file in {self._name(path)}" if is_temporary else None
        if stat.S_ISCHR(found) or stat.S_ISFIFO(found):
            return None
        if flags & os.O_EXCL and flags & os.O_CREAT and os.path.lexists(path):
            return None
        return f"opens {self._name(path)} for writing"

    def _database(self, given: Any) -> str | None:
        path = _path((given,), 0)
        if not path or path == ":memory:" or _READ_ONLY.match(path):
            return None
        if path.startswith("file:"):
            path = path.removeprefix("file:").partition("?")[0]
            if path in {"", ":memory:"}:
                return None
        if not os.path.exists(path):
            return f"makes the database {self._name(path)}"
        # What is changed in one that is there is seen when it is; unless whoever opens it had `connect` before we did.
        return None if sqlite.is_guarded() else f"opens the database {self._name(path)} for writing"

    def _name(self, path: str | None) -> str:
        return "a descriptor" if path is None else self._project.name(path)


def _path_read(descriptor: int) -> str | None:
    """Return the path of a descriptor that is open to be read alone; of others it was decided when they were opened."""
    import fcntl  # lazy: it is rare

    try:
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    except OSError:
        return None
    return path_of_descriptor(descriptor) if flags & os.O_ACCMODE == os.O_RDONLY else None


def _path(arguments: tuple[Any, ...], at: int, folder: int | None = None) -> str | None:
    """Return a path; None for a descriptor: what that is was decided when it was opened."""
    try:
        path = os.fsdecode(arguments[at])
    except TypeError:
        return None
    base = arguments[folder] if folder is not None and folder < len(arguments) else None
    if isinstance(base, int) and base >= 0 and not os.path.isabs(path):
        start = path_of_descriptor(base)
        return path if start is None else os.path.join(start, path)
    return path


# --- network -------------------------------------------------------------------------------------------------------------


def _connection(event: str, arguments: tuple[Any, ...]) -> str | None:
    if event == _BIND:
        return _listening(arguments[1])
    address = network.address_of(event, arguments)
    # By those, processes of multiprocessing speak to each other.
    if address is None or f"{os.sep}pymp-" in address:
        return None
    return f"reaches for {address}"


def _listening(address: Any) -> str | None:
    """Name the address that a server is reached at from other machines.

    Not one on this machine alone: nothing leaves it. Nor port 0, by which programs ask for a free port, and urllib3, when it
    is imported, whether there is IPv6.
    """
    if (
        not isinstance(address, tuple)
        or len(address) < 2
        or not isinstance(address[0], str)
        or not address[1]
    ):
        return None
    host = address[0]
    if host in {"localhost", "::1"} or host.startswith("127."):
        return None
    return f"listens at {host or '0.0.0.0'}:{address[1]}"  # noqa: S104 - as it is shown


# --- processes -----------------------------------------------------------------------------------------------------------


def started(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Say which program is started, without its arguments; None where that is none."""
    if event == "os.exec":
        return f"is replaced by {os.path.basename(network.text_of(arguments[0]))}"
    if event == "pty.spawn":
        return f"starts a child process of {os.path.basename(network.text_of(arguments[0][0]))}"
    child = network.child_of(event, arguments)
    return None if child is None else f"starts {child}"


# --- what is nobody's doing ------------------------------------------------------------------------------------------------

_STANDARD = (os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""), "<frozen ")

_WRITERS = (
    "autochron.replaying.child_reports",
    "autochron.replaying.replay_folder",
    "autochron.store.",
    "autochron.weaving.code_cache",
)
"""Our own modules that write. Others stand between a program's calls, so not all of them."""

_PLUMBING = frozenset(
    {
        "multiprocessing.connection",
        "multiprocessing.forkserver",
        "multiprocessing.heap",
        "multiprocessing.util",
    }
)


def _is_housekeeping(frame: FrameType | None) -> bool:
    """Return whether Python does this for itself, or we do: bytecode that is kept, the sockets of multiprocessing, reports.

    What a module does as it is imported is the program's own; what imports it is not.
    """
    is_inner = True
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file.startswith("<frozen importlib._bootstrap"):
            return True
        if code.co_name == "<module>":
            return False
        name = str(frame.f_globals.get("__name__"))
        if name in STAND_INS:  # it stands between a caller and the function that it calls
            frame = frame.f_back
            continue
        if is_inner:
            if name.startswith(_WRITERS) or name in _PLUMBING:
                return True
            if name == "tempfile" and code.co_name == "_get_default_tempdir":  # tries where it can write
                return True
            is_inner = file.startswith(_STANDARD) and f"{os.sep}site-packages{os.sep}" not in file
        frame = frame.f_back
    return False


def watch_nodes() -> Callable[[], None]:
    """Have pipes and files that `os.mkfifo` and `os.mknod` make told of, which CPython doesn't audit; gives the undo."""
    undo = [_told(name) for name in ("mkfifo", "mknod") if hasattr(program_os, name)]

    def undo_all() -> None:
        for each in undo:
            each()

    return undo_all


def _told(name: str) -> Callable[[], None]:
    original = getattr(program_os, name)

    @functools.wraps(original)
    def make(path: Any, *args: Any, **kwargs: Any) -> Any:
        sys.audit(f"{_OWN}os.{name}", path)
        return original(path, *args, **kwargs)

    setattr(program_os, name, make)

    def undo() -> None:
        if getattr(program_os, name) is make:
            setattr(program_os, name, original)

    return undo
