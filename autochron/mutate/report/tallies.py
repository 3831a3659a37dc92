"""The counts and the phrases that the reports of a mutation study share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from msgspec import Struct, json

from autochron.errors import UsageError
from autochron.judging.agreement import clustered
from autochron.mutate.model import (
    FAMILIES,
    METHODS,
    Behaviour,
    Kind,
    MutationTarget,
    Result,
    StudiedIncident,
    Study,
    family_of,
    written,
)
from autochron.mutate.suspicion import suspicion

CUT_POINT = "cut-point"
KINDS: tuple[Kind, ...] = get_args(Kind)

METHOD_DESCRIPTIONS = {
    "full-stub": "every crossing is served",
    "mocks": "the folder's tests that replay no trace",
    "cut-point": "the test of the incident as it was written",
    "with-twin": "cut-point, and the test of a run that must still go through",
    "with-edges": "with-twin, and the tests of calls beside the incident's",
    "full-output": "the folder's tests, and each live crossing must give what it gives with the fix",
    "widened": "full-output, and the tool is given other inputs, too",
}

BEHAVIOUR_DESCRIPTIONS: dict[Behaviour, str] = {
    "escape": "it lets through what the guard is there to prevent",
    "output": "on the recorded input it gives something else that the test does not look at",
    "other-input": "it shows on other inputs only",
    "same": "no input that was tried tells it from the fix",
}


class KillCount(Struct, frozen=True):
    """How many mutants a method tried, and how many of these it kills."""

    killed: int
    tried: int

    @property
    def percent(self) -> float | None:
        """The share of killed mutants in percent; None where none was tried."""
        return 100 * self.killed / self.tried if self.tried else None


def all_results(study: Study) -> tuple[Result, ...]:
    """Return the results of all incidents."""
    return tuple(result for incident in study.incidents for result in incident.results)


def tally(results: Iterable[Result], method: str) -> KillCount:
    """Count the mutants that a method tried, and those that it kills."""
    verdicts = [result.verdicts[method] for result in results if method in result.verdicts]
    return KillCount(sum(verdict.is_killed for verdict in verdicts), len(verdicts))


def interval(results: Iterable[Result], method: str) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of the share that a method kills, in percent.

    The mutants of one guard are alike, so they are a cluster.

    Returns:
        The lower and upper bound; None where the mutants that were tried are all of one guard.
    """
    by_guard: dict[tuple[str, MutationTarget], list[Result]] = {}
    for result in results:
        by_guard.setdefault((result.mutant.incident, result.mutant.target), []).append(result)
    counts = [tally(members, method) for members in by_guard.values()]
    bounds = clustered([(count.killed, count.tried) for count in counts])
    return None if bounds is None else (100 * bounds[0], 100 * bounds[1])


def families(results: Iterable[Result]) -> dict[str, tuple[Result, ...]]:
    """Return results by the family of their mutants, in the order of `FAMILIES`; families without any are left out."""
    by_family: dict[str, list[Result]] = {family: [] for family in (*FAMILIES, "other")}
    for result in results:
        by_family[family_of(result.mutant.operator)].append(result)
    return {family: tuple(members) for family, members in by_family.items() if members}


class SuspiciousInput(Struct, frozen=True):
    """An input that no call should have, and that the fix accepts.

    Attributes:
        argument, value: the argument's path, and its value in Python's notation.
        why: why it is suspicious, in a word.
    """

    argument: str
    value: str
    why: str


def suspicious(incident: StudiedIncident) -> tuple[SuspiciousInput, ...]:
    """Return the inputs that no call should have, and that the fix accepts."""
    found = {
        (edge_input.argument, edge_input.value): why
        for edge_input in incident.inputs
        if (why := suspicion(edge_input))
    }
    return tuple(SuspiciousInput(argument, value, why) for (argument, value), why in found.items())


def kinds(results: Iterable[Result], method: str) -> dict[Kind, int]:
    """Count the mutants that a method kills, by how the trial ended; every kind is a key.

    `passed` is a kill where the tests fail with the fix, as they may under full-stub.
    """
    counts = Counter(result.verdicts[method].kind for result in results if is_killed(result, method))
    return {kind: counts[kind] for kind in KINDS}


def is_killed(result: Result, method: str) -> bool:
    """Return whether a method tried a mutant and killed it."""
    return method in result.verdicts and result.verdicts[method].is_killed


def survives(result: Result, method: str) -> bool:
    """Return whether a method tried a mutant and did not kill it."""
    return method in result.verdicts and not result.verdicts[method].is_killed


def is_escape(result: Result) -> bool:
    """Return whether the tool did what the guard is there to prevent, and the folder's own tests did not notice."""
    return result.is_unsafe and survives(result, written(result.verdicts))


def killers(result: Result) -> tuple[str, ...]:
    """Return the methods that kill a mutant, in the order of `METHODS`."""
    return tuple(method for method in ordered(result.verdicts) if result.verdicts[method].is_killed)


def changes_result(incident: StudiedIncident, argument: str) -> bool:
    """Return whether an argument changes what the fix returns, as an amount does where the fix clamps it."""
    recorded = {each.address: _result_of(each.outcome) for each in incident.inputs if not each.argument}
    return any(
        each.argument == argument and _result_of(each.outcome) != recorded.get(each.address)
        for each in incident.inputs
        if each.address in recorded
    )


def _result_of(outcome: str) -> tuple[Any, Any]:
    """Return what an outcome returned and raised, without what it changed."""
    tree = json.decode(outcome) if outcome else {}
    return tree.get("returned"), tree.get("raised")


def sensitivity_rows(study: Study) -> Iterator[tuple[str, ...]]:
    """Yield for each argument: incident, argument, values tried, how many changed the decision, words for it, an example."""
    for incident in study.incidents:
        for each in incident.sensitivity:
            decision = "can change" if each.flips else "never changes"
            if not each.flips and changes_result(incident, each.argument):
                decision = "never changes, but the result does"
            yield incident.name, each.argument, str(each.tried), str(each.flips), decision, each.example


def is_equivalent(result: Result) -> bool:
    """Return whether a mutant is explained as equivalent, and nothing contradicts that."""
    return bool(result.proof) and not is_refuted(result)


def is_refuted(result: Result) -> bool:
    """Return whether a mutant is explained as equivalent, although something tells it from the fix."""
    return bool(result.proof) and bool(killers(result) or result.changes or result.inputs or result.is_unsafe)


def ordered(methods: Iterable[str]) -> tuple[str, ...]:
    """Return methods in the order of `METHODS`; baselines come after `mocks`, by name."""
    names = set(methods)
    order = (*METHODS[:2], *sorted(names.difference(METHODS)), *METHODS[2:])
    return tuple(method for method in order if method in names)


def chosen(study: Study, method: str | None, otherwise: str = CUT_POINT) -> str:
    """Return the method that a report is about.

    Args:
        study: the study.
        method: the method that the user names, or None.
        otherwise: the method that is used without one; if it was not tried, the last method is used.

    Raises:
        UsageError: the study has not tried the named method.
    """
    if method is None:
        return otherwise if otherwise in study.methods or not study.methods else study.methods[-1]
    if method not in study.methods:
        tried = ", ".join(study.methods) or "none"
        raise UsageError(f"the study has no method {method!r}; name one that it tried: {tried}")
    return method


def refusal(study: Study) -> str | None:
    """Return the reason why a study gets no report, or None where it gets one.

    Unless its canaries hold, no mutant may have run at all, and the verdicts mean nothing.
    """
    names = Counter(incident.name for incident in study.incidents)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        return f"the study has {names[repeated[0]]} incidents of the name {repeated[0]}; merge them, or name them apart"
    reasons = [reason for incident in study.incidents for reason in _broken_canaries(incident)]
    if not reasons:
        return None
    what = "a canary doesn't hold" if len(reasons) == 1 else f"{len(reasons)} canaries don't hold"
    message = f"{what}, so the study says nothing: {'; '.join(reasons)}"
    return f"{message}. Mend the test or the tool, and run the study again"


def _broken_canaries(incident: StudiedIncident) -> list[str]:
    """Return what is wrong with the canaries of an incident."""
    if not incident.canaries:
        return [f"{incident.name}: none was tried"]
    return [
        f"{incident.name}: {canary.what} under {canary.method}: expected {canary.expected}, got {canary.got}"
        for canary in incident.canaries
        if not canary.holds
    ]


def check(study: Study) -> None:
    """Check that a study may get a report.

    Raises:
        UsageError: it may not; the message says why.
    """
    reason = refusal(study)
    if reason is not None:
        raise UsageError(reason)


def changed_lines(result: Result) -> list[str]:
    """Return the removed and added lines of a mutant's diff, without context."""
    if not result.diff:
        before, after = result.mutant.before.splitlines(), result.mutant.after.splitlines()
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    lines = result.diff.splitlines()
    # The file names are above the first hunk. Below it, a changed line may begin with `---` as well.
    first = next((index for index, line in enumerate(lines) if line.startswith("@@")), -1)
    return [line for line in lines[first + 1 :] if line[:1] in {"-", "+"} and not _is_file_name(line, first)]


def _is_file_name(line: str, first: int) -> bool:
    return first < 0 and line.startswith(("--- ", "+++ "))


def place(incident: str, result: Result) -> str:
    """Return where a mutant is: `refund/guarded.py:9`."""
    file = result.mutant.target.file
    while file.startswith("../"):  # it is in the project around the incident
        file = file.removeprefix("../")
    is_inside = file == result.mutant.target.file
    return f"{file_of(incident, file) if is_inside else file}:{result.mutant.line}"


def file_of(incident: str, file: str) -> str:
    """Return the name of a file in a report: the incident's name and the path, and never an absolute path."""
    return f"{incident}/{file.lstrip('/')}"


def behaviour_text(result: Result) -> str:
    """Return in words what a survivor does; empty where that is not known."""
    return "" if result.behaviour is None else BEHAVIOUR_DESCRIPTIONS[result.behaviour]


def difference_lines(incident: StudiedIncident, result: Result, limit: int = 2) -> list[str]:
    """Return where a mutant differs from the fix, in words.

    Args:
        incident: the incident.
        result: the result of the mutant.
        limit: how many differences on the recorded input are listed, and how many edge inputs.
    """
    lines = [
        f"{change.address}{' ' + change.path if change.path else ''}: {change.fix} with the fix,"
        f" {change.mutant} with the mutant"
        for change in result.changes[:limit]
    ]
    input_by_number = {edge_input.number: edge_input for edge_input in incident.inputs}
    for number in result.inputs[:limit]:
        edge_input = input_by_number.get(number)
        if edge_input is None or not edge_input.argument:
            lines.append(
                f"input {number}" if edge_input is None else f"the recorded input of {edge_input.address}"
            )
        else:
            why = f" ({edge_input.source})" if edge_input.source else ""
            lines.append(f"{edge_input.address} with {edge_input.argument} = {edge_input.value}{why}")
    more = max(len(result.changes) - limit, 0) + max(len(result.inputs) - limit, 0)
    return [*lines, *([f"and {more} more"] if more else [])]


def counted_generated(incidents: Sequence[StudiedIncident]) -> tuple[int, int, int, int]:
    """Return how many changes were generated, had the same bytecode, were duplicates, and were tried."""
    return (
        sum(incident.generated for incident in incidents),
        sum(incident.same_bytecode for incident in incidents),
        sum(incident.duplicates for incident in incidents),
        sum(len(incident.results) for incident in incidents),
    )
