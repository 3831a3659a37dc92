"""The processes that try mutants: forked from one that has imported the libraries, asked one thing at a time."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec

from autochron._runtime import unpatched
from autochron.errors import UsageError
from autochron.mutate.protocol import ForkServerStart, Job, Ready, ServerPipes, ServerTask, TrialReply
from autochron.workers.commands import start_python
from autochron.workers.ending import kill_group
from autochron.workers.pipes import LineChannel, WorkerDiedError

_START = 300.0
"""Seconds that a process may take to import, collect and try the fix."""

_BEYOND = 30.0
"""Seconds beyond a trial's own limit after which its server is given up."""


class ForkServer:
    """A process that imports what an incident's tests need, and forks into those that try mutants."""

    def __init__(self, module: str, folder: str, count: int) -> None:
        """Start it: a module that is told in JSON of a folder and of channels, and forks a server for each."""
        self._module = module
        self._folder = folder
        self._ends: deque[tuple[int, int]] = deque()
        self._said = deque[str](maxlen=20)
        self._started: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._start(count)

    def _start(self, count: int) -> None:
        pipes = [(*os.pipe(), *os.pipe()) for _ in range(count)]
        theirs = [(jobs, replies) for jobs, _, _, replies in pipes]
        told = ForkServerStart(folder=self._folder, channels=tuple(ServerPipes(*each) for each in theirs))
        try:
            # In a session of its own: a mutant that kills the group of its parent kills that, and not us.
            process = start_python(
                ["-m", self._module, msgspec.json.encode(told).decode()],
                {"PYTHONHASHSEED": "1", **os.environ},  # the order of sets is the same in every study
                stderr=subprocess.PIPE,
                keep_open=[each for pair in theirs for each in pair],
            )
        finally:
            for pair in theirs:
                for each in pair:
                    os.close(each)
        self._started.append(process)
        self._ends.extend((jobs, replies) for _, jobs, replies, _ in pipes)
        threading.Thread(target=self._drain, args=[process], daemon=True).start()

    def _drain(self, process: subprocess.Popen[bytes]) -> None:
        """Keep the last lines that are said, so that nobody waits for somebody to read them."""
        assert process.stderr is not None  # noqa: S101 - a pipe was asked for
        with process.stderr:
            for line in process.stderr:
                self._said.append(line.decode("utf-8", "replace").strip())

    def server(self, asked: ServerTask) -> Server:
        """Have a server begin what is asked of it.

        Raises:
            UsageError: it can't.
        """
        with self._lock:
            if not self._ends:
                self._start(1)
            ends = self._ends.popleft()
        server = Server(*ends)
        try:
            server.begin(asked)
        except WorkerDiedError:
            server.end()
            last = next((line for line in reversed(self._said) if line), "nothing")
            raise UsageError(f"the process that was to try it has ended; it said last: {last}") from None
        if server.ready.fault:
            server.end()
            raise UsageError(server.ready.fault)
        return server

    def end(self) -> None:
        """End all that nobody has taken, and wait for the rest to end."""
        while self._ends:
            for each in self._ends.popleft():
                os.close(each)
        for process in self._started:
            kill_group(process.pid)
            process.wait()


class Server:
    """One process that tries mutants."""

    def __init__(self, jobs: int, replies: int) -> None:
        self._channel = LineChannel(jobs, replies)
        self._is_ended = False
        self.ready = Ready()

    def begin(self, asked: ServerTask) -> None:
        """Say what is to be tried, and wait until it can be.

        Raises:
            WorkerDiedError: it has ended over it.
        """
        self.ready = msgspec.json.decode(self._answer(msgspec.json.encode(asked), _START), type=Ready)

    def ask(self, job: Job) -> TrialReply:
        """Have something tried.

        Raises:
            WorkerDiedError: it has ended over it, or is past all limits.
        """
        limit = self.ready.limit + _BEYOND
        return msgspec.json.decode(self._answer(msgspec.json.encode(job), limit), type=TrialReply)

    def _answer(self, line: bytes, seconds: float) -> bytes:
        self._channel.send(line + b"\n")
        return self._channel.receive(seconds)

    def end(self) -> None:
        """End it, with all that it has started; once more does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        self._channel.close()
        if self.ready.process:
            for group in (self.ready.process, *_groups_in(self.ready.process)):
                kill_group(group)


def _groups_in(session: int) -> set[int]:
    """Return the process groups of a session: a trial whose server is gone has nobody else to end it."""
    found = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdecimal():
            with suppress(OSError):
                if os.getsid(int(name)) == session:
                    found.add(os.getpgid(int(name)))
    return found


class ServerPool:
    """So many servers that are asked the same kind of thing, as there is work for."""

    def __init__(self, fork_server: ForkServer, asked: ServerTask, width: int) -> None:
        self._fork_server = fork_server
        self._asked = asked
        self._width = width
        self._idle: list[Server] = []
        self._all: list[Server] = []
        self._lock = threading.Lock()
        self._hearing = threading.Lock()
        self._is_over = False

    def first(self) -> Ready:
        """Start one; gives what it says of itself."""
        server = self._take()
        self._idle.append(server)
        return server.ready

    def ask(self, job: Job) -> TrialReply:
        """Have one thing tried."""
        server = self._take()
        began = unpatched.perf_counter_ns()
        try:
            reply = server.ask(job)
        except WorkerDiedError:
            server.end()
            took = (unpatched.perf_counter_ns() - began) / 1e9
            said = "it ended the process that was trying it, in whose group it is not"
            return TrialReply(id=job.id, variant=job.variant, kind="signal", said=said, seconds=took)
        except BaseException:
            server.end()
            raise
        with self._lock:
            self._idle.append(server)
        return reply

    def run(self, jobs: Iterable[Job], hear: Callable[[TrialReply], None]) -> None:
        """Have all of these tried, as many at a time as there are servers; `hear` gets one reply at a time."""
        ahead = deque(jobs)

        def work() -> None:
            while not self._is_over:
                try:
                    job = ahead.popleft()
                except IndexError:
                    return
                reply = self.ask(job)
                with self._hearing:
                    hear(reply)

        width = min(self._width, 1 + len(ahead) // _WORTH)
        if width == 1:
            work()
            return
        with ThreadPoolExecutor(width) as pool:
            futures = [pool.submit(work) for _ in range(width)]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self._is_over = True
                raise

    def _take(self) -> Server:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        server = self._fork_server.server(self._asked)
        with self._lock:
            self._all.append(server)
        if self._is_over:
            server.end()
        return server

    def end(self) -> None:
        """End all servers, whatever they are at."""
        self._is_over = True
        with self._lock:
            for server in self._all:
                server.end()
            self._idle.clear()


_WORTH = 12
"""So many trials are worth another server, which has to collect the tests as well."""
