"""Run the test of an incident on today's code: several times in fresh surroundings, and once as it will be run."""

from __future__ import annotations

import base64
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.ambient.synthesis import VARIATION
from autochron.crossing.processes import VARIABLE
from autochron.errors import InconclusiveError, ReproducedError
from autochron.incident import pytest_witness
from autochron.model import Incident, Tried
from autochron.reproduction.observation import Observation, read_observation
from autochron.session.subprocess_replay import LIMIT

if TYPE_CHECKING:
    from autochron.ports import Record

WAITS = "call the agent here"
"""How a test begins to speak that waits for someone to write the call of the agent into it."""

RUNS = 3
"""How often unchanged code is run, each time with another hash seed, clock and seed of chance."""

_APART = 1_100_000_000
"""Nanoseconds between the first of them and the last, at least: a database's own clock tells seconds."""

_LEAST_LIMIT, _TIMES = 60.0, 20.0
"""A test may take a minute, and this many times what the recorded run took."""

_TO_START = 60.0
"""Seconds in which pytest starts, and ends when what it started was stopped."""

_LAST = 2000
"""Characters of what pytest said, where nothing else tells what happened."""


class _Ended(NamedTuple):
    """How one run of pytest ended."""

    ends: list[tuple[str, str]]
    observation: Observation | None
    said: str


def can_try() -> bool:
    """Return whether pytest is installed."""
    return importlib.util.find_spec("pytest") is not None


def limit_of(record: Record) -> float:
    """Return the seconds after which a test of this record is stopped: far more than the recorded run took."""
    longest = max((each.started + each.duration for each in record), default=0)
    return _LEAST_LIMIT + _TIMES * longest / 1e9


def observe_runs(
    incident: Incident, limit: float, told: Callable[[int, int], None] | None = None
) -> tuple[list[Observation], Tried | None]:
    """Run the test several times on unchanged code; return what was seen, or why there is nothing to see.

    A run is stopped after `limit` seconds. `told` is called with how many runs are done, and of how many.
    """
    found: list[Observation] = []
    began = unpatched.perf_counter_ns()
    for nth in range(1, RUNS + 1):
        if told is not None:
            told(nth - 1, RUNS + 1)
        if nth == RUNS:
            unpatched.sleep(max(0, _APART - (unpatched.perf_counter_ns() - began)) / 1e9)
        ended = _run(incident, limit, variation=nth)
        if ended.observation is None or not ended.observation.sources:
            return [], _judged(incident, ended)
        found.append(ended.observation)
    return found, None


def try_test(incident: Incident, limit: float) -> Tried:
    """Run it in a process of its own, with what is live in it live; it is stopped after `limit` seconds."""
    return _judged(incident, _run(incident, limit, variation=0))


def _run(incident: Incident, limit: float, *, variation: int) -> _Ended:
    with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
        notes = os.path.join(folder, "notes.jsonl")
        # -P: as the command pytest is, which has not the working folder on its path. With a cache of its own, so that the
        # project's says nothing of these runs.
        words = [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "-q",
            "-o",
            f"cache_dir={folder}/cache",
            "-p",
            pytest_witness.__name__,
        ]
        environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
        environment |= {pytest_witness.FILE: notes, LIMIT: str(limit)}
        if variation:
            environment[VARIATION] = str(variation)
        try:
            done = subprocess.run(
                [*words, incident.test],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=limit + _TO_START,
            )
        except subprocess.TimeoutExpired:
            said = f"the test had not ended after {limit:,.0f} s, far longer than the recorded run took, and was stopped"
            return _Ended([(InconclusiveError.__name__, said)], None, "")
        lines: list[tuple[str, str]] = []
        if os.path.exists(notes):
            with open(notes, encoding="utf-8") as file:
                # Once each: a worker of pytest-xdist and what started it both tell.
                lines = list(dict.fromkeys(tuple(json.loads(line)) for line in file))
    seen = next((text for kind, text in lines if kind == pytest_witness.OBSERVED), None)
    observation = None if seen is None else read_observation(base64.b64decode(seen))
    ends = [line for line in lines if line[0] != pytest_witness.OBSERVED]
    said = (done.stdout + done.stderr).strip()[-_LAST:]
    return _Ended(ends, observation, said or f"pytest ended with status {done.returncode} and said nothing")


def _judged(incident: Incident, ended: _Ended) -> Tried:
    ends = ended.ends
    if ends == [(pytest_witness.PASSED, "")]:
        return Tried("passed", "")
    if len(ends) == 1:
        ((error, text),) = ends
        if incident.waits and text.startswith(WAITS):
            return Tried("waits", text)
        if not incident.waits and error in {ReproducedError.__name__, incident.raises}:
            return Tried("failed", text)
        if error == InconclusiveError.__name__:
            return Tried("inconclusive", text)
    return Tried("broken", "\n".join(f"{error}: {text}" for error, text in ends) or ended.said)
