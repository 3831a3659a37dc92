"""The cut: a test is run once up to the first call of what is mutated, and goes on from there in a fork for each trial.

Up to that call a mutant has not run, so all trials are alike. It holds only where a fork takes everything with it: one
thread, no event loop, no timer, no file opened or moved in since the test began, nothing changed outside the process. Where
that does not hold, or the fix gives something else in this way, each trial runs the whole test.

Three processes take part: the server, which reads what is to be tried; one that it forks, which runs the test and stops at
the cut; and a fork of that for each trial. The one at the cut is replaced after half a second, for an agent that asks for
the time must not find that it stood there.
"""

from __future__ import annotations

import signal
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from autochron._runtime import unpatched
from autochron._runtime.unpatched import getframe, os
from autochron.crossing.pausing import paused
from autochron.isolation.denials import Isolation
from autochron.mutate.protocol import Job, TrialReply
from autochron.mutate.server.endings import reply_of
from autochron.workers.ending import kill_child
from autochron.workers.fork import Fork, at_rest, close_ours, fork_process, keep_from_forks, parted
from autochron.workers.limits import Limits
from autochron.workers.pipes import LineChannel, WorkerDiedError
from autochron.workers.silence import flush

if TYPE_CHECKING:
    from types import CodeType, FrameType, FunctionType

    from autochron.instrument.swap import Swap
    from autochron.ports import Replayer
    from autochron.project import Project

_AGE = 500_000_000
"""Nanoseconds that a process may stand at the cut."""

_BEYOND = 10.0
"""Seconds beyond a trial's own limit after which the process at the cut is given up."""

Codes = list[tuple["FunctionType", "CodeType"]]


class LostError(Exception):
    """The process at the cut has ended, or says nothing any more."""


class CheckpointProcess:
    """The process at the cut, to the server."""

    def __init__(self, run: Callable[[int, int], None], limits: Limits) -> None:
        """Fork, and have the test run there: by what it reads jobs from, and what it writes replies to.

        Raises:
            LostError: it does not come to the cut, or can't stop there.
        """
        jobs, writing = os.pipe()
        reading, replies = os.pipe()
        keep_from_forks(writing, reading)
        self._channel = LineChannel(writing, reading)
        self._seconds = limits.seconds + _BEYOND
        flush()
        self._process = fork_process()
        if self._process == 0:
            close_ours(writing, reading)
            keep_from_forks(jobs, replies)
            try:
                run(jobs, replies)
            finally:
                unpatched.immediate_exit(0)
        os.close(jobs)
        os.close(replies)
        self._since = unpatched.perf_counter_ns()
        self._line()

    @property
    def is_old(self) -> bool:
        """Whether it stands there too long."""
        return unpatched.perf_counter_ns() - self._since > _AGE

    def ask(self, line: bytes) -> bytes:
        """Have something tried: a job and its reply, in JSON.

        Raises:
            LostError: nothing came back.
        """
        try:
            self._channel.send(line)
        except WorkerDiedError:
            self.end()
            raise LostError from None
        return self._line()

    def _line(self) -> bytes:
        try:
            return self._channel.receive(self._seconds)
        except WorkerDiedError:
            self.end()
            raise LostError from None

    def end(self) -> None:
        """End it."""
        close_ours(self._channel.writing, self._channel.reading)
        kill_child(self._process, with_group=False)


class ForkPoint:
    """The cut, in the process that stands there."""

    def __init__(
        self,
        jobs: int,
        replies: int,
        limits: Limits,
        codes: Callable[[Job], Codes | TrialReply],
        functions: Iterable[FunctionType],
    ) -> None:
        """Take where jobs come from and replies go to, what compiles a job's code, and the functions that are mutated."""
        self._jobs, self._replies = jobs, replies
        self._limits = limits
        self._codes = codes
        self._targets = {id(each.__code__) for each in functions}
        self._before: dict[int, tuple[Any, ...]] = {}
        self._isolation: Isolation | None = None
        self._replayer: Replayer | None = None
        self._changed = ""
        """What makes a fork less than a whole run."""
        self._drawn: Any = None
        """What random had drawn when the test's function was called."""
        self._lift: Callable[[], None] | None = None
        self._fork: Fork | None = None
        self._job: Job | None = None

    @property
    def is_passed(self) -> bool:
        """Whether this is a trial that has gone on from the cut."""
        return self._fork is not None

    def watch(self, replayer: Replayer, project: Project, swaps: Iterable[Swap]) -> None:
        """Stop with the first call of what is swapped in; the test's function is about to be called."""
        self._replayer = replayer
        self._isolation = Isolation(("network", "subprocess", "files"), project)
        events = self._isolation.events

        def hear(event: str, arguments: tuple[Any, ...]) -> None:
            if self._isolation is not None and event in events:
                self._hear(event, arguments)

        sys.addaudithook(hear)
        self._before = _descriptors()
        random: Any = sys.modules.get("random")
        self._drawn = random.getstate() if random is not None else None
        if sys.getprofile() is not None:
            self._changed = "a profiler"
        sys.setprofile(self._see)
        for swap in swaps:
            swap.before_call = self._stop

    def _see(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Notice what is mutated when it runs before the cut."""
        if event == "call" and id(frame.f_code) in self._targets:
            self._changed = "it has run"

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        isolation, self._isolation = self._isolation, None  # what is asked now is not the test's doing
        assert isolation is not None  # noqa: S101 - asked before
        if event == "sqlite3.connect" or isolation.reached(event, arguments, getframe(2)) is not None:
            self._changed = event
        self._isolation = isolation

    def _is_whole(self) -> bool:
        """Return whether a fork made here takes everything with it."""
        asyncio: Any = sys.modules.get("asyncio.events")
        return (
            not self._changed
            and len(os.listdir("/proc/self/task")) == 1
            and (asyncio is None or asyncio._get_running_loop() is None)  # noqa: SLF001 - it is for who asks so
            and _descriptors() == self._before
            and not any(
                signal.getitimer(each)[0]
                for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
            )
        )

    def _stop(self) -> None:
        """CheckpointProcess here, and let a fork go on for each trial."""
        if self._replayer is None:
            return
        replayer, self._replayer = self._replayer, None
        if sys.getprofile() != self._see:
            self._changed = "another profiler"
        sys.setprofile(None)
        is_whole = self._is_whole()
        self._isolation = None
        if not is_whole:
            replayer.put_away()
            unpatched.immediate_exit(0)
        random: Any = sys.modules.get("random")
        drawn = random.getstate() if random is not None else None
        drawn = None if drawn == self._drawn else drawn
        replayer.pause()
        self._lift = at_rest(self._limits)
        os.write(self._replies, b"\n")
        with open(self._jobs, "rb", closefd=False) as jobs:
            for line in jobs:
                job = msgspec.json.decode(line, type=Job)
                codes = self._codes(job)
                reply = codes if isinstance(codes, TrialReply) else self._tried(job, codes, replayer)
                if reply is None:
                    if drawn is not None:
                        random.setstate(drawn)  # Python seeds it anew in a fork
                    replayer.take_over()
                    return
                os.write(self._replies, msgspec.json.encode(reply) + b"\n")
        unpatched.immediate_exit(0)

    def _tried(self, job: Job, codes: Codes, replayer: Replayer) -> TrialReply | None:
        """Have a fork go on, and say how it ended; None in the fork."""
        began = unpatched.perf_counter_ns()
        with paused():  # a fork that is ours, and no process of the program's
            came = parted(self._limits, lift=self._lift)
        if isinstance(came, Fork):
            self._fork, self._job = came, job
            for function, code in codes:
                function.__code__ = code
            return None
        replayer.clear()  # before the next one makes it
        return reply_of(job, came, self._limits, began)

    def said(self, reply: Callable[[Job], TrialReply]) -> NoReturn:
        """Say in a trial what came of it, and end."""
        assert self._fork is not None and self._job is not None  # noqa: S101, PT018 - asked before
        self._fork.end(msgspec.json.encode(reply(self._job)))


def _descriptors() -> dict[int, tuple[Any, ...]]:
    """Return what this process has open, and of files how far it has read or written them, and when they were changed."""
    found: dict[int, tuple[Any, ...]] = {}
    for each in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):  # that of the folder itself
            state = os.fstat(each)
            is_file = stat.S_ISREG(state.st_mode)
            place = (os.lseek(each, 0, os.SEEK_CUR), state.st_size, state.st_mtime_ns) if is_file else ()
            found[each] = (state.st_dev, state.st_ino, *place)
    return found
