"""What a replay comes to: divergences, summaries, verdicts and comparisons."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.model.findings import Finding
from autochron.model.trace import Envelope, Footer, Header, StateEffect

OUTSIDE = "(outside)"
"""The address of evidence of what was done outside of every live crossing."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a replay saw of one live crossing beside its outcome: what a verdict of an incident rests on."""

    address: str
    effects: tuple[StateEffect, ...] = ()
    crash: str | None = None
    """How it ended, where that is a crash and no refusal: `NameError: name 'limt' is not defined, at tools.py:12`."""
    refusal: str | None = None
    """The type of what it raised, where that is a refusal."""
    stale: tuple[str, ...] = ()
    """Files that it read, and that hold something else than when the trace was recorded."""
    unkept: tuple[str, ...] = ()
    """State that it used and of which no snapshot was kept, each with the reason."""
    opened_before: tuple[str, ...] = ()
    """Files and databases that were open before the replay began, so that it could not work on a copy."""
    left_running: tuple[str, ...] = ()
    """Threads and tasks that it started, and that were at work when it had ended."""


Severity: TypeAlias = Literal["error", "warning", "consequence", "notice"]
"""What a disagreement means: a failed replay; something to look at; what followed from a live crossing; a hint."""


class Divergence(Struct, frozen=True, kw_only=True):
    """One disagreement of replay and record."""

    kind: Literal[
        "missing",
        "extra",
        "reordered",
        "input",
        "outcome",
        "attempts",
        "output",
        "status",
        "network",
        "child",
        "denied",
        "stale-state",
        "invented",
        "unwatched",
        "not-compared",
        "effect",
        "standstill",
    ]
    address: str
    message: str
    """Fact, place and remedy, one or more lines."""
    severity: Severity = "error"
    nearest: str | None = None
    path: str | None = None
    """The first field that differs."""
    recorded: str | None = None
    replayed: str | None = None


Mode: TypeAlias = Literal["served", "opened", "live", "invented"]
"""How a crossing went on a replay: from the record; its body ran because something live lies inside, or to be compared only;
for real; or, for an ambient value without a record, from the trace's own time and chance."""


class Replayed(Struct, frozen=True, kw_only=True):
    """One crossing of a replay."""

    mode: Mode
    envelope: Envelope
    """As it was in the replay: `seq` in order of start there, `parent` of the same numbering, and for what was recorded the
    address of its record."""
    recorded: Envelope | None
    """Its record; None where there is none."""


class RunSummary(Struct, frozen=True, kw_only=True):
    """What a recording came to."""

    trace: str
    """Id of the trace."""
    store: str
    counts: tuple[tuple[str, int], ...]
    """(boundary, crossings) of what is in the store, by name."""
    footer: Footer
    crossings: int = 0
    """How many there were, with those that were lost."""
    opaque: tuple[str, ...] = ()
    """What can't be rebuilt on replay: `boundary: path: type`."""
    by_type: tuple[str, ...] = ()
    """What of an input is compared by its type only: `boundary.path: type`."""
    masked: tuple[str, ...] = ()
    """What was masked in an outcome: `boundary: path`."""
    requests: int = 0
    """How many calls had a trace of their own."""
    problems: tuple[str, ...] = ()
    """What went wrong on our side, in one line each."""
    kept: bool = True
    """Whether the trace is in the store; not where only those of failed runs are kept."""
    stale: tuple[str, ...] = ()
    """What is wrong with ignores, a line each."""

    @property
    def stored(self) -> int:
        """How many crossings are in the store."""
        return sum(count for _, count in self.counts)

    @property
    def lost(self) -> int:
        """How many crossings could not be written, as far as it is known."""
        return max(0, self.crossings - self.stored) or self.footer.lost


class ReplaySummary(Struct, frozen=True, kw_only=True):
    """What a replay came to."""

    trace: str
    same: bool
    status: int
    """Exit status of the program."""
    crossings: int
    complete: bool
    """Whether the trace has an end to compare with."""
    live: tuple[str, ...] = ()
    """Addresses of what ran live."""
    divergences: tuple[Divergence, ...] = ()
    problems: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The non-deterministic calls outside every boundary that were not there when it was recorded."""
    evidence: tuple[Evidence, ...] = ()
    """What was seen of live crossings beside their outcomes."""
    swallowed: tuple[str, ...] = ()
    """Crashes in the project's code that it caught itself: `NameError: …, at agent.py:40`."""
    uncaught: str | None = None
    """The type of the exception that ended the program."""
    stopped: bool = False
    """Whether that exception is an error of autochron, or was caused by one; only for who judges the replay."""
    broke: str | None = None
    """How the program crashed, where it was no refusal that ended it: `ImportError: …, at tools.py:1`."""
    sources: tuple[str, ...] = ()
    """The project's modules that were imported, relative to the rules' root; only for who judges the replay."""
    typed: bool = True
    """Whether the trace tells the types of inputs; without them these are compared as JSON."""
    effects: int = 0
    """Files and databases that were changed outside every boundary, on the scratch copy."""
    allowed: int = 0
    """Programs, connections, signals and files that rules or `--allow-effects` let be."""

    @property
    def not_compared(self) -> int:
        """How many values nothing could be said of, because they are too large to be compared."""
        return sum(each.kind == "not-compared" for each in self.divergences)


class Incident(Struct, frozen=True, kw_only=True):
    """A folder with a trace, its rules and a test."""

    folder: str
    """As it was given."""
    trace: str
    files: tuple[str, ...]
    test: str
    """The file of the test."""
    waits: bool
    """Whether the test waits for someone to write in it how the agent is called."""
    raises: str | None = None
    """The type of the exception by which a test that makes a recorded call again fails, where that call raised."""
    warnings: tuple[str, ...] = ()
    root: str = ""
    """The folder that the trace's sites start from."""


class Tried(Struct, frozen=True):
    """What became of the test of an incident on today's code."""

    outcome: Literal["failed", "waits", "passed", "inconclusive", "broken", "untried"]
    """`failed` as it should; `inconclusive`: it can't be told; `broken`: it failed or ended in another way."""
    said: str
    notes: tuple[str, ...] = ()
    """What was found out by trying: fields that vary, what live tools did, state that is missing."""

    @property
    def is_right(self) -> bool:
        """Whether it is as it should be, as far as that was seen."""
        return self.outcome not in {"passed", "inconclusive", "broken"}


class Difference(Struct, frozen=True, kw_only=True):
    """One thing in which two traces differ."""

    kind: Literal[
        "command",
        "missing",
        "extra",
        "reordered",
        "input",
        "model",
        "sampling",
        "outcome",
        "changed",
        "exchange",
        "status",
        "output",
        "stdin",
        "end",
        "not-compared",
    ]
    address: str | None
    """Of the crossing, in the first trace if it is there; None where it is of the run as a whole."""
    message: str
    severity: Severity = "error"
    """`warning` is told and doesn't count."""
    path: str | None = None
    """The first field that differs."""
    first: str | None = None
    second: str | None = None


class Paired(Struct, frozen=True):
    """A crossing of one trace and what it is in another; None where it isn't there."""

    first: Envelope | None
    second: Envelope | None
    differences: tuple[Difference, ...] = ()


class Comparison(Struct, frozen=True, kw_only=True):
    """Two traces beside each other."""

    first: Header
    second: Header
    same: bool
    pairs: tuple[Paired, ...]
    """In order of start in the first trace, with what is extra where it was in the second. What lies inside a crossing
    that is missing or extra isn't listed."""
    run: tuple[Difference, ...] = ()
    """What is of the run as a whole."""
