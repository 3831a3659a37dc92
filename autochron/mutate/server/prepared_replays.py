"""A process that has imported and woven what an agent needs, and forks a process for each replay that is asked for.

    python -m autochron.mutate.server.prepared_replays SOCKET LIFELINE

Tests that call `replay.run()` start the agent in a process of its own. An interpreter that starts, imports an SDK and
weaves it takes seconds, and is the same in each trial. So the first replay shows which libraries the agent imports. They
are imported here under the same rules, and each later replay is a fork. The project's own modules are imported in the
fork: they may be what is mutated. SOCKET is the path of a listening socket's file, LIFELINE a descriptor whose other end is
closed when no more replays are wanted.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import resource
import select
import socket
import sys
from contextlib import suppress

import msgspec

from autochron._runtime import hashseed, unpatched
from autochron._runtime.unpatched import os
from autochron.errors import AutochronError
from autochron.mutate.server.libraries import is_library
from autochron.program.replay import ReplayRequest, prepare_replay, run_replayed, seed_for
from autochron.program.replay_reporter import reporter
from autochron.program.run import Options
from autochron.workers.ending import kill_child
from autochron.workers.fork import fork_process
from autochron.workers.prepared import PreparedReplay
from autochron.workers.silence import flush

_PART = 1 << 16
"""Bytes of one read, at most."""

_BACKLOG = 16
"""Requests that wait at most."""


class _ReplayCall:
    """One request, with the connection that it came over."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        _, self._streams, _, _ = socket.recv_fds(connection, 1, 2)
        line = bytearray()
        while not line.endswith(b"\n"):
            part = connection.recv(_PART)
            if not part:
                raise EOFError
            line += part
        self.request = msgspec.json.decode(bytes(line), type=PreparedReplay)

    @property
    def is_taken(self) -> bool:
        """Whether this process has the hash seed of the recorded run."""
        return seed_for(self.request.hash_seed) in {"", hashseed.current()}

    def answer(self, tells: int = -1) -> None:
        """Replay in a fork, and send its exit status; kill it if nobody waits for it any more.

        Args:
            tells: a descriptor that gets the names of the modules that the replay has imported; -1 for none.
        """
        process = fork_process()
        if process == 0:
            self._run(tells)
        self._close_streams()
        watched = os.pidfd_open(process)
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        poll.register(self.connection, select.POLLIN)
        ready = [descriptor for descriptor, _ in poll.poll()]
        os.close(watched)
        if watched in ready:
            _, status = os.waitpid(process, 0)
            with suppress(OSError):
                self.connection.sendall(msgspec.json.encode(os.waitstatus_to_exitcode(status)))
        else:
            kill_child(process, with_group=True)

    def close(self) -> None:
        """Close what the request came with."""
        self._close_streams()
        self.connection.close()

    def _close_streams(self) -> None:
        while self._streams:
            os.close(self._streams.pop())

    def _run(self, tells: int) -> None:
        """Replay in this process, and end it."""
        status = 1
        process = unpatched.getpid()
        try:
            os.setsid()
            self.connection.close()
            for descriptor, standard in zip(self._streams, (1, 2), strict=True):
                os.dup2(descriptor, standard)
            self._close_streams()
            request = self.request
            os.environ.clear()
            os.environ.update(request.environment)
            os.chdir(request.folder)
            for number, limit in request.limits.items():
                resource.setrlimit(number, limit)
            status = _replay(request)
        except SystemExit as error:  # of a process that the program has forked
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            if tells >= 0 and unpatched.getpid() == process:
                with suppress(Exception), open(tells, "wb") as file:
                    file.write(msgspec.json.encode(list(sys.modules)) + b"\n")
            with suppress(BaseException):
                atexit._run_exitfuncs()  # noqa: SLF001 - of a process that the program has forked
            flush()
            unpatched.immediate_exit(status)


def _options_of(request: PreparedReplay) -> tuple[Options, ReplayRequest]:
    return Options(request.rules, None), ReplayRequest(swap=request.swaps)


def _replay(request: PreparedReplay) -> int:
    """Replay what a request asks for, and return the exit status that `autochron replay` would have."""
    options, wanted = _options_of(request)
    try:
        return run_replayed(
            options,
            request.trace,
            None,
            reporter(quiet=True),
            wanted=wanted,
            allow_unwoven=request.allow_unwoven,
            trusted=request.trusted,
        )
    except AutochronError as error:
        sys.stderr.write(f"autochron: {error}\n")
        return 2


def _serve_first(call: _ReplayCall) -> bool:
    """Answer the first request, and import and weave in this process what that replay has imported.

    Returns:
        Whether forks of this process are as good as new ones: they lack the threads that a library has started.
    """
    reading, writing = os.pipe()
    process = fork_process()
    if process == 0:
        os.close(reading)
        call.answer(writing)
        unpatched.immediate_exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        told = (
            file.readline()
        )  # not to the end: a process that the agent has left behind may hold the pipe open
    # The trace file exists as long as the asking process waits for the end of the connection.
    if told:
        before, folder = dict(os.environ), os.getcwd()
        os.environ.clear()
        os.environ.update(call.request.environment)
        with suppress(Exception):
            options, wanted = _options_of(call.request)
            os.chdir(call.request.folder)
            prepare_replay(options, call.request.trace, wanted)
            _import_libraries(msgspec.json.decode(told, type=list[str]))
        os.environ.clear()
        os.environ.update(before)
        os.chdir(folder)
    call.close()
    os.waitpid(process, 0)
    return len(os.listdir("/proc/self/task")) == 1


def _import_libraries(names: list[str]) -> None:
    for name in names:
        if name not in sys.modules and is_library(name):
            with suppress(BaseException):  # the replay has imported it in another way, and will again
                importlib.import_module(name)


def main(words: list[str]) -> int:
    """Serve until the lifeline is closed; return the exit status."""
    address, lifeline = words[0], int(words[1])
    hashseed.restore_environment()
    # As for the command `autochron`: a module of the working folder must not hide one of the standard library.
    sys.path[0] = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(_BACKLOG)
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        poll.register(lifeline, select.POLLIN)
        is_prepared, is_forkable = False, True
        while lifeline not in (descriptor for descriptor, _ in poll.poll()):
            connection, _ = listener.accept()
            try:
                call = _ReplayCall(connection)
            except (EOFError, OSError, msgspec.MsgspecError):
                connection.close()
                continue
            if not is_forkable or not call.is_taken:
                call.close()
            elif not is_prepared:
                is_prepared, is_forkable = True, _serve_first(call)
                gc.collect()
            else:
                if fork_process() == 0:
                    listener.close()
                    os.close(lifeline)
                    call.answer()
                    unpatched.immediate_exit(0)
                call.close()
            _reap()
    return 0


def _reap() -> None:
    """Take note of the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
