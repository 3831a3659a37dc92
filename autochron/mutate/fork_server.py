"""Servers that try mutants: forked from a process that has imported the libraries, and given one job at a time."""

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

_START_LIMIT = 300.0
"""Seconds that a server may take to import, collect and try the fix."""

_GRACE = 30.0
"""Seconds beyond a trial's own limit after which its server is given up."""

_TRIALS_PER_SERVER = 12
"""How many trials make another server worth its start: each server has to collect the tests."""


class ForkServer:
    """A process that imports what an incident's tests need, and forks servers that try mutants."""

    def __init__(self, module: str, folder: str, count: int) -> None:
        """Start the process.

        Args:
            module: the module that is run. Its argument is a `ForkServerStart` as JSON.
            folder: the incident's folder.
            count: how many servers are forked.
        """
        self._module = module
        self._folder = folder
        self._free_pipes: deque[tuple[int, int]] = deque()
        self._last_lines = deque[str](maxlen=20)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._start_process(count)

    def _start_process(self, count: int) -> None:
        pipes = [(*os.pipe(), *os.pipe()) for _ in range(count)]
        server_ends = [(jobs, replies) for jobs, _, _, replies in pipes]
        start = ForkServerStart(
            folder=self._folder, channels=tuple(ServerPipes(*pair) for pair in server_ends)
        )
        try:
            # In a session of its own, so that a mutant which kills its parent's group does not kill this process.
            process = start_python(
                ["-m", self._module, msgspec.json.encode(start).decode()],
                {"PYTHONHASHSEED": "1", **os.environ},  # so that sets have the same order in every study
                stderr=subprocess.PIPE,
                keep_open=[descriptor for pair in server_ends for descriptor in pair],
            )
        finally:
            for pair in server_ends:
                for descriptor in pair:
                    os.close(descriptor)
        self._processes.append(process)
        self._free_pipes.extend((jobs, replies) for _, jobs, replies, _ in pipes)
        threading.Thread(target=self._keep_last_lines, args=[process], daemon=True).start()

    def _keep_last_lines(self, process: subprocess.Popen[bytes]) -> None:
        """Read the standard error of a process, so that it never blocks, and keep the last lines."""
        assert process.stderr is not None  # noqa: S101 - it is a pipe
        with process.stderr:
            for line in process.stderr:
                self._last_lines.append(line.decode("utf-8", "replace").strip())

    def server(self, task: ServerTask) -> Server:
        """Start a server with a task, and wait until it is ready.

        Raises:
            NoTestsError: there are no tests for it.
            UsageError: it has ended, or can try nothing.
        """
        with self._lock:
            if not self._free_pipes:
                self._start_process(1)
            pipes = self._free_pipes.popleft()
        server = Server(*pipes)
        try:
            server.begin(task)
        except WorkerDiedError:
            server.end()
            last_line = next((line for line in reversed(self._last_lines) if line), "nothing")
            raise UsageError(
                f"the process that was to try it has ended; its last output is: {last_line}"
            ) from None
        if server.ready.fault:
            server.end()
            raise (NoTestsError if server.ready.lacks_tests else UsageError)(server.ready.fault)
        return server

    def end(self) -> None:
        """Close the pipes of servers that were never used, and end all processes."""
        while self._free_pipes:
            for descriptor in self._free_pipes.popleft():
                os.close(descriptor)
        for process in self._processes:
            kill_group(process.pid)
            process.wait()


class NoTestsError(UsageError):
    """No file has a test for a server."""


class Server:
    """A server that tries mutants, as the study sees it."""

    def __init__(self, jobs: int, replies: int) -> None:
        self._channel = LineChannel(jobs, replies)
        self._is_ended = False
        self.ready = Ready()

    def begin(self, task: ServerTask) -> None:
        """Send the task, and wait until the server is ready.

        Raises:
            WorkerDiedError: it has ended, or was not ready in time.
        """
        self.ready = msgspec.json.decode(self._exchange(msgspec.json.encode(task), _START_LIMIT), type=Ready)

    def ask(self, job: Job) -> TrialReply:
        """Have a job tried, and return the reply.

        Raises:
            WorkerDiedError: the server has ended, or gave no reply in time.
        """
        limit = self.ready.limit + _GRACE
        return msgspec.json.decode(self._exchange(msgspec.json.encode(job), limit), type=TrialReply)

    def _exchange(self, line: bytes, seconds: float) -> bytes:
        self._channel.send(line + b"\n")
        return self._channel.receive(seconds)

    def end(self) -> None:
        """End the server with all that it has started; a second call does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        self._channel.close()
        if self.ready.process:
            for group in (self.ready.process, *_groups_of_session(self.ready.process)):
                kill_group(group)


def _groups_of_session(session: int) -> set[int]:
    """Return the process groups of a session: a trial that outlives its server is ended by nobody else."""
    groups = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdecimal():
            with suppress(OSError):
                if os.getsid(int(name)) == session:
                    groups.add(os.getpgid(int(name)))
    return groups


class ServerPool:
    """Servers with the same task, started as there is work for them."""

    def __init__(self, fork_server: ForkServer, task: ServerTask, width: int) -> None:
        """Take what the servers do; none is started yet.

        Args:
            fork_server: starts the servers.
            task: the task of each server.
            width: how many servers there are at most.
        """
        self._fork_server = fork_server
        self._task = task
        self._width = width
        self._idle: list[Server] = []
        self._all: list[Server] = []
        self._lock = threading.Lock()
        self._reply_lock = threading.Lock()
        self._is_stopped = False

    def first(self) -> Ready:
        """Start a server, and return its `Ready`.

        Raises:
            NoTestsError: there are no tests for it.
            UsageError: it has ended, or can try nothing.
        """
        server = self._take()
        self._idle.append(server)
        return server.ready

    def ask(self, job: Job) -> TrialReply:
        """Have a job tried by an idle server or a new one, and return the reply.

        A trial that ends its server is a reply, too: its kind is `signal`.
        """
        server = self._take()
        started = unpatched.perf_counter_ns()
        try:
            reply = server.ask(job)
        except WorkerDiedError:
            server.end()
            seconds = (unpatched.perf_counter_ns() - started) / 1e9
            reason = "it ended the process that was trying it, in whose group it is not"
            return TrialReply(id=job.id, variant=job.variant, kind="signal", said=reason, seconds=seconds)
        except BaseException:
            server.end()
            raise
        with self._lock:
            self._idle.append(server)
        return reply

    def run(self, jobs: Iterable[Job], on_reply: Callable[[TrialReply], None]) -> None:
        """Have jobs tried, by several servers at a time.

        Args:
            jobs: the jobs.
            on_reply: is called with each reply, by one thread at a time.
        """
        waiting = deque(jobs)

        def work() -> None:
            while not self._is_stopped:
                try:
                    job = waiting.popleft()
                except IndexError:
                    return
                reply = self.ask(job)
                with self._reply_lock:
                    on_reply(reply)

        width = min(self._width, 1 + len(waiting) // _TRIALS_PER_SERVER)
        if width == 1:
            work()
            return
        with ThreadPoolExecutor(width) as pool:
            futures = [pool.submit(work) for _ in range(width)]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self._is_stopped = True
                raise

    def _take(self) -> Server:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        server = self._fork_server.server(self._task)
        with self._lock:
            self._all.append(server)
        if self._is_stopped:
            server.end()
        return server

    def end(self) -> None:
        """End all servers, even those that are trying a job."""
        self._is_stopped = True
        with self._lock:
            for server in self._all:
                server.end()
            self._idle.clear()
