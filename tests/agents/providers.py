"""Providers as forks of one process that has imported what a provider imports: their start takes half of a short test.

`python -m tests.agents.providers` is that process. It reads lines: settings start a provider, and the answer is its origin
and its process id; a process id stops it, and the answer is an empty line.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from autochron.provider import Provider, Script, Settings

ROOT = Path(__file__).resolve().parents[2]


class Providers:
    """The process, which forks for each provider."""

    def __init__(self) -> None:
        """Start the process."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.agents.providers"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C must not end it: commands may have calls to finish
        )

    @contextlib.contextmanager
    def serve(
        self, *, script: Script | None = None, latency: tuple[float, float] = (0.0, 0.0)
    ) -> Iterator[Provider]:
        """Run a provider during a block, as `autochron.provider.serve` does."""
        origin, process = self._ask(Settings(script=script or Script(), latency=latency).to_json()).split()
        try:
            yield Provider(origin, int(process))
        finally:
            self._ask(process)

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> None:
    from autochron.provider import server  # lazy: the tests need none of what it imports

    def ready(origin: str, _: str | None) -> None:
        print(origin, os.getpid(), flush=True)

    running = set()
    for line in sys.stdin:
        if line.startswith("{"):
            process = os.fork()
            if not process:
                server.run(Settings.from_json(line), 0, ready)
                os._exit(0)
            running.add(process)
        else:
            stop(int(line))
            running.remove(int(line))
            print(flush=True)
    for process in running:  # the tests have ended in the middle of one
        stop(process)


def stop(process: int) -> None:
    os.kill(process, signal.SIGTERM)
    os.waitpid(process, 0)


if __name__ == "__main__":
    main()
