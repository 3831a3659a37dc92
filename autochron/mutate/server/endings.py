"""How a trial ended: the kind and the reason of its reply, from the test's exception or from the end of its fork."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest

from autochron._runtime import unpatched
from autochron.errors import AutochronError, DivergenceError
from autochron.mutate.model import Kind
from autochron.mutate.protocol import Job, TrialReply
from autochron.workers.fork import ForkEnd, forked
from autochron.workers.limits import Limits
from autochron.workers.silence import flush


def run_trial(job: Job, work: Callable[[], TrialReply], limits: Limits) -> TrialReply:
    """Run a trial in a fork, and return its reply.

    Args:
        job: what is tried.
        work: runs the tests in the fork, and returns the reply.
        limits: what the fork may take.
    """
    started = unpatched.perf_counter_ns()
    flush()
    return reply_from(job, forked(lambda _: msgspec.json.encode(work()), limits), limits, started)


def reply_from(job: Job, ended: ForkEnd, limits: Limits, started: int) -> TrialReply:
    """Return the reply that a fork has written, or one that says how the fork ended instead.

    Args:
        job: what was tried.
        ended: how the fork ended, and what it wrote.
        limits: what the fork was allowed to take.
        started: when the trial began, in nanoseconds of `perf_counter_ns`.
    """
    seconds = (unpatched.perf_counter_ns() - started) / 1e9
    kind, reason = kind_of_end(ended, limits)
    if ended.is_whole:
        try:
            return msgspec.structs.replace(
                msgspec.json.decode(ended.output, type=TrialReply), seconds=seconds
            )
        except msgspec.DecodeError:
            kind, reason = (
                "crash",
                "it wrote into a pipe that is not its own, so its result can't be read",
            )
    return TrialReply(id=job.id, variant=job.variant, kind=kind, said=reason, seconds=seconds)


def kind_of(error: BaseException | None) -> tuple[Kind, str]:
    """Return how a test ended that raised an error, or passed if there is none, and the first line of the reason."""
    if error is None:
        return "passed", ""
    reason = first_line(error)
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return "assertion", reason
    if isinstance(error, DivergenceError | AutochronError):
        return "divergence", reason
    if isinstance(error, SystemExit | pytest.exit.Exception):
        return "exit", reason
    if isinstance(error, MemoryError):
        return "memory", "it allocates more than a trial may"
    return "crash", reason


def kind_of_end(ended: ForkEnd, limits: Limits) -> tuple[Kind, str]:
    """Return how a fork ended that wrote no reply, and the reason."""
    if ended.is_late:
        return "time-out", f"it was not done after {limits.seconds:.3g} s"
    if ended.signal:
        import signal  # lazy: needed only for the name of a signal

        return "signal", f"killed by {signal.Signals(ended.signal).name}"
    return "exit", f"its process ended with status {ended.status} and gave no result"


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object is in memory, in its text: another place in each run."""


def first_line(error: BaseException) -> str:
    """Return the type of an exception, with the first line of its text."""
    name = type(error).__name__
    try:
        text = str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:  # raised by the class of the program
        return name
    lines = [_ADDRESS.sub("", line) for line in text.splitlines() if line.strip()]
    return f"{name}: {lines[0].strip()[:200]}" if lines else name


def reason_in(output: str) -> str:
    """Return the line of pytest's output that gives the reason, at most 300 characters of it."""
    lines = [line for line in output.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("E  ", "ERROR")) and "usage:" not in line]
    reasons = reasons or [line for line in lines if ": error: " in line] or lines or ["no reason is given"]
    return reasons[-1].removeprefix("E  ").removeprefix("ERROR:").strip()[:300]
