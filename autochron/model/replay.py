"""Results of recordings and replays: divergences, summaries, evidence for verdicts, and comparisons."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.model.findings import Finding
from autochron.model.trace import Envelope, Footer, Header, StateEffect

OUTSIDE = "(outside)"
"""The address of evidence about what happened outside every live crossing."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a replay observed about one live crossing besides its outcome. The verdict of an incident depends on it."""

    address: str
    effects: tuple[StateEffect, ...] = ()
    crash: str | None = None
    """The error if it crashed: `NameError: name 'limt' is not defined, at tools.py:12`. A refusal is not a crash."""
    refusal: str | None = None
    """The type of the exception by which it refused; None if it did not refuse."""
    stale: tuple[str, ...] = ()
    """Files that it read and whose content differs from that at the time of the recording."""
    unkept: tuple[str, ...] = ()
    """State that it used and that has no snapshot, each with the reason."""
    opened_before: tuple[str, ...] = ()
    """Files and databases that were open before the replay began, so that it could not work on a copy."""
    left_running: tuple[str, ...] = ()
    """Threads and tasks that it started and that were still running when it had ended."""


Severity: TypeAlias = Literal["error", "warning", "consequence", "notice"]
"""How serious a divergence is: the replay fails; worth a look; a consequence of a live crossing; a hint."""


class Divergence(Struct, frozen=True, kw_only=True):
    """One disagreement between replay and record."""

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
"""How a replay handled a crossing. `served`: from the record. `opened`: the body ran, because something live is inside or
because its outcome is only compared. `live`: the body ran for real. `invented`: an ambient value without a record was made up
from the trace's own clock and random generator."""


class Replayed(Struct, frozen=True, kw_only=True):
    """One crossing of a replay."""

    mode: Mode
    envelope: Envelope
    """The crossing in the replay. `seq` and `parent` number the replay's crossings in order of start. The address is that of
    its record, if it has one."""
    recorded: Envelope | None
    """Its record; None if there is none."""


class RunSummary(Struct, frozen=True, kw_only=True):
    """The result of a recording."""

    trace: str
    """Id of the trace."""
    store: str
    counts: tuple[tuple[str, int], ...]
    """(boundary, number of crossings in the store), by name."""
    footer: Footer
    crossings: int = 0
    """Number of crossings, including those that were lost."""
    opaque: tuple[str, ...] = ()
    """Values that can't be rebuilt on replay: `boundary: path: type`."""
    by_type: tuple[str, ...] = ()
    """Values in inputs that are compared by their type only: `boundary.path: type`."""
    masked: tuple[str, ...] = ()
    """Values in outcomes that were masked: `boundary: path`."""
    requests: int = 0
    """Number of calls that had a trace of their own."""
    problems: tuple[str, ...] = ()
    """Faults of ours, one line each."""
    kept: bool = True
    """Whether the trace is in the store; false if only failed runs are kept and this one succeeded."""
    stale: tuple[str, ...] = ()
    """Messages about ignores that don't apply any more, one line each."""
    failed: str = ""
    """The last crossing that raised, with its exception and how the provider answered, if the program ended with an error."""

    @property
    def stored(self) -> int:
        """Number of crossings in the store."""
        return sum(count for _, count in self.counts)

    @property
    def lost(self) -> int:
        """Number of crossings that could not be written, as far as it is known."""
        return max(0, self.crossings - self.stored) or self.footer.lost


class ReplaySummary(Struct, frozen=True, kw_only=True):
    """The result of a replay."""

    trace: str
    same: bool
    status: int
    """Exit status of the program."""
    crossings: int
    complete: bool
    """Whether the trace has a footer to compare with."""
    live: tuple[str, ...] = ()
    """Addresses of the crossings that ran live."""
    opened: int = 0
    """Number of crossings whose bodies ran although they are not live; see `Mode`."""
    invented: int = 0
    """Number of ambient values without a record that were made up; see `Mode`."""
    recorded_status: int | None = None
    """Exit status of the recorded run; None if it is not known."""
    divergences: tuple[Divergence, ...] = ()
    problems: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The non-deterministic calls outside every boundary that the recording did not have."""
    evidence: tuple[Evidence, ...] = ()
    """What was observed about live crossings besides their outcomes."""
    swallowed: tuple[str, ...] = ()
    """Crashes in the project's code that the project caught itself: `NameError: …, at agent.py:40`."""
    uncaught: str | None = None
    """The type of the exception that ended the program."""
    stopped: bool = False
    """Whether that exception is an error of autochron, or was caused by one; only for who judges the replay."""
    broke: str | None = None
    """The error if the program crashed and was not ended by a refusal: `ImportError: …, at tools.py:1`."""
    sources: tuple[str, ...] = ()
    """Files of the project's modules that were imported, relative to the rules' root; used by the verdict only."""
    typed: bool = True
    """Whether the trace has the types of inputs; without them inputs are compared as JSON."""
    effects: int = 0
    """Number of files and databases that were changed outside every boundary, on the scratch copy."""
    allowed: int = 0
    """Number of programs, connections, signals and files that rules or `--allow-effects` allowed."""

    @property
    def not_compared(self) -> int:
        """Number of values that were too large to be compared."""
        return sum(divergence.kind == "not-compared" for divergence in self.divergences)


class Incident(Struct, frozen=True, kw_only=True):
    """A folder with a trace, its rules and a test."""

    folder: str
    """The folder's path, as the user wrote it."""
    trace: str
    files: tuple[str, ...]
    test: str
    """The file of the test."""
    waits: bool
    """Whether the test is incomplete: somebody has to write into it how the agent is called."""
    raises: str | None = None
    """The type of the exception with which the test fails, if it repeats a recorded call that raised."""
    warnings: tuple[str, ...] = ()
    root: str = ""
    """The folder that the trace's sites start from."""


class Tried(Struct, frozen=True):
    """The result of running the test of an incident on today's code."""

    outcome: Literal["failed", "waits", "passed", "inconclusive", "broken", "untried"]
    """`failed`, as it should; `inconclusive`: no verdict was possible; `broken`: it failed or ended in another way."""
    said: str
    notes: tuple[str, ...] = ()
    """What the trial showed: fields that vary, effects of live tools, missing state."""

    @property
    def is_right(self) -> bool:
        """Whether the outcome is the expected one, as far as it is known."""
        return self.outcome not in {"passed", "inconclusive", "broken"}


class Difference(Struct, frozen=True, kw_only=True):
    """One difference between two traces."""

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
    """The crossing's address, in the first trace if it is there; None for a difference of the run as a whole."""
    message: str
    severity: Severity = "error"
    """A `warning` is reported, but the traces still count as the same."""
    path: str | None = None
    """The first field that differs."""
    first: str | None = None
    second: str | None = None


class Paired(Struct, frozen=True):
    """A crossing in one trace and its counterpart in another; None if there is none."""

    first: Envelope | None
    second: Envelope | None
    differences: tuple[Difference, ...] = ()


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison of two traces."""

    first: Header
    second: Header
    same: bool
    pairs: tuple[Paired, ...]
    """In order of start in the first trace; extra crossings are where they were in the second. Crossings inside one that is
    missing or extra are not listed."""
    run: tuple[Difference, ...] = ()
    """The differences of the run as a whole."""
