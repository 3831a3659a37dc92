"""Replay a recorded command in a process of its own, for a test that asks what became of it."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.crossing.processes import VARIABLE
from autochron.errors import InconclusiveError, UsageError
from autochron.model import Replayed, ReplaySummary, Trace
from autochron.replaying.command_trust import digest_of
from autochron.replaying.environment import PLACES, PLAN, REPORT, SCRATCH
from autochron.session.replayed_view import Crossings, gathered
from autochron.store.tracefile import write_trace
from autochron.workers.commands import start_python
from autochron.workers.ending import kill_group

LIMIT = "AUTOCHRON_LIMIT"
"""Names the seconds that a replay may take, while an incident is tried."""

if TYPE_CHECKING:
    from autochron.effects.snapshots import SnapshotFolder
    from autochron.instrument.swap import Swap
    from autochron.ports import Record
    from autochron.replaying.plan import ReplayPlan
    from autochron.weaving.gate import Point


class ReplayReport(Struct, frozen=True):
    """What became of a replay."""

    summary: ReplaySummary
    replayed: tuple[Replayed, ...]


class Rerun(Struct, frozen=True):
    """A recorded command that was run again.

    Attributes:
        status: its exit status.
        stdout, stderr: what it printed.
        summary: what the replay came to.
        crossings: what crossed.
    """

    status: int
    stdout: str
    stderr: str
    summary: ReplaySummary
    crossings: Crossings


class Refusing:
    """What woven code calls once a replay took place in another process: here nothing would be served, and all be done."""

    def enter(self, point: Point, _arguments: tuple[Any, ...]) -> None:
        """Refuse a call of a boundary; UsageError."""
        if any(rule.kind != "ambient" for rule in point.rules):
            raise UsageError(
                f"{point.module}:{point.called} was called after replay.run(), and would run for real; do one or the other"
            )


def write_report(path: str, summary: ReplaySummary, replayed: Iterable[Replayed]) -> None:
    """Write what became of a replay, for the process that started it."""
    with open(path, "wb") as file:
        file.write(msgspec.json.encode(ReplayReport(summary, tuple(replayed))))


def run_again(
    record: Record,
    rules: str | None,
    plan: ReplayPlan,
    swaps: Sequence[Swap],
    command: Sequence[str],
    *,
    allow_unwoven: bool,
    timeout: float | None,
    places: Sequence[SnapshotFolder] = (),
) -> Rerun:
    """Replay in a process of its own.

    Raises:
        UsageError: the replay could not begin; it quotes what was said.
        InconclusiveError: the program was killed, or while an incident is tried it did not end in time.
        subprocess.TimeoutExpired: it took longer than `timeout`.
    """
    limit = os.environ.get(LIMIT) if timeout is None else None
    with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
        trace = os.path.join(folder, "trace.jsonl")
        write_trace(Trace(record.header, tuple(record), record.footer), trace)
        report, settled = os.path.join(folder, "report.json"), os.path.join(folder, "plan.json")
        with open(settled, "wb") as file:
            file.write(msgspec.json.encode(plan))
        words = ["-m", "autochron", "replay", trace, "--quiet"]
        words += ["--rules", rules] if rules else []
        words += [word for swap in swaps for word in ("--swap", f"{swap.old}={_named(swap)}")]
        words += ["--allow-unwoven"] if allow_unwoven else []
        words += ["--trust", digest_of(record.header.command)] if not command else []
        words += ["--", *command] if command else []
        environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
        environment |= {REPORT: report, PLAN: settled, SCRATCH: os.path.join(folder, "scratch")}
        environment[PLACES] = os.pathsep.join(each.path for each in places)
        try:
            status, *streams = _finished(words, environment, timeout if limit is None else float(limit))
        except subprocess.TimeoutExpired:
            if limit is None:
                raise
            raise InconclusiveError(
                f"the program had not ended after {float(limit):,.0f} s, far longer than the recorded run took, and was"
                " stopped"
            ) from None
        stdout, stderr = (stream.decode("utf-8", "replace") for stream in streams)
        said = stderr.strip()[-2000:]
        if not os.path.exists(report):
            raise UsageError(f"the replay ended with status {status} and told nothing: {said}")
        with open(report, "rb") as file:
            text = file.read()
        if not text:
            raise InconclusiveError(
                f"the program {_died(status)}, so nothing is known of what it did; {said}"
            )
        told = msgspec.json.decode(text, type=ReplayReport)
    crossings = gathered(((each, None) for each in told.replayed), told.summary.divergences)
    return Rerun(told.summary.status, stdout, stderr, told.summary, crossings)


def _died(status: int) -> str:
    """Say how a process ended that could tell nothing."""
    if status >= 0:
        return f"ended at once with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _finished(
    words: list[str], environment: dict[str, str], timeout: float | None
) -> tuple[int, bytes, bytes]:
    """Run an interpreter with some words to its end; with what it has started it is killed where that takes too long."""
    with start_python(words, environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException:
            if not kill_group(process.pid):
                process.kill()
            raise
    return process.returncode, stdout, stderr


def _named(swap: Swap) -> str:
    if not isinstance(swap.new, str):
        raise UsageError(f"swap {swap.old}: in another process the new function must be named as module:name")
    return swap.new
