"""Replay a recorded command in a process of its own, for `replay.run()` in a test."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

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
from autochron.workers.prepared import (
    FROM_CUT,
    PREPARED_REPLAYS,
    NotPreparedError,
    PreparedEnd,
    PreparedReplay,
    run_prepared,
)

LIMIT = "AUTOCHRON_LIMIT"
"""Environment variable with the seconds that a replay may take while an incident is being tried."""

if TYPE_CHECKING:
    from autochron.effects.snapshots import SnapshotFolder
    from autochron.instrument.swap import Swap
    from autochron.ports import Record
    from autochron.replaying.plan import ReplayPlan
    from autochron.weaving.gate import Point


class ReplayReport(Struct, frozen=True):
    """The report of a replay to the process that started it."""

    summary: ReplaySummary
    replayed: tuple[Replayed, ...]


class Rerun(Struct, frozen=True):
    """A recorded command that was replayed in a process of its own.

    Attributes:
        status: its exit status.
        stdout: its standard output.
        stderr: its standard error.
        summary: the summary of the replay.
        crossings: the crossings of the replay.
        why_whole: why it did not go on from the first call of a swapped-in function, as the trials of mutants do where they
            can; empty where it did, or was not to.
    """

    status: int
    stdout: str
    stderr: str
    summary: ReplaySummary
    crossings: Crossings
    why_whole: str = ""


class Refusing:
    """The handler of woven code after a replay took place in another process.

    Nothing would be served in this process, so each call would run for real.
    """

    def enter(self, point: Point, _arguments: tuple[Any, ...]) -> None:
        """Refuse a call of a boundary.

        Raises:
            UsageError: the boundary is not ambient.
        """
        if any(rule.kind != "ambient" for rule in point.rules):
            raise UsageError(
                f"{point.module}:{point.called} was called after replay.run(), and would run for real; do one or the other"
            )


def write_report(path: str, summary: ReplaySummary, replayed: Iterable[Replayed]) -> None:
    """Write the report of a replay for the process that started it."""
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
    """Replay a command in a process of its own.

    Args:
        record: the record to serve.
        rules: path of the rule file.
        plan: what is live, and what is denied to it.
        swaps: functions to replace.
        command: program and arguments; if empty, the recorded command.
        allow_unwoven: whether to replay although the model asked for a tool that no rule wove.
        timeout: limit in seconds.
        places: folders with the contents of the trace's snapshots.

    Raises:
        UsageError: the replay could not begin; the message quotes its standard error.
        InconclusiveError: the program was killed, or did not end in time while an incident is being tried.
        subprocess.TimeoutExpired: it took longer than `timeout`.
    """
    with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
        trace = os.path.join(folder, "trace.jsonl")
        write_trace(Trace(record.header, tuple(record), record.footer), trace)
        report, plan_file = os.path.join(folder, "report.json"), os.path.join(folder, "plan.json")
        with open(plan_file, "wb") as file:
            file.write(msgspec.json.encode(plan))
        ours = {VARIABLE, PREPARED_REPLAYS, FROM_CUT}
        environment = {key: value for key, value in os.environ.items() if key not in ours}
        environment |= {REPORT: report, PLAN: plan_file, SCRATCH: os.path.join(folder, "scratch")}
        environment[PLACES] = os.pathsep.join(place.path for place in places)
        replay = PreparedReplay(
            trace=trace,
            rules=rules,
            swaps=tuple((swap.old, _new_name(swap)) for swap in swaps),
            allow_unwoven=allow_unwoven,
            trusted=digest_of(record.header.command),
            hash_seed=record.header.hash_seed,
            environment=environment,
            folder=os.getcwd(),
            from_cut=FROM_CUT in os.environ,
        )
        end, stdout, stderr = _run_in_time(replay, command, timeout)
        summary, replayed = _read_report(report, end.status, stderr)
    crossings = gathered(((crossing, None) for crossing in replayed), summary.divergences)
    return Rerun(summary.status, stdout, stderr, summary, crossings, end.why_whole)


def _command_line(replay: PreparedReplay, command: Sequence[str]) -> list[str]:
    """Return the words after the interpreter that replay a trace file."""
    words = ["-m", "autochron", "replay", replay.trace, "--quiet"]
    words += ["--rules", replay.rules] if replay.rules else []
    words += [word for old, new in replay.swaps for word in ("--swap", f"{old}={new}")]
    words += ["--allow-unwoven"] if replay.allow_unwoven else []
    return [*words, "--", *command] if command else [*words, "--trust", replay.trusted]


def _run_in_time(
    replay: PreparedReplay, command: Sequence[str], timeout: float | None
) -> tuple[PreparedEnd, str, str]:
    """Replay to the end, within `timeout` or the limit for trying an incident, both in seconds.

    Returns:
        How it ended, its standard output and its standard error.

    Raises:
        InconclusiveError: it exceeded the limit for trying an incident.
        subprocess.TimeoutExpired: it exceeded `timeout`.
    """
    limit = os.environ.get(LIMIT) if timeout is None else None
    seconds = timeout if limit is None else float(limit)
    try:
        end, *streams = _replayed(replay, command, seconds)
    except subprocess.TimeoutExpired:
        if limit is None:
            raise
        raise InconclusiveError(
            f"the program had not ended after {float(limit):,.0f} s, far longer than the recorded run took, and was stopped"
        ) from None
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in streams)
    return end, stdout, stderr


def _replayed(
    replay: PreparedReplay, command: Sequence[str], timeout: float | None
) -> tuple[PreparedEnd, bytes, bytes]:
    """Replay in a fork of a prepared process if there is one for it, and else in a new interpreter."""
    address = os.environ.get(PREPARED_REPLAYS)
    if address and not command:
        with suppress(NotPreparedError):
            return run_prepared(address, replay, timeout)
    end, stdout, stderr = _finished(_command_line(replay, command), replay.environment, timeout)
    why_whole = "no prepared process takes it" if replay.from_cut else ""
    return structs.replace(end, why_whole=why_whole), stdout, stderr


def _read_report(path: str, status: int, stderr: str) -> tuple[ReplaySummary, tuple[Replayed, ...]]:
    """Read the report of a replay that has ended.

    Args:
        path: path of the report.
        status: exit status of the process.
        stderr: its standard error, for messages.

    Raises:
        UsageError: there is no report.
        InconclusiveError: the report is empty.
    """
    shown = stderr.strip()[-2000:]
    if not os.path.exists(path):
        raise UsageError(f"the replay ended with status {status} and told nothing: {shown}")
    with open(path, "rb") as file:
        text = file.read()
    if not text:
        raise InconclusiveError(
            f"the program {_describe_end(status)}, so nothing is known of what it did; {shown}"
        )
    report = msgspec.json.decode(text, type=ReplayReport)
    return report.summary, report.replayed


def _describe_end(status: int) -> str:
    """Describe how a process ended that wrote no report."""
    if status >= 0:
        return f"ended at once with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _finished(
    words: list[str], environment: dict[str, str], timeout: float | None
) -> tuple[PreparedEnd, bytes, bytes]:
    """Run an interpreter to its end; return how it ended, its standard output and its standard error.

    After `timeout` seconds the process and all that it has started are killed.
    """
    with start_python(words, environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except BaseException:
            if not kill_group(process.pid):
                process.kill()
            raise
    return PreparedEnd(process.returncode), stdout, stderr


def _new_name(swap: Swap) -> str:
    if not isinstance(swap.new, str):
        raise UsageError(f"swap {swap.old}: in another process the new function must be named as module:name")
    return swap.new
