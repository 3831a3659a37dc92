"""Run a test once up to the first call of a mutated function, and continue from there in a fork for each trial.

Up to that call no mutant has run, so all trials are alike. This point is called the checkpoint. A fork can continue
there only if it inherits all of the test's state: one thread, no event loop, no timer, no file that the test has opened
or read further, and no change outside the process. Where that is not so, or where the fix gives another result than in
a whole run, each trial runs the whole test.

Three processes take part: the server, which reads the jobs; the checkpoint process, which the server forks and which
runs the test up to the checkpoint; and a fork of the checkpoint process for each trial. The server replaces the
checkpoint process after half a second, because an agent that reads the clock must not see how long that process has
waited.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.pausing import paused
from autochron.mutate.protocol import Job, TrialReply
from autochron.mutate.server.endings import reply_from
from autochron.mutate.server.fork_obstacles import ForkObstacles, restore_random
from autochron.workers.ending import kill_child
from autochron.workers.fork import (
    Fork,
    close_ours,
    fork_or_wait,
    fork_process,
    keep_from_forks,
    prepare_for_forks,
)
from autochron.workers.limits import Limits
from autochron.workers.pipes import LineChannel, WorkerDiedError
from autochron.workers.silence import flush

if TYPE_CHECKING:
    from types import CodeType, FrameType, FunctionType

    from autochron.instrument.swap import Swap
    from autochron.ports import Replayer
    from autochron.project import Project

_MAX_AGE = 500_000_000
"""Nanoseconds that a checkpoint process is used for."""

_GRACE = 10.0
"""Seconds beyond a trial's own limit after which the checkpoint process is given up."""

Codes = list[tuple["FunctionType", "CodeType"]]
"""Pairs of a function and the code that a trial gives to it."""


class CheckpointLostError(Exception):
    """The checkpoint process has ended, does not answer any more, or can't fork; its text says why it can't."""


class CheckpointProcess:
    """The checkpoint process, as the server sees it."""

    def __init__(self, run: Callable[[int, int], None], limits: Limits) -> None:
        """Fork, run the test in the child, and wait until the child reports that it is at the checkpoint.

        Args:
            run: runs the test in the child. Its arguments are two descriptors: jobs are read from the first, and
                replies are written to the second.
            limits: what a trial may take.

        Raises:
            CheckpointLostError: the test does not come to the checkpoint, or can't be forked there.
        """
        job_reader, job_writer = os.pipe()
        reply_reader, reply_writer = os.pipe()
        keep_from_forks(job_writer, reply_reader)
        self._channel = LineChannel(job_writer, reply_reader)
        self._timeout = limits.seconds + _GRACE
        flush()
        self._process = fork_process()
        if self._process == 0:
            close_ours(job_writer, reply_reader)
            keep_from_forks(job_reader, reply_writer)
            try:
                run(job_reader, reply_writer)
            finally:
                unpatched.immediate_exit(0)
        os.close(job_reader)
        os.close(reply_writer)
        self._started = unpatched.perf_counter_ns()
        self._raise_obstacle(self._receive())

    def _raise_obstacle(self, line: bytes) -> None:
        """Raise what keeps the process from forking; an empty line says that nothing does."""
        obstacle = line.decode("utf-8", "replace").strip()
        if obstacle:
            self.end()
            raise CheckpointLostError(obstacle)

    @property
    def is_expired(self) -> bool:
        """Whether the process has waited at the checkpoint for too long to be used."""
        return unpatched.perf_counter_ns() - self._started > _MAX_AGE

    def ask(self, line: bytes) -> bytes:
        """Have a job tried.

        Args:
            line: a `Job` as a line of JSON.

        Returns:
            The `TrialReply` as a line of JSON.

        Raises:
            CheckpointLostError: the process has ended, or gave no reply in time.
        """
        try:
            self._channel.send(line)
        except WorkerDiedError:
            self.end()
            raise CheckpointLostError from None
        return self._receive()

    def _receive(self) -> bytes:
        try:
            return self._channel.receive(self._timeout)
        except WorkerDiedError:
            self.end()
            raise CheckpointLostError from None

    def end(self) -> None:
        """Close the pipes and kill the process."""
        close_ours(self._channel.writing, self._channel.reading)
        kill_child(self._process, with_group=False)


class ForkPoint:
    """The checkpoint, as the process that stops there and its trials see it."""

    def __init__(
        self,
        jobs: int,
        replies: int,
        limits: Limits,
        codes: Callable[[Job], Codes | TrialReply],
        functions: Iterable[FunctionType],
    ) -> None:
        """Take the pipes and what is needed to try a job.

        Args:
            jobs: the descriptor that jobs are read from.
            replies: the descriptor that replies are written to.
            limits: what a trial may take.
            codes: compiles a job's text. It returns the code of each function, or a reply where there can be none.
            functions: the functions that are mutated.
        """
        self._jobs, self._replies = jobs, replies
        self._limits = limits
        self._codes = codes
        self._targets = {id(function.__code__) for function in functions}
        self._obstacles: ForkObstacles | None = None
        self._replayer: Replayer | None = None
        self._lift_limit: Callable[[], None] | None = None
        self._fork: Fork | None = None
        self._job: Job | None = None

    @property
    def is_in_trial(self) -> bool:
        """Whether this process is a trial that continues from the checkpoint."""
        return self._fork is not None

    def watch(self, replayer: Replayer, project: Project, swaps: Iterable[Swap]) -> None:
        """Prepare to stop at the first call of a swapped-in function.

        It is called right before the test's function, and watches from then on for what a fork would not inherit.

        Args:
            replayer: the replay that the test runs in.
            project: tells the program's own code from libraries.
            swaps: the functions that stand in the place of the recorded ones.
        """
        self._replayer = replayer
        self._obstacles = ForkObstacles(project, "the test")
        self._obstacles.begin()
        if sys.getprofile() is not None:
            self._obstacles.noted = "a profiler"
        sys.setprofile(self._on_profile_event)
        for swap in swaps:
            swap.before_call = self._serve

    def _on_profile_event(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Note that a mutated function runs before the checkpoint."""
        if event == "call" and id(frame.f_code) in self._targets and self._obstacles is not None:
            self._obstacles.noted = "a mutated function has run"

    def _serve(self) -> None:
        """Stop here, read jobs, and fork a trial for each; return only in a trial, which continues with the test.

        Ends the process where a fork would not inherit all of the test's state, and when there are no more jobs.
        """
        obstacles = self._obstacles
        if self._replayer is None or obstacles is None:
            return
        replayer, self._replayer = self._replayer, None
        profiler = sys.getprofile()  # of this thread
        sys.setprofile(None)
        obstacle = obstacles.end()
        if profiler != self._on_profile_event:
            obstacle = obstacle or "another profiler"
        if obstacle:
            replayer.put_away()
            os.write(self._replies, " ".join(obstacle.split()).encode() + b"\n")
            unpatched.immediate_exit(0)
        random_state = obstacles.changed_random_state()
        replayer.pause()
        self._lift_limit = prepare_for_forks(self._limits)
        os.write(self._replies, b"\n")
        with open(self._jobs, "rb", closefd=False) as jobs:
            for line in jobs:
                job = msgspec.json.decode(line, type=Job)
                codes = self._codes(job)
                reply = codes if isinstance(codes, TrialReply) else self._fork_trial(job, codes, replayer)
                if reply is None:
                    restore_random(random_state)
                    replayer.take_over()
                    return
                os.write(self._replies, msgspec.json.encode(reply) + b"\n")
        unpatched.immediate_exit(0)

    def _fork_trial(self, job: Job, codes: Codes, replayer: Replayer) -> TrialReply | None:
        """Fork a trial that continues with the test. Return its reply in this process, and None in the fork."""
        started = unpatched.perf_counter_ns()
        with paused():  # the fork is ours, and not a process of the program
            outcome = fork_or_wait(self._limits, lift=self._lift_limit)
        if isinstance(outcome, Fork):
            self._fork, self._job = outcome, job
            for function, code in codes:
                function.__code__ = code
            return None
        replayer.clear()  # the scratch files of the fork, before the next one makes the same
        return reply_from(job, outcome, self._limits, started)

    def report(self, make_reply: Callable[[Job], TrialReply]) -> NoReturn:
        """Send the reply that `make_reply` returns for this trial's job, and end the process."""
        assert self._fork is not None and self._job is not None  # noqa: S101, PT018 - the caller has checked it
        self._fork.end(msgspec.json.encode(make_reply(self._job)))
