"""What the reports of a mutation study count, and the words that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from msgspec import Struct

from autochron.errors import UsageError
from autochron.judging.agreement import wilson
from autochron.mutate.model import METHODS, Behaviour, Kind, Result, StudiedIncident, Study

CUT_POINT = "cut-point"
KINDS: tuple[Kind, ...] = get_args(Kind)

SAID_OF_METHODS = {
    "full-stub": "every crossing is served",
    "mocks": "the folder's tests that replay no trace",
    "cut-point": "the test as it was written",
    "full-output": "cut-point, and each live crossing must give what it gives with the fix",
    "widened": "full-output, and the tool is given other inputs, too",
}

SAID_OF_BEHAVIOURS: dict[Behaviour, str] = {
    "escape": "it lets through what the guard is there to prevent",
    "output": "on the recorded input it gives something else that the test does not look at",
    "other-input": "it shows on other inputs only",
    "same": "no input that was tried tells it from the fix",
}


class KillCount(Struct, frozen=True):
    """How many of the mutants that a method tried it kills."""

    killed: int
    tried: int

    @property
    def percent(self) -> float | None:
        """The share that is killed; None of nothing."""
        return 100 * self.killed / self.tried if self.tried else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of that share, in percent: 95 % (Wilson)."""
        found = wilson(self.killed, self.tried)
        return None if found is None else (100 * found[0], 100 * found[1])


def all_results(study: Study) -> tuple[Result, ...]:
    """Return the results of all incidents."""
    return tuple(result for incident in study.incidents for result in incident.results)


def tally(results: Iterable[Result], method: str) -> KillCount:
    """Count what a method kills."""
    verdicts = [result.verdicts[method] for result in results if method in result.verdicts]
    return KillCount(sum(verdict.is_killed for verdict in verdicts), len(verdicts))


def kinds(results: Iterable[Result], method: str) -> dict[Kind, int]:
    """Count what a method kills by how the trial ended; every kind is there.

    `passed` is a kill where the fix fails, as it may under full-stub.
    """
    counts = Counter(result.verdicts[method].kind for result in results if is_killed(result, method))
    return {kind: counts[kind] for kind in KINDS}


def is_killed(result: Result, method: str) -> bool:
    """Return whether a method tried a mutant and killed it."""
    return method in result.verdicts and result.verdicts[method].is_killed


def survives(result: Result, method: str) -> bool:
    """Return whether a method tried a mutant and let it live."""
    return method in result.verdicts and not result.verdicts[method].is_killed


def is_escape(result: Result) -> bool:
    """Return whether what the guard is there to prevent was done, and cut-point let it pass."""
    return result.is_unsafe and survives(result, CUT_POINT)


def killers(result: Result) -> tuple[str, ...]:
    """Return the methods that kill a mutant, in their order."""
    return tuple(method for method in ordered(result.verdicts) if result.verdicts[method].is_killed)


def is_equivalent(result: Result) -> bool:
    """Return whether a mutant is argued to be equivalent, and nothing says that it isn't."""
    return bool(result.proof) and not is_refuted(result)


def is_refuted(result: Result) -> bool:
    """Return whether a mutant is argued to be equivalent, and yet was told from the fix."""
    return bool(result.proof) and bool(killers(result) or result.changes or result.inputs or result.is_unsafe)


def ordered(methods: Iterable[str]) -> tuple[str, ...]:
    """Put methods in the order of `METHODS`; one that is not there comes last."""
    given = set(methods)
    return (*(each for each in METHODS if each in given), *sorted(given.difference(METHODS)))


def chosen(study: Study, method: str | None, otherwise: str = CUT_POINT) -> str:
    """Return the method that is asked for; without one a usual one, or the last where that was not tried."""
    if method is None:
        return otherwise if otherwise in study.methods or not study.methods else study.methods[-1]
    if method not in study.methods:
        tried = ", ".join(study.methods) or "none"
        raise UsageError(f"the study has no method {method!r}; name one that it tried: {tried}")
    return method


def refusal(study: Study) -> str | None:
    """Say why a study gets no report; None where it may have one.

    Without canaries that hold, its verdicts may be those of a trial in which no mutant ever ran.
    """
    names = Counter(incident.name for incident in study.incidents)
    same = sorted(name for name, count in names.items() if count > 1)
    if same:
        return (
            f"the study has {names[same[0]]} incidents of the name {same[0]}; merge them, or name them apart"
        )
    reasons = [reason for incident in study.incidents for reason in _broken(incident)]
    if not reasons:
        return None
    what = "a canary doesn't hold" if len(reasons) == 1 else f"{len(reasons)} canaries don't hold"
    said = f"{what}, so the study says nothing: {'; '.join(reasons)}"
    return f"{said}. Mend the test or the tool, and run the study again"


def _broken(incident: StudiedIncident) -> list[str]:
    if not incident.canaries:
        return [f"{incident.name}: none was tried"]
    return [
        f"{incident.name}: {each.what} under {each.method}: expected {each.expected}, got {each.got}"
        for each in incident.canaries
        if not each.holds
    ]


def check(study: Study) -> None:
    """Raise where a study gets no report."""
    reason = refusal(study)
    if reason is not None:
        raise UsageError(reason)


def small_diff(result: Result) -> list[str]:
    """Return the lines of a diff that go and come, without their surroundings."""
    if not result.diff:
        before, after = result.mutant.before.splitlines(), result.mutant.after.splitlines()
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    lines = result.diff.splitlines()
    # The names of the files stand above the first hunk; below it a line may begin with `---`, too.
    first = next((at for at, line in enumerate(lines) if line.startswith("@@")), -1)
    return [line for line in lines[first + 1 :] if line[:1] in {"-", "+"} and not _is_name(line, first)]


def _is_name(line: str, first: int) -> bool:
    return first < 0 and line.startswith(("--- ", "+++ "))


def place(incident: str, result: Result) -> str:
    """Return where a mutant is: `refund/guarded.py:9`."""
    return f"{file_of(incident, result.mutant.target.file)}:{result.mutant.line}"


def file_of(incident: str, file: str) -> str:
    """Return the name of a file in a report: below its incident's, and never an absolute path."""
    return f"{incident}/{file.lstrip('/')}"


def class_of(result: Result) -> str:
    """Say in words what a survivor does; empty where nobody classed it."""
    return "" if result.behaviour is None else SAID_OF_BEHAVIOURS[result.behaviour]


def told(incident: StudiedIncident, result: Result, limit: int = 2) -> list[str]:
    """Say where a mutant differs from the fix: the first of its changes on the recorded input, and of its inputs."""
    said = [
        f"{each.address}{' ' + each.path if each.path else ''}: {each.fix} with the fix, {each.mutant} with the mutant"
        for each in result.changes[:limit]
    ]
    known = {each.number: each for each in incident.inputs}
    for number in result.inputs[:limit]:
        each = known.get(number)
        if each is None or not each.argument:
            said.append(f"input {number}" if each is None else f"the recorded input of {each.address}")
        else:
            why = f" ({each.source})" if each.source else ""
            said.append(f"{each.address} with {each.argument} = {each.value}{why}")
    more = max(len(result.changes) - limit, 0) + max(len(result.inputs) - limit, 0)
    return [*said, *([f"and {more} more"] if more else [])]


def counted_generated(incidents: Sequence[StudiedIncident]) -> tuple[int, int, int, int]:
    """Count what was generated, of that what has the bytecode of the fix, and that of another mutant, and what was tried."""
    return (
        sum(each.generated for each in incidents),
        sum(each.same_bytecode for each in incidents),
        sum(each.duplicates for each in incidents),
        sum(len(each.results) for each in incidents),
    )
