"""How a trial ended: what a test raised, or what its fork wrote, as the kind of a reply."""

from __future__ import annotations

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


def settled(job: Job, work: Callable[[], TrialReply], limits: Limits) -> TrialReply:
    """Try in a fork, and say how that ended."""
    began = unpatched.perf_counter_ns()
    flush()
    return reply_of(job, forked(lambda _: msgspec.json.encode(work()), limits), limits, began)


def reply_of(job: Job, ended: ForkEnd, limits: Limits, began: int) -> TrialReply:
    """Return the reply that a fork has written, or say how it ended instead."""
    took = (unpatched.perf_counter_ns() - began) / 1e9
    kind, said = ended_as(ended, limits)
    if ended.is_whole:
        try:
            return msgspec.structs.replace(msgspec.json.decode(ended.said, type=TrialReply), seconds=took)
        except msgspec.DecodeError:
            kind, said = (
                "crash",
                "it wrote into a pipe that is not its own, and what came of it can't be read",
            )
    return TrialReply(id=job.id, variant=job.variant, kind=kind, said=said, seconds=took)


def kind_of(error: BaseException | None) -> tuple[Kind, str]:
    """Say how a test ended."""
    if error is None:
        return "passed", ""
    said = first_line(error)
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return "assertion", said
    if isinstance(error, DivergenceError | AutochronError):
        return "divergence", said
    if isinstance(error, SystemExit | pytest.exit.Exception):
        return "exit", said
    if isinstance(error, MemoryError):
        return "memory", "it allocates more than a trial may"
    return "crash", said


def ended_as(ended: ForkEnd, limits: Limits) -> tuple[Kind, str]:
    """Say how a fork ended that has said nothing."""
    if ended.is_late:
        return "time-out", f"it was not done after {limits.seconds:.3g} s"
    if ended.signal:
        import signal  # lazy: an enumeration, for names

        return "signal", f"killed by {signal.Signals(ended.signal).name}"
    return "exit", f"its process ended with status {ended.status} and no word"


def first_line(error: BaseException) -> str:
    """Return the type of an exception, with the first line of its text."""
    name = type(error).__name__
    try:
        text = str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:  # of a class of theirs
        return name
    lines = [line for line in text.splitlines() if line.strip()]
    return f"{name}: {lines[0].strip()[:200]}" if lines else name
