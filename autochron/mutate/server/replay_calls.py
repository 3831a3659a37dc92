"""Requests for replays, as the process sees them that carries them out, and replays in forks."""

from __future__ import annotations

import atexit
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from select import POLLIN, poll
from socket import recv_fds, send_fds, socket

import msgspec

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.pausing import paused
from autochron.errors import AutochronError
from autochron.program.replay import ReplayRequest, run_replayed
from autochron.program.replay_reporter import reporter
from autochron.program.run import Options
from autochron.program.running_replay import RunningReplay
from autochron.workers.ending import kill_child
from autochron.workers.fork import fork_process
from autochron.workers.pipes import write_all
from autochron.workers.prepared import PreparedEnd, PreparedReplay
from autochron.workers.silence import flush

_PART = 1 << 16
"""Bytes of one read, at most."""

_LENGTH = 8
"""Bytes before a request that is passed on, which say how many it has."""

_OUTPUTS = (1, 2)
"""The descriptors of standard output and standard error."""


class ReplayCall:
    """A request for a replay, with the connection and the pipes that its answer goes to.

    Attributes:
        request: what is to be replayed.
        why_whole: why it is not replayed from the cut; empty where it is, or was not asked for.
    """

    def __init__(self, connection: socket, pipes: list[int], request: PreparedReplay) -> None:
        """Take what a request came with."""
        self.request = request
        self.why_whole = ""
        self._connection = connection
        self._pipes = pipes
        self._outputs: list[int] = []

    @classmethod
    def accepted(cls, connection: socket) -> ReplayCall:
        """Read a request from a new connection.

        Raises:
            EOFError, OSError, msgspec.MsgspecError: there is none.
        """
        _, pipes, _, _ = recv_fds(connection, 1, 2)
        return cls(connection, pipes, _read_request(connection))

    @classmethod
    def received(cls, channel: socket) -> ReplayCall | None:
        """Read a request that was passed on; return None when the channel is closed.

        The next one may be there, too, with descriptors of its own. So no more is read than belongs to this one.

        Raises:
            EOFError, OSError, msgspec.MsgspecError: it is not whole.
        """
        head, descriptors, _, _ = recv_fds(channel, _LENGTH, 3)
        if not head:
            return None
        line = bytearray()
        while len(head) < _LENGTH:
            head += _part(channel, _LENGTH - len(head))
        size = int.from_bytes(head)
        while len(line) < size:
            line += _part(channel, min(size - len(line), _PART))
        connection, *pipes = descriptors
        return cls(socket(fileno=connection), pipes, msgspec.json.decode(bytes(line), type=PreparedReplay))

    def pass_on(self, channel: socket) -> None:
        """Pass the request on to another process, and close it here.

        Raises:
            OSError: the process has ended; nothing is closed.
        """
        line = msgspec.json.encode(self.request)
        send_fds(channel, [len(line).to_bytes(_LENGTH)], [self._connection.fileno(), *self._pipes])
        channel.sendall(line)
        self.close()

    def fileno(self) -> int:
        """Return the descriptor of the connection. It can be read when the asking process has gone."""
        return self._connection.fileno()

    def close(self) -> None:
        """Close what the request came with."""
        while self._pipes:
            os.close(self._pipes.pop())
        self._connection.close()

    def fork(self) -> bool:
        """Fork a process for the replay.

        Its standard streams will be files in memory. Through a pipe, a further process would have to pass on what it writes.

        Returns:
            True in the fork. False in this process, after the fork has ended, and the answer was sent; the fork is killed if
            nobody waits for it any more.
        """
        self._outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]
        process = fork_of_ours()
        if process == 0:
            return True
        watched = os.pidfd_open(process)
        events = poll()
        events.register(watched, POLLIN)
        events.register(self._connection, POLLIN)
        ready = [descriptor for descriptor, _ in events.poll()]
        os.close(watched)
        if watched not in ready:
            kill_child(process, with_group=True)
            return False
        _, status = os.waitpid(process, 0)
        with suppress(OSError):
            for output, pipe in zip(self._outputs, self._pipes, strict=True):
                write_all(pipe, _content(output))
            end = PreparedEnd(os.waitstatus_to_exitcode(status), self.why_whole)
            self._connection.sendall(msgspec.json.encode(end))
        return False

    def enter(self, *, keeps_output: bool = False) -> None:
        """Become, in the fork, the process of the request, with its streams.

        Args:
            keeps_output: whether what was written to the standard streams so far belongs to the replay.
        """
        os.setsid()
        self.close()
        for descriptor, output in zip(_OUTPUTS, self._outputs, strict=True):
            if keeps_output:
                write_all(output, _content(descriptor))
                os.lseek(output, os.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(output, descriptor)
            os.close(output)


def fork_of_ours() -> int:
    """Fork this process, in which a program may run; the fork is ours, and not one of the program."""
    with paused(), exit_hooks.kept_in_forks():
        return fork_process()


def reap() -> None:
    """Take note of the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _part(connection: socket, most: int) -> bytes:
    part = connection.recv(most)
    if not part:
        raise EOFError
    return part


def _read_request(connection: socket) -> PreparedReplay:
    line = bytearray()
    while not line.endswith(b"\n"):
        line += _part(connection, _PART)
    return msgspec.json.decode(bytes(line), type=PreparedReplay)


def _content(descriptor: int) -> bytes:
    """Return the content of a file that a descriptor leads to."""
    copy = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(copy, os.fstat(copy).st_size, 0)
    finally:
        os.close(copy)


def run_to_end(
    request: PreparedReplay,
    environment: Mapping[str, str],
    *,
    before_run: Callable[[RunningReplay], None] | None = None,
    at_end: Callable[[], None] | None = None,
) -> None:
    """Replay in this process, and end it.

    Args:
        request: what is replayed.
        environment: the environment variables of the replay.
        before_run: as for `run_replayed`.
        at_end: called when the replay is over, in this process alone and not in forks of the program.
    """
    status = 1
    process = unpatched.getpid()
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(request.folder)
        for number, limit in request.limits.items():
            resource.setrlimit(number, limit)
        status = _replay(request, before_run)
    except SystemExit as error:  # of a process that the program has forked
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        if at_end is not None and unpatched.getpid() == process:
            with suppress(Exception):
                at_end()
        with suppress(BaseException):
            atexit._run_exitfuncs()  # noqa: SLF001 - of a process that the program has forked
        flush()
        unpatched.immediate_exit(status)


def options_of(request: PreparedReplay) -> tuple[Options, ReplayRequest]:
    """Return the options of a request, as `run_replayed` takes them."""
    return Options(request.rules, None), ReplayRequest(swap=request.swaps)


def _replay(request: PreparedReplay, before_run: Callable[[RunningReplay], None] | None) -> int:
    """Replay what a request asks for, and return the exit status that `autochron replay` would have."""
    options, wanted = options_of(request)
    try:
        return run_replayed(
            options,
            request.trace,
            None,
            reporter(quiet=True),
            wanted=wanted,
            allow_unwoven=request.allow_unwoven,
            trusted=request.trusted,
            before_run=before_run,
        )
    except AutochronError as error:
        sys.stderr.write(f"autochron: {error}\n")
        return 2
