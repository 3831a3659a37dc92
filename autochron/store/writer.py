"""Write drafts to a sink from a thread of our own, so that the recorded program waits for nothing.

Only that thread writes. A caller who must wait (the queue is full, `flush`, durability "sync") hangs a gate
on the next cycle and waits for it. So a signal handler may flush whatever it interrupted: no lock of ours is
ever held on the main thread, where handlers run. Rejected: writing on the caller's thread under an RLock,
because a handler that interrupts such a write in the middle of a transaction can neither finish it nor start
another one.
"""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from autochron import _originals
from autochron.model import Envelope
from autochron.store import forks
from autochron.store.threads import HiddenThread

if TYPE_CHECKING:
    from autochron.ports import Sink

Prepared: TypeAlias = Envelope | Callable[["Sink"], object] | None
"""What a draft becomes: an envelope to put, something to do with the sink, or nothing."""

GROUP: Final = 0.03
"""Seconds that a group gathers before it is written."""

TOGETHER: Final = 256
"""Drafts that are committed together at most."""

PATIENCE: Final = 10.0
"""Seconds that a caller waits for the writing thread at most."""

RETRY: Final = 0.5
"""Seconds between attempts while the sink refuses everything."""

SLOW: Final = 2_000_000_000
"""Nanoseconds; a fault that took longer is not tried again at once."""

ROW: Final = 4
"""Envelopes in a row that fail before it is the sink that is at fault, not they."""


class Writer:
    """Hand drafts to a sink in order of submission, in groups.

    `prepare` runs on the writing thread, once a draft; `report` is told of the first fault, in one line. With
    durability "sync", `submit` returns once the draft is committed.
    """

    def __init__(
        self,
        sink: Sink,
        prepare: Callable[[Any], Prepared],
        *,
        durability: Literal["group", "sync"] = "group",
        limit: int = 4096,
        report: Callable[[str], object] | None = None,
    ) -> None:
        self.fork_order = 0
        self.fault: str | None = None
        """The first fault, in one line."""
        self._sink = sink
        self._prepare = prepare
        self._report = report
        self._sync = durability == "sync"
        self._limit = limit
        self._press_from = -1 if self._sync else max(1, limit // 2)
        self._queue: deque[Any] = deque()
        self._closed = False
        self._resting = False
        forks.register(self)
        self._start_anew()

    def _start_anew(self) -> None:
        """Set what belongs to one process."""
        self._queue.clear()
        self._gates: deque[Any] = deque()
        self._failed: list[Prepared] = []
        self._dropped = 0
        self._retry_at = 0
        self._down = False
        self._stalled = False
        self._writing = False
        self._stopping = False
        self._pausing = False
        self._asleep = True
        self._worker: HiddenThread | None = None
        self._starting = _originals.Lock()
        self._lock = _originals.RLock()
        # A lock as a bell: unlike an Event's, its two operations can't be interrupted halfway by a signal
        # handler.
        self._bell = _originals.Lock()
        self._bell.acquire()

    @property
    def lost(self) -> int:
        """How many drafts are not in the sink because of faults; it sinks again when a retry succeeds."""
        return self._dropped + len(self._failed)

    def be_sync(self) -> None:
        """Have each draft committed when `submit` returns, from now on."""
        self._sync = True
        self._press_from = -1

    def submit(self, draft: Any) -> None:
        """Queue a draft; from any thread, a signal handler or a finalizer."""
        queue = self._queue
        queue.append(draft)
        if self._asleep:
            self._wake()
        if len(queue) > self._press_from:
            self._press()

    def flush(self, timeout: float = PATIENCE) -> bool:
        """Have everything that was submitted written and committed; tell whether that is done.

        False: the time ran out, the sink refused something, or this was called from within `prepare`.
        """
        if not self._queue and not self._writing and not self._failed:
            return True
        worker = self._worker
        if worker is not None and worker.ident == _originals.get_ident():
            return False  # a finalizer or `prepare` itself: the cycle under way writes what is queued
        self._retry_at = 0
        gate = _originals.Lock()
        gate.acquire()
        self._gates.append(gate)
        if not sys.is_finalizing():
            self._wake()
            worker = self._worker
            if worker is not None and worker.is_alive():
                return gate.acquire(timeout=timeout) and not self._failed
        return self._write_here(timeout)

    def end(self, last: Any) -> None:
        """Write what waits and then `last`, which is prepared when all before it are written; and close."""
        self.flush()
        self.submit(last)
        self.close()

    def close(self) -> None:
        """Write what waits, end the thread, and close the sink."""
        if self._closed:
            return
        self.flush()
        self._closed = True
        self._stopping = True
        worker = self._worker
        self._ring()
        if worker is not None and worker.ident != _originals.get_ident() and not sys.is_finalizing():
            worker.join(PATIENCE)
        forks.unregister(self)
        self._dropped += len(self._failed)
        self._failed = []
        try:
            self._sink.close()
        except Exception as error:
            self._note(error)
        self._asleep = True  # whatever is submitted from now on is counted as lost

    # --- the caller's side ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._closed:
            self._asleep = True
            self._dropped += len(self._queue)
            self._queue.clear()
            return
        self._asleep = False
        if self._worker is None:
            self._start_worker()
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(RuntimeError):  # it rings already
            self._bell.release()

    def _start_worker(self) -> None:
        # Never waits: it may be a signal handler that interrupted this very function.
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._worker is None:
                self._worker = HiddenThread(self._run)
        except RuntimeError:
            self._asleep = (
                True  # no thread to be had, as when the interpreter ends: the next submit tries again
            )
        finally:
            self._starting.release()

    def _press(self) -> None:
        """Hurry the writing thread, and wait for it where there is no room or the draft must be durable."""
        if self._sync:
            self.flush()
        elif len(self._queue) <= self._limit:
            self._ring()
        elif not self._stalled:
            self._stalled = not self.flush() and len(self._queue) > self._limit
        elif len(self._queue) > 2 * self._limit:
            # The sink hangs. Waiting again and again would stop the program, and growing would end it.
            self._dropped += 1
            self._note(TimeoutError("the store takes nothing, and the queue is full"))
            try:
                self._queue.pop()
            except IndexError:
                self._dropped -= 1

    def _write_here(self, timeout: float) -> bool:
        """Write on this thread, since no other one does."""
        if not self._lock.acquire(timeout=timeout):
            return False
        try:
            if self._writing:
                return (
                    False  # this thread was interrupted while it wrote; it goes on when the handler returns
                )
            self._cycle()
        finally:
            self._lock.release()
        return not self._failed

    # --- the writing thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            if not self._queue and not self._is_called():
                self._asleep = True
                # Again, now that a submit would ring.
                if not self._queue and not self._is_called():
                    self._bell.acquire(timeout=RETRY if self._failed else -1)
                self._asleep = False
            if not self._is_called():
                self._bell.acquire(timeout=GROUP)
            with self._lock:
                self._cycle()
            if self._pausing or (self._stopping and not self._queue):
                return

    def _is_called(self) -> bool:
        """Tell whether somebody waits, so that no group is gathered."""
        return bool(self._gates) or self._stopping or self._pausing

    def _cycle(self) -> None:
        """Write what is queued now, then open the gates of those who waited for it."""
        gates = [self._gates.popleft() for _ in range(len(self._gates))]
        try:
            while self._queue:
                self._writing = True
                self._store(self._take())
                self._writing = False
            if self._failed:
                self._store([])
        finally:
            self._writing = False
            self._stalled = False
            for gate in gates:
                gate.release()

    def _take(self) -> list[Prepared]:
        """Prepare a group."""
        group: list[Prepared] = []
        queue, prepare = self._queue, self._prepare
        while queue and len(group) < TOGETHER:
            try:
                draft = queue.popleft()
            except IndexError:
                break  # `_press` took the last one away
            try:
                group.append(prepare(draft))
            except BaseException as error:  # nothing may end the writing thread
                self._dropped += 1
                self._note(error)
        return group

    def _store(self, group: list[Prepared]) -> None:
        """Write a group after what failed before it; what fails waits for another attempt."""
        now = _originals.perf_counter_ns()
        if self._failed and now >= self._retry_at:
            self._retry_at = now + int(RETRY * 1e9)
            waiting, self._failed = self._failed, []
            self._failed = self._saved(waiting)
            if self._down and group and _originals.perf_counter_ns() - now < SLOW:
                rest = self._saved(group)
                if len(rest) < len(group):  # the sink is well: those at the head of the others are not
                    self._failed = self._sift(self._failed, len(self._failed) + 1)
                group = rest
                self._down = True
        self._failed += group if self._down else self._saved(group)
        if len(self._failed) > self._limit:
            self._dropped += len(self._failed) - self._limit
            del self._failed[self._limit :]

    def _saved(self, group: list[Prepared]) -> list[Prepared]:
        """Write a group, as a whole or one by one; give what could not be written."""
        self._down = False
        if not group:
            return []
        start = _originals.perf_counter_ns()
        fault = self._attempt(group)
        if fault is None:
            return []
        self._note(fault)
        if _originals.perf_counter_ns() - start > SLOW:
            self._down = True
            return group
        return self._sift(group) if len(group) > 1 else group

    def _attempt(self, group: list[Prepared]) -> BaseException | None:
        sink = self._sink
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

    def _note(self, error: BaseException) -> None:
        """Keep the first fault, and report it."""
        if self.fault is not None:
            return
        self.fault = " ".join(str(error).split()) or type(error).__name__
        if self._report is not None:
            try:
                self._report(self.fault)
            except Exception:
                self._report = None  # whoever can't be told isn't told again

    # --- forks ----------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """End the writing thread for now: Python warns of a fork in a process with threads that the program didn't start."""
        worker = self._worker
        if worker is not None and worker.ident != _originals.get_ident():
            self._pausing = True
            self._ring()
            worker.join(forks.PATIENCE)
        self._resting = self._lock.acquire(timeout=forks.PATIENCE)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self._resting:
            self._lock.release()
        if self._pausing:
            self._pausing = False
            self._worker = None
            self._asleep = True
            if self._queue or self._gates:
                self._wake()

    def after_fork_in_child(self) -> None:
        """Start with an empty queue: what waits is the parent's to write."""
        self._start_anew()
