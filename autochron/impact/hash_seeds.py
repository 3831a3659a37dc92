"""Replays with other hash seeds. Each is a process of its own, because Python takes its seed when it starts."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Iterator, Sequence

from autochron._runtime import hashseed
from autochron._runtime.unpatched import os
from autochron.impact.probe import HANGS, Outcome, failed_outcome, unpacked
from autochron.impact.tape import Tape
from autochron.workers.commands import start_python

PROBE = "AUTOCHRON_IMPACT_PROBE"
"""The environment variable with the path of the plan file: a process with another seed reads what to replay from it, and
writes its outcome beside it."""

_SEEDS = ("1", "7919", "104729", "1299709")
NUMBER = 3
"""How many seeds are tried. A single one leaves a small set in its order too often."""


def plans_in(scratch: str) -> str:
    """Return the folder in which all these processes keep woven code."""
    return os.path.join(scratch, "plans")


class Seeds:
    """Processes that replay with other hash seeds at the same time."""

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
        """Start the processes.

        Args:
            words: the arguments of `autochron impact`.
            tape: the values to serve.
            is_wrapped: whether the project's modules are rewritten so that orders and addresses can be varied.
            scratch: the folder for plan files and outcomes.
            folder: the working folder of the processes.
            timeout: seconds to wait for an outcome.
        """
        self._timeout = timeout
        self._outcomes: list[Outcome] = []
        self._processes: list[tuple[subprocess.Popen[bytes], str]] = []
        for seed in [seed for seed in _SEEDS if seed != hashseed.current()][:NUMBER]:
            file = os.path.join(scratch, seed)
            with open(file, "wb") as stream:
                pickle.dump((tape, is_wrapped), stream)
            process = start_python(
                ["-m", "autochron", "impact", *words],
                {**os.environ, **hashseed.variables_for(seed), PROBE: file},
                folder=folder,
            )
            self._processes.append((process, f"{file}.out"))

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes in order, each as soon as its process has ended. They are kept for later calls."""
        for number, (process, file) in enumerate(self._processes):
            if number == len(self._outcomes):
                self._outcomes.append(self._outcome(process, file))
            yield self._outcomes[number]

    def _outcome(self, process: subprocess.Popen[bytes], file: str) -> Outcome:
        try:
            process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            return failed_outcome(HANGS)
        if not os.path.exists(file):
            return failed_outcome(f"dies with status {process.returncode}")
        with open(file, "rb") as stream:
            return unpacked(stream.read())

    def end(self) -> None:
        """Kill the processes that still run."""
        for process, _ in self._processes:
            process.kill()
            process.wait()
