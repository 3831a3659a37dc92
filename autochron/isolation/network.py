"""Watch for what reaches out of the process: network connections, and child processes.

A connection outside every crossing is listed while recording and refused while replaying; a child is not recorded, and
listed.

By audit events, because nothing else sees connections that C code makes through Python's sockets. They are handed to us as
long as the process lives, so we ask who is watching.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any

from autochron._runtime import audit
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
"""Connections, packets, and look-ups of names."""

PROCESS = "multiprocessing.Process"
"""Our own event: what spawn and loky call to start a process raises none that is audited."""

CHILDREN = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", PROCESS}
)

_ALWAYS = EVENTS | CHILDREN

_HARMLESS = frozenset({"ldconfig", "lsb_release", "uname"})
"""What the standard library and SDKs ask about the machine."""

Watcher = Callable[[str, tuple[Any, ...]], None]

_watcher: Watcher | None = None
_on_exec: Callable[[], None] | None = None
_on_code: Callable[[Any], None] | None = None
_watched: frozenset[str] | None = _ALWAYS
"""The events that the watcher is told of."""
_heard: frozenset[str] = frozenset()
"""The events that are handed to us so far."""


class _ProcessStart(threading.local):
    """Whether a thread is starting a process by multiprocessing: its own forks and sockets are part of that."""

    depth: int = 0


_starting = _ProcessStart()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    # As the interpreter ends, it sets the names of modules to None.
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


def tell(event: str, arguments: tuple[Any, ...]) -> None:
    """Report an event that CPython does not audit."""
    _hook(event, arguments)


def can_run(path: Any) -> bool:
    """Return whether an exec will succeed: `execvp` tries each folder of PATH."""
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
    """Say who is told of connections and children, what is done before an exec, and who is told of code that `exec` runs.

    `more` are events that the first is told of, too: each costs a call wherever it comes from, and `open` comes often.
    """
    global _heard, _on_code, _on_exec, _watched, _watcher  # noqa: PLW0603 - listeners belong to the process
    _watcher, _on_exec, _on_code, _watched = watcher, on_exec, on_code, _ALWAYS | more if more else _ALWAYS
    if not _heard:
        _tell_of_fork_exec()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget_starting)
    if not _heard or not more <= _heard:
        _heard |= {"exec", "os.exec", *_ALWAYS, *more}
        audit.listen(_hook, _heard)


def _tell_of_fork_exec() -> None:
    """Report processes that are started by what `subprocess` is made on: CPython audits `subprocess.Popen` alone."""
    try:
        import _posixsubprocess as module  # lazy: there is none on Windows
    except ImportError:
        return
    original: Any = module.fork_exec

    @functools.wraps(original)
    def fork_exec(args: Any, executables: Any, *more: Any) -> Any:
        caller = str(getframe(1).f_globals.get("__name__"))
        if not caller.startswith(
            ("autochron.", "multiprocessing.", "subprocess")
        ):  # these tell of it themselves
            environment = more[3] if len(more) > 3 else None
            names = (
                None if environment is None else {bytes(each).partition(b"=")[0]: b"" for each in environment}
            )
            _hook("subprocess.Popen", (next(iter(executables), b""), args, None, names))
        return original(args, executables, *more)

    module.fork_exec = fork_exec


def _forget_starting() -> None:
    """In a child that was forked to be the process which was being started, nothing is being started."""
    _starting.depth = 0


def are_told(processes: Any) -> bool:
    """Return whether multiprocessing tells of the processes that it starts."""
    return hasattr(processes.BaseProcess.start, "_autochron_told")


def watch_processes() -> Callable[[], None]:
    """Have processes that multiprocessing starts told of, once it is imported; gives the undo."""
    owner: Any = sys.modules["multiprocessing.process"].BaseProcess
    original = owner.start

    @functools.wraps(original)
    def start(process: Any) -> Any:
        if _watcher is None or is_paused():
            return original(process)
        if not _starting.depth:
            how = getattr(process, "_start_method", None) or type(process).__name__
            _watcher(PROCESS, (how, getattr(process, "_target", None) or type(process)))
        _starting.depth += 1
        try:
            return original(process)
        finally:
            _starting.depth -= 1
            if not _starting.depth:
                STARTING.root = None

    start._autochron_told = True  # type: ignore[attr-defined]  # noqa: SLF001 - our own mark
    owner.start = start

    def undo() -> None:
        if owner.__dict__.get("start") is start:
            owner.start = original

    return undo


def child_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Name a child process that is about to start; None for another event. Of a command only its program: no secrets."""
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
    """Return the words of a shell's command without the variables that are set before it: they may be secrets."""
    import shlex  # lazy: few programs call os.system

    try:
        words = shlex.split(line)
    except ValueError:  # the shell's own error, or a syntax that only it knows
        words = line.split()
    return list(itertools.dropwhile(_assigns, words))


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def is_network(event: str) -> bool:
    """Distinguish a network event from one of child processes."""
    return event in EVENTS


def address_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Name what is reached: `host:port` or the path of a Unix socket; None where nothing is sent."""
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
    elif event == "socket.sendmsg":
        address = arguments[1]
        if address is None:
            return None
    elif event == "socket.getaddrinfo":
        host, port = arguments[0], arguments[1]
        return (
            f"{text_of(host)}:{text_of(port)}" if host else None
        )  # without a host, for a server of one's own
    elif event == "socket.getnameinfo":
        address = arguments[0]
    else:
        return text_of(arguments[0])
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}" if len(address) > 1 else str(address)
    return text_of(address)


def text_of(value: Any) -> str:
    """Return what an event has for a name."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
