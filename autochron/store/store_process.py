"""The client side of the store process: the recorded program's processes send messages to it and receive its reports."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.errors import StoreError
from autochron.model import ChildEnd, Footer, Header
from autochron.store import forks
from autochron.store.detached import Work
from autochron.store.messages import (
    Batch,
    Closing,
    Dropped,
    Dropping,
    GoneError,
    Opened,
    Opening,
    Retry,
    SinkReport,
    encode,
    reply_decoder,
)
from autochron.store.remote import RemoteSink, Sent
from autochron.store.ring import Ring
from autochron.store.rows import Operation
from autochron.store.shared import ENDED, Shared, Slot
from autochron.store.sink import SqliteSink

STUCK: Final = 40.0
"""Seconds to wait for room in the ring; longer than SQLite waits for another process that writes."""

_LOOK: Final = 20_000_000
"""Nanoseconds between two checks whether the store process is still alive."""


def _serve(shared: Shared, file: str) -> None:
    # Lazy: the store process imports it, while the program's process goes on.
    from autochron.store.service import serve

    serve(shared, file)


_SOON: Final = 5_000_000
"""Nanoseconds during which a wait polls often: most answers come sooner."""


def _is_past(ring: Ring, tail: int) -> bool:
    return ring.tail != tail


class StoreProcess:
    """The store process, as seen by one of the program's processes.

    Attributes:
        work: starts the store process; to be run while this process has one thread and before any code of the program.
    """

    def __init__(self, shared: Shared, file: str) -> None:
        self.fork_order = 2
        self._shared = shared
        self._slot: Slot | None = shared.slot(0)
        self._is_first = True
        self.work = Work(partial(_serve, shared, file), (), partial(setattr, shared, "process"))
        self._reset()

    @classmethod
    def prepare(cls, file: str) -> StoreProcess | None:
        """Return one whose `work` is still to be started; None if this system or process can have none.

        Args:
            file: the absolute path of the store.
        """
        process = unpatched.getpid()
        # Orphans become children of process 1; if that is the program itself, it would see the store process.
        if process == 1 or not hasattr(os, "fork"):
            return None
        try:
            shared = Shared()
        except (OSError, ValueError):
            return None
        shared.owners[0] = process
        return cls(shared, file)

    def _reset(self) -> None:
        self._lock = unpatched.RLock()
        self._sent: deque[Sent] = deque()
        self._end = 0
        """The position after the last whole message: the store process answers for nothing that was given up halfway."""
        self._sinks: weakref.WeakValueDictionary[int, RemoteSink] = weakref.WeakValueDictionary()
        self._first: RemoteSink | None = None
        self.numbers = itertools.count(1)

    def before_fork(self) -> None:
        """Do nothing: the child process gets a slot of its own."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def after_fork_in_child(self) -> None:
        """Take another slot: the parent's ring is the parent's."""
        self._is_first = False
        self._reset()
        number = self._shared.claim(unpatched.getpid())
        self._slot = None if number is None else self._shared.slot(number)

    @property
    def has_slot(self) -> bool:
        """Whether this process has a slot of the shared memory."""
        return self._slot is not None

    @property
    def is_serving(self) -> bool:
        """Whether the store process receives messages of this process."""
        return self._slot is not None and self._shared.is_serving()

    def begin(self, direct: SqliteSink, header: Header) -> RemoteSink | SqliteSink:
        """Begin a trace and return its sink. For the first trace of a process, wait until the store has it.

        Args:
            direct: the sink by which this process writes the trace itself if it has to.
            header: the header of the trace.

        Raises:
            StoreError: the store can't be written.
        """
        forks.register(self)  # not earlier: starting the store process forks, too
        is_part = self._first is not None
        sink = RemoteSink(direct, self, header, is_part=is_part)
        return sink if is_part else sink.opened()

    def go_on(self, direct: SqliteSink) -> RemoteSink:
        """Return a sink for a trace that exists already; `direct` is the sink by which this process would write it."""
        forks.register(self)
        return RemoteSink(direct, self)

    def drop(self, path: str, file: str, ids: Sequence[str]) -> bool:
        """Have the store process drop traces, after everything that was sent for them.

        The call waits only if the first trace of this process is one of them. Traces of calls are dropped while the program
        goes on.

        Args:
            path: the store as the user wrote it.
            file: its absolute path.
            ids: the ids of the traces.

        Returns:
            False if this process has to drop them itself.

        Raises:
            StoreError: they can't be dropped, and the call has waited.
        """
        first = self._first
        if first is None or not self.is_serving:
            return False
        first.fault_of_drop = None
        try:
            self.send(Dropping(first.number, path, file, tuple(ids)))
            if first.id not in ids:
                return True
            done = self.settle(STUCK)
        except GoneError:
            return False
        if first.fault_of_drop is not None:
            raise StoreError.of(first.fault_of_drop)
        return done

    def register(self, sink: RemoteSink) -> int:
        """Register a sink and return its number. Takes no lock: a signal handler may interrupt this, and then flush."""
        number = next(self.numbers)
        self._sinks[number] = sink
        if self._first is None:
            self._first = sink
        return number

    def wait_for(self, sink: RemoteSink) -> Opened:
        """Wait until the store process has begun the trace of a sink.

        Raises:
            GoneError: the store process has ended, or does not answer.
        """

        def is_open() -> bool:
            self.receive()
            return sink.was_opened is not None

        if not self._wait_until(is_open, STUCK) or sink.was_opened is None:
            raise GoneError
        return sink.was_opened

    def send(
        self,
        message: Opening | Batch | Closing | Retry | Dropping,
        operations: tuple[Operation, ...] = (),
        footer: Footer | ChildEnd | None = None,
    ) -> int:
        """Put a message into the ring.

        Args:
            message: the message.
            operations, footer: what the message has to write; kept until the store has it, for `take_back`.

        Returns:
            The position in the ring after the message.

        Raises:
            GoneError: the store process has ended, or this process has no slot.
            StoreError: the ring was full for `STUCK` seconds.
        """
        data = encode(message)
        with self._lock:
            slot = self._slot
            if slot is None or not self._shared.is_serving():
                raise GoneError
            for piece, flags in slot.ring.pieces(data):
                self._put(slot, piece, flags)
            end = self._end = slot.ring.head
            self.receive()
            self._forget_done(slot)
            if operations or footer is not None:
                self._sent.append(Sent(end, message.sink, operations, footer))
        self._shared.wake()
        return end

    def _forget_done(self, slot: Slot) -> None:
        """Forget sent batches that are in the store."""
        while self._sent and self._sent[0].end <= slot.done:
            self._sent.popleft()

    def _put(self, slot: Slot, piece: memoryview, flags: int) -> None:
        """Put a piece into the ring; wait for room as long as the store process takes something every `STUCK` seconds."""
        ring = slot.ring
        tail = (
            ring.tail
        )  # before `put`: the store process may empty the ring while that fails, and takes nothing more then
        while not ring.put(piece, flags):
            self._shared.wake()
            if not self._wait_until(partial(_is_past, ring, tail), STUCK):
                raise StoreError(
                    "the store process takes nothing more; see what keeps it from writing the store"
                )
            tail = ring.tail

    def settle(self, timeout: float) -> bool:
        """Wait until everything that was sent is committed or given up; the first process also waits for all others.

        Args:
            timeout: seconds without any progress after which the wait ends.

        Returns:
            Whether everything is done.

        Raises:
            GoneError: the store process has ended.
        """
        slot = self._slot
        if slot is None:
            raise GoneError
        shared, slots = self._shared, [(slot, self._end, 0, 0)]
        if self._is_first:
            for number, owner in enumerate(shared.owners.tolist()):
                if owner and number:
                    other = shared.slot(number)
                    slots.append((other, other.ring.head, number, owner))

        def is_done() -> bool:
            return all(
                other.done >= head or (number and shared.owners[number] != owner)
                for other, head, number, owner in slots
            )

        if not is_done():
            self._shared.wake()
        previous: list[int] = []
        while not (is_settled := self._wait_until(is_done, timeout)):
            done = [other.done + other.ring.tail for other, _, _, _ in slots]
            if done == previous:
                break
            previous = done  # slow, but not stuck
        self.receive()
        with self._lock:
            self._forget_done(slot)
        return is_settled

    @property
    def is_settled(self) -> bool:
        """Whether everything that this process sent is committed or given up."""
        return self._slot is not None and self._slot.done >= self._end

    def _wait_until(self, is_done: Callable[[], object], timeout: float) -> bool:
        """Wait until `is_done`, for `timeout` seconds at most; return whether it is.

        Raises:
            GoneError: the store process has ended.
        """
        pause, began = 0.000_1, unpatched.perf_counter_ns()
        until, check_at = began + int(timeout * 1e9), began + _LOOK
        while not is_done():
            now = unpatched.perf_counter_ns()
            if now >= check_at:
                check_at = now + _LOOK
                if not self._shared.is_serving() and not is_done():
                    raise GoneError
            if now >= until:
                return False
            unpatched.sleep(pause)
            if now - began > _SOON:
                pause = 0.001
        return True

    def receive(self) -> None:
        """Receive the replies of the store process, and pass each to its sink."""
        with self._lock:
            slot = self._slot
            while slot is not None and (reply := slot.replies.take()) is not None:
                report: SinkReport | Opened | Dropped = reply_decoder.decode(reply)
                sink = self._sinks.get(report.sink)
                if sink is not None:
                    sink.receive(report)
                elif self._first is not None and isinstance(report, SinkReport):
                    self._first.count_other_losses(report)

    def take_back(self, sink: int) -> list[Sent]:
        """Return the batches of a sink that may not be in the store, after the store process has ended."""
        with self._lock:
            self._shared.state = ENDED
            done = 0 if self._slot is None else self._slot.done
            unsaved = [batch for batch in self._sent if batch.sink == sink and batch.end > done]
            self._sent = deque(batch for batch in self._sent if batch.sink != sink)
            return unsaved
