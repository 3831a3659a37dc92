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
from typing import TYPE_CHECKING, Any, Final, Literal

from autochron._runtime import pauses, unpatched
from autochron.errors import StoreError
from autochron.store import forks
from autochron.store.saving import RETRY, Prepared, Saver
from autochron.store.threads import HiddenThread, persistently

if TYPE_CHECKING:
    from autochron.ports import Sink
    from autochron.store.remote import RemoteSink

GROUP: Final = 0.03
"""Seconds that a group gathers before it is written."""

SENT: Final = 0.01
"""The same where another process commits: then a group costs little, and until it is sent a kill takes it away."""

LATE: Final = 12_000_000
"""Nanoseconds that a draft may wait to be sent before a caller waits for it: a busy program leaves the thread no time."""

HELD_UP: Final = 0.5
"""Seconds that a caller waits for that at most."""

LOOK: Final = 4
"""Drafts between two looks at whether the oldest one is late."""

TOGETHER: Final = 256
"""Drafts that are committed together at most."""

MOST_TOGETHER: Final = 4 * 1024 * 1024
"""Bytes of large drafts that are prepared together, at most, unless one has more."""

MOST_WAITING: Final = 16 * 1024 * 1024
"""Bytes of large drafts that wait, at most: then a caller waits until they are written. They are copied once to be sent."""

PATIENCE: Final = 10.0
"""Seconds that a caller waits for a sink that takes nothing. Preparing a draft may take longer: that is our work and ends."""


class Writer:
    """Hand drafts to a sink in order of submission, in groups.

    `prepare` runs on the writing thread, once a draft; `load` runs before the first one on the caller's thread, which can't
    close in the middle of it what it opens. `report` is told of the first fault, in one line. With durability "sync",
    `submit` returns once the draft is committed.
    """

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
        self.fork_order = 0
        self._sink = sink
        self._remote: RemoteSink | None = sink if hasattr(sink, "settle") else None  # type: ignore[assignment]
        """The sink, where another process writes what is put into it."""
        self._saver = Saver(sink, limit, report)
        self._prepare = prepare
        self._load = load
        self._waits = durability == "sync"
        """Whether a draft has to be in the store when `submit` returns, and not only safe from the end of this process."""
        self._sync = durability == "sync"
        self._limit = limit
        self._press_at = max(1, limit // 2) if self._remote is None else LOOK
        self._press_from = -1 if self._sync else self._press_at
        self._queue: deque[Any] = deque()
        self._closed = False
        self._resting = False
        forks.register(self)
        self._start_anew()

    def _start_anew(self) -> None:
        """Set what belongs to one process."""
        self._queue.clear()
        self._gates: deque[tuple[Any, bool]] = deque()
        """What opens after the next cycle, and whether all is to be in the store by then."""
        self._saver.start_anew()
        self._heavy = 0
        """Bytes of large drafts that were submitted since the queue was last empty."""
        self._settled = True
        self._since = 0
        """When the queue was last empty: what is in it now is younger."""
        self._stalled = False
        self._writing = False
        self._taken = 0
        """Counts the groups that were prepared, begun ones, too; odd while one is being prepared."""
        self._stopping = False
        self._pausing = False
        self._asleep = True
        self._worker: HiddenThread | None = None
        self._starting = unpatched.Lock()
        self._lock = unpatched.RLock()
        # A lock as a bell: unlike an Event's, its two operations can't be interrupted halfway by a signal
        # handler.
        self._bell = unpatched.Lock()
        self._bell.acquire()

    @property
    def lost(self) -> int:
        """How many drafts are not in the sink because of faults; it sinks again when a retry succeeds."""
        return self._saver.lost + (0 if self._remote is None else self._remote.lost)

    @property
    def fault(self) -> str | None:
        """The first fault, in one line."""
        return self._saver.fault

    def be_sync(self) -> None:
        """Have each draft safe from the end of the process when `submit` returns, from now on."""
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

    def weigh(self, size: int) -> None:
        """Count the bytes of a large draft, which is submitted next."""
        self._heavy += size
        if self._heavy > MOST_WAITING:
            self._press_from = -1

    def flush(self, timeout: float | None = None) -> bool:
        """Have everything that was submitted written and committed; tell whether that is done.

        False: the time ran out, the sink refused something, or this was called from within `prepare`.
        """
        return self._flush(timeout, settles=True)

    def _flush(self, timeout: float | None = None, *, settles: bool) -> bool:
        """Have everything written; with `settles` it is also committed where another process does that."""
        if not self._queue and not self._writing and not self._saver.failed:
            remote = self._remote
            if remote is None or not settles or remote.is_settled:
                return True
        worker = self._worker
        if worker is not None and worker.ident == unpatched.get_ident():
            return False  # a finalizer or `prepare` itself: the cycle under way writes what is queued
        self._saver.hurry()
        gate = unpatched.Lock()
        gate.acquire()
        self._gates.append((gate, settles))
        if not sys.is_finalizing():
            self._wake()
            worker = self._worker
            if worker is not None and worker.is_alive():
                return self._waited(gate, timeout) and self._is_done(settles)
        return self._write_here(PATIENCE if timeout is None else timeout) and self._is_done(settles)

    def _waited(self, gate: Any, timeout: float | None) -> bool:
        """Wait for a gate; without a timeout as long as the sink is not to blame."""
        before = self._taken
        while not unpatched.acquire(gate, timeout=PATIENCE if timeout is None else timeout):
            if timeout is not None or not self._has_moved(before):
                return False
            before = self._taken
        return True

    def _has_moved(self, before: int) -> bool:
        """Return whether a draft is being prepared, or was since `_taken` was `before`."""
        return self._taken != before or self._taken % 2 == 1

    def _is_done(self, settles: bool) -> bool:  # noqa: FBT001 - of this class only
        return not self._saver.failed and (self._settled or not settles)

    def end(self, last: Any) -> None:
        """Write what waits and then `last`, which is prepared when all before it are written; and close."""
        self.flush()
        self._load = None  # where nothing was written there may be nothing to load it for
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
            before = self._taken
            worker.join(PATIENCE)
            while worker.is_alive() and self._has_moved(before):
                before = self._taken
                worker.join(PATIENCE)
        forks.unregister(self)
        self._saver.give_up()
        try:
            self._sink.close()
        except Exception as error:
            self._saver.note(error)
        self._hear()
        self._asleep = True  # whatever is submitted from now on is counted as lost

    # --- the caller's side ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._closed:
            self._asleep = True
            self._saver.dropped += len(self._queue)
            self._queue.clear()
            return
        if self._asleep:
            self._since = unpatched.perf_counter_ns()
        self._asleep = False
        if self._load is not None:
            load, self._load = self._load, None
            with contextlib.suppress(Exception):  # what is wrong with it is told when it is needed
                load()
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
            self._flush(settles=self._waits)
        elif self._heavy > MOST_WAITING and not self._stalled:
            self._stalled = not self._flush(settles=True)  # what was sent is kept until it is in the store
        elif len(self._queue) <= self._limit:
            if self._remote is None:
                self._ring()
            else:
                self._keep_up()
        elif not self._stalled:
            self._stalled = not self._flush(settles=False) and len(self._queue) > self._limit
        elif len(self._queue) > 2 * self._limit:
            # The sink hangs. Waiting again and again would stop the program, and growing would end it.
            self._saver.dropped += 1
            self._saver.note(TimeoutError("the store takes nothing, and the queue is full"))
            try:
                self._queue.pop()
            except IndexError:
                self._saver.dropped -= 1

    def _keep_up(self) -> None:
        """Wait until all is sent, where the oldest draft has waited too long for that."""
        now = unpatched.perf_counter_ns()
        if now - self._since > LATE and not self._flush(HELD_UP, settles=False):
            self._since = now + int(PATIENCE * 1e9)  # the sink hangs: the queue grows, as far as it may
        self._press_from = min(len(self._queue) + LOOK, self._limit)

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
        return True

    # --- the writing thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        pauses.begin()
        try:
            self._write_on()
        finally:
            pauses.end()

    def _write_on(self) -> None:
        while True:
            if not self._queue and not self._is_called():
                self._asleep = True
                # Again, now that a submit would ring.
                if not self._queue and not self._is_called():
                    self._bell.acquire(timeout=RETRY if self._saver.failed else -1)
                self._asleep = False
            if not self._is_called():
                self._bell.acquire(timeout=GROUP if self._remote is None else SENT)
            with self._lock:
                self._cycle()
            if self._pausing or (self._stopping and not self._queue):
                return

    def _is_called(self) -> bool:
        """Return whether somebody waits, so that no group is gathered."""
        return bool(self._gates) or self._stopping or self._pausing

    def _cycle(self) -> None:
        """Write what is queued now, then open the gates of those who waited for it."""
        gates = [self._gates.popleft() for _ in range(len(self._gates))]
        try:
            while self._queue:
                self._writing = True
                self._saver.save(self._take())
                if self._heavy >= MOST_TOGETHER:
                    self._settle(waits=True)  # what was sent is kept until it is in the store
                self._writing = False
            self._heavy = 0
            if not self._sync:
                self._press_from = self._press_at
            if self._remote is not None:
                self._since = unpatched.perf_counter_ns()
            if self._saver.failed:
                self._saver.save([])
            self._settle(waits=any(settles for _, settles in gates))
        finally:
            self._writing = False
            self._stalled = False
            for gate, _ in gates:
                gate.release()

    def _settle(self, *, waits: bool) -> None:
        """Wait until another process has committed what was put, if somebody waits; hear what went wrong there."""
        remote = self._remote
        if remote is None:
            return
        if waits:
            try:
                self._settled = remote.settle(PATIENCE)
            except Exception as error:
                self._settled = False
                self._saver.note(error)
        self._hear()

    def _hear(self) -> None:
        if self._remote is not None and self._remote.fault is not None:
            self._saver.note(StoreError.of(self._remote.fault))

    def _take(self) -> list[Prepared]:
        """Prepare a group; one alone while large drafts wait, since what is prepared is held until the group is sent."""
        group: list[Prepared] = []
        queue, prepare = self._queue, self._prepare
        self._taken += 1
        while queue and len(group) < (TOGETHER if self._heavy < MOST_TOGETHER else 1):
            try:
                draft = queue.popleft()
            except IndexError:
                break  # `_press` took the last one away
            try:
                group.append(persistently(prepare, draft))
            except BaseException as error:  # nothing may end the writing thread
                self._saver.dropped += 1
                self._saver.note(error)
        self._taken += 1
        return group

    # --- forks ----------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """End the writing thread for now: Python warns of a fork in a process with threads that the program didn't start."""
        worker = self._worker
        if worker is not None and worker.ident != unpatched.get_ident():
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
