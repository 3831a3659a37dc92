"""Replays with other seeds of hashes: each in a process of its own, for Python takes its seed when it starts."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Iterator, Sequence

from autochron._runtime import hashseed
from autochron._runtime.unpatched import os
from autochron.impact.probe import HANGS, Outcome, none, unpacked
from autochron.impact.tape import Tape
from autochron.workers.commands import start_python

PROBE = "AUTOCHRON_IMPACT_PROBE"
"""Names the file that tells a process with another seed what to replay, and that it answers into."""

_SEEDS = ("1", "7919", "104729", "1299709")
NUMBER = 3
"""So many are tried: one alone leaves a set of few elements in its order too often."""


def plans_in(scratch: str) -> str:
    """Return where woven code is kept for all of them."""
    return os.path.join(scratch, "plans")


class Seeds:
    """Processes that replay at the same time."""

    def __init__(
        self,
        words: Sequence[str],
        tape: Tape,
        *,
        is_wrapped: bool,
        scratch: str,
        folder: str,
        timeout: float,
    ) -> None:
        """Start them in a folder, with the command's own words; files are written into `scratch`.

        `is_wrapped` tells whether the project's modules are compiled for orders and places.
        """
        self._timeout = timeout
        self._outcomes: list[Outcome] = []
        self._processes: list[tuple[subprocess.Popen[bytes], str]] = []
        for seed in [each for each in _SEEDS if each != hashseed.current()][:NUMBER]:
            file = os.path.join(scratch, seed)
            with open(file, "wb") as stream:
                pickle.dump((tape, is_wrapped), stream)
            process = start_python(
                ["-m", "autochron", "impact", *words],
                {**os.environ, **hashseed.chosen(seed), PROBE: file},
                folder=folder,
            )
            self._processes.append((process, f"{file}.out"))

    def outcomes(self) -> Iterator[Outcome]:
        """Yield what each of them came to, waiting no longer than for the next one."""
        for number, (process, file) in enumerate(self._processes):
            if number == len(self._outcomes):
                self._outcomes.append(self._outcome(process, file))
            yield self._outcomes[number]

    def _outcome(self, process: subprocess.Popen[bytes], file: str) -> Outcome:
        try:
            process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            return none(HANGS)
        if not os.path.exists(file):
            return none(f"dies with status {process.returncode}")
        with open(file, "rb") as stream:
            return unpacked(stream.read())

    def end(self) -> None:
        """End those that still run."""
        for process, _ in self._processes:
            process.kill()
            process.wait()
