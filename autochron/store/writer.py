"""The writer: writes drafts to a sink from a thread of our own, so that the recorded program need not wait.

Only that thread writes. A caller that has to wait (the queue is full, `flush`, durability "sync") adds a gate, a locked lock,
and waits until the next cycle releases it. So a signal handler may flush whatever it interrupted, since the main thread, on
which handlers run, never holds a lock of ours. Rejected: writing on the caller's thread under an RLock, because a handler
that interrupts such a write in the middle of a transaction can neither finish it nor start another one.
"""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from autochron._runtime import pauses, unpatched
from autochron.errors import StoreError
from autochron.store import forks
from autochron.store.saving import RETRY, Prepared, Saver
from autochron.store.threads import HiddenThread, retry_if_closed

if TYPE_CHECKING:
    from autochron.ports import Sink
    from autochron.store.remote import RemoteSink

GROUP: Final = 0.03
"""Seconds during which drafts are gathered into a group."""

SENT: Final = 0.01
"""The same if the store process commits. It is shorter, since a group costs little then and a kill loses what is not sent."""

LATE: Final = 12_000_000
"""Nanoseconds that a draft may wait to be sent. Then the caller waits: a busy program leaves the writing thread no time."""

HELD_UP: Final = 0.5
"""Seconds that a caller waits for this at most."""

LOOK: Final = 4
"""Drafts between two checks whether the oldest one is late."""

TOGETHER: Final = 256
"""Drafts that are committed together, at most."""

MOST_TOGETHER: Final = 4 * 1024 * 1024
"""Bytes of large drafts from which on each draft is a group of its own."""

MOST_WAITING: Final = 16 * 1024 * 1024
"""Bytes of large drafts that may wait. Above it, a caller waits until they are written. Sending takes a copy of them."""

PATIENCE: Final = 10.0
"""Seconds that a caller waits for a sink that hangs. Preparing a draft may take longer, since that work of ours ends."""


class Writer:
    """Writes drafts to a sink in groups, in order of submission."""

    def __init__(
        self,
        sink: Sink,
        prepare: Callable[[Any], Prepared],
        *,
        durability: Literal["group", "sync"] = "group",
        limit: int = 4096,
        report: Callable[[str], object] | None = None,
        load: Callable[[], object] | None = None,
    ) -> None:
        """Make one.

        Args:
            sink: the sink to write to.
            prepare: turns a draft into what the sink gets; called once for each draft, on the writing thread.
            durability: with "sync", `submit` returns when the draft is committed.
            limit: drafts that may wait in the queue before callers wait.
            report: called with the first fault, in one line.
            load: called before the first draft, on the caller's thread: so the program can't close meanwhile what it opens.
        """
        self.fork_order = 0
        self._sink = sink
        self._remote: RemoteSink | None = sink if hasattr(sink, "settle") else None  # type: ignore[assignment]
        """The sink, if another process writes what is put into it."""
        self._saver = Saver(sink, limit, report)
        self._prepare = prepare
        self._load = load
        self._load_later: Callable[[], object] | None = getattr(sink, "load_successor", None)
        """Called once on the writing thread, when the first group is written and nobody waits."""
        self._must_settle = durability == "sync"
        """Whether drafts have to be in the store when `submit` returns, and not only safe from the end of this process."""
        self._sync = durability == "sync"
        self._limit = limit
        self._usual_threshold = max(1, limit // 2) if self._remote is None else LOOK
        self._threshold = -1 if self._sync else self._usual_threshold
        self._queue: deque[Any] = deque()
        self._closed = False
        self._resting = False
        forks.register(self)
        self._reset()

    def _reset(self) -> None:
        """Set the state that a forked process does not share with its parent."""
        self._queue.clear()
        self._gates: deque[tuple[Any, bool]] = deque()
        """(gate, settles): locks to release after the next cycle, and whether everything has to be in the store by then."""
        self._saver.reset()
        self._large_bytes = 0
        """Bytes of large drafts that were submitted since the queue was last empty."""
        self._settled = True
        self._empty_at = 0
        """When the queue was last empty, in nanoseconds: all drafts in it are younger."""
        self._stalled = False
        self._writing = False
        self._preparations = 0
        """Counts beginnings and ends of preparing a group; odd while a group is being prepared."""
        self._stopping = False
        self._pausing = False
        self._asleep = True
        self._worker: HiddenThread | None = None
        self._starting = unpatched.Lock()
        self._lock = unpatched.RLock()
        # A lock serves as a bell: a signal handler can't interrupt its operations halfway, unlike those of an Event.
        self._bell = unpatched.Lock()
        self._bell.acquire()

    @property
    def lost(self) -> int:
        """How many drafts are not in the sink because of faults; a successful retry lowers it."""
        return self._saver.lost + (0 if self._remote is None else self._remote.lost)

    @property
    def fault(self) -> str | None:
        """The first fault, in one line."""
        return self._saver.fault

    def be_sync(self) -> None:
        """From now on, return from `submit` only when the draft is safe from the end of the process."""
        self._sync = True
        self._threshold = -1

    def submit(self, draft: Any) -> None:
        """Queue a draft; may be called on any thread, by a signal handler and by a finalizer."""
        queue = self._queue
        queue.append(draft)
        if self._asleep:
            self._wake()
        if len(queue) > self._threshold:
            self._throttle()

    def weigh(self, size: int) -> None:
        """Count the bytes of a large draft; to be called just before it is submitted."""
        self._large_bytes += size
        if self._large_bytes > MOST_WAITING:
            self._threshold = -1

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was submitted is written and committed.

        Args:
            timeout: seconds to wait; None waits as long as the sink does not hang.

        Returns:
            Whether it is. It is not if the time ran out, if the sink refused something, or if `prepare` itself calls this.
        """
        return self._flush(timeout, settles=True)

    def _flush(self, timeout: float | None = None, *, settles: bool) -> bool:
        """Wait until everything is written; with `settles`, also until another process has committed it."""
        if not self._queue and not self._writing and not self._saver.failed:
            remote = self._remote
            if remote is None or not settles or remote.is_settled:
                return True
        worker = self._worker
        if worker is not None and worker.ident == unpatched.get_ident():
            return False  # called by a finalizer or `prepare`: the running cycle writes what is queued
        self._saver.hurry()
        gate = unpatched.Lock()
        gate.acquire()
        self._gates.append((gate, settles))
        if not sys.is_finalizing():
            self._wake()
            worker = self._worker
            if worker is not None and worker.is_alive():
                return self._wait_for(gate, timeout) and self._is_done(settles)
        return self._write_here(PATIENCE if timeout is None else timeout) and self._is_done(settles)

    def _wait_for(self, gate: Any, timeout: float | None) -> bool:
        """Wait for a gate; without a timeout, as long as the sink does not hang."""
        before = self._preparations
        while not unpatched.acquire(gate, timeout=PATIENCE if timeout is None else timeout):
            if timeout is not None or not self._has_moved(before):
                return False
            before = self._preparations
        return True

    def _has_moved(self, before: int) -> bool:
        """Return whether a group is being prepared, or has been since `_preparations` was `before`."""
        return self._preparations != before or self._preparations % 2 == 1

    def _is_done(self, settles: bool) -> bool:  # noqa: FBT001 - of this class only
        return not self._saver.failed and (self._settled or not settles)

    def end(self, last: Any) -> None:
        """Write what waits, then `last`, which is prepared when all others are written, and close."""
        self.flush()
        self._load = None  # if nothing was submitted, `last` alone may not need it
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
        if worker is not None and worker.ident != unpatched.get_ident() and not sys.is_finalizing():
            before = self._preparations
            worker.join(PATIENCE)
            while worker.is_alive() and self._has_moved(before):
                before = self._preparations
                worker.join(PATIENCE)
        forks.unregister(self)
        self._saver.give_up()
        try:
            self._sink.close()
        except Exception as error:
            self._saver.note(error)
        self._note_remote_fault()
        self._asleep = True  # so that a later `submit` calls `_wake`, which counts the draft as lost

    # --- the caller's side -------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._closed:
            self._asleep = True
            self._saver.dropped += len(self._queue)
            self._queue.clear()
            return
        if self._asleep:
            self._empty_at = unpatched.perf_counter_ns()
        self._asleep = False
        if self._load is not None:
            load, self._load = self._load, None
            with contextlib.suppress(Exception):  # reported when a draft needs what was not loaded
                load()
        if self._worker is None:
            self._start_worker()
        self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(RuntimeError):  # it rings already
            self._bell.release()

    def _start_worker(self) -> None:
        # Never wait here: this may be a signal handler that interrupted this function.
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._worker is None:
                self._worker = HiddenThread(self._run)
        except RuntimeError:
            # No thread can be started, as when the interpreter ends: the next `submit` retries.
            self._asleep = True
        finally:
            self._starting.release()

    def _throttle(self) -> None:
        """Wake the writing thread, and wait for it if the queue is full or the draft has to be durable."""
        if self._sync:
            self._flush(settles=self._must_settle)
        elif self._large_bytes > MOST_WAITING and not self._stalled:
            self._stalled = not self._flush(settles=True)  # what was sent is kept until it is in the store
        elif len(self._queue) <= self._limit:
            if self._remote is None:
                self._ring()
            else:
                self._keep_up()
        elif not self._stalled:
            self._stalled = not self._flush(settles=False) and len(self._queue) > self._limit
        elif len(self._queue) > 2 * self._limit:
            # The sink hangs. Waiting for each draft would stop the program, and an endless queue would take all memory.
            self._saver.dropped += 1
            self._saver.note(TimeoutError("the store takes nothing, and the queue is full"))
            try:
                self._queue.pop()
            except IndexError:
                self._saver.dropped -= 1

    def _keep_up(self) -> None:
        """Wait until everything is sent, if the oldest draft has waited too long for that."""
        now = unpatched.perf_counter_ns()
        if now - self._empty_at > LATE and not self._flush(HELD_UP, settles=False):
            self._empty_at = now + int(PATIENCE * 1e9)  # the sink hangs: let the queue grow up to the limit
        self._threshold = min(len(self._queue) + LOOK, self._limit)

    def _write_here(self, timeout: float) -> bool:
        """Write on the caller's thread, since there is no writing thread."""
        if not self._lock.acquire(timeout=timeout):
            return False
        try:
            if self._writing:
                return False  # a signal handler interrupted the writing; it goes on when the handler returns
            self._cycle()
        finally:
            self._lock.release()
        return True

    # --- the writing thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pauses.begin()
        try:
            self._write_until_stopped()
        finally:
            pauses.end()

    def _write_until_stopped(self) -> None:
        while True:
            if not self._queue and not self._is_awaited():
                self._asleep = True
                # Check again: a `submit` before `_asleep` was set did not ring.
                if not self._queue and not self._is_awaited():
                    self._bell.acquire(timeout=RETRY if self._saver.failed else -1)
                self._asleep = False
            if not self._is_awaited():
                self._bell.acquire(timeout=GROUP if self._remote is None else SENT)
            with self._lock:
                self._cycle()
            if self._load_later is not None and not self._is_awaited():
                load, self._load_later = self._load_later, None
                with contextlib.suppress(Exception):  # reported when the successor is needed
                    load()
            if self._pausing or (self._stopping and not self._queue):
                return

    def _is_awaited(self) -> bool:
        """Return whether somebody waits for the thread, so that it writes at once and gathers no group."""
        return bool(self._gates) or self._stopping or self._pausing

    def _cycle(self) -> None:
        """Write what is queued, then release the gates of the callers that wait for it."""
        gates = [self._gates.popleft() for _ in range(len(self._gates))]
        try:
            while self._queue:
                self._writing = True
                self._saver.save(self._take())
                if self._large_bytes >= MOST_TOGETHER:
                    self._settle(waits=True)  # what was sent is kept until it is in the store
                self._writing = False
            self._large_bytes = 0
            if not self._sync:
                self._threshold = self._usual_threshold
            if self._remote is not None:
                self._empty_at = unpatched.perf_counter_ns()
            if self._saver.failed:
                self._saver.save([])
            self._settle(waits=any(settles for _, settles in gates))
        finally:
            self._writing = False
            self._stalled = False
            for gate, _ in gates:
                gate.release()

    def _settle(self, *, waits: bool) -> None:
        """Note faults of the store process; with `waits`, first wait until it has committed what was put."""
        remote = self._remote
        if remote is None:
            return
        if waits:
            try:
                self._settled = remote.settle(PATIENCE)
            except Exception as error:
                self._settled = False
                self._saver.note(error)
        self._note_remote_fault()

    def _note_remote_fault(self) -> None:
        if self._remote is not None and self._remote.fault is not None:
            self._saver.note(StoreError.of(self._remote.fault))

    def _take(self) -> list[Prepared]:
        """Prepare a group. While many large drafts wait it has one draft, to hold little in memory until it is sent."""
        group: list[Prepared] = []
        queue, prepare = self._queue, self._prepare
        self._preparations += 1
        while queue and len(group) < (TOGETHER if self._large_bytes < MOST_TOGETHER else 1):
            try:
                draft = queue.popleft()
            except IndexError:
                break  # `_throttle` has dropped the last one
            try:
                group.append(retry_if_closed(prepare, draft))
            except BaseException as error:  # nothing may end the writing thread
                self._saver.dropped += 1
                self._saver.note(error)
        self._preparations += 1
        return group

    # --- forks -------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """End the writing thread for now: Python warns of a fork in a process with several threads."""
        worker = self._worker
        if worker is not None and worker.ident != unpatched.get_ident():
            self._pausing = True
            self._ring()
            worker.join(forks.PATIENCE)
        self._resting = self._lock.acquire(timeout=forks.PATIENCE)

    def after_fork_in_parent(self) -> None:
        """Resume."""
        if self._resting:
            self._lock.release()
        if self._pausing:
            self._pausing = False
            self._worker = None
            self._asleep = True
            if self._queue or self._gates:
                self._wake()

    def after_fork_in_child(self) -> None:
        """Start anew with an empty queue: the parent writes the pending drafts."""
        self._reset()
