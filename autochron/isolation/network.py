"""Watch for network connections and child processes.

A connection outside every crossing is listed while recording and refused while replaying. A child process that is not
recorded is listed.

Audit events are used because nothing else shows connections that C code makes through Python's sockets. An audit hook
stays for the life of the process, so the hook looks up the current watcher at each event.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any

from autochron._runtime import audit
from autochron._runtime.own_frames import drop_frame
from autochron._runtime.unpatched import getframe, os
from autochron.crossing.lanes import is_paused
from autochron.crossing.processes import STARTING

EVENTS = frozenset(
    {
        "socket.connect",
        "socket.sendto",
        "socket.sendmsg",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
    }
)
"""Events of connections, packets, and look-ups of names."""

PROCESS = "multiprocessing.Process"
"""Our own event: the functions by which spawn and loky start a process raise no audit event."""

CHILDREN = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", PROCESS}
)

_ALWAYS = EVENTS | CHILDREN

_HARMLESS = frozenset({"ldconfig", "lsb_release", "uname"})
"""Programs that the standard library and SDKs start to ask about the machine."""

Watcher = Callable[[str, tuple[Any, ...]], None]

_watcher: Watcher | None = None
_on_exec: Callable[[], None] | None = None
_on_code: Callable[[Any], None] | None = None
_watched: frozenset[str] | None = _ALWAYS
"""The events that are passed to the watcher."""
_heard: frozenset[str] = frozenset()
"""The events that the hook listens to so far."""


class _ProcessStart(threading.local):
    """How many processes a thread is starting by multiprocessing: its forks and sockets are part of that start."""

    depth: int = 0


_starting = _ProcessStart()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    # At its end the interpreter sets the globals of modules to None.
    if (
        _watched is not None
        and event in _watched
        and _watcher is not None
        and not _starting.depth
        and not is_paused()
    ):
        _watcher(event, arguments)
    if event == "exec":
        if _on_code is not None:
            _on_code(arguments[0])
    elif event == "os.exec" and _on_exec is not None and can_run(arguments[0]):
        _on_exec()


def report(event: str, arguments: tuple[Any, ...]) -> None:
    """Report an event that CPython does not audit."""
    _hook(event, arguments)


def can_run(path: Any) -> bool:
    """Return whether an exec of a path will succeed. `execvp` raises an event for each folder of PATH."""
    try:
        return os.access(path, os.X_OK) and not os.path.isdir(path)
    except (OSError, TypeError, ValueError):
        return True


def watch(
    watcher: Watcher | None,
    on_exec: Callable[[], None] | None,
    on_code: Callable[[Any], None] | None = None,
    *,
    more: frozenset[str] = frozenset(),
) -> None:
    """Set the callbacks for audit events, in place of the former ones.

    Args:
        watcher: called with each event of connections, children and `more`, and its arguments.
        on_exec: called before the process is replaced by another program.
        on_code: called with the code object that `exec` runs.
        more: further events for the watcher. Each costs a call wherever it is raised, and `open` is raised often.
    """
    global _heard, _on_code, _on_exec, _watched, _watcher  # noqa: PLW0603 - listeners belong to the process
    _watcher, _on_exec, _on_code, _watched = watcher, on_exec, on_code, _ALWAYS | more if more else _ALWAYS
    if not _heard:
        _watch_fork_exec()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget_starting)
    if not _heard or not more <= _heard:
        _heard |= {"exec", "os.exec", *_ALWAYS, *more}
        audit.listen(_hook, _heard)


def _watch_fork_exec() -> None:
    """Report calls of `_posixsubprocess.fork_exec` that do not come from `subprocess`: CPython does not audit them."""
    try:
        import _posixsubprocess as module  # lazy: there is none on Windows
    except ImportError:
        return
    original: Any = module.fork_exec

    @functools.wraps(original)
    def fork_exec(args: Any, executables: Any, *more: Any) -> Any:
        caller = str(getframe(1).f_globals.get("__name__"))
        # These modules raise or report an event themselves.
        if not caller.startswith(("autochron.", "multiprocessing.", "subprocess")):
            environment = more[3] if len(more) > 3 else None
            names = (
                None
                if environment is None
                else {bytes(setting).partition(b"=")[0]: b"" for setting in environment}
            )
            _hook("subprocess.Popen", (next(iter(executables), b""), args, None, names))
        try:
            return original(args, executables, *more)
        except BaseException as error:
            drop_frame(error)
            raise

    module.fork_exec = fork_exec


def _forget_starting() -> None:
    """Reset the state in a forked child: the process whose start was under way is the child itself."""
    _starting.depth = 0


def are_watched(processes: Any) -> bool:
    """Return whether the processes that multiprocessing starts are reported; `processes` is its module `process`."""
    return hasattr(processes.BaseProcess.start, "_autochron_watched")


def watch_processes() -> Callable[[], None]:
    """Report the processes that multiprocessing, which must be imported, starts; return the undo function."""
    owner: Any = sys.modules["multiprocessing.process"].BaseProcess
    original = owner.start

    @functools.wraps(original)
    def start(process: Any) -> Any:
        watcher = None if is_paused() else _watcher
        is_watched = watcher is not None
        if watcher is not None and not _starting.depth:
            how = getattr(process, "_start_method", None) or type(process).__name__
            watcher(PROCESS, (how, getattr(process, "_target", None) or type(process)))
        _starting.depth += is_watched
        try:
            return original(process)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            _starting.depth -= is_watched
            if is_watched and not _starting.depth:
                STARTING.root = None

    start._autochron_watched = True  # type: ignore[attr-defined]  # noqa: SLF001 - our own mark
    owner.start = start

    def undo() -> None:
        if owner.__dict__.get("start") is start:
            owner.start = original

    return undo


def child_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Describe a child process that is about to start; None for another event, and for a harmless program.

    Only the program of a command is named, because its arguments may be secrets.
    """
    if event not in CHILDREN:
        return None
    if event in {"os.fork", "os.forkpty"}:
        return "a forked child process"
    if event == PROCESS:
        return f"a child process of multiprocessing ({arguments[0]})"
    program = text_of(arguments[1 if event == "os.spawn" else 0])
    if event == "os.system":
        program = (words_of(program) or [""])[0]
    name = os.path.basename(program)
    return None if name in _HARMLESS else f"a child process of {name}"


def words_of(line: str) -> list[str]:
    """Return the words of a shell's command without leading assignments of variables, which may be secrets."""
    import shlex  # lazy: few programs call os.system

    try:
        words = shlex.split(line)
    except ValueError:  # a syntax error, or a syntax that only the shell knows
        words = line.split()
    return list(itertools.dropwhile(_assigns, words))


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def is_network(event: str) -> bool:
    """Return whether an event is one of the network, and not one of child processes."""
    return event in EVENTS


def address_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the address of a network event: `host:port`, a name, or a Unix socket's path; None if nothing is sent."""
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
    elif event == "socket.sendmsg":
        address = arguments[1]
        if address is None:
            return None
    elif event == "socket.getaddrinfo":
        host, port = arguments[0], arguments[1]
        # Without a host it is the address of a server in this process.
        return f"{text_of(host)}:{text_of(port)}" if host else None
    elif event == "socket.getnameinfo":
        address = arguments[0]
    else:
        return text_of(arguments[0])
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}" if len(address) > 1 else str(address)
    return text_of(address)


def text_of(value: Any) -> str:
    """Return a name in an event's arguments as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
