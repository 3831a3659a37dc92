"""What a mutation study is made of. All of it is data: it is written to files, sent through pipes, and merged."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

METHODS = ("full-stub", "mocks", "cut-point", "full-output", "widened")
"""The ways of testing that are compared, from the one that sees least.

`full-stub` serves every crossing; `mocks` are the folder's tests that replay no trace; `cut-point` is the test as it was
written; `full-output` is that, and every live crossing must give what it gives with the fix; `widened` gives the tool
other inputs, too, and the fix says what is right.
"""

Kind: TypeAlias = Literal[
    "passed", "assertion", "divergence", "crash", "exit", "time-out", "memory", "signal", "compile", "output"
]
"""How a trial ended.

`assertion`: the test said so. `divergence`: replay and record disagreed. `crash`: any other exception. `exit`: SystemExit, or
the process left. `time-out`, `memory`: a limit. `signal`: the process was killed. `compile`: the mutant is no Python.
`output`: what a crossing gave differs from what it gives with the fix.
"""


class MutationTarget(Struct, frozen=True):
    """A function whose mutants are tried.

    Attributes:
        file: its path, from the incident's folder, with forward slashes.
        function: its qualified name there.
    """

    file: str
    function: str


class Mutant(Struct, frozen=True, kw_only=True):
    """One change of one place in a target.

    Attributes:
        id: twelve hexadecimal digits, of everything below but the lines: the same on every machine.
        incident: the name of its folder.
        target: what is changed.
        operator: by its name in cosmic-ray: `core/NumberReplacer`, `autochron/StringConstant`.
        occurrence: the number of this place for the operator in the whole file, as cosmic-ray counts, from 0.
        arguments: what the operator was made with.
        line, column, end_line, end_column: of what is replaced; lines from 1, columns from 0, the end exclusive.
        before, after: the code that is replaced, and what stands there instead.
        at_import: whether it changes what runs when the module is imported (a decorator, a default, a constant above).
    """

    id: str
    incident: str
    target: MutationTarget
    operator: str
    occurrence: int
    arguments: dict[str, str | int | float | bool] = {}
    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str
    at_import: bool = False


class MutantVerdict(Struct, frozen=True):
    """What one method said of one mutant.

    Attributes:
        kind: how it ended.
        said: the first line of the reason.
        is_killed: whether it ended otherwise than with the fix.
    """

    kind: Kind
    said: str = ""
    is_killed: bool = False


class Change(Struct, frozen=True):
    """Where what a crossing gave differs from what it gives with the fix, both shortened."""

    address: str
    path: str
    fix: str
    mutant: str


Behaviour: TypeAlias = Literal["escape", "output", "other-input", "same"]
"""What a mutant that cut-point lets live does.

`escape`: the tool did what the guard is there to prevent. `output`: on the recorded input it gives something else that the
test does not look at. `other-input`: it shows on another input only. `same`: no input that was tried tells it from the fix.
"""


class Result(Struct, frozen=True, kw_only=True):
    """What became of one mutant.

    Attributes:
        mutant: the mutant.
        verdicts: by method; a method that was not tried is not there.
        changes: where the output on the recorded inputs differs.
        is_unsafe: whether what the guard is there to prevent was done, whatever the test said.
        inputs: the numbers of the widened inputs on which it differs from the fix.
        behaviour: for one that survives cut-point, of which sort it is.
        diff: the change, as a unified diff.
        proof: why it is equivalent, where the study argues so.
        hint: for a survivor, what would kill it.
    """

    mutant: Mutant
    verdicts: dict[str, MutantVerdict]
    changes: tuple[Change, ...] = ()
    is_unsafe: bool = False
    inputs: tuple[int, ...] = ()
    behaviour: Behaviour | None = None
    diff: str = ""
    proof: str = ""
    hint: str = ""


class Input(Struct, frozen=True, kw_only=True):
    """An input that a target is given in the place of a recorded one.

    Attributes:
        number: from 0; the recorded ones come first.
        address: the crossing in whose place it is given.
        argument: what of it was changed, as a path; empty for a recorded one.
        value: the changed value as Python writes it.
        source: where the value comes from, in words: `4000 in guarded.py:12, plus 1`.
        arguments: all arguments as Python writes them.
        outcome: what the fix gives for it, as JSON: `{"returned": …}` or `{"raised": …}`.
        is_kept: whether the set cover keeps it.
        flips: whether the fix decides otherwise on it than on the recorded one.
    """

    number: int
    address: str
    argument: str = ""
    value: str = ""
    source: str = ""
    arguments: str = ""
    outcome: str = ""
    is_kept: bool = False
    flips: bool = False


class Sensitivity(Struct, frozen=True):
    """Whether one argument can change what the fix decides: how many of its values were tried, and flipped it."""

    argument: str
    tried: int
    flips: int
    example: str = ""


class Canary(Struct, frozen=True):
    """A trial whose verdict is known before: without these a study says nothing."""

    what: str
    method: str
    expected: str
    got: str

    @property
    def holds(self) -> bool:
        """Whether it went as it must."""
        return self.expected == self.got


class Crosscheck(Struct, frozen=True):
    """What plain cosmic-ray said of a mutant of the sample, and what we did."""

    mutant: str
    ours: bool
    theirs: bool


class StudiedIncident(Struct, frozen=True, kw_only=True):
    """One incident of a study.

    Attributes:
        name: its folder's.
        targets: what was mutated.
        sources: the text of each target's file, by its path.
        generated: how many changes the operators made; of these
        same_bytecode: how many compile to what the fix compiles to, and
        duplicates: how many to what another mutant does. Neither is tried.
        canaries: what was tried first.
        inputs: what the targets were given.
        sensitivity: which argument can change the decision.
        results: a mutant each, in the order of the source.
        agreement: the sample that plain cosmic-ray ran, too.
        made_of: a digest of the folder's files, the operators and the options: another one makes it stale.
    """

    name: str
    targets: tuple[MutationTarget, ...]
    sources: dict[str, str]
    generated: int
    same_bytecode: int
    duplicates: int
    canaries: tuple[Canary, ...] = ()
    inputs: tuple[Input, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    results: tuple[Result, ...] = ()
    agreement: tuple[Crosscheck, ...] = ()
    made_of: str = ""


class Study(Struct, frozen=True, kw_only=True):
    """A whole study: the same bytes whenever it is made of the same files.

    Attributes:
        version: of this format.
        operators: the name of the set.
        digest: of all that the results depend on: sources, traces, tests, operators.
        methods: what was compared, in order.
        incidents: in the order that was asked for.
        shard: (which, of how many).
    """

    version: int = 1
    operators: str
    digest: str
    methods: tuple[str, ...]
    incidents: tuple[StudiedIncident, ...]
    shard: tuple[int, int] = (1, 1)
