"""The store process as the recorded program's processes see it: what it is sent, what it has done, and what it says."""

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
from autochron.store.rows import Operation
from autochron.store.shared import ENDED, Shared, Slot
from autochron.store.sink import SqliteSink

STUCK: Final = 40.0
"""Seconds to wait for room; longer than SQLite waits for another process that writes."""

_LOOK: Final = 20_000_000
"""Nanoseconds between two looks at whether the store process is still there."""


def _serve(shared: Shared, file: str) -> None:
    from autochron.store.service import (
        serve,
    )  # lazy: imported by the store process, while the program's is busy

    serve(shared, file)


_SOON: Final = 5_000_000
"""Nanoseconds in which an answer is looked for often: most come sooner."""


class StoreProcess:
    """The store process as one of the program's processes sees it.

    Attributes:
        work: what is to be started, while the process has one thread and none of the program's code has run.
    """

    def __init__(self, shared: Shared, file: str) -> None:
        self.fork_order = 2
        self._shared = shared
        self._slot: Slot | None = shared.slot(0)
        self._is_first = True
        self.work = Work(partial(_serve, shared, file), (), partial(setattr, shared, "process"))
        self._start_anew()

    @classmethod
    def prepare(cls, file: str) -> StoreProcess | None:
        """Return one for a store at an absolute path, whose `work` is to be started; None where there can be none."""
        process = unpatched.getpid()
        if process == 1 or not hasattr(
            os, "fork"
        ):  # as a child of process 1 it would be one of the program's
            return None
        try:
            shared = Shared()
        except (OSError, ValueError):
            return None
        shared.owners[0] = process
        return cls(shared, file)

    def _start_anew(self) -> None:
        self._lock = unpatched.RLock()
        self._sent: deque[Sent] = deque()
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
        self._start_anew()
        number = self._shared.claim(unpatched.getpid())
        self._slot = None if number is None else self._shared.slot(number)

    @property
    def has_slot(self) -> bool:
        """Whether this process was ever served."""
        return self._slot is not None

    @property
    def is_serving(self) -> bool:
        """Whether the store process takes what is sent."""
        return self._slot is not None and self._shared.is_serving()

    def begin(self, direct: SqliteSink, header: Header) -> RemoteSink | SqliteSink:
        """Have a trace begun, and return its sink; for the first one of a process only once that is done.

        Raises:
            StoreError: the store can't be written.
        """
        forks.register(self)  # not before: the store process is a fork, too
        is_part = self._first is not None
        sink = RemoteSink(direct, self, header, is_part=is_part)
        return sink if is_part else sink.opened()

    def go_on(self, direct: SqliteSink) -> RemoteSink:
        """Return a sink that sends what another one would write into a trace that is there."""
        forks.register(self)
        return RemoteSink(direct, self)

    def drop(self, path: str, file: str, ids: Sequence[str]) -> bool:
        """Have traces dropped, whatever was sent of them before; return False where this process has to do it.

        Raises:
            StoreError: they can't be dropped, where the program waits for it: those of calls are dropped while it goes on.
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

    def enter(self, sink: RemoteSink) -> int:
        """Return a sink's number. No lock: a signal handler may interrupt this and wait for the writing thread."""
        number = next(self.numbers)
        self._sinks[number] = sink
        if self._first is None:
            self._first = sink
        return number

    def wait_for(self, sink: RemoteSink) -> Opened:
        """Wait until the store process has begun the trace of a sink.

        Raises:
            GoneError: the store process is not there any more.
        """

        def is_open() -> bool:
            self.hear()
            return sink.was_opened is not None

        if not self._waited(is_open, STUCK) or sink.was_opened is None:
            raise GoneError
        return sink.was_opened

    def send(
        self,
        message: Opening | Batch | Closing | Retry | Dropping,
        operations: tuple[Operation, ...] = (),
        footer: Footer | ChildEnd | None = None,
    ) -> int:
        """Put a message into the ring; return the position after it.

        Raises:
            GoneError: nobody takes it.
            StoreError: there was no room for it for a long time.
        """
        data = encode(message)
        with self._lock:
            slot = self._slot
            if slot is None or not self._shared.is_serving():
                raise GoneError
            for piece, flags in slot.ring.pieces(data):
                while not slot.ring.put(piece, flags):
                    self._wait_for_room(slot)
            end = slot.ring.head
            self.hear()
            self._forget_done(slot)
            if operations or footer is not None:
                self._sent.append(Sent(end, message.sink, operations, footer))
        self._shared.wake()
        return end

    def _forget_done(self, slot: Slot) -> None:
        """Let go of what was sent and is in the store."""
        while self._sent and self._sent[0].end <= slot.done:
            self._sent.popleft()

    def _wait_for_room(self, slot: Slot) -> None:
        tail = slot.ring.tail
        self._shared.wake()
        if not self._waited(lambda: slot.ring.tail != tail, STUCK):
            raise StoreError("the store process takes nothing more; see what keeps it from writing the store")

    def settle(self, timeout: float) -> bool:
        """Wait until all that was sent is committed or given up; for the first process also what others have sent.

        Raises:
            GoneError: the store process is not there any more.
        """
        slot = self._slot
        if slot is None:
            raise GoneError
        shared, waited = self._shared, [(slot, slot.ring.head, 0, 0)]
        if self._is_first:
            for number, owner in enumerate(shared.owners.tolist()):
                if owner and number:
                    each = shared.slot(number)
                    waited.append((each, each.ring.head, number, owner))

        def is_done() -> bool:
            return all(
                each.done >= head or (number and shared.owners[number] != owner)
                for each, head, number, owner in waited
            )

        if not is_done():
            self._shared.wake()
        before: list[int] = []
        while not (found := self._waited(is_done, timeout)):
            done = [each.done + each.ring.tail for each, _, _, _ in waited]
            if done == before:
                break
            before = done  # it is slow and not stuck
        self.hear()
        with self._lock:
            self._forget_done(slot)
        return found

    @property
    def is_settled(self) -> bool:
        """Whether the store process has nothing of this process to commit."""
        return self._slot is not None and self._slot.done >= self._slot.ring.head

    def _waited(self, is_done: Callable[[], object], timeout: float) -> bool:
        """Wait until something is done; return whether it is."""
        pause, began = 0.000_1, unpatched.perf_counter_ns()
        until, look = began + int(timeout * 1e9), began + _LOOK
        while not is_done():
            now = unpatched.perf_counter_ns()
            if now >= look:
                look = now + _LOOK
                if not self._shared.is_serving() and not is_done():
                    raise GoneError
            if now >= until:
                return False
            unpatched.sleep(pause)
            if now - began > _SOON:
                pause = 0.001
        return True

    def hear(self) -> None:
        """Hand on what the store process has to say."""
        with self._lock:
            slot = self._slot
            while slot is not None and (reply := slot.replies.take()) is not None:
                said: SinkReport | Opened | Dropped = reply_decoder.decode(reply)
                sink = self._sinks.get(said.sink)
                if sink is not None:
                    sink.hear(said)
                elif self._first is not None and isinstance(said, SinkReport):
                    self._first.hear_of_other(said)

    def take_back(self, sink: int) -> list[Sent]:
        """Return what was sent of a sink and may not be in the store, once the store process is not there any more."""
        with self._lock:
            self._shared.state = ENDED
            done = 0 if self._slot is None else self._slot.done
            found = [each for each in self._sent if each.sink == sink and each.end > done]
            self._sent = deque(each for each in self._sent if each.sink != sink)
            return found
