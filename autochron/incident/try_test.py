"""Run the test of an incident on today's code: several times under varied conditions, and once as users will run it."""

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
"""How the message of a test begins that fails until somebody writes the call of the agent into it."""

RUNS = 3
"""How often unchanged code is run, each time with another hash seed, clock and random seed."""

_MIN_SPREAD = 1_100_000_000
"""Nanoseconds between the starts of the first and the last run, at least: the clock of a database may count whole seconds."""

_MIN_LIMIT, _LIMIT_FACTOR = 60.0, 20.0
"""A test may take this many seconds plus this many times the duration of the recorded run."""

_START_TIME = 60.0
"""Seconds for pytest to start, and to end once the program that it started was stopped."""

_MAX_OUTPUT = 2000
"""Characters of pytest's output that are shown if no test reported how it ended."""


class _PytestRun(NamedTuple):
    """The end of one run of pytest."""

    ends: list[tuple[str, str]]
    """The name and message of each exception, and `PASSED` for each test that passed."""
    observation: Observation | None
    output: str
    """The end of what pytest printed."""


def can_try() -> bool:
    """Return whether pytest is installed."""
    return importlib.util.find_spec("pytest") is not None


def limit_of(record: Record) -> float:
    """Return the time limit of a test in seconds, which is far longer than the recorded run took."""
    longest = max((envelope.started + envelope.duration for envelope in record), default=0)
    return _MIN_LIMIT + _LIMIT_FACTOR * longest / 1e9


def observe_runs(
    incident: Incident, limit: float, progress: Callable[[int, int], None] | None = None
) -> tuple[list[Observation], Tried | None]:
    """Run the test several times on unchanged code.

    Args:
        incident: the incident.
        limit: seconds after which a run is stopped.
        progress: called with the number of finished runs and of all runs, which include the final one.

    Returns:
        The observations of all runs and None; or an empty list and how the first run ended that observed nothing.
    """
    observations: list[Observation] = []
    started = unpatched.perf_counter_ns()
    for number in range(1, RUNS + 1):
        if progress is not None:
            progress(number - 1, RUNS + 1)
        if number == RUNS:
            unpatched.sleep(max(0, _MIN_SPREAD - (unpatched.perf_counter_ns() - started)) / 1e9)
        run = _run(incident, limit, variation=number)
        if run.observation is None or not run.observation.sources:
            return [], _classify(incident, run)
        observations.append(run.observation)
    return observations, None


def try_test(incident: Incident, limit: float) -> Tried:
    """Run the test once in a process of its own, as users will run it. It is stopped after `limit` seconds."""
    return _classify(incident, _run(incident, limit, variation=0))


def _run(incident: Incident, limit: float, *, variation: int) -> _PytestRun:
    with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
        notes = os.path.join(folder, "notes.jsonl")
        # -P: the command `pytest` does not have the working folder on its path either. The cache is our own, so that these
        # runs leave nothing in the project's.
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
            completed = subprocess.run(
                [*words, incident.test],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=limit + _START_TIME,
            )
        except subprocess.TimeoutExpired:
            message = f"the test had not ended after {limit:,.0f} s, far longer than the recorded run took, and was stopped"
            return _PytestRun([(InconclusiveError.__name__, message)], None, "")
        facts: list[tuple[str, str]] = []
        if os.path.exists(notes):
            with open(notes, encoding="utf-8") as file:
                # Each fact once: a worker of pytest-xdist and its controller both report it.
                facts = list(dict.fromkeys(tuple(json.loads(line)) for line in file))
    encoded = next((text for kind, text in facts if kind == pytest_witness.OBSERVED), None)
    observation = None if encoded is None else read_observation(base64.b64decode(encoded))
    ends = [fact for fact in facts if fact[0] != pytest_witness.OBSERVED]
    output = (completed.stdout + completed.stderr).strip()[-_MAX_OUTPUT:]
    output = output or f"pytest ended with status {completed.returncode} and said nothing"
    return _PytestRun(ends, observation, output)


def _classify(incident: Incident, run: _PytestRun) -> Tried:
    ends = run.ends
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
    return Tried("broken", "\n".join(f"{error}: {text}" for error, text in ends) or run.output)
