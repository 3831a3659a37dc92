"""Report the connections, look-ups and processes of event loops that are written in C and raise no audit events."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from autochron._runtime.own_frames import drop_frame
from autochron.isolation import network

Event = tuple[str, tuple[Any, ...]]

LOOPS = {"uvloop": "Loop"}
"""The class of event loops by module. trio and asyncio's own loop use Python's sockets, which raise audit events."""


def _connecting(_factory: Any, host: Any = None, port: Any = None, *_: Any, **_more: Any) -> Event | None:
    return None if host is None else ("socket.connect", (None, (host, port)))


def _connecting_unix(_factory: Any, path: Any = None, *_: Any, **_more: Any) -> Event | None:
    return None if path is None else ("socket.connect", (None, path))


def _sending(
    _factory: Any, local_addr: Any = None, remote_addr: Any = None, *_: Any, **_more: Any
) -> Event | None:
    return None if remote_addr is None else ("socket.connect", (None, remote_addr))


def _looking_up(host: Any, port: Any, *_: Any, **_more: Any) -> Event:
    return "socket.getaddrinfo", (host, port, 0, 0, 0)


def _naming(sockaddr: Any, *_: Any, **_more: Any) -> Event:
    return "socket.getnameinfo", (sockaddr,)


def _starting(_factory: Any, program: Any, *words: Any, env: Any = None, **_more: Any) -> Event:
    return "os.posix_spawn", (program, [program, *words], env)


def _starting_shell(_factory: Any, cmd: Any, *_: Any, env: Any = None, **_more: Any) -> Event:
    return "os.posix_spawn", ("/bin/sh", ["/bin/sh", "-c", cmd], env)


_METHODS: dict[str, Callable[..., Event | None]] = {
    "create_connection": _connecting,
    "create_unix_connection": _connecting_unix,
    "create_datagram_endpoint": _sending,
    "getaddrinfo": _looking_up,
    "getnameinfo": _naming,
    "subprocess_exec": _starting,
    "subprocess_shell": _starting_shell,
}
"""By name of a method of the loop: returns the audit event that a call would raise, or None."""


def watch_loops(module: str) -> Callable[[], None]:
    """Report what the loops of a module do, as audit events would; return the undo function."""
    owner: Any = getattr(sys.modules[module], LOOPS[module])
    undo_functions = [
        _reporting(owner, name, event_of) for name, event_of in _METHODS.items() if hasattr(owner, name)
    ]

    def undo_all() -> None:
        for undo_one in undo_functions:
            undo_one()

    return undo_all


def can_be_watched(module: str) -> bool:
    """Return whether a module is fully imported and not watched yet."""
    owner = getattr(sys.modules.get(module), LOOPS[module], None)
    return owner is not None and not hasattr(owner.create_connection, "_autochron_watched")


def _reporting(owner: Any, name: str, event_of: Callable[..., Event | None]) -> Callable[[], None]:
    original = getattr(owner, name)

    @functools.wraps(original)
    def method(loop: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            event = event_of(*args, **kwargs)
        except TypeError:  # the arguments are wrong: the loop itself raises
            event = None
        if event is not None:
            network.report(*event)
        try:
            return original(loop, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    method._autochron_watched = True  # type: ignore[attr-defined]  # noqa: SLF001 - our own mark
    is_own = name in owner.__dict__
    setattr(owner, name, method)

    def undo() -> None:
        if owner.__dict__.get(name) is not method:
            return
        if is_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)

    return undo
