"""What a study and the processes that try its mutants say to each other: a line of JSON each."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.mutate.model import Input, Kind, MutationTarget

ServerKind: TypeAlias = Literal["stub", "mocks", "cut", "widen", "command"]
"""What a process tries: tests with all served, tests without a trace, tests as they are, other inputs, or a command."""

Variant: TypeAlias = Literal["fix", "mutant", "raises", "unguarded"]
"""What stands in the target's place: what stands there, a mutant, a body that raises, or what the fix replaces."""


class Job(Struct, frozen=True, kw_only=True):
    """One trial.

    Attributes:
        id: of the mutant; the variant where it is none.
        variant: what is tried.
        target: whose code is replaced.
        text: the whole text of the target's file, changed.
        rebuilds: whether the modules are loaded anew, as what runs at import needs.
        texts: of a run of a command, the whole text of each file that is changed.
    """

    id: str
    variant: Variant
    target: MutationTarget | None = None
    text: str = ""
    rebuilds: bool = False
    texts: dict[str, str] = {}


class LiveOutcome(Struct, frozen=True):
    """What a live crossing gave: its outcome as it stands in a trace, in JSON."""

    address: str
    outcome: str


Knows: TypeAlias = dict[str, list[tuple[str, str, str]]]
"""By function, what it knows: the name of a type, the value as text, and where from."""


class TrialReply(Struct, frozen=True, kw_only=True):
    """What came of one trial.

    Attributes:
        id, variant: as in the job.
        kind, said: how it ended, and the first line of the reason.
        given: what the live crossings gave, in order.
        reached: of each fix, by what it replaces: for each call, how often it went on to that.
        inputs: of a widened trial of the fix, what was tried.
        outcomes: of a widened trial, what each input gave, in JSON.
        knows: of a widened trial of the fix, the constants that inputs are made of.
        reran: whether the test has run the agent in a process of its own.
        must_rebuild: why the code can't be replaced where it is.
        fault: why nothing was tried.
        seconds: what it took.
    """

    id: str
    variant: Variant
    kind: Kind = "passed"
    said: str = ""
    given: tuple[LiveOutcome, ...] = ()
    reached: dict[str, tuple[int, ...]] = {}
    inputs: tuple[Input, ...] = ()
    outcomes: dict[str, str] = {}
    knows: Knows = {}
    reran: bool = False
    must_rebuild: str = ""
    fault: str = ""
    seconds: float = 0.0


class Ready(Struct, frozen=True, kw_only=True):
    """What a process says of itself before its first trial.

    Attributes:
        fault: why it can try nothing.
        tests: how many tests it has.
        swaps: functions in whose place others run, as the tests name them.
        targets: the functions that can be mutated.
        recorded: what the crossings gave that are live here, when the trace was made.
        fix: what came of the fix.
        limit: seconds that a trial may take.
        process: its id, which is that of its session.
        files: a digest of each file of the project that was loaded, by its path from the incident's folder.
        at_cut: whether trials go on from the first call of what is mutated, and don't each run the whole test.
    """

    fault: str = ""
    tests: int = 0
    swaps: dict[str, str] = {}
    targets: tuple[MutationTarget, ...] = ()
    recorded: tuple[LiveOutcome, ...] = ()
    fix: TrialReply | None = None
    limit: float = 0.0
    process: int = 0
    files: dict[str, str] = {}
    at_cut: bool = False


class ServerTask(Struct, frozen=True, kw_only=True):
    """What a server is to do: the first line that it reads.

    Attributes:
        server: what it tries.
        paths: what pytest collects: a folder, files, or tests by their ids.
        folder: the incident's; targets are named from there.
        memory: bytes that a trial may take beyond what this process has.
        timeout: seconds that a trial may take; None: some times what the fix takes.
        targets: what is mutated; none: what the tests swap in, or what is live.
        swaps: for tests without a trace, what is to be installed before they are collected.
        inputs: how many inputs a crossing's place is given, at most.
        drawn: how many hypothesis tries beside these.
        rebuilds: whether each trial loads all modules of the incident anew.
        words: of a command, what follows `pytest`.
        is_module: whether that is run as `python -m pytest`, which finds modules in the working folder.
        files: all that will be changed.
    """

    server: ServerKind
    paths: tuple[str, ...]
    folder: str
    memory: int = 1 << 30
    timeout: float | None = None
    targets: tuple[MutationTarget, ...] = ()
    swaps: dict[str, str] = {}
    inputs: int = 96
    drawn: int = 0
    rebuilds: bool = False
    words: tuple[str, ...] = ()
    is_module: bool = False
    files: tuple[str, ...] = ()


def digest_of(path: str) -> str:
    """Return a digest of a file; empty where it can't be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:16]
    except OSError:
        return ""


class ServerPipes(Struct, frozen=True):
    """The descriptors by which a server is told what to try, and says what came of it."""

    reading: int
    writing: int


class ForkServerStart(Struct, frozen=True, kw_only=True):
    """What a process is started with that forks into servers: the incident's folder, and a channel for each."""

    folder: str
    channels: tuple[ServerPipes, ...]
