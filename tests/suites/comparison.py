"""Compare two runs of a suite, test by test, and judge the differences by the list of known ones."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_FAILURES = {"failed", "error"}
ORDINARY = (0, 1)
"""Exit statuses of pytest after it has run all tests."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test.

    Attributes:
        outcome: passed, failed, error, skipped, xfailed or xpassed.
        error: the type of the exception, if the test failed.
        detail: the end of its failure report.
    """

    outcome: str
    error: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome} ({self.error})" if self.error else self.outcome


@dataclass(frozen=True)
class Run:
    """A run of a suite in one mode.

    Attributes:
        outcomes: test id to outcome.
        fault: why the run is incomplete; empty for a complete run.
        cpu: seconds of user and system time of all its processes.
        rss: the memory of the largest process, in kibibytes.
        crossings: the number of recorded crossings; 0 in mode plain.
        notes: the report of `autochron run`.
    """

    outcomes: dict[str, Outcome]
    fault: str = ""
    cpu: float = 0.0
    rss: int = 0
    crossings: int = 0
    notes: str = ""


def read_report(path: Path) -> tuple[dict[str, Outcome], str]:
    """Return the outcomes in a reporter's file, and why it is incomplete (empty if it is complete)."""
    outcomes: dict[str, Outcome] = {}
    begun, ended = "", None
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # the line was cut off when the process died
            break
        if "begun" in entry:
            begun = entry["begun"]
        elif "ended" in entry:
            ended = entry["ended"]
        else:
            # An address in a parameter's repr differs between runs.
            name = _ADDRESS.sub("0x…", entry["test"])
            outcomes[name] = Outcome(entry["outcome"], entry["error"], entry["detail"])
    if ended is None:
        return outcomes, f"it died in {begun}" if begun else "it died before the first test"
    return outcomes, "" if ended in ORDINARY else f"pytest ended with {ended}"


def differences(before: Run, after: Run) -> dict[str, str]:
    """Map each test whose outcome or exception type differs to a description of the difference."""
    result: dict[str, str] = {}
    for test in before.outcomes.keys() | after.outcomes.keys():
        old, new = before.outcomes.get(test), after.outcomes.get(test)
        if old is None or new is None or (old.outcome, old.error) != (new.outcome, new.error):
            detail = new.detail if new is not None and new.outcome in _FAILURES else ""
            result[test] = f"{old or 'missing'} -> {new or 'missing'}" + (f"\n{detail}" if detail else "")
    return dict(sorted(result.items()))


@dataclass(frozen=True)
class Judgement:
    """The judgement on two runs of a suite.

    Attributes:
        known: tests that differ and are listed, each with its cause.
        unlisted: tests that differ and are not listed, each with its difference.
        vanished: tests that are listed and no longer differ.
        flaky: tests that differ between two plain runs.
        faults: why runs are incomplete.
    """

    known: dict[str, str] = field(default_factory=dict)
    unlisted: dict[str, str] = field(default_factory=dict)
    vanished: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether both runs are complete and differ only in known tests."""
        return not (self.unlisted or self.vanished or self.faults)

    def __str__(self) -> str:
        lines = [f"fault: {fault}" for fault in self.faults]
        lines += [f"unlisted: {test}: {how}" for test, how in self.unlisted.items()]
        lines += [f"listed, and no longer different: {test}" for test in self.vanished]
        return "\n".join(lines)


def judge(before: Run, after: Run, causes: dict[str, str], again: Run | None = None) -> Judgement:
    """Judge the differences between a plain run and a recorded one.

    `causes` are the known differences; `again` is a second plain run, which identifies flaky tests.
    """
    differing = differences(before, after)
    if after.fault:  # tests that it did not reach are no differences
        differing = {test: how for test, how in differing.items() if test in after.outcomes}
    flaky = differences(before, again) if again is not None else {}
    return Judgement(
        known={test: causes[test] for test in differing if test in causes},
        unlisted={test: how for test, how in differing.items() if test not in causes and test not in flaky},
        vanished=tuple(
            test for test in causes if test not in differing and test not in flaky and not after.fault
        ),
        flaky=tuple(flaky),
        faults=tuple(
            f"{which} run: {run.fault}"
            for which, run in (("plain", before), ("recorded", after), ("second plain", again))
            if run is not None and run.fault
        ),
    )
