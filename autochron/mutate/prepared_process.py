"""The process that replays recorded commands in forks, as the study that starts it sees it."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress

from autochron._runtime import hashseed
from autochron._runtime.unpatched import os
from autochron.workers.commands import start_python
from autochron.workers.ending import kill_group
from autochron.workers.pipes import deadline_after

_MODULE = "autochron.mutate.server.prepared_replays"

_START_LIMIT = 60.0
"""Seconds that the process may take to listen."""

_PAUSE = 0.02
"""Seconds between two looks whether it listens."""


class PreparedProcess:
    """A process that replays recorded commands in forks, for tests that call `replay.run()`.

    Attributes:
        address: the path of its socket.
    """

    def __init__(self, hash_seed: str) -> None:
        """Start the process, and wait until it listens.

        Args:
            hash_seed: the hash seed of the recorded runs; empty if any will do.
        """
        self._is_ended = False
        self._folder = tempfile.TemporaryDirectory(prefix="autochron-")
        self.address = os.path.join(self._folder.name, "replays")
        lifeline, self._lifeline = os.pipe()
        environment = dict(os.environ) | (hashseed.variables_for(hash_seed) if hash_seed else {})
        try:
            self._process = start_python(
                ["-m", _MODULE, self.address, str(lifeline)], environment, keep_open=[lifeline]
            )
        finally:
            os.close(lifeline)
        deadline = deadline_after(_START_LIMIT)
        while (
            not os.path.exists(self.address) and self._process.poll() is None and deadline > deadline_after(0)
        ):
            time.sleep(_PAUSE)

    def end(self) -> None:
        """End the process, with all that it has started; a second call does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        os.close(self._lifeline)
        kill_group(self._process.pid)
        self._process.wait()
        with suppress(OSError):
            self._folder.cleanup()
