"""Run the test of an incident once, to see that it fails as it should on today's code."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile

from autochron.crossing.processes import VARIABLE
from autochron.errors import AgainError
from autochron.model import Incident, Tried
from autochron.session import witness

WAITS = "call the agent here"
"""How a test begins to speak that waits for someone to write the call of the agent into it."""

_LAST = 2000
"""Characters of what pytest said, where nothing else tells what happened."""


def try_test(incident: Incident) -> Tried:
    """Run it in a process of its own, with what is live in it live."""
    if importlib.util.find_spec("pytest") is None:
        return Tried("untried", "pytest is not installed here, so nobody has seen the test fail yet")
    with tempfile.TemporaryDirectory(prefix="autochron-") as folder:
        notes = os.path.join(folder, "notes.jsonl")
        # -P: as the command pytest is, which has not the working folder on its path.
        words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", witness.__name__]
        environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
        done = subprocess.run(
            [*words, incident.test],
            env={**environment, witness.FILE: notes},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        ends: list[tuple[str, str]] = []
        if os.path.exists(notes):
            with open(notes, encoding="utf-8") as file:
                # Once each: a worker of pytest-xdist and what started it both tell.
                ends = list(dict.fromkeys(tuple(json.loads(line)) for line in file))
    return _judged(incident, ends, (done.stdout + done.stderr).strip()[-_LAST:])


def _judged(incident: Incident, ends: list[tuple[str, str]], said: str) -> Tried:
    if ends == [(witness.PASSED, "")]:
        return Tried("passed", "")
    if len(ends) == 1:
        ((error, text),) = ends
        if incident.waits and text.startswith(WAITS):
            return Tried("waits", text)
        if not incident.waits and error in {AgainError.__name__, incident.raises}:
            return Tried("failed", text)
    return Tried("broken", "\n".join(f"{error}: {text}" for error, text in ends) or said)
