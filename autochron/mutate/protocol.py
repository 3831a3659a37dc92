"""The messages between a study and the processes that try its mutants; each is a line of JSON."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.mutate.model import Input, Kind, MutationTarget

ServerKind: TypeAlias = Literal["stub", "mocks", "cut", "twin", "edges", "widen", "command"]
"""What a server tries.

`cut`: the tests of the incident as they are. `stub`: the same with every crossing served. `widen`: the same with edge
inputs. `twin`, `edges`: the tests of that part. `mocks`: the tests without a trace. `command`: a command of pytest.
"""

Variant: TypeAlias = Literal["fix", "mutant", "raises", "unguarded"]
"""What runs in the target's place.

`fix`: the target as it is. `mutant`: a mutant of it. `raises`: a body that raises. `unguarded`: what the fix replaces.
"""


class Job(Struct, frozen=True, kw_only=True):
    """One trial.

    Attributes:
        id: the mutant's; of another variant, a name that is unique among the jobs of a server.
        variant: what is tried.
        target: the function whose code is replaced.
        text: the whole changed text of the target's file.
        rebuilds: whether the modules are loaded anew, because the changed code runs at import.
        texts: for a command, the whole text of each changed file, by its path.
    """

    id: str
    variant: Variant
    target: MutationTarget | None = None
    text: str = ""
    rebuilds: bool = False
    texts: dict[str, str] = {}


class LiveOutcome(Struct, frozen=True):
    """The outcome of a live crossing, as JSON in the form of a trace."""

    address: str
    outcome: str


Knows: TypeAlias = dict[str, list[tuple[str, str, str]]]
"""The constants of each function, by its name: the type's name, the value as text, and where it comes from."""


class TrialReply(Struct, frozen=True, kw_only=True):
    """The result of one trial.

    Attributes:
        id, variant: as in the job.
        kind, said: how the trial ended, and the first line of the reason; for a command, the last bytes of its output.
        given: the outcomes of the live crossings, in order of start.
        reached: by the function that a swap replaces, how often each call of the swap went on to call that function.
        harms: why the world is unsafe after each test that has a predicate; an empty text where it is safe.
        inputs: the edge inputs that were tried; only of the fix.
        outcomes: the outcomes of the edge inputs as JSON; of a mutant only those that differ from the fix's.
        knows: the constants that the edge inputs are made of; only of the fix.
        canary_ran: whether the body of a canary ran in this process.
        reran: whether the test ran the agent in a process of its own.
        why_whole: why this process did not go on from the first call of a mutated function; empty where it did, or was not
            to.
        hash_seed: the hash seed of the run that was recorded, if such a process replays it; empty if any will do.
        must_rebuild: why the code can't be replaced in the loaded modules; empty where it can.
        fault: why nothing was tried.
        seconds: how long the trial took.
    """

    id: str
    variant: Variant
    kind: Kind = "passed"
    said: str = ""
    given: tuple[LiveOutcome, ...] = ()
    reached: dict[str, tuple[int, ...]] = {}
    harms: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    outcomes: dict[str, str] = {}
    knows: Knows = {}
    canary_ran: bool = False
    reran: bool = False
    why_whole: str = ""
    hash_seed: str = ""
    must_rebuild: str = ""
    fault: str = ""
    seconds: float = 0.0


class Ready(Struct, frozen=True, kw_only=True):
    """What a server reports before its first job.

    Attributes:
        fault: why it can try nothing.
        lacks_tests: whether that is because no file has a test for it.
        tests: how many tests it has.
        swaps: by the name of a function, the name of the one that the tests put in its place.
        targets: the functions to mutate; helpers of the others come last.
        helpers: how many of them are helpers, which were found and not named.
        literals: by a target, as `FILE:NAME`, and by the name of an argument: what it was in the first recorded call, in
            Python's notation. Only texts, numbers and truth values are there.
        recorded: the recorded outcomes of the crossings that are live in the tests.
        fix: the reply of the fix.
        limit: seconds that a trial may take.
        process: the id of the server's process, and of its session.
        files: a digest of each loaded file of the project, by its path from the incident's folder.
        at_cut: whether trials continue from the checkpoint, and don't each run the whole test.
        why_whole: why they don't; empty where they do.
    """

    fault: str = ""
    lacks_tests: bool = False
    tests: int = 0
    swaps: dict[str, str] = {}
    targets: tuple[MutationTarget, ...] = ()
    helpers: int = 0
    literals: dict[str, dict[str, str]] = {}
    recorded: tuple[LiveOutcome, ...] = ()
    fix: TrialReply | None = None
    limit: float = 0.0
    process: int = 0
    files: dict[str, str] = {}
    at_cut: bool = False
    why_whole: str = ""

    def fix_reply(self) -> TrialReply:
        """Return the reply of the trial of the fix, which a server without a fault has tried."""
        assert self.fix is not None  # noqa: S101 - see above
        return self.fix


class ServerTask(Struct, frozen=True, kw_only=True):
    """What a server has to do: the first line that it reads.

    Attributes:
        server: what it tries.
        paths: what pytest collects: a folder, files, or ids of tests.
        folder: the incident's folder; paths of targets start there.
        memory: bytes that a trial may take beyond what the server has.
        timeout: seconds that a trial may take; None: a multiple of what the fix takes.
        targets: the functions to mutate; if empty, the functions that the tests swap in, or the live tools.
        depth: how many calls lie between such a function and the helpers that are mutated, too.
        swaps: for tests without a trace, the swaps to install before they are collected.
        inputs: how many edge inputs a call gets at most.
        drawn: how many inputs hypothesis tries besides.
        rebuilds: whether each trial loads all modules of the incident anew.
        reruns: whether the tests run the agent in processes of their own. A mutant's text stands in the place of its file
            there, and edge inputs are tried there.
        prepared: the address of the process that replays commands in forks; empty if each is started anew.
        words: of a command, the arguments after `pytest`.
        is_module: whether the command is `python -m pytest`, which finds modules in the working folder.
        files: all files that mutants change.
    """

    server: ServerKind
    paths: tuple[str, ...]
    folder: str
    memory: int = 1 << 30
    timeout: float | None = None
    targets: tuple[MutationTarget, ...] = ()
    depth: int = 0
    swaps: dict[str, str] = {}
    inputs: int = 96
    drawn: int = 0
    rebuilds: bool = False
    reruns: bool = False
    prepared: str = ""
    words: tuple[str, ...] = ()
    is_module: bool = False
    files: tuple[str, ...] = ()


def digest_of(path: str) -> str:
    """Return a digest of a file; empty where the file can't be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:16]
    except OSError:
        return ""


EDGE_INPUTS_REQUEST = "AUTOCHRON_EDGE_INPUTS"
"""Environment variable with the path of the request that an agent's process tries edge inputs by."""


class ServerPipes(Struct, frozen=True):
    """The descriptors of one server: it reads jobs from one, and writes replies to the other."""

    reading: int
    writing: int


class ForkServerStart(Struct, frozen=True, kw_only=True):
    """The argument of a process that forks servers.

    Attributes:
        folder: the incident's folder.
        channels: the pipes of each server.
    """

    folder: str
    channels: tuple[ServerPipes, ...]
