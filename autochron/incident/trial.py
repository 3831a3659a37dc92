"""Finish a new incident: try its test on unchanged code, and write into it what that showed."""

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

_FEW = 12


def finish(
    wanted: IncidentRequest, incident: Incident, told: Callable[[int, int], None] | None = None
) -> Tried:
    """Run the test several times on today's code, write what varies into it, and run it once as it will be run.

    `told` is called with how many runs are done, and of how many.
    """
    if not try_test.can_try():
        settle(wanted, incident, Baseline(), settled=True)
        return Tried("untried", "pytest is not installed here, so nobody has seen the test fail yet")
    # So that one that is interrupted is in nobody's way.
    settle(wanted, incident, Baseline(), settled=False)
    limit = try_test.limit_of(wanted.record)
    runs, ended = ([], None) if incident.waits else try_test.observe_runs(incident, limit, told)
    if not runs:
        tried = ended or try_test.try_test(incident, limit)
        settle(wanted, incident, Baseline(), settled=tried.is_right)
        return tried
    recorded = {each.address: each for each in create.suspects_of(wanted)}
    baseline = baseline_of(runs, recorded, incident.root, {})
    volatile = volatile_of(runs, baseline)
    _write_test(wanted, incident, volatile)
    settle(wanted, incident, baseline, settled=True)
    if told is not None:
        told(try_test.RUNS, try_test.RUNS + 1)
    tried = try_test.try_test(incident, limit)
    if not tried.is_right:
        settle(wanted, incident, baseline, settled=False)
    notes = [
        *(f"varies, and tells nothing: {field} ({example})" for field, example in volatile),
        *(
            f"only what {address} was given and did to the world tells, for its outcome does not"
            for address in baseline.crossings
            if outcome_tells_nothing(baseline, address)
        ),
        *_effects(runs),
        *_several(runs),
        *missing_state(baseline, runs, recorded),
    ]
    return msgspec.structs.replace(tried, notes=tuple(notes))


def settle(wanted: IncidentRequest, incident: Incident, baseline: Baseline, *, settled: bool) -> None:
    """Write the baseline, and what was made, so that a later `incident new` knows it."""
    if not baseline.sources:
        baseline = msgspec.structs.replace(baseline, sources=_known_sources(wanted, incident))
    found = msgspec.structs.replace(baseline, snapshots=wanted.snapshots_at(incident.folder))
    write_baseline(incident.folder, found, incident.files, settled=settled)


def _known_sources(wanted: IncidentRequest, incident: Incident) -> dict[str, str]:
    """Return the digests of the sources that the trace names, where nobody has run the program."""
    record = wanted.record
    files = {each.site.removeprefix("@").partition(":")[0] for each in record.boundaries()}
    command = record.header.command
    if command.mode == "script":
        files.add(os.path.normpath(os.path.join(command.folder, command.target)).replace(os.sep, "/"))
    found = digests_of(incident.root, sorted(each for each in files if each.endswith(".py")))
    return {file: digest for file, digest in found.items() if digest}


def _effects(runs: list[Observation]) -> list[str]:
    seen = effects_seen(runs)
    lines = [f"{address} did this on the scratch copy: {shown(effect)}" for address, effect in seen[:_FEW]]
    return [*lines, f"and {len(seen) - _FEW} more such effects"] if len(seen) > _FEW else lines


def _several(runs: list[Observation]) -> list[str]:
    """Ask which of several tools went wrong, where more than one did something to the world."""
    names = dict.fromkeys(address.partition("[")[0] for address, _ in effects_seen(runs))
    if len(names) < 2:
        return []
    return [
        f"more than one tool did something ({', '.join(names)}): leave in the test's check those that went wrong"
    ]


def _write_test(wanted: IncidentRequest, incident: Incident, volatile: list[tuple[str, str]]) -> None:
    text = create.test_text(wanted, volatile)
    with open(os.path.join(incident.folder, os.path.basename(incident.test)), "w", encoding="utf-8") as file:
        file.write(text)
