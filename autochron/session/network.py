"""Watch for what reaches out of the process: network connections, and child processes.

A connection outside every crossing is listed while recording and refused while replaying; a child is not recorded, and
listed.

An audit hook, because nothing else sees connections that C code makes through Python's sockets. It can't be removed, so
there is one for the process, which asks who is watching.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

_EVENTS = frozenset(
    {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendmsg"}
)

_CHILDREN = frozenset({"os.fork", "os.forkpty", "subprocess.Popen", "os.posix_spawn"})

Watcher = Callable[[str, tuple[Any, ...]], None]

_watcher: Watcher | None = None
_on_exec: Callable[[], None] | None = None
_installed = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS or event in _CHILDREN:
        if _watcher is not None:
            _watcher(event, arguments)
    elif event == "os.exec" and _on_exec is not None and _can_run(arguments[0]):
        _on_exec()


def _can_run(path: Any) -> bool:
    """Tell whether an exec will succeed: `execvp` tries each folder of PATH."""
    try:
        return os.access(path, os.X_OK) and not os.path.isdir(path)
    except (OSError, TypeError, ValueError):
        return True


def watch(watcher: Watcher | None, on_exec: Callable[[], None] | None) -> None:
    """Say who is told of network events, and what is done before the process is replaced; None for nobody."""
    global _installed, _on_exec, _watcher  # noqa: PLW0603 - an audit hook belongs to the process
    _watcher, _on_exec = watcher, on_exec
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def child_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Name a child process in which Python would run; None for another event or another program."""
    if event in {"os.fork", "os.forkpty"}:
        return "a forked child process"
    if event not in _CHILDREN:
        return None
    name = os.path.basename(_text(arguments[0]))
    return f"a child process of {name}" if name.startswith(("python", "pypy")) else None


def is_network(event: str) -> bool:
    """Tell a network event from one of child processes."""
    return event in _EVENTS


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
        return f"{_text(host)}:{_text(port)}"
    else:
        return _text(arguments[0])
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}" if len(address) > 1 else str(address)
    return _text(address)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
