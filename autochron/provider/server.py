"""A server that runs the application on 127.0.0.1 until a signal stops it or its parent process ends."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable

import uvicorn

from autochron.provider.app import build, planner_of
from autochron.provider.settings import Settings

HOST = "127.0.0.1"
_LOOK_EVERY = 0.2  # seconds between two looks at the parent


class _Server(uvicorn.Server):
    """A server that calls a function when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await self._ready()


def run(
    settings: Settings,
    port: int,
    ready: Callable[[str, str | None], None],
    parent: int | None = None,
    grpc_port: int | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, both of which exit with status 0.

    Args:
        settings: the settings of the provider.
        port: the port; 0 for a free one.
        ready: called with the origin when the server accepts connections, and with the address of the gRPC server.
        parent: a process id. The server also stops when standard input ends or when this is no longer its parent.
        grpc_port: the port of a gRPC server; 0 for a free one, None for no such server.
    """
    # After it has closed, uvicorn raises the signal again under the handler that was set before it started.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    listener = socket.create_server((HOST, port))
    origin = f"http://{HOST}:{listener.getsockname()[1]}"
    planner = planner_of(settings)
    config = uvicorn.Config(build(planner), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)

    async def started() -> None:
        address = None
        if grpc_port is not None:
            from autochron.provider import grpc_server  # lazy: grpc is needed by nothing else

            address = await grpc_server.start(planner, grpc_port)
        ready(origin, address)

    server = _Server(config, started)
    if parent is not None:
        _stop_with(parent, server)
    server.run([listener])


def _stop_with(parent: int, server: uvicorn.Server) -> None:
    """Stop when the parent ends: its end of the pipe closes, or this process gets another parent.

    Both are watched, because a process forked from the parent may hold the pipe open. prctl(PR_SET_PDEATHSIG) is no
    alternative: it fires when the thread ends that started this process, and only Linux has it.
    """

    def stop() -> None:
        server.should_exit = server.force_exit = True

    def read() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        stop()

    def look() -> None:
        while os.getppid() == parent:
            gone.wait(_LOOK_EVERY)
        stop()

    gone = threading.Event()
    for watch in (read, look):
        threading.Thread(target=watch, name=f"provider-{watch.__name__}", daemon=True).start()
