"""From what trials came to, to what a mutant is called: killed by which method, and why not by the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, json, structs

from autochron.json_differences import differences_between, pair_equal_lengths
from autochron.mutate.model import Behaviour, Change, Input, Kind, Mutant, MutantVerdict, Result, Sensitivity
from autochron.mutate.protocol import LiveOutcome, TrialReply

_SHORT = 120
_MOST = 20
"""So many differences of one mutant are kept."""


class FixBaseline(Struct, frozen=True):
    """What is known of the fix.

    Attributes:
        fix: what it came to.
        recorded: what the live crossings gave when the trace was made.
        stub, mocks: how it ended there; None where that is not tried.
        widened: what it gave for other inputs; None as above.
        volatile: what differs from one run of the fix to the next, as (address, path).
        chance: of which sort that is: a mutant may put it elsewhere, and a report says nothing that differs.
    """

    fix: TrialReply
    recorded: tuple[LiveOutcome, ...] = ()
    stub: Kind | None = None
    mocks: Kind | None = None
    widened: TrialReply | None = None
    volatile: frozenset[tuple[str, str]] = frozenset()
    chance: frozenset[str] = frozenset()


def volatile_in(one: TrialReply, other: TrialReply) -> frozenset[tuple[str, str]]:
    """Return where two runs of the fix differ: these places tell nothing of a mutant."""
    return frozenset((each.address, each.path) for each in differences(one.given, other.given))


def sorts_in(one: TrialReply, other: TrialReply) -> frozenset[str]:
    """Return the sorts of what differs in two runs of the fix."""
    return frozenset(_sort(each.fix) for each in differences(one.given, other.given))


def _sort(shown: str) -> str:
    return "a text" if shown[:1] in {"'", '"'} else "a number" if shown[:1].isdecimal() else "something"


def _without_chance(each: Change, chance: frozenset[str]) -> Change:
    """Have a change say no more than the sort of what may differ from run to run."""
    if not chance:
        return each
    said = [_sort(shown) if _sort(shown) in chance else shown for shown in (each.fix, each.mutant)]
    return Change(each.address, each.path, *said)


def differences(fix: Sequence[LiveOutcome], mutant: Sequence[LiveOutcome]) -> Iterator[Change]:
    """Yield where what the live crossings gave differs, in the order of the fix's."""
    theirs = {each.address: each.outcome for each in mutant}
    for each in fix:
        outcome = theirs.pop(each.address, None)
        if outcome is None:
            yield Change(each.address, "", _short_json(each.outcome), "it did not happen")
        elif outcome != each.outcome:
            for place in differences_between(
                json.decode(each.outcome), json.decode(outcome), pair=pair_equal_lengths
            ):
                yield Change(each.address, place.indexed, _short(place.first), _short(place.second))
    for address, outcome in theirs.items():
        yield Change(address, "", "it did not happen", _short_json(outcome))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def _short_json(outcome: str) -> str:
    tree = json.decode(outcome)
    return _short(tree.get("returned", tree) if isinstance(tree, dict) else tree)


class MutantReplies(Struct, kw_only=True):
    """What came of one mutant, by who tried it."""

    cut: TrialReply
    stub: TrialReply | None = None
    mocks: TrialReply | None = None
    widened: TrialReply | None = None


def scored(
    mutant: Mutant, trials: MutantReplies, baseline: FixBaseline, diff: str, *, proof: str = "", why: str = ""
) -> Result:
    """Say what became of one mutant; `proof` is why it is equivalent, and `why` what it would take, as people argue."""
    cut = trials.cut
    verdicts: dict[str, MutantVerdict] = {}
    if trials.stub is not None:
        verdicts["full-stub"] = _verdict(trials.stub, baseline.stub)
    if trials.mocks is not None:
        verdicts["mocks"] = _verdict(trials.mocks, baseline.mocks)
    verdicts["cut-point"] = _verdict(cut, "passed")
    if cut.kind == "compile":
        return Result(mutant=mutant, verdicts=verdicts, diff=diff)
    changes = tuple(
        _without_chance(each, baseline.chance)
        for each in differences(baseline.fix.given, cut.given)
        if (each.address, each.path) not in baseline.volatile
    )
    survives = not verdicts["cut-point"].is_killed
    full = verdicts["cut-point"]
    if survives and changes:
        first = changes[0]
        said = f"{first.address} gave {first.path or 'something else'}: {first.mutant} instead of {first.fix}"
        full = MutantVerdict("output", said, is_killed=True)
    verdicts["full-output"] = full
    inputs: tuple[int, ...] = ()
    if baseline.widened is not None:
        inputs = _telling(trials.widened, baseline.widened)
        verdicts["widened"] = _widened(trials.widened, baseline.widened, inputs) or full
    is_unsafe = _is_unsafe(cut, baseline)
    tells = "widened" in verdicts and verdicts["widened"].is_killed
    behaviour = _behaviour(is_unsafe=is_unsafe, changes=changes, tells=tells) if survives else None
    return Result(
        mutant=mutant,
        verdicts=verdicts,
        changes=changes[:_MOST],
        is_unsafe=is_unsafe,
        inputs=inputs,
        behaviour=behaviour,
        diff=diff,
        proof=proof,
        hint=why
        or (_hint(behaviour, changes, inputs, baseline.widened, verdicts) if survives and not proof else ""),
    )


def _verdict(reply: TrialReply, expected: Kind | None) -> MutantVerdict:
    is_killed = reply.kind not in {"compile", expected}
    return MutantVerdict(reply.kind, reply.said, is_killed=is_killed)


def _widened(reply: TrialReply | None, fix: TrialReply, inputs: Sequence[int]) -> MutantVerdict | None:
    """Return what other inputs say of a mutant that lives with the recorded one; None where they say nothing."""
    if reply is None:
        return None
    if inputs:
        return MutantVerdict("output", _of_input(inputs[0], reply, fix), is_killed=True)
    if reply.kind != fix.kind:  # with the recorded input it passes: one of the others has ended all
        return MutantVerdict(reply.kind, reply.said, is_killed=True)
    return None


def _is_unsafe(cut: TrialReply, baseline: FixBaseline) -> bool:
    """Return whether the tool did what the fix keeps it from.

    It went on to what the fix stands before, in a call in which the fix does not; or a crossing gave what it gave in the
    incident, and with the fix gives something else.
    """
    for old, counts in cut.reached.items():
        usual = [*baseline.fix.reached.get(old, ()), *[0] * len(counts)]
        if any(count > fix for count, fix in zip(counts, usual, strict=False)):
            return True
    now = {each.address: each.outcome for each in cut.given}
    fixed = {each.address: each.outcome for each in baseline.fix.given}
    return any(
        now.get(each.address) == each.outcome != fixed.get(each.address, each.outcome)
        for each in baseline.recorded
    )


def _behaviour(*, is_unsafe: bool, changes: Sequence[Change], tells: bool) -> Behaviour:
    if is_unsafe:
        return "escape"
    if changes:
        return "output"
    return "other-input" if tells else "same"


# --- other inputs ----------------------------------------------------------------------------------------------------------


def numbered(fix: TrialReply) -> tuple[Input, ...]:
    """Return the inputs that were tried, numbered through; which flip what the fix decides is said of each."""
    found = []
    recorded: dict[str, str] = {}
    for at, each in enumerate(fix.inputs):
        outcome = fix.outcomes.get(f"{each.address}.{each.number}", "")
        if not each.argument:
            recorded[each.address] = decision(outcome)
        flips = decision(outcome) not in {"", recorded.get(each.address)}
        found.append(structs.replace(each, number=at, flips=flips, outcome=outcome))
    return tuple(found)


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
    inputs = numbered(baseline.widened)
    kept = set(cover(result.inputs for result in results))
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


def decision(outcome: str) -> str:
    """Return what an outcome decides: its flags, its status and its type; not numbers, and not words for people.

    Empty for one that raises: an order that isn't there is none that the guard lets through.
    """
    if not outcome:
        return ""
    tree = json.decode(outcome)
    if isinstance(tree, dict) and "raised" in tree:
        return ""
    value = tree.get("returned") if isinstance(tree, dict) else tree
    if isinstance(value, dict):
        shape = {
            key: each
            if isinstance(each, bool) or each is None or key in {"status", "$type", "$enum"}
            else type(each).__name__
            for key, each in value.items()
        }
        return json.encode(shape, order="sorted").decode()
    return (
        json.encode(value).decode()
        if isinstance(value, bool | str) or value is None
        else type(value).__name__
    )


def _telling(reply: TrialReply | None, fix: TrialReply) -> tuple[int, ...]:
    """Return the inputs, by their numbers in the study, that tell a mutant from the fix."""
    if reply is None:
        return ()
    return tuple(
        at for at, each in enumerate(fix.inputs) if f"{each.address}.{each.number}" in reply.outcomes
    )


def _of_input(at: int, reply: TrialReply | None, fix: TrialReply) -> str:
    each = fix.inputs[at]
    key = f"{each.address}.{each.number}"
    gave = "" if reply is None else _short_json(reply.outcomes[key])
    place = f"{each.argument} = {each.value}" if each.argument else "the recorded input"
    return f"{each.address} with {place} gives {gave} instead of {_short_json(fix.outcomes[key])}"


def _hint(
    behaviour: Behaviour | None,
    changes: Sequence[Change],
    inputs: Sequence[int],
    fix: TrialReply | None,
    verdicts: Mapping[str, MutantVerdict],
) -> str:
    """Say what would kill a survivor."""
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


def cover(rows: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return few inputs of which each row has one: time and again that which most of the rest have, of equals the first."""
    left = [set(row) for row in rows if row]
    kept: list[int] = []
    while left:
        counts: dict[int, int] = {}
        for row in left:
            for number in row:
                counts[number] = counts.get(number, 0) + 1
        best = min(counts, key=lambda number: (-counts[number], number))
        kept.append(best)
        left = [row for row in left if best not in row]
    return tuple(sorted(kept))
