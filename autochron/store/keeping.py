"""The writer of a store in memory: keeps drafts as they are until somebody reads the trace.

Drafts need not be masked before that, since nothing reaches a disk. Most traces that tests keep in memory are read once or
never. No thread is started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron.model import Envelope

if TYPE_CHECKING:
    from autochron.store.memory import MemorySink
    from autochron.store.saving import Prepared


class Keeper:
    """Does the work of a `Writer` for a store in memory. Whoever reads the trace calls `flush` first."""

    __slots__ = ("_drafts", "_last", "_lock", "_prepare", "_report", "_sink", "fault", "lost", "submit")

    def __init__(
        self, sink: MemorySink, prepare: Callable[[Any], Prepared], report: Callable[[str], object]
    ) -> None:
        self._sink = sink
        self._prepare = prepare
        self._report = report
        self._drafts: deque[Any] = deque()
        self._last: Any = None
        self._lock = unpatched.RLock()
        self.lost = 0
        self.fault: str | None = None
        self.submit: Callable[[Any], None] = self._drafts.append
        sink.read_through(self.flush)

    def flush(self) -> bool:
        """Prepare everything that was submitted and put it into the store; return whether nothing was lost."""
        with self._lock:
            while self._drafts:
                self._put(self._drafts.popleft())
            last, self._last = self._last, None
            if last is not None:
                self._put(last)
                self._sink.close()
        return not self.lost

    def end(self, last: Any) -> None:
        """End the trace; `last` is prepared after everything that was submitted before."""
        self._last = last

    def _put(self, draft: Any) -> None:
        try:
            prepared = self._prepare(draft)
            if isinstance(prepared, Envelope):
                self._sink.put(prepared)
            elif prepared is not None:
                prepared(self._sink)
        except Exception as error:
            self.lost += 1
            if self.fault is None:
                self.fault = " ".join(str(error).split()) or type(error).__name__
                self._report(self.fault)
