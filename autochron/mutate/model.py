"""The data of a mutation study. All of it is written to files, sent through pipes, and merged."""

from __future__ import annotations

from collections.abc import Container
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct

METHODS = ("full-stub", "mocks", "cut-point", "with-twin", "with-edges", "full-output", "widened")
"""The ways of testing that are compared, from the one that notices least.

`full-stub` serves every crossing. `mocks` are the folder's tests that replay no trace. `cut-point` is the test of the
incident as it was written. `with-twin` is that and the test of a run that must still go through, `with-edges` that and the
tests of calls beside the incident's; only folders with such tests have them. `full-output` is all of the folder's tests, and
every live crossing of the incident must have the outcome that it has with the fix. `widened` is that, and the tool gets edge
inputs besides, whose outcomes must be those of the fix.
"""

WRITTEN = ("cut-point", "with-twin", "with-edges")
"""The methods that run the folder's own tests that replay a trace, each with all that those before it have."""


def written(methods: Container[str]) -> str:
    """Return the method, of those tried, that runs all of the folder's own tests that replay a trace."""
    return next((method for method in reversed(WRITTEN) if method in methods), WRITTEN[0])


Kind: TypeAlias = Literal[
    "passed", "assertion", "divergence", "crash", "exit", "time-out", "memory", "signal", "compile", "output"
]
"""How a trial ended.

`assertion`: an assertion of the test failed. `divergence`: replay and record disagreed. `crash`: any other exception.
`exit`: SystemExit, or the process ended. `time-out`, `memory`: a limit was reached. `signal`: the process was killed.
`compile`: the mutant is not valid Python. `output`: a crossing has another outcome than with the fix.
"""


FAMILIES: dict[str, tuple[str, ...]] = {
    "agent": (
        *("autochron/ActFirst", "autochron/SwallowRefusal", "autochron/RefuseEverything"),
        *("autochron/AllowEverything", "autochron/DropAwait", "autochron/CheckWrongArgument"),
        *("autochron/StaleRead", "autochron/WrongUnit", "autochron/Tolerance", "autochron/OneLiteral"),
        *("autochron/DropBound", "autochron/DropNormalisation"),
    ),
    "comparison": ("core/ReplaceComparisonOperator_*", "autochron/ReplaceMembership"),
    "condition": (
        *("autochron/NegateIf", "autochron/NegateCondition", "autochron/DropOperand", "core/AddNot"),
        *("core/ReplaceAndWithOr", "core/ReplaceOrWithAnd", "core/ReplaceTrueWithFalse"),
        *("core/ReplaceFalseWithTrue", "core/ReplaceUnaryOperator_*_Not"),
    ),
    "arithmetic": ("core/ReplaceBinaryOperator_*", "core/ReplaceUnaryOperator_*", "core/NumberReplacer"),
    "string": ("autochron/StringConstant", "autochron/EmptyString", "autochron/BytesConstant"),
}
"""The families of mutants, with patterns of their operators. The first that fits counts; others are of the family `other`."""


def family_of(operator: str) -> str:
    """Return the family of the mutants that an operator makes."""
    return next(
        (
            family
            for family, patterns in FAMILIES.items()
            if any(fnmatchcase(operator, each) for each in patterns)
        ),
        "other",
    )


class MutationTarget(Struct, frozen=True):
    """A function that is mutated.

    Attributes:
        file: the path of its file from the incident's folder, with forward slashes.
        function: its qualified name.
    """

    file: str
    function: str


class Mutant(Struct, frozen=True, kw_only=True):
    """One change in one place of a target.

    Attributes:
        id: twelve hexadecimal digits, a hash of what the change is, but not of its lines: the same on every machine.
        incident: the name of its folder.
        target: the function that is changed.
        operator: its name in cosmic-ray: `core/NumberReplacer`, `autochron/StringConstant`.
        occurrence: the number of this place among the operator's places in the whole file, as cosmic-ray counts, from
            0.
        arguments: the arguments that the operator was made with.
        line, column, end_line, end_column: the replaced code; lines from 1, columns from 0, the end exclusive.
        before, after: the replaced code, and the code in its place.
        at_import: whether it changes code that runs when the module is imported (a decorator, a default, a constant
            above).
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
    """The verdict of one method on one mutant.

    Attributes:
        kind: how the trial ended.
        said: the first line of the reason.
        is_killed: whether it ended differently than with the fix.
    """

    kind: Kind
    said: str = ""
    is_killed: bool = False


class Change(Struct, frozen=True):
    """A difference between the outcomes of a crossing with the fix and with a mutant, both shortened."""

    address: str
    path: str
    fix: str
    mutant: str


Behaviour: TypeAlias = Literal["escape", "output", "other-input", "same"]
"""What a mutant does that the folder's own tests do not kill.

`escape`: the tool did what the guard is there to prevent. `output`: on the recorded input it has another outcome, which
the test does not look at. `other-input`: it differs on another input only. `same`: no input that was tried tells it
from the fix.
"""


class Result(Struct, frozen=True, kw_only=True):
    """The result of one mutant.

    Attributes:
        mutant: the mutant.
        verdicts: by method; a method that was not tried is missing.
        changes: the differences on the recorded input.
        is_unsafe: whether the tool did what the guard is there to prevent, whatever the test's verdict is.
        harm: why the world was unsafe, as the predicate says; empty where it was not, and without a predicate.
        inputs: the numbers of the edge inputs on which it differs from the fix.
        behaviour: for a survivor of the folder's own tests, what it does.
        diff: the change, as a unified diff.
        proof: why it is equivalent, if the user has explained that.
        hint: for a survivor, what would kill it.
    """

    mutant: Mutant
    verdicts: dict[str, MutantVerdict]
    changes: tuple[Change, ...] = ()
    is_unsafe: bool = False
    harm: str = ""
    inputs: tuple[int, ...] = ()
    behaviour: Behaviour | None = None
    diff: str = ""
    proof: str = ""
    hint: str = ""


class Receiver(Struct, frozen=True):
    """What a method is called on: an object whose attributes can be written in Python, or the class of a class method.

    Attributes:
        argument: `self` or `cls`.
        file: the file of the class, from the incident's folder.
        name: the qualified name of the class.
        fields: the attributes of the object in Python's notation, by name.
    """

    argument: str
    file: str
    name: str
    fields: dict[str, str] = {}


class Input(Struct, frozen=True, kw_only=True):
    """An input that a target gets in the place of a recorded one.

    Attributes:
        number: from 0; the recorded ones come first.
        address: the crossing in whose place the call is made.
        target: the function that is called; None in studies of before it was noted.
        argument: the path of the changed value among the arguments; empty for a recorded input.
        value: the changed value in Python's notation.
        source: where the value comes from, in words: `4000 in guarded.py:12, plus 1`.
        arguments: all arguments in Python's notation, without the receiver if there is one.
        receiver: what a method is called on; None for a function, and where it can't be written in Python.
        outcome: the outcome with the fix, as JSON: `{"returned": …}` or `{"raised": …}`.
        is_kept: whether it belongs to the small set of inputs that tells all mutants from the fix.
        flips: whether the fix decides differently on it than on the recorded input.
        is_accepted: whether it flips where the fix refuses the recorded input, on which it decides otherwise than was
            recorded.
    """

    number: int
    address: str
    target: MutationTarget | None = None
    argument: str = ""
    value: str = ""
    source: str = ""
    arguments: str = ""
    receiver: Receiver | None = None
    outcome: str = ""
    is_kept: bool = False
    flips: bool = False
    is_accepted: bool = False


class Sensitivity(Struct, frozen=True):
    """Whether one argument can change what the fix decides.

    Attributes:
        argument: the path of the argument.
        tried: how many values were tried.
        flips: how many of them changed the decision.
        example: one of those, or empty.
    """

    argument: str
    tried: int
    flips: int
    example: str = ""


class Canary(Struct, frozen=True):
    """A trial whose result is known beforehand. A study in which a canary has another result is worth nothing.

    Attributes:
        what: what is tried.
        method: the method that tries it.
        expected, got: the known result, and the one that the trial had.
    """

    what: str
    method: str
    expected: str
    got: str

    @property
    def holds(self) -> bool:
        """Whether the trial had the known result."""
        return self.expected == self.got


class Crosscheck(Struct, frozen=True):
    """Whether a mutant of the sample was killed here, and by plain cosmic-ray."""

    mutant: str
    ours: bool
    theirs: bool


class StudiedIncident(Struct, frozen=True, kw_only=True):
    """One incident of a study.

    Attributes:
        name: the name of its folder.
        targets: the functions that were mutated.
        sources: the text of each target's file, by its path.
        generated: how many changes the operators made.
        same_bytecode: how many of these compile to the bytecode of the fix. They are not tried.
        duplicates: how many of these compile to the bytecode of another mutant. They are not tried.
        canaries: the canaries.
        inputs: the inputs that the targets got.
        states: by the address of a call, the state of the modules at that call: by file and name, values in Python's
            notation.
        files: by the address of a call, what text files of the project held at that call, by their paths from the folder.
        sensitivity: which arguments can change the decision.
        results: one for each mutant, in the order of the source.
        agreement: the mutants that plain cosmic-ray tried as well.
        has_twin: whether there is a test of a run that must still go through.
        has_predicate: whether the tests judge the world by a predicate. Else a mutant is unsafe if it reached the function
            without the fix, or if an outcome is the recorded one. Other harm is not seen then.
        accepts_raising: whether the test of the incident passes if a target only raises: it accepts any refusal. Without a
            twin, nothing then says what must still go through.
        not_compared: why plain cosmic-ray tried none of them; empty where it did, or was not asked to.
        made_of: a digest of the folder's files, the operators and the options; if it differs, the study is out of date.
    """

    name: str
    targets: tuple[MutationTarget, ...]
    sources: dict[str, str]
    generated: int
    same_bytecode: int
    duplicates: int
    canaries: tuple[Canary, ...] = ()
    inputs: tuple[Input, ...] = ()
    states: dict[str, dict[str, dict[str, str]]] = {}
    files: dict[str, dict[str, str]] = {}
    sensitivity: tuple[Sensitivity, ...] = ()
    results: tuple[Result, ...] = ()
    agreement: tuple[Crosscheck, ...] = ()
    has_twin: bool = False
    has_predicate: bool = False
    accepts_raising: bool = False
    not_compared: str = ""
    made_of: str = ""


class Study(Struct, frozen=True, kw_only=True):
    """A whole study: the same bytes whenever it is made of the same files.

    Attributes:
        version: of this format.
        operators: the name of the operator set.
        digest: of all that the results depend on: sources, traces, tests, operators.
        methods: the compared methods, in order.
        incidents: in the order in which they were named.
        shard: (number, how many there are).
    """

    version: int = 1
    operators: str
    digest: str
    methods: tuple[str, ...]
    incidents: tuple[StudiedIncident, ...]
    shard: tuple[int, int] = (1, 1)
