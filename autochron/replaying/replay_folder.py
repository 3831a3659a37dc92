"""The folder that the processes of one replay share: the trace, the plan, and the reports of the child processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.json import encode

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.crossing.lanes import CHILD
from autochron.effects.undisturbed import undisturbed
from autochron.errors import StoreError
from autochron.model import Trace
from autochron.replaying.child_reports import ChildEvent, read_reports, remove
from autochron.replaying.plan import ReplayPlan

if TYPE_CHECKING:
    from autochron.ports import Record

TRACE = "trace.jsonl"
PLAN = "plan.json"
SWAPS = "swaps.json"
"""The file with the swapped functions: each name, and the name of the function that runs in its place.

The latter is None if the function can't be found by a name, so that a child process can't swap it.
"""

FOUND = "found.json"
"""The file with the found tools of the trace, which each process weaves before it knows its part of the trace."""

PATIENCE = 2_000_000_000
"""Nanoseconds to wait for running processes in which nothing new is reported."""

_PAUSE = 0.005
"""Seconds between two looks at the reports."""


class ReplayFolder:
    """The folder of one replay. It is created when the first child process starts, since most replays start none.

    Attributes:
        path: of the folder.
    """

    def __init__(
        self, record: Record, plan: ReplayPlan, swaps: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        """Choose the path, and create the folder at once if the trace has child processes.

        Args:
            record: the trace.
            plan: which crossings are live.
            swaps: the names of swapped functions, and of those that run in their place.

        Raises:
            StoreError: the folder for temporary files is missing or can't be written.
        """
        chance = unpatched.urandom(8).hex()
        # Not tempfile: it draws random numbers, and costs 5 ms at the start of every replay.
        place = unpatched.temporary_folder()
        self.path = os.path.join(place, f"autochron-{chance}")
        if not os.access(place, os.W_OK | os.X_OK):
            why = "it is not writable" if os.path.isdir(place) else "there is no such folder"
            raise StoreError(
                f"{place} takes no folder for the processes of a replay: {why}; set TMPDIR to one that can be written"
            )
        self._record = record
        self._plan = plan
        self._swaps = swaps
        self._is_filled = False
        if any(f"/{CHILD}" in envelope.lane for envelope in record):
            self.fill()  # for child processes that are started past every hook, too

    def fill(self) -> None:
        """Create the folder with the trace, the plan and the swaps, if that was not done."""
        if not self._is_filled:
            from autochron.store.tracefile import write_trace  # lazy: most programs start no process

            self._is_filled = True
            with undisturbed():
                self._make()
                record = self._record
                with open(os.path.join(self.path, PLAN), "wb") as file:
                    file.write(encode(self._plan))
                if self._swaps:
                    with open(os.path.join(self.path, SWAPS), "wb") as file:
                        file.write(encode(self._swaps))
                footer = record.footer
                if footer is not None and footer.found_tools:
                    with open(os.path.join(self.path, FOUND), "wb") as file:
                        file.write(encode(footer.found_tools))
                write_trace(Trace(record.header, tuple(record), footer), os.path.join(self.path, TRACE))

    def _make(self) -> None:
        """Create the folder. An existing one is removed first: an earlier fork of this process left it when it was killed."""
        try:
            os.mkdir(self.path, 0o700)
        except FileExistsError:
            self.clear()
            os.mkdir(self.path, 0o700)

    def gather(self, expected: Sequence[str]) -> tuple[list[list[ChildEvent]], list[str]]:
        """Wait until the child processes have ended, or have reported nothing new for `PATIENCE`.

        Args:
            expected: the lanes of processes with recorded crossings. They may not have begun yet.

        Returns:
            The events of each process, and the lanes of those that still run.
        """
        last_size, since = -1, unpatched.perf_counter_ns()
        while True:
            with undisturbed():
                reports = read_reports(self.path)
            begun = {events[0].lane for events in reports}
            running = [
                events[0].lane
                for events in reports
                if events[-1].kind != "ended" and _is_alive(events[0].process)
            ]
            running += [
                lane for lane in expected if not any(f"{other}/".startswith(f"{lane}/") for other in begun)
            ]
            size, now = sum(map(len, reports)), unpatched.perf_counter_ns()
            if size != last_size:
                last_size, since = size, now
            if not running or now - since > PATIENCE:
                return reports, running
            unpatched.sleep(_PAUSE)

    def clear(self) -> None:
        """Remove a folder that a fork has left. Try for `PATIENCE`: a process that is being killed may still write there."""
        since = unpatched.perf_counter_ns()
        while os.path.isdir(self.path):
            import shutil  # lazy: the folder rarely exists

            shutil.rmtree(self.path, ignore_errors=True)
            if unpatched.perf_counter_ns() - since > PATIENCE:
                return
            if os.path.isdir(self.path):
                unpatched.sleep(_PAUSE)

    def remove(self) -> None:
        """Remove the folder, if it was created."""
        if self._is_filled:
            with undisturbed():
                remove(self.path)


def _is_alive(process: int) -> bool:
    """Return whether a process still runs. A zombie, for which its parent has not waited yet, does not."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return False
    except OSError:
        return False
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
