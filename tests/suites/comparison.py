"""Compare two runs of a suite, test by test, and judge the differences by the list of known ones."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_FAILURES = {"failed", "error"}
ORDINARY = (0, 1)
"""What pytest ends with where tests were run, all of them."""


@dataclass(frozen=True)
class Outcome:
    """What became of a test.

    Attributes:
        outcome: passed, failed, error, skipped, xfailed or xpassed.
        error: the type of the exception, where it failed.
        detail: the end of what it said then.
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
        fault: why it is no whole run; empty for a whole one.
        cpu: seconds of user and system time of all its processes.
        rss: kibibytes of the largest of them.
        crossings: how many were recorded; 0 in mode plain.
        notes: what `autochron run` said at the end.
    """

    outcomes: dict[str, Outcome]
    fault: str = ""
    cpu: float = 0.0
    rss: int = 0
    crossings: int = 0
    notes: str = ""


def read_report(path: Path) -> tuple[dict[str, Outcome], str]:
    """Return the outcomes in a reporter's file, and why it is not whole; empty where it is."""
    outcomes: dict[str, Outcome] = {}
    begun, ended = "", None
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:  # cut off as the process died
            break
        if "begun" in entry:
            begun = entry["begun"]
        elif "ended" in entry:
            ended = entry["ended"]
        else:
            # An address in a parameter's repr is another in each run.
            name = _ADDRESS.sub("0x…", entry["test"])
            outcomes[name] = Outcome(entry["outcome"], entry["error"], entry["detail"])
    if ended is None:
        return outcomes, f"it died in {begun}" if begun else "it died before the first test"
    return outcomes, "" if ended in ORDINARY else f"pytest ended with {ended}"


def differences(before: Run, after: Run) -> dict[str, str]:
    """Return the tests of which the outcome, or the type of the exception, differs, and how."""
    found: dict[str, str] = {}
    for test in before.outcomes.keys() | after.outcomes.keys():
        was, now = before.outcomes.get(test), after.outcomes.get(test)
        if was is None or now is None or (was.outcome, was.error) != (now.outcome, now.error):
            detail = now.detail if now is not None and now.outcome in _FAILURES else ""
            found[test] = f"{was or 'missing'} -> {now or 'missing'}" + (f"\n{detail}" if detail else "")
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Judgement:
    """What two runs of a suite come to.

    Attributes:
        known: tests that differ and are listed, each with its cause.
        unlisted: tests that differ and are not listed, each with how.
        vanished: tests that are listed and no longer differ.
        flaky: tests that differ between two plain runs.
        faults: why one of the runs is not whole.
    """

    known: dict[str, str] = field(default_factory=dict)
    unlisted: dict[str, str] = field(default_factory=dict)
    vanished: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing differs but what is known to."""
        return not (self.unlisted or self.vanished or self.faults)

    def __str__(self) -> str:
        lines = [f"fault: {each}" for each in self.faults]
        lines += [f"unlisted: {test}: {how}" for test, how in self.unlisted.items()]
        lines += [f"listed, and no longer different: {test}" for test in self.vanished]
        return "\n".join(lines)


def judge(before: Run, after: Run, causes: dict[str, str], again: Run | None = None) -> Judgement:
    """Judge what differs between a plain run and a recorded one.

    `causes` are the known differences; `again` is a second plain run, which tells flaky tests apart.
    """
    found = differences(before, after)
    if after.fault:  # what it did not come by is no news
        found = {test: how for test, how in found.items() if test in after.outcomes}
    flaky = differences(before, again) if again is not None else {}
    return Judgement(
        known={test: causes[test] for test in found if test in causes},
        unlisted={test: how for test, how in found.items() if test not in causes and test not in flaky},
        vanished=tuple(
            test for test in causes if test not in found and test not in flaky and not after.fault
        ),
        flaky=tuple(flaky),
        faults=tuple(
            f"{which} run: {run.fault}"
            for which, run in (("plain", before), ("recorded", after), ("second plain", again))
            if run is not None and run.fault
        ),
    )
