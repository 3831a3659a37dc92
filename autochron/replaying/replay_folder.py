"""The folder through which the processes of one replay see each other: the trace, and what each of them tells."""

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
from autochron.replaying.child_reports import Told, read_reports, remove
from autochron.replaying.plan import Plan

if TYPE_CHECKING:
    from autochron.ports import Record

TRACE = "trace.jsonl"
PLAN = "plan.json"
SWAPS = "swaps.json"
"""What runs in the place of what, by name; None where it has none, so that it can't be had in another process."""

PATIENCE = 2_000_000_000
"""Nanoseconds to wait for a process that is still at work, as long as none tells anything new."""

_PAUSE = 0.005


class ReplayFolder:
    """Made and filled when the first process starts, and removed when the replay ends: most replays need none."""

    def __init__(self, record: Record, plan: Plan, swaps: Sequence[tuple[str, str | None]] = ()) -> None:
        """Take what is served, what of it is live, and the names of functions and of those that run in their place.

        Raises:
            StoreError: the folder for temporary files takes none.
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
            self.fill()  # also for those that are started past every hook

    def fill(self) -> None:
        """Put the trace and the plan into it."""
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
                write_trace(
                    Trace(record.header, tuple(record), record.footer), os.path.join(self.path, TRACE)
                )

    def _make(self) -> None:
        """Make the folder; one that is there is left of an earlier fork of this process, which was killed."""
        try:
            os.mkdir(self.path, 0o700)
        except FileExistsError:
            self.clear()
            os.mkdir(self.path, 0o700)

    def gather(self, expected: Sequence[str]) -> tuple[list[list[Told]], list[str]]:
        """Wait for those that are at work, as long as they are; gives what all told, and the lanes of who still is.

        `expected` are the lanes of processes that have something to do: they may not have begun yet.
        """
        seen, since = -1, unpatched.perf_counter_ns()
        while True:
            with undisturbed():
                reports = read_reports(self.path)
            come = {told[0].lane for told in reports}
            running = [
                told[0].lane for told in reports if told[-1].kind != "ended" and _is_alive(told[0].process)
            ]
            running += [
                lane for lane in expected if not any(f"{each}/".startswith(f"{lane}/") for each in come)
            ]
            size, now = sum(map(len, reports)), unpatched.perf_counter_ns()
            if size != seen:
                seen, since = size, now
            if not running or now - since > PATIENCE:
                return reports, running
            unpatched.sleep(_PAUSE)

    def clear(self) -> None:
        """Remove what a fork may have left of it; a process that is being killed may still write there."""
        since = unpatched.perf_counter_ns()
        while os.path.isdir(self.path):
            import shutil  # lazy: it is seldom there

            shutil.rmtree(self.path, ignore_errors=True)
            if unpatched.perf_counter_ns() - since > PATIENCE:
                return
            if os.path.isdir(self.path):
                unpatched.sleep(_PAUSE)

    def remove(self) -> None:
        """Remove it."""
        if self._is_filled:
            with undisturbed():
                remove(self.path)


def _is_alive(process: int) -> bool:
    """Return whether a process still runs; one that has ended and that its parent hasn't asked after does not."""
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
