"""The store process: while a recorded program runs, only this process holds descriptors of the store.

It is forked twice before the program's own code begins, and holds none of the program's descriptors. It commits the
messages that the program's processes write into shared memory. It ends when all of them have ended and everything is
committed or given up. Only our code runs in it.
"""

from __future__ import annotations

import contextlib
import gc
import select
import sqlite3
from functools import partial
from typing import Any, Final

import msgspec

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.errors import StoreError
from autochron.model import Envelope
from autochron.store import messages
from autochron.store.database import connect_to_write
from autochron.store.detached import Work, start_all
from autochron.store.messages import (
    Batch,
    Dropped,
    Dropping,
    Opened,
    Opening,
    Retry,
    SinkReport,
    encode,
    message_decoder,
)
from autochron.store.saving import Prepared, Saver
from autochron.store.shared import ENDED, RUNNING, Shared, Slot, is_running
from autochron.store.sink import SqliteSink

IDLE: Final = 0.05
"""Seconds between two checks whether the program is still alive."""

POLL: Final = 0.003
"""Seconds between two polls of the rings if there is no bell, at first; each pause is longer than the one before."""

MESSAGES: Final = 64
"""Messages of one process after which its `Slot.done` is updated."""

TOGETHER: Final = 256
"""Operations of one trace from which on they are committed at once."""

LIMIT: Final = 4096
"""Operations of one trace that wait for a retry, at most."""


def serve(shared: Shared, file: str) -> None:
    """Serve until all processes that could send something have ended.

    Args:
        shared: the shared memory.
        file: the absolute path of the store, which need not exist yet.
    """
    for number in range(3):
        os.open(os.devnull, os.O_RDWR) if number == 0 else os.dup(0)
    gc.freeze()
    # Build the decoder and connect now, while the program is starting: it would wait for that later.
    message_decoder.decode(encode(Retry(0)))
    connection = None
    if os.path.exists(file):
        with contextlib.suppress(StoreError):  # reported when the trace begins
            connection = connect_to_write(file, "group")
    Service(shared, connection).run()


def main(descriptor: int, identity: tuple[int, int], file: str) -> None:
    """Start the store process from a fresh interpreter, which ends then.

    Args:
        descriptor: of the file that is the shared memory.
        identity: the device and the inode of that file. The program may have put another one in its place meanwhile.
        file: the absolute path of the store.
    """
    status = os.fstat(descriptor)
    if [status.st_dev, status.st_ino] != [*identity]:
        return
    shared = Shared(descriptor)
    start_all(Work(partial(serve, shared, file), (), partial(setattr, shared, "process")))


class _Trace:
    """One trace that is being written.

    Attributes:
        group: the operations to be committed next.
        reported: the last report on its faults.
    """

    def __init__(self, opening: Opening, connection: sqlite3.Connection | None) -> None:
        trace = opening.trace if opening.header is None else opening.header
        later = not opening.now
        self._durability = opening.durability
        self.sink = SqliteSink(
            opening.path, trace, opening.durability, file=opening.file, later=later, connection=connection
        )
        if opening.header is None:
            self.sink.use(opening.number, opening.child)
        self.saver = Saver(self.sink, LIMIT)
        self.group: list[Prepared] = []
        self.reported = SinkReport(opening.sink, 0, 0, None)

    def add(self, batch: Batch) -> None:
        if batch.child is not None:
            self.sink.child = batch.child
        for operation in batch.operations:
            self.group.append(operation if isinstance(operation, Envelope) else partial(_extend, operation))
        for ending in (batch.footer, batch.ending):
            if ending is not None:
                self.group.append(partial(_end, ending))
        if len(self.group) >= TOGETHER:
            self.save()

    def save(self) -> None:
        group, self.group = self.group, []
        if group or self.saver.failed:
            self.saver.save(group)

    def close(self) -> None:
        self.saver.hurry()
        self.save()
        self.saver.give_up()
        try:
            self.sink.close()
        except StoreError as error:
            self.saver.note(error)

    def release(self) -> sqlite3.Connection | None:
        """Save what is pending, and return the connection for another trace; None if it can't be reused."""
        self.save()
        return None if self.saver.failed or self._durability != "group" else self.sink.release()


def _extend(extension: messages.Extension, sink: Any) -> None:
    sink.extend(*extension)


def _end(last: Any, sink: Any) -> None:
    sink.end(last)


class _Client:
    """One process that sends messages.

    Attributes:
        is_waiting: whether something waits for a retry, or a reply for room.
    """

    def __init__(self, slot: Slot, process: int, connection: sqlite3.Connection | None) -> None:
        self.slot = slot
        self._connection = connection
        self.process = process
        self.is_waiting = False
        self._watch = _watch(self.process)
        self._traces: dict[int, _Trace] = {}
        self._replies: list[SinkReport | Opened | Dropped] = []

    def is_gone(self) -> bool:
        if self._watch is None:
            return not is_running(self.process)
        return bool(self._watch.poll(0))

    def serve(self) -> bool:
        """Commit what the process has sent; return whether there was anything."""
        ring = self.slot.ring
        has_messages = False
        for _ in range(MESSAGES):
            message = ring.take()
            if message is None:
                break
            has_messages = True
            try:
                self._take(message_decoder.decode(message))
            except msgspec.MsgspecError as error:
                self._refuse(message, error)
        for number, trace in self._traces.items():
            trace.save()
            self._report_faults(number, trace)
        self._send()
        self.is_waiting = bool(self._replies) or any(trace.saver.failed for trace in self._traces.values())
        if has_messages:
            self.slot.done = ring.tail
        return has_messages

    def _take(self, message: messages.Message) -> None:
        if isinstance(message, Opening):
            self._open(message)
        elif isinstance(message, Dropping):
            self._drop(message)
        elif (trace := self._traces.get(message.sink)) is None:
            return
        elif isinstance(message, Retry):
            trace.saver.hurry()
        elif isinstance(message, Batch):
            trace.add(message)
        else:
            # Keep one connection for the next trace: a new one takes longer than writing the trace of a call.
            if len(self._traces) == 1:
                self._close_connection()  # so that the trace's connection is the last one, which removes the WAL
            elif self._connection is None:
                self._connection = trace.release()
            trace.close()
            self._report_faults(message.sink, trace)
            del self._traces[message.sink]

    def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self, opening: Opening) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and opening.durability != "group":
            connection.close()
            connection = None
        try:
            trace = self._traces[opening.sink] = _Trace(opening, connection)
            reply = Opened(opening.sink, trace.sink.number)
        except StoreError as error:
            reply = Opened(opening.sink, 0, str(error))
        if opening.now:
            self._replies.append(reply)
            self._send()  # the program waits to begin
        os.chdir("/")  # not before: the path of the store may be relative

    def _refuse(self, message: bytes, error: Exception) -> None:
        """Count the operations of a message that can't be decoded as lost."""
        _, sink, *rest = msgspec.msgpack.decode(message)
        trace = self._traces.get(sink)
        if trace is not None:
            trace.saver.dropped += len(rest[0])
            trace.saver.note(error)

    def _drop(self, message: Dropping) -> None:
        from autochron.store.dropping import drop  # lazy: few runs drop a trace

        for trace in self._traces.values():
            trace.save()
        try:
            drop(message.file, "group", message.ids)
        except StoreError as error:
            self._replies.append(Dropped(message.sink, str(error)))

    def _report_faults(self, number: int, trace: _Trace) -> None:
        saver = trace.saver
        report = SinkReport(number, saver.lost, len(saver.failed), saver.fault)
        if report != trace.reported:
            trace.reported = report
            self._replies.append(report)

    def _send(self) -> None:
        """Send replies, before `Slot.done` is updated; a reply without room waits."""
        ring = self.slot.replies
        while self._replies:
            if not all(ring.put(piece, flags) for piece, flags in ring.pieces(encode(self._replies[0]))):
                return
            del self._replies[0]

    def end(self) -> None:
        """Commit everything that the process had sent when it ended."""
        while self.serve():
            pass
        for trace in self._traces.values():
            trace.close()
        self._close_connection()
        if self._watch is not None:
            self._watch.close()


class _Watch:
    """Sees the end of a process by a pidfd, a descriptor of the store process."""

    def __init__(self, process: int) -> None:
        self._descriptor = os.pidfd_open(process)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def poll(self, timeout: int) -> list[tuple[int, int]]:
        return self._poll.poll(timeout)

    def close(self) -> None:
        os.close(self._descriptor)


def _watch(process: int) -> _Watch | None:
    try:
        return _Watch(process)
    except (OSError, AttributeError):
        return None


class Service:
    """Serves the processes that own slots of the shared memory."""

    def __init__(self, shared: Shared, connection: sqlite3.Connection | None = None) -> None:
        """Make one; `connection` is for the first trace."""
        self._shared = shared
        self._connection = connection
        self._clients: dict[int, _Client] = {}

    def run(self) -> None:
        """Serve until all processes have ended."""
        shared = self._shared
        shared.state = RUNNING
        pause = POLL
        while True:
            has_messages = self._serve()
            if shared.state == ENDED or self._is_over():
                return
            if has_messages:
                pause = POLL
            elif shared.bell is not None:
                shared.bell.acquire(True, IDLE)
            else:
                unpatched.sleep(pause)
                pause = min(pause * 1.2, IDLE)

    def _serve(self) -> bool:
        has_messages = False
        for number, process in enumerate(self._shared.owners.tolist()):
            if not process:
                continue
            client = self._clients.get(number)
            if client is None:
                connection, self._connection = self._connection, None
                client = self._clients[number] = _Client(self._shared.slot(number), process, connection)
            slot = client.slot
            if client.is_waiting or slot.ring.head != slot.done:
                has_messages = client.serve() or has_messages
        return has_messages

    def _is_over(self) -> bool:
        """Release the slots of processes that have ended; return whether no process is left."""
        gone = [number for number, client in self._clients.items() if client.is_gone()]
        for number in gone:
            self._clients.pop(number).end()
        if self._clients and not gone:
            return False
        with self._shared.claimed():
            for number in gone:
                self._shared.release(number)
            if any(self._shared.owners):
                return False
            self._shared.state = ENDED
            return True
