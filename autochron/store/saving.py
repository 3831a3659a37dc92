"""Put groups into a sink; what it refuses waits for another attempt, and a bad envelope is told from a bad sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from autochron._runtime import unpatched
from autochron.model import Envelope

if TYPE_CHECKING:
    from autochron.ports import Sink

Prepared: TypeAlias = Envelope | Callable[["Sink"], object] | None
"""What a draft becomes: an envelope to put, something to do with the sink, or nothing."""

RETRY: Final = 0.5
"""Seconds between attempts while the sink refuses everything."""

SLOW: Final = 2_000_000_000
"""Nanoseconds; a fault that took longer is not tried again at once."""

ROW: Final = 4
"""Envelopes in a row that fail before it is the sink that is at fault, not they."""


class Saver:
    """Saves to one sink, on one thread at a time.

    Attributes:
        failed: what waits for another attempt.
        dropped: how much is given up.
        fault: the first fault, in one line.
    """

    def __init__(self, sink: Sink, limit: int, report: Callable[[str], object] | None = None) -> None:
        """Take the sink, how much may wait for another attempt, and who is told of the first fault."""
        self.sink = sink
        self.fault: str | None = None
        self._limit = limit
        self._report = report
        self.start_anew()

    def start_anew(self) -> None:
        """Forget what waits, and what was given up."""
        self.failed: list[Prepared] = []
        self.dropped = 0
        self._retry_at = 0
        self._down = False

    @property
    def lost(self) -> int:
        """How much is not in the sink because of faults; it sinks again when another attempt succeeds."""
        return self.dropped + len(self.failed)

    def hurry(self) -> None:
        """Have the next `save` try again what failed, however short ago."""
        self._retry_at = 0

    def give_up(self) -> None:
        """Try nothing more."""
        self.dropped += len(self.failed)
        self.failed = []

    def save(self, group: list[Prepared]) -> None:
        """Write a group after what failed before it; what fails waits for another attempt."""
        now = unpatched.perf_counter_ns()
        if self.failed and now >= self._retry_at:
            self._retry_at = now + int(RETRY * 1e9)
            waiting, self.failed = self.failed, []
            self.failed = self._saved(waiting)
            if self._down and group and unpatched.perf_counter_ns() - now < SLOW:
                rest = self._saved(group)
                if len(rest) < len(group):  # the sink is well: those at the head of the others are not
                    self.failed = self._sift(self.failed, len(self.failed) + 1)
                group = rest
                self._down = True
        self.failed += group if self._down else self._saved(group)
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
                self._report = None  # whoever can't be told isn't told again

    def _saved(self, group: list[Prepared]) -> list[Prepared]:
        """Write a group, as a whole or one by one; give what could not be written."""
        self._down = False
        if not group:
            return []
        start = unpatched.perf_counter_ns()
        fault = self._attempt(group)
        if fault is None:
            return []
        self.note(fault)
        if unpatched.perf_counter_ns() - start > SLOW:
            self._down = True
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
        """Write one by one, so that a bad envelope doesn't hold up the others; give what wasn't written.

        When `row` of them fail in a row it is the sink, and nothing more is tried.
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
                self._down = True
                return failed + group[position + 1 :]
        return failed
