"""The observations of one run of an incident's test, and the baseline that several runs of unchanged code have in common."""

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
    """Effects outside of live crossings."""
    sources: tuple[str, ...] = ()
    """Paths of the project's modules that ran, relative to the rules' root."""
    swallowed: tuple[str, ...] = ()
    """Crashes that the project's code caught itself."""


def observe(
    envelopes: Iterable[Envelope],
    evidence: Mapping[str, Evidence],
    sources: Sequence[str],
    swallowed: Sequence[str],
) -> Observation:
    """Collect the observations of one run.

    Args:
        envelopes: the live crossings, as they were in this run.
        evidence: what the replay saw of them, by address, and under `OUTSIDE` what it saw outside of them.
        sources: paths of the project's modules that ran.
        swallowed: crashes that the project's code caught itself.
    """
    crossings: dict[str, Observed] = {}
    for envelope in envelopes:
        crossing_evidence = evidence.get(envelope.address, Evidence(address=envelope.address))
        crossings[envelope.address] = Observed(
            outcome=outcome_of(envelope),
            effects=crossing_evidence.effects,
            left_running=crossing_evidence.left_running,
        )
    outside = evidence.get(OUTSIDE, Evidence(address=OUTSIDE)).effects
    return Observation(
        crossings=crossings, outside=outside, sources=tuple(sources), swallowed=tuple(swallowed)
    )


def baseline_of(
    runs: Sequence[Observation],
    recorded: Mapping[str, Envelope],
    root: str,
    ignored: Mapping[str, Sequence[str]],
) -> Baseline:
    """Make the baseline of several runs of unchanged code. It has only the crossings that every run reached.

    Args:
        runs: the observations of each run.
        recorded: the recorded envelopes of the crossings in question, by address.
        root: the folder that the sources' paths are relative to.
        ignored: fields that the test names as volatile, by address.
    """
    crossings: dict[str, CrossingPrint] = {}
    for address, envelope in recorded.items():
        observed = [run.crossings[address] for run in runs if address in run.crossings]
        if len(observed) < len(runs) or not observed:
            continue
        outcome = print_of([crossing.outcome for crossing in observed])
        crossings[address] = CrossingPrint(
            outcome=outcome,
            effects=effects_in_common([crossing.effects for crossing in observed], envelope.arguments),
            unlike_record=tuple(outcome.differences(outcome_of(envelope), ignored.get(address, ()))),
            left_running=tuple(sorted({name for crossing in observed for name in crossing.left_running})),
        )
    sources = sorted({source for run in runs for source in run.sources})
    swallowed = sorted({crash for run in runs for crash in run.swallowed})
    outside = effects_in_common([run.outside for run in runs], {})
    return Baseline(
        runs=len(runs),
        crossings=crossings,
        outside=outside,
        sources=digests_of(root, sources),
        swallowed=tuple(swallowed),
    )


def volatile_of(runs: Sequence[Observation], baseline: Baseline) -> list[tuple[str, str]]:
    """Return the fields that vary between the runs, as `ADDRESS.PATH`, each with a comment that shows example values."""
    fields = []
    for address, crossing in baseline.crossings.items():
        values = [flatten(run.crossings[address].outcome) for run in runs]
        for path in crossing.outcome.varying():
            if path in crossing.outcome.unordered:
                example = "in another order in each run"
            else:
                examples = dict.fromkeys(_example(leaves.get(path)) for leaves in values)
                example = f"another in each run: {', '.join(examples)}"
            fields.append((f"{address}.{path}", example))
    return fields


def missing_state(
    baseline: Baseline, runs: Sequence[Observation], recorded: Mapping[str, Envelope]
) -> list[str]:
    """Return a message for each field that is the same in every run but differs from the record; at most 4 per crossing."""
    reasons = []
    for address, crossing in baseline.crossings.items():
        recorded_leaves = flatten(outcome_of(recorded[address]))
        todays = flatten(runs[0].crossings[address].outcome)
        reasons += [
            f"{address}.{path} is {_example(todays.get(path, '(missing)'))} in each run of today's code, and was"
            f" {_example(recorded_leaves.get(path, '(missing)'))} in the incident: state is missing, or the code has"
            " changed since; name the file in a [[snapshot]] and record again"
            for path in crossing.unlike_record[:4]
        ]
    return reasons


def effects_seen(runs: Sequence[Observation]) -> list[tuple[str, StateEffect]]:
    """Return the effects of live crossings in the first run, each with the crossing's address."""
    return [
        (address, effect) for address, crossing in runs[0].crossings.items() for effect in crossing.effects
    ]


def outcome_tells_nothing(baseline: Baseline, address: str, ignored: Sequence[str] = ()) -> bool:
    """Return whether a crossing's outcome can't show a change, because all of it varies, is ignored or is null.

    Only the crossing's effects can show one then. False for a crossing that is not in the baseline.
    """
    crossing = baseline.crossings.get(address)
    if crossing is None:
        return False
    return not crossing.outcome.tells or all(
        leaf == "*" or is_below(path, ignored) for path, leaf in crossing.outcome.leaves.items()
    )


def _example(value: Any) -> str:
    text = brief(value).replace("\n", " ").replace("\r", " ")
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def read_observation(text: bytes) -> Observation:
    """Decode the observation that a run wrote as JSON."""
    return decode(text, type=Observation)
