"""From the replies of trials to the result of a mutant: which methods kill it, and why the others don't."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, json, structs

from autochron.json_differences import differences_between, pair_equal_lengths
from autochron.mutate.model import (
    Behaviour,
    Change,
    Input,
    Kind,
    Mutant,
    MutantVerdict,
    Result,
    Sensitivity,
    written,
)
from autochron.mutate.protocol import LiveOutcome, TrialReply
from autochron.mutate.suspicion import suspicion
from autochron.recording.named_globals import GLOBAL
from autochron.weaving.cells import CELL

_NOT_ARGUMENTS = (GLOBAL, CELL)
"""How the names of the changes of a call begin that are none of its arguments."""
_MAX_CHARACTERS = 120
"""Characters of a value that is shown."""
_NOTHING = "it did not happen"
"""What stands for the outcome of a crossing that is missing."""
_MAX_CHANGES = 20
"""How many differences of one mutant are kept."""


class FixBaseline(Struct, frozen=True):
    """The replies of the fix, which the replies of mutants are compared with.

    Attributes:
        fix: the reply of the cut-point test.
        recorded: the recorded outcomes of the live crossings.
        stub, mocks: how the trial of this method ended; None where the method is not tried.
        baselines: the same of each baseline, by its name.
        has_twin, has_edges: whether there are tests of this part, which pass with the fix.
        widened: the reply with edge inputs; None where they are not tried.
        volatile: where the outcomes of two runs of the fix differ, as (address, path).
        chance: the sorts of these values (`a text`, `a number`). A mutant may move such a value to another place, and a
            report must not show values that differ from run to run.
    """

    fix: TrialReply
    recorded: tuple[LiveOutcome, ...] = ()
    stub: Kind | None = None
    mocks: Kind | None = None
    baselines: dict[str, Kind] = {}
    has_twin: bool = False
    has_edges: bool = False
    widened: TrialReply | None = None
    volatile: frozenset[tuple[str, str]] = frozenset()
    chance: frozenset[str] = frozenset()


def volatile_places(first: TrialReply, second: TrialReply) -> frozenset[tuple[str, str]]:
    """Return where the outcomes of two runs of the fix differ, as (address, path).

    A difference in these places says nothing about a mutant.
    """
    return frozenset((change.address, change.path) for change in differences(first.given, second.given))


def volatile_sorts(first: TrialReply, second: TrialReply) -> frozenset[str]:
    """Return the sorts of the values that differ between two runs of the fix."""
    return frozenset(_sort(change.fix) for change in differences(first.given, second.given))


def _sort(shown: str) -> str:
    """Return the sort of a value, from how Python writes it."""
    return "a text" if shown[:1] in {"'", '"'} else "a number" if shown[:1].isdecimal() else "something"


def _without_volatile_values(change: Change, baseline: FixBaseline) -> Change:
    """Replace the values of a change by their sorts, where values of that sort may differ from run to run."""
    chance = baseline.chance
    if not chance:
        return change
    inside = (path for address, path in baseline.volatile if address == change.address)
    if any(path.startswith(change.path) for path in inside):  # such as a whole outcome that did not happen
        shown = [value if value == _NOTHING else "another each time" for value in (change.fix, change.mutant)]
        return Change(change.address, change.path, *shown)
    values = [_sort(shown) if _sort(shown) in chance else shown for shown in (change.fix, change.mutant)]
    return Change(change.address, change.path, *values)


def differences(fix: Sequence[LiveOutcome], mutant: Sequence[LiveOutcome]) -> Iterator[Change]:
    """Yield the differences between the outcomes of live crossings.

    Args:
        fix: the outcomes with the fix.
        mutant: the outcomes with a mutant, or of another run of the fix.

    Yields:
        The differences in the order of the fix's crossings, then crossings that the fix doesn't have.
    """
    by_address = {live.address: live.outcome for live in mutant}
    for live in fix:
        outcome = by_address.pop(live.address, None)
        if outcome is None:
            yield Change(live.address, "", _short_json(live.outcome), _NOTHING)
        elif outcome != live.outcome:
            for place in differences_between(
                json.decode(live.outcome), json.decode(outcome), pair=pair_equal_lengths
            ):
                yield Change(live.address, place.indexed, _short_repr(place.first), _short_repr(place.second))
    for address, outcome in by_address.items():
        yield Change(address, "", _NOTHING, _short_json(outcome))


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"


def _short_json(outcome: str) -> str:
    tree = json.decode(outcome)
    return _short_repr(tree.get("returned", tree) if isinstance(tree, dict) else tree)


class MutantReplies(Struct, kw_only=True):
    """The replies of one mutant, by the kind of server; None where it was not tried."""

    cut: TrialReply
    stub: TrialReply | None = None
    mocks: TrialReply | None = None
    baselines: dict[str, TrialReply] = {}
    twin: TrialReply | None = None
    edges: TrialReply | None = None
    widened: TrialReply | None = None

    def harm(self) -> str:
        """Return why the world was unsafe after a test; empty where it was safe, and without a predicate."""
        replies = (self.cut, self.twin, self.edges)
        return next((harm for reply in replies if reply is not None for harm in reply.harms if harm), "")


def score(
    mutant: Mutant, trials: MutantReplies, baseline: FixBaseline, diff: str, *, proof: str = "", why: str = ""
) -> Result:
    """Return the result of one mutant.

    Args:
        mutant: the mutant.
        trials: its replies.
        baseline: the replies of the fix.
        diff: the mutant as a unified diff.
        proof: the user's explanation why it is equivalent; empty where there is none.
        why: the user's explanation what it would take to kill it; empty where there is none.
    """
    cut = trials.cut
    verdicts = _other_verdicts(trials, baseline) | _written_verdicts(trials)
    if cut.kind == "compile":
        return Result(mutant=mutant, verdicts=verdicts, diff=diff)
    changes = tuple(
        _without_volatile_values(change, baseline)
        for change in differences(baseline.fix.given, cut.given)
        if (change.address, change.path) not in baseline.volatile
    )
    full = verdicts[written(verdicts)]
    survives = not full.is_killed
    if survives and changes:
        first = changes[0]
        reason = (
            f"{first.address} gave {first.path or 'something else'}: {first.mutant} instead of {first.fix}"
        )
        full = MutantVerdict("output", reason, is_killed=True)
    verdicts["full-output"] = full
    inputs: tuple[int, ...] = ()
    if baseline.widened is not None:
        inputs = _differing_inputs(trials.widened, baseline.widened)
        verdicts["widened"] = _widened_verdict(trials.widened, baseline.widened, inputs) or full
    harm = trials.harm()
    is_unsafe = bool(harm) if baseline.fix.harms else _is_unsafe(cut, baseline)
    differs_on_inputs = "widened" in verdicts and verdicts["widened"].is_killed
    behaviour = (
        _behaviour(is_unsafe=is_unsafe, changes=changes, differs_on_inputs=differs_on_inputs)
        if survives
        else None
    )
    return Result(
        mutant=mutant,
        verdicts=verdicts,
        changes=changes[:_MAX_CHANGES],
        is_unsafe=is_unsafe,
        harm=harm,
        inputs=inputs,
        behaviour=behaviour,
        diff=diff,
        proof=proof,
        hint=why or (_hint(behaviour, changes, baseline.widened, verdicts) if survives and not proof else ""),
    )


def _other_verdicts(trials: MutantReplies, baseline: FixBaseline) -> dict[str, MutantVerdict]:
    """Return the verdicts of the methods in which nothing of a trace is live."""
    verdicts = {}
    if trials.stub is not None:
        verdicts["full-stub"] = _verdict(trials.stub, baseline.stub)
    if trials.mocks is not None:
        verdicts["mocks"] = _verdict(trials.mocks, baseline.mocks)
    for name, reply in trials.baselines.items():
        verdicts[name] = _verdict(reply, baseline.baselines[name])
    return verdicts


def _written_verdicts(trials: MutantReplies) -> dict[str, MutantVerdict]:
    """Return the verdicts of the folder's own tests: of the first part, and with each part that comes to it."""
    verdict = _verdict(trials.cut, "passed")
    verdicts = {"cut-point": verdict}
    for method, reply in (("with-twin", trials.twin), ("with-edges", trials.edges)):
        if reply is not None:
            verdict = verdict if verdict.is_killed else _verdict(reply, "passed")
            verdicts[method] = verdict
    return verdicts


def _verdict(reply: TrialReply, expected: Kind | None) -> MutantVerdict:
    is_killed = reply.kind not in {"compile", expected}
    return MutantVerdict(reply.kind, reply.said, is_killed=is_killed)


def _widened_verdict(
    reply: TrialReply | None, fix: TrialReply, inputs: Sequence[int]
) -> MutantVerdict | None:
    """Return the verdict of edge inputs on a mutant that survives the recorded input; None where they say nothing."""
    if reply is None:
        return None
    if inputs:
        return MutantVerdict("output", _input_reason(inputs[0], reply, fix), is_killed=True)
    if reply.kind != fix.kind:  # it survives the recorded input, so an edge input ended the trial
        return MutantVerdict(reply.kind, reply.said, is_killed=True)
    return None


def _is_unsafe(cut: TrialReply, baseline: FixBaseline) -> bool:
    """Return whether the tool did what the fix prevents, as far as that shows without a predicate.

    It is unsafe if a swapped-in function went on to call the function that it replaces, in a call in which the fix does
    not; or if a crossing had its recorded outcome, which it does not have with the fix.
    """
    for old, counts in cut.reached.items():
        fix_counts = [*baseline.fix.reached.get(old, ()), *[0] * len(counts)]
        if any(count > fix_count for count, fix_count in zip(counts, fix_counts, strict=False)):
            return True
    outcomes = {live.address: _without_globals(live.outcome) for live in cut.given}
    fix_outcomes = {live.address: _without_globals(live.outcome) for live in baseline.fix.given}
    for live in baseline.recorded:
        recorded = _without_globals(live.outcome)
        if outcomes.get(live.address) == recorded != fix_outcomes.get(live.address, recorded):
            return True
    return False


def _without_globals(outcome: str) -> str:
    """Return an outcome without the globals that the call changed: a recording notes them, and a live crossing does not."""
    tree = json.decode(outcome)
    if not isinstance(tree, dict) or not isinstance(tree.get("changed"), dict):
        return outcome
    changed = {name: value for name, value in tree["changed"].items() if not name.startswith(_NOT_ARGUMENTS)}
    return json.encode({**tree, "changed": changed} if changed else _without(tree, "changed")).decode()


def _without(tree: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name != key}


def _behaviour(*, is_unsafe: bool, changes: Sequence[Change], differs_on_inputs: bool) -> Behaviour:
    if is_unsafe:
        return "escape"
    if changes:
        return "output"
    return "other-input" if differs_on_inputs else "same"


# --- edge inputs -----------------------------------------------------------------------------------------------------------


def numbered(fix: TrialReply, refused: Mapping[str, str]) -> tuple[Input, ...]:
    """Return the inputs that were tried, numbered through the whole incident, with their outcomes.

    It is marked on each whether the fix decides differently on it than on the recorded input.

    Args:
        fix: the reply of the fix with edge inputs.
        refused: by the address of a crossing whose recorded input the fix refuses, how it decides there.
    """
    inputs = []
    recorded: dict[str, str] = {}
    for number, edge_input in enumerate(fix.inputs):
        outcome = fix.outcomes.get(f"{edge_input.address}.{edge_input.number}", "")
        if not edge_input.argument:
            recorded[edge_input.address] = decision(outcome)
        flips = decision(outcome) not in {"", recorded.get(edge_input.address)}
        # What it decides on the recorded input must be that refusal: state may differ where calls run at once.
        is_refused = refused.get(edge_input.address) == recorded.get(edge_input.address, "")
        is_accepted = flips and is_refused
        inputs.append(
            structs.replace(edge_input, number=number, flips=flips, is_accepted=is_accepted, outcome=outcome)
        )
    return tuple(inputs)


def summarize_inputs(
    baseline: FixBaseline, results: Sequence[Result]
) -> tuple[tuple[Input, ...], tuple[Sensitivity, ...]]:
    """Return the inputs that were tried, and which arguments can change what the fix decides.

    An input is marked as kept where a small set of inputs that tells all mutants from the fix has it.

    Args:
        baseline: the replies of the fix.
        results: the results of all mutants.
    """
    if baseline.widened is None:
        return (), ()
    decided = {live.address: decision(live.outcome) for live in baseline.fix.given}
    refused = {
        live.address: decided[live.address]
        for live in baseline.recorded
        if live.address in decided and decided[live.address] != decision(live.outcome)
    }
    inputs = numbered(baseline.widened, refused)
    doubted = frozenset(edge_input.number for edge_input in inputs if suspicion(edge_input))
    kept = set(cover((result.inputs for result in results), doubted))
    inputs = tuple(structs.replace(edge_input, is_kept=edge_input.number in kept) for edge_input in inputs)
    by_argument: dict[str, list[Input]] = {}
    for edge_input in inputs:
        if edge_input.argument:
            by_argument.setdefault(edge_input.argument, []).append(edge_input)
    return inputs, tuple(
        Sensitivity(
            argument,
            len(of_argument),
            sum(edge_input.flips for edge_input in of_argument),
            next((edge_input.value for edge_input in of_argument if edge_input.flips), ""),
        )
        for argument, of_argument in by_argument.items()
    )


def states_of(fix: TrialReply | None) -> dict[str, dict[str, dict[str, str]]]:
    """Return the state of the modules at each call at which inputs were tried, by the call's address."""
    return _noted(fix, "state ")


def files_of(fix: TrialReply | None) -> dict[str, dict[str, str]]:
    """Return what the files of the project held at each call at which inputs were tried, by the call's address."""
    return {address: files for address, files in _noted(fix, "files ").items() if files}


def _noted(fix: TrialReply | None, kind: str) -> dict[str, Any]:
    outcomes = {} if fix is None else fix.outcomes
    return {
        key.removeprefix(kind): json.decode(text) for key, text in outcomes.items() if key.startswith(kind)
    }


def decision(outcome: str) -> str:
    """Return what an outcome decides: its flags, its status and its types, without numbers and texts for people.

    Args:
        outcome: an outcome as JSON.

    Returns:
        The decision as text. It is empty for an exception: a guard that raises, for an order that does not exist, say,
        lets nothing through.
    """
    if not outcome:
        return ""
    tree = json.decode(outcome)
    if isinstance(tree, dict) and "raised" in tree:
        return ""
    value = tree.get("returned") if isinstance(tree, dict) else tree
    if isinstance(value, dict):
        shape = {
            key: member
            if isinstance(member, bool) or member is None or key in {"status", "$type", "$enum"}
            else type(member).__name__
            for key, member in value.items()
        }
        return json.encode(shape, order="sorted").decode()
    return (
        json.encode(value).decode()
        if isinstance(value, bool | str) or value is None
        else type(value).__name__
    )


def _differing_inputs(reply: TrialReply | None, fix: TrialReply) -> tuple[int, ...]:
    """Return the numbers of the inputs on which a mutant differs from the fix."""
    if reply is None:
        return ()
    return tuple(
        number
        for number, edge_input in enumerate(fix.inputs)
        if f"{edge_input.address}.{edge_input.number}" in reply.outcomes
    )


def _input_reason(number: int, reply: TrialReply | None, fix: TrialReply) -> str:
    """Return the reason of a verdict: the outcomes of the mutant and of the fix for one input."""
    edge_input = fix.inputs[number]
    key = f"{edge_input.address}.{edge_input.number}"
    outcome = "" if reply is None else _short_json(reply.outcomes[key])
    place = f"{edge_input.argument} = {edge_input.value}" if edge_input.argument else "the recorded input"
    return f"{edge_input.address} with {place} gives {outcome} instead of {_short_json(fix.outcomes[key])}"


def _hint(
    behaviour: Behaviour | None,
    changes: Sequence[Change],
    fix: TrialReply | None,
    verdicts: Mapping[str, MutantVerdict],
) -> str:
    """Return what would kill a survivor; `fix` is the reply of the fix with edge inputs, if tried."""
    if behaviour in {"escape", "output"} and changes:
        return f"let the test look at {changes[0].address}: {changes[0].path or 'whether it happens'}"
    if behaviour == "other-input" and fix is not None:
        return f"try another input: {verdicts['widened'].said}"
    if behaviour == "same" and fix is None:
        return "other inputs; they are tried where the test calls the agent itself, and not where it has `replay.run()`"
    if behaviour == "same":
        return (
            "another state than the incident's, or several arguments changed at once; or nothing, if it is equivalent"
            " (argue so with --explanations)"
        )
    return ""


def cover(rows: Iterable[tuple[int, ...]], avoided: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """Return few numbers of which each row has at least one.

    The number that most of the remaining rows have is taken again and again; of equals, the lowest.

    Args:
        rows: the numbers of each row.
        avoided: numbers that are taken only for rows without others.
    """
    remaining = [set(row) - avoided or set(row) for row in rows if row]
    chosen: list[int] = []
    while remaining:
        counts: dict[int, int] = {}
        for row in remaining:
            for number in row:
                counts[number] = counts.get(number, 0) + 1
        best = min(counts, key=lambda number: (-counts[number], number))
        chosen.append(best)
        remaining = [row for row in remaining if best not in row]
    return tuple(sorted(chosen))
