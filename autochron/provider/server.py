"""Run the application on 127.0.0.1 until it is told to stop or its parent is gone."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

import uvicorn

from autochron.provider.app import build
from autochron.provider.settings import Settings

HOST = "127.0.0.1"
_LOOK_EVERY = 0.2  # seconds between two looks at the parent


class _Server(uvicorn.Server):
    """A server that tells when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def run(settings: Settings, port: int, ready: Callable[[str], None], parent: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT, both of which exit with 0; `ready` gets the origin.

    With `parent`, also stop when standard input ends or that process is no longer the parent.
    """
    # uvicorn raises the signal it caught once more when it has closed, under the handler that stood before.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    listener = socket.create_server((HOST, port))
    origin = f"http://{HOST}:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        build(settings), log_level="critical", lifespan="off", timeout_graceful_shutdown=1
    )
    server = _Server(config, lambda: ready(origin))
    if parent is not None:
        _stop_with(parent, server)
    server.run([listener])


def _stop_with(parent: int, server: uvicorn.Server) -> None:
    """Stop when the parent goes: its end of the pipe closes, or this process gets another parent.

    Both, because a process forked from the parent may hold the pipe open. Not prctl(PR_SET_PDEATHSIG): it
    fires when the thread that started this process ends, and Linux alone has it.
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
