"""Decide which audit events of live crossings are denied: network access, other processes, and changes of files.

This is not a sandbox. It shows what a tool under test would do to the world. It sees nothing without an audit event,
such as a write to an open descriptor, or a connection that a C library makes by itself.
"""

from __future__ import annotations

import functools
import re
import stat
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Literal, NamedTuple

from autochron._runtime.own_frames import drop_frame
from autochron._runtime.unpatched import os, program_os
from autochron.effects.events import STAND_INS, path_of_descriptor
from autochron.effects.redirection import path_as_given
from autochron.effects.undisturbed import is_busy
from autochron.isolation import network, sqlite
from autochron.project import Project, line_of_project
from autochron.replaying.plan import Reach

_BIND = "socket.bind"

_PROCESSES = network.CHILDREN | {"os.exec", "pty.spawn"}

_OWN = "autochron."
"""Prefix of our own events, for calls that CPython doesn't audit."""


class _Change(NamedTuple):
    """The change that an event makes to a file.

    Attributes:
        verb: the change in words, such as `removes`.
        at: index of the path in the event's arguments.
        folder: index of the descriptor of the folder that a relative path starts from.
        wants: whether the path must exist. If it does not fit, the call is going to raise and changes nothing:
            `os.makedirs(..., exist_ok=True)` tries without looking first.
    """

    verb: str
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
"""Not `shutil.copy` and similar functions: the calls that they make have events of their own."""

_BY_DESCRIPTOR = frozenset({"os.chmod", "os.chown", "os.removexattr", "os.setxattr", "os.utime"})
"""Events that can change a file by a descriptor that is open only for reading."""

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
    """Return the paths that an event changes, as the program gave them."""
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
    return [path for path_at, folder in places if (path := _path(arguments, path_at, folder)) is not None]


def changes_of(
    isolation: Isolation, event: str, arguments: tuple[Any, ...], frame: FrameType | None
) -> str | None:
    """Describe what an event does to files; None if it changes none, or if it is housekeeping."""
    if event not in _FILES:
        return None
    phrase = isolation.change(
        event, (_plain(arguments[0]), *arguments[1:]) if event == _DATABASE else arguments
    )
    return None if phrase is None or _is_housekeeping(frame) else phrase


def words_of(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """Return the words of a command that is about to run; none if they can't be read."""
    if event == "os.system":
        return network.words_of(network.text_of(arguments[0]))
    words = arguments[2 if event == "os.spawn" else 1] if len(arguments) > 1 else ()
    if isinstance(words, (str, bytes)):
        return network.words_of(network.text_of(words))
    try:
        command = [network.text_of(os.fsdecode(word)) for word in words]
    except TypeError:
        return []
    # A command that is passed to a shell is one argument: its words are added.
    return [*command, *(part for word in command if " " in word for part in network.words_of(word))]


def _plain(database: Any) -> Any:
    """Return the path of a SQLite URI; a read-only URI and any other value stay as they are."""
    from urllib.parse import unquote  # lazy: 2 ms

    if isinstance(database, str) and database.startswith("file:") and not _READ_ONLY.match(database):
        return unquote(database.removeprefix("file:").partition("?")[0])
    return database


class Reached(NamedTuple):
    """A denied access.

    Attributes:
        reach: the kind of access, as a plan names it.
        phrase: the access in words, such as `reaches for 127.0.0.1:80`.
    """

    reach: Reach
    phrase: str


class Isolation:
    """Decides whether an event is an access that is denied to live crossings."""

    def __init__(self, deny: Iterable[Reach], project: Project) -> None:
        """Deny these kinds of access; the project is used to name lines and files."""
        self.deny = frozenset(deny)
        self._project = project
        self._seen: set[tuple[str, str]] = set()

    @property
    def events(self) -> frozenset[str]:
        """The audit events that must be passed to `reached`."""
        if not self.deny:
            return frozenset()
        events = set[str]().union(*(_EVENTS[reach] for reach in self.deny))
        events |= {"os.exec"} if self.is_partial else set()
        return frozenset(events)

    @property
    def is_partial(self) -> bool:
        """Whether processes may be started, but something else is denied, which they could do unseen."""
        return bool(self.deny) and "subprocess" not in self.deny

    def reached(self, event: str, arguments: tuple[Any, ...], frame: FrameType | None) -> Reached | None:
        """Return the denied access of an event; None if there is none. `frame` is the frame that raised the event."""
        if "network" in self.deny and event in _EVENTS["network"]:
            phrase = _connection(event, arguments)
            if phrase is not None:
                return Reached("network", phrase)
        if "subprocess" in self.deny and event in _PROCESSES:
            phrase = started(event, arguments)
            return None if phrase is None else Reached("subprocess", phrase)
        if "files" in self.deny and event in _FILES and not is_busy():  # busy: the scratch copy is being made
            phrase = self.change(event, arguments)
            if phrase is not None and not _is_housekeeping(frame):
                return Reached("files", phrase)
        return None

    def writing(self, path: str) -> Reached:
        """Return the access of a statement that changes a database."""
        return Reached("files", f"writes to the database {self._name(path)}")

    def refusal(self, reached: Reached, address: str, site: str) -> str:
        """Return the message of a refusal.

        Args:
            reached: the denied access.
            address: the live crossing's address.
            site: the crossing's line, which is named if no line of the project is running.
        """
        line = line_of_project(self._project, 2)
        place = f"at {line}" if line else f"in {site}" if site else "outside the project"
        return (
            f"{address} {reached.phrase} {place}, and {_DENIED[reached.reach]} denied to what is live; have it served, swap"
            f" what reaches there, or leave {reached.reach} out of what is denied"
        )

    def is_new(self, address: str, reached: Reached) -> bool:
        """Return whether this crossing makes this access for the first time."""
        key = (address, reached.phrase)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    # --- files ---------------------------------------------------------------------------------------------------------

    def change(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        """Describe what an event does to a file; None if it changes none."""
        if event == "open":
            # Any code may raise an event of this name, with fewer arguments.
            fields: tuple[Any, ...] = (*arguments, None, None)
            return self._opening(fields[0], fields[1], fields[2] or 0)
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
        return f"{change.verb} {self._name(path)}{to}"

    def _opening(self, path_argument: Any, mode: Any, flags: int) -> str | None:
        path = _path((path_argument,), 0)
        if path is None or path.startswith(_DESCRIPTORS):
            return None
        # C code that calls `fopen` passes the mode as text, without flags.
        if not (flags & _WRITES or (isinstance(mode, str) and set(mode) & set("wax+"))):
            return None
        try:
            file_mode = os.stat(path).st_mode
        except (OSError, ValueError):
            file_mode = 0
        if stat.S_ISDIR(file_mode):
            # `tempfile` opens a folder to make a temporary file in it. Any other call is going to raise.
            is_temporary = isinstance(mode, str) or flags & _UNNAMED == _UNNAMED
            return f"makes a temporary file in {self._name(path)}" if is_temporary else None
        if stat.S_ISCHR(file_mode) or stat.S_ISFIFO(file_mode):
            return None
        if flags & os.O_EXCL and flags & os.O_CREAT and os.path.lexists(path):
            return None
        return f"opens {self._name(path)} for writing"

    def _database(self, database: Any) -> str | None:
        path = _path((database,), 0)
        if not path or path == ":memory:" or _READ_ONLY.match(path):
            return None
        if path.startswith("file:"):
            path = path.removeprefix("file:").partition("?")[0]
            if path in {"", ":memory:"}:
                return None
        if not os.path.exists(path):
            return f"makes the database {self._name(path)}"
        # A guarded connection reports each change. A caller that kept the original `connect` has no guarded connection.
        return None if sqlite.is_guarded() else f"opens the database {self._name(path)} for writing"

    def _name(self, path: str | None) -> str:
        return "a descriptor" if path is None else self._project.name(path_as_given(path))


def _path_read(descriptor: int) -> str | None:
    """Return the path of a descriptor that is open only for reading; others were judged when they were opened."""
    import fcntl  # lazy: it is rare

    try:
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    except OSError:
        return None
    return path_of_descriptor(descriptor) if flags & os.O_ACCMODE == os.O_RDONLY else None


def _path(arguments: tuple[Any, ...], path_at: int, folder: int | None = None) -> str | None:
    """Return a path argument as text, joined to the folder of its descriptor; None if it is itself a descriptor."""
    try:
        path = os.fsdecode(arguments[path_at])
    except TypeError:
        return None
    descriptor = arguments[folder] if folder is not None and folder < len(arguments) else None
    if isinstance(descriptor, int) and descriptor >= 0 and not os.path.isabs(path):
        start = path_of_descriptor(descriptor)
        return path if start is None else os.path.join(start, path)
    return path


# --- network -------------------------------------------------------------------------------------------------------------


def _connection(event: str, arguments: tuple[Any, ...]) -> str | None:
    if event == _BIND:
        return _listening(arguments[1])
    address = network.address_of(event, arguments)
    # Processes of multiprocessing communicate through such sockets.
    if address is None or f"{os.sep}pymp-" in address:
        return None
    return f"reaches for {address}"


def _listening(address: Any) -> str | None:
    """Describe a server's address that other machines can reach; None for any other address.

    An address of the loopback interface is no access to the network. Port 0 is none either: programs ask for a free
    port with it, and urllib3 finds out whether there is IPv6 when it is imported.
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
    return f"listens at {host or '0.0.0.0'}:{address[1]}"  # noqa: S104 - only shown, nothing is bound


# --- processes -----------------------------------------------------------------------------------------------------------


def started(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Describe the program that an event starts, without its arguments; None if that is harmless."""
    if event == "os.exec":
        return f"is replaced by {os.path.basename(network.text_of(arguments[0]))}"
    if event == "pty.spawn":
        return f"starts a child process of {os.path.basename(network.text_of(arguments[0][0]))}"
    child = network.child_of(event, arguments)
    return None if child is None else f"starts {child}"


# --- housekeeping ------------------------------------------------------------------------------------------------------

_STANDARD = (os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""), "<frozen ")

_WRITERS = (
    "autochron.replaying.child_reports",
    "autochron.replaying.replay_folder",
    "autochron.store.",
    "autochron.weaving.code_cache",
)
"""Our own modules that write files. Our other modules may be among the callers of the program's own writes."""

_PLUMBING = frozenset(
    {
        "multiprocessing.connection",
        "multiprocessing.forkserver",
        "multiprocessing.heap",
        "multiprocessing.util",
    }
)
"""Modules of multiprocessing that make sockets and temporary files."""


def _is_housekeeping(frame: FrameType | None) -> bool:
    """Return whether a change is made by Python or autochron for itself, and not by the program.

    Housekeeping is the writing of bytecode and of our reports, and the sockets of multiprocessing. The code of a module
    that is being imported belongs to the program; the import machinery does not.
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
        if name in STAND_INS:  # a stand-in: its caller is the one that counts
            frame = frame.f_back
            continue
        if is_inner:
            if name.startswith(_WRITERS) or name in _PLUMBING:
                return True
            # This function tests in which folder it can write.
            if name == "tempfile" and code.co_name == "_get_default_tempdir":
                return True
            is_inner = file.startswith(_STANDARD) and f"{os.sep}site-packages{os.sep}" not in file
        frame = frame.f_back
    return False


def watch_nodes() -> Callable[[], None]:
    """Raise audit events for `os.mkfifo` and `os.mknod`, which CPython doesn't audit; return the undo function."""
    undo_functions = [_audited(name) for name in ("mkfifo", "mknod") if hasattr(program_os, name)]

    def undo_all() -> None:
        for undo_one in undo_functions:
            undo_one()

    return undo_all


def _audited(name: str) -> Callable[[], None]:
    original = getattr(program_os, name)

    @functools.wraps(original)
    def make(path: Any, *args: Any, **kwargs: Any) -> Any:
        sys.audit(f"{_OWN}os.{name}", path)
        try:
            return original(path, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    setattr(program_os, name, make)

    def undo() -> None:
        if getattr(program_os, name) is make:
            setattr(program_os, name, original)

    return undo
