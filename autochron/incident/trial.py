"""Finish a new incident: try its test on unchanged code, and write the fields that vary into the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from autochron._runtime.unpatched import os
from autochron.incident import create, try_test
from autochron.incident.folder import write_baseline
from autochron.model import Incident, Tried
from autochron.reproduction.baseline import Baseline, digests_of
from autochron.reproduction.observation import (
    Observation,
    baseline_of,
    effects_seen,
    missing_state,
    outcome_tells_nothing,
    volatile_of,
)
from autochron.reproduction.outcomes import shown

if TYPE_CHECKING:
    from autochron.incident.create import IncidentRequest

_MAX_EFFECTS = 12


def finish(
    request: IncidentRequest, incident: Incident, progress: Callable[[int, int], None] | None = None
) -> Tried:
    """Run the test several times on unchanged code, write its baseline and what varies, and run the final test once.

    Args:
        request: the options of the incident.
        incident: the incident, as `create.write` returns it.
        progress: called with the number of finished runs and of all runs.

    Returns:
        How the final run ended, with notes for the user.
    """
    if not try_test.can_try():
        settle(request, incident, Baseline(), settled=True)
        return Tried("untried", "pytest is not installed here, so nobody has seen the test fail yet")
    # Not settled yet: if this attempt is interrupted, the next one may replace its folder.
    settle(request, incident, Baseline(), settled=False)
    limit = try_test.limit_of(request.record)
    runs, unobserved = ([], None) if incident.waits else try_test.observe_runs(incident, limit, progress)
    if not runs:
        tried = unobserved or try_test.try_test(incident, limit)
        settle(request, incident, Baseline(), settled=tried.is_right)
        return tried
    recorded = {envelope.address: envelope for envelope in create.suspects_of(request)}
    baseline = baseline_of(runs, recorded, incident.root, {})
    volatile = volatile_of(runs, baseline)
    _write_test(request, incident, volatile)
    settle(request, incident, baseline, settled=True)
    if progress is not None:
        progress(try_test.RUNS, try_test.RUNS + 1)
    tried = try_test.try_test(incident, limit)
    if not tried.is_right:
        settle(request, incident, baseline, settled=False)
    notes = [
        *(f"varies, and tells nothing: {field} ({example})" for field, example in volatile),
        *(
            f"only what {address} was given and did to the world tells, for its outcome does not"
            for address in baseline.crossings
            if outcome_tells_nothing(baseline, address)
        ),
        *_effect_notes(runs, tried.said),
        *_ambiguous_tools(runs),
        *missing_state(baseline, runs, recorded),
    ]
    return msgspec.structs.replace(tried, notes=tuple(notes))


def settle(request: IncidentRequest, incident: Incident, baseline: Baseline, *, settled: bool) -> None:
    """Write the baseline with the digests of the incident's files, by which a later `incident new` recognises them.

    Args:
        request: the options of the incident.
        incident: the incident.
        baseline: the baseline; if it has no sources, the sources that the trace names are added.
        settled: whether the incident is complete; see `Baseline.settled`.
    """
    if not baseline.sources:
        baseline = msgspec.structs.replace(baseline, sources=_known_sources(request, incident))
    complete = msgspec.structs.replace(baseline, snapshots=request.snapshots_at(incident.folder))
    write_baseline(incident.folder, complete, incident.files, settled=settled)


def _known_sources(request: IncidentRequest, incident: Incident) -> dict[str, str]:
    """Return the digests of the sources that the trace names, for an incident whose program was not run."""
    record = request.record
    paths = {boundary.site.removeprefix("@").partition(":")[0] for boundary in record.boundaries()}
    command = record.header.command
    if command.mode == "script":
        paths.add(os.path.normpath(os.path.join(command.folder, command.target)).replace(os.sep, "/"))
    digests = digests_of(incident.root, sorted(path for path in paths if path.endswith(".py")))
    return {path: digest for path, digest in digests.items() if digest}


def _effect_notes(runs: list[Observation], said: str) -> list[str]:
    """Return notes of what live calls did to the world, without what the test's message `said` already."""
    effects = [(address, effect) for address, effect in effects_seen(runs) if shown(effect) not in said]
    lines = [
        f"{address} did this on the scratch copy: {shown(effect)}"
        for address, effect in effects[:_MAX_EFFECTS]
    ]
    return (
        [*lines, f"and {len(effects) - _MAX_EFFECTS} more such effects"]
        if len(effects) > _MAX_EFFECTS
        else lines
    )


def _ambiguous_tools(runs: list[Observation]) -> list[str]:
    """Return a note that asks which tool went wrong, if more than one has effects."""
    names = dict.fromkeys(address.partition("[")[0] for address, _ in effects_seen(runs))
    if len(names) < 2:
        return []
    return [
        f"more than one tool did something ({', '.join(names)}): leave in the test's check those that went wrong"
    ]


def _write_test(request: IncidentRequest, incident: Incident, volatile: list[tuple[str, str]]) -> None:
    text = create.test_text(request, volatile)
    with open(os.path.join(incident.folder, os.path.basename(incident.test)), "w", encoding="utf-8") as file:
        file.write(text)
