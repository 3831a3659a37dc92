"""What one run of an incident's test saw, and what several runs of unchanged code have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.json import decode

from autochron.envelope.brief import brief
from autochron.model import OUTSIDE, Envelope, Evidence, StateEffect
from autochron.reproduction.baseline import Baseline, CrossingPrint, digests_of, effects_in_common
from autochron.reproduction.outcomes import outcome_of
from autochron.reproduction.prints import flatten, is_below, print_of

_WIDTH = 40


class Observed(Struct, frozen=True, kw_only=True):
    """One live crossing in one run."""

    outcome: Any
    """As `outcomes.outcome_of` returns it."""
    effects: tuple[StateEffect, ...] = ()
    left_running: tuple[str, ...] = ()


class Observation(Struct, frozen=True, kw_only=True):
    """One run of a test."""

    crossings: dict[str, Observed] = {}
    outside: tuple[StateEffect, ...] = ()
    """What was done outside of live crossings."""
    sources: tuple[str, ...] = ()
    swallowed: tuple[str, ...] = ()


def observe(
    envelopes: Iterable[Envelope],
    evidence: Mapping[str, Evidence],
    sources: Sequence[str],
    swallowed: Sequence[str],
) -> Observation:
    """Return what was seen of live crossings."""
    found: dict[str, Observed] = {}
    for each in envelopes:
        seen = evidence.get(each.address, Evidence(address=each.address))
        found[each.address] = Observed(
            outcome=outcome_of(each), effects=seen.effects, left_running=seen.left_running
        )
    outside = evidence.get(OUTSIDE, Evidence(address=OUTSIDE)).effects
    return Observation(crossings=found, outside=outside, sources=tuple(sources), swallowed=tuple(swallowed))


def baseline_of(
    runs: Sequence[Observation],
    recorded: Mapping[str, Envelope],
    root: str,
    ignored: Mapping[str, Sequence[str]],
) -> Baseline:
    """Return what several runs of unchanged code have in common.

    Args:
        runs: what each saw.
        recorded: the record of the crossings in question, by address.
        root: the folder that sources' paths start from.
        ignored: fields that the test says are volatile, by address.
    """
    crossings: dict[str, CrossingPrint] = {}
    for address, envelope in recorded.items():
        seen = [run.crossings[address] for run in runs if address in run.crossings]
        if len(seen) < len(runs) or not seen:
            continue
        outcome = print_of([each.outcome for each in seen])
        crossings[address] = CrossingPrint(
            outcome=outcome,
            effects=effects_in_common([each.effects for each in seen], envelope.arguments),
            unlike_record=tuple(outcome.differences(outcome_of(envelope), ignored.get(address, ()))),
            left_running=tuple(sorted({name for each in seen for name in each.left_running})),
        )
    sources = sorted({each for run in runs for each in run.sources})
    swallowed = sorted({each for run in runs for each in run.swallowed})
    outside = effects_in_common([run.outside for run in runs], {})
    return Baseline(
        runs=len(runs),
        crossings=crossings,
        outside=outside,
        sources=digests_of(root, sources),
        swallowed=tuple(swallowed),
    )


def volatile_of(runs: Sequence[Observation], baseline: Baseline) -> list[tuple[str, str]]:
    """Return the fields that were others in each run, as a test names them, each with examples of their values."""
    found = []
    for address, known in baseline.crossings.items():
        values = [flatten(run.crossings[address].outcome) for run in runs]
        for path in known.outcome.varying():
            if path in known.outcome.unordered:
                example = "in another order in each run"
            else:
                shown = dict.fromkeys(_example(each.get(path)) for each in values)
                example = f"another in each run: {', '.join(shown)}"
            found.append((f"{address}.{path}", example))
    return found


def missing_state(
    baseline: Baseline, runs: Sequence[Observation], recorded: Mapping[str, Envelope]
) -> list[str]:
    """Say which fields are the same in each run and not what was recorded."""
    found = []
    for address, known in baseline.crossings.items():
        was, now = flatten(outcome_of(recorded[address])), flatten(runs[0].crossings[address].outcome)
        found += [
            f"{address}.{path} is {_example(now.get(path, '(missing)'))} in each run of today's code, and was"
            f" {_example(was.get(path, '(missing)'))} in the incident: state is missing, or the code has changed since; name"
            " the file in a [[snapshot]] and record again"
            for path in known.unlike_record[:4]
        ]
    return found


def effects_seen(runs: Sequence[Observation]) -> list[tuple[str, StateEffect]]:
    """Return what live crossings did to the world in the first run, with their addresses."""
    return [(address, each) for address, seen in runs[0].crossings.items() for each in seen.effects]


def tells_nothing(baseline: Baseline, address: str, ignored: Sequence[str] = ()) -> bool:
    """Return whether only the effects of a crossing tell whether it went otherwise."""
    known = baseline.crossings.get(address)
    if known is None:
        return False
    return not known.outcome.tells or all(
        each == "*" or is_below(path, ignored) for path, each in known.outcome.leaves.items()
    )


def _example(value: Any) -> str:
    text = brief(value).replace("\n", " ").replace("\r", " ")
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def read_observation(text: bytes) -> Observation:
    """Read what a run wrote down."""
    return decode(text, type=Observation)
