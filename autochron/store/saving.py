"""Save groups of envelopes to a sink, retry what fails, and find out whether an envelope or the sink is at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from autochron._runtime import unpatched
from autochron.model import Envelope

if TYPE_CHECKING:
    from autochron.ports import Sink

Prepared: TypeAlias = Envelope | Callable[["Sink"], object] | None
"""A prepared draft: an envelope to put, a function to call with the sink, or nothing."""

RETRY: Final = 0.5
"""Seconds between two retries of what failed."""

SLOW: Final = 2_000_000_000
"""Nanoseconds. After an attempt that took longer and failed, the group is not tried again one by one."""

ROW: Final = 4
"""Failures in a row after which the sink is at fault, and not the envelopes."""


class Saver:
    """Saves to one sink, on one thread at a time.

    Attributes:
        failed: what waits for a retry.
        dropped: how many were given up.
        fault: the first fault, in one line.
    """

    def __init__(self, sink: Sink, limit: int, report: Callable[[str], object] | None = None) -> None:
        """Make one.

        Args:
            sink: the sink to save to.
            limit: how many may wait for a retry at most; more are given up.
            report: called with the first fault, in one line.
        """
        self.sink = sink
        self.fault: str | None = None
        self._limit = limit
        self._report = report
        self.reset()

    def reset(self) -> None:
        """Forget what waits for a retry, and what was given up."""
        self.failed: list[Prepared] = []
        self.dropped = 0
        self._retry_at = 0
        self._is_down = False

    @property
    def lost(self) -> int:
        """How many are not in the sink because of faults; a successful retry lowers it."""
        return self.dropped + len(self.failed)

    def hurry(self) -> None:
        """Make the next `save` retry what failed, even if that was just now."""
        self._retry_at = 0

    def give_up(self) -> None:
        """Count what waits for a retry as dropped, and retry nothing more."""
        self.dropped += len(self.failed)
        self.failed = []

    def save(self, group: list[Prepared]) -> None:
        """Save a group, after a retry of what failed before; what fails now waits for a retry."""
        now = unpatched.perf_counter_ns()
        if self.failed and now >= self._retry_at:
            self._retry_at = now + int(RETRY * 1e9)
            waiting, self.failed = self.failed, []
            self.failed = self._save_group(waiting)
            if self._is_down and group and unpatched.perf_counter_ns() - now < SLOW:
                rest = self._save_group(group)
                if len(rest) < len(group):  # the sink works: the first of the earlier ones are at fault
                    self.failed = self._sift(self.failed, len(self.failed) + 1)
                group = rest
                self._is_down = True
        self.failed += group if self._is_down else self._save_group(group)
        if len(self.failed) > self._limit:
            self.dropped += len(self.failed) - self._limit
            del self.failed[self._limit :]

    def note(self, error: BaseException) -> None:
        """Keep the first fault, and report it."""
        if self.fault is not None:
            return
        self.fault = " ".join(str(error).split()) or type(error).__name__
        if self._report is not None:
            try:
                self._report(self.fault)
            except Exception:
                self._report = None  # a report that raised is not called again

    def _save_group(self, group: list[Prepared]) -> list[Prepared]:
        """Save a group, as a whole or else one by one; return what could not be saved."""
        self._is_down = False
        if not group:
            return []
        start = unpatched.perf_counter_ns()
        fault = self._attempt(group)
        if fault is None:
            return []
        self.note(fault)
        if unpatched.perf_counter_ns() - start > SLOW:
            self._is_down = True
            return group
        return self._sift(group) if len(group) > 1 else group

    def _attempt(self, group: list[Prepared]) -> BaseException | None:
        sink = self.sink
        try:
            for prepared in group:
                if isinstance(prepared, Envelope):
                    sink.put(prepared)
                elif prepared is not None:
                    prepared(sink)
            sink.commit()
        except BaseException as error:
            return error
        return None

    def _sift(self, group: list[Prepared], row: int = ROW) -> list[Prepared]:
        """Save one by one, so that a bad envelope doesn't block the others; return what could not be saved.

        After `row` failures in a row the sink is at fault, and the rest is not tried.
        """
        failed: list[Prepared] = []
        in_a_row = 0
        for position, prepared in enumerate(group):
            if self._attempt([prepared]) is None:
                in_a_row = 0
                continue
            failed.append(prepared)
            in_a_row += 1
            if in_a_row == row:
                self._is_down = True
                return failed + group[position + 1 :]
        return failed
