"""Run the test of an incident on today's code: several times in fresh surroundings, and once as it will be run."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from autochron import _originals
from autochron.crossing.processes import VARIABLE
from autochron.errors import InconclusiveError, ReproducedError
from autochron.incident.observation import Observation, read_observation
from autochron.model import Incident, Tried
from autochron.replaying.inventing import VARIATION
from autochron.session import witness

WAITS = "call the agent here"
"""How a test begins to speak that waits for someone to write the call of the agent into it."""

RUNS = 3
"""How often unchanged code is run, each time with another hash seed, clock and seed of chance."""

_APART = 1_100_000_000
"""Nanoseconds between the first of them and the last, at least: a database's own clock tells seconds."""

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


def observe_runs(
    incident: Incident, told: Callable[[int, int], None] | None = None
) -> tuple[list[Observation], Tried | None]:
    """Run the test several times on unchanged code; return what was seen, or why there is nothing to see.

    `told` is called with how many runs are done, and of how many.
    """
    found: list[Observation] = []
    began = _originals.perf_counter_ns()
    for nth in range(1, RUNS + 1):
        if told is not None:
            told(nth - 1, RUNS + 1)
        if nth == RUNS:
            _originals.sleep(max(0, _APART - (_originals.perf_counter_ns() - began)) / 1e9)
        ended = _run(incident, variation=nth)
        if ended.observation is None or not ended.observation.sources:
            return [], _judged(incident, ended)
        found.append(ended.observation)
    return found, None


def try_test(incident: Incident) -> Tried:
    """Run it in a process of its own, with what is live in it live."""
    return _judged(incident, _run(incident, variation=0))


def _run(incident: Incident, *, variation: int) -> _Ended:
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
            witness.__name__,
        ]
        environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
        environment[witness.FILE] = notes
        if variation:
            environment[VARIATION] = str(variation)
        done = subprocess.run(
            [*words, incident.test],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        lines: list[tuple[str, str]] = []
        if os.path.exists(notes):
            with open(notes, encoding="utf-8") as file:
                # Once each: a worker of pytest-xdist and what started it both tell.
                lines = list(dict.fromkeys(tuple(json.loads(line)) for line in file))
    seen = next((text for kind, text in lines if kind == witness.OBSERVED), None)
    observation = None if seen is None else read_observation(base64.b64decode(seen))
    ends = [line for line in lines if line[0] != witness.OBSERVED]
    return _Ended(ends, observation, (done.stdout + done.stderr).strip()[-_LAST:])


def _judged(incident: Incident, ended: _Ended) -> Tried:
    ends = ended.ends
    if ends == [(witness.PASSED, "")]:
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
