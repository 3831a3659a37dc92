"""Sinks whose traces the store process writes, so that the running program holds no descriptor of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from autochron._runtime import unpatched
from autochron.errors import StoreError
from autochron.model import ChildEnd, Envelope, Footer, Header
from autochron.store import forks
from autochron.store.messages import Batch, Closing, Dropped, GoneError, Opened, Opening, Retry, SinkReport
from autochron.store.rows import Operation

if TYPE_CHECKING:
    from autochron.store.sink import SqliteSink

PATIENCE: Final = 10.0
"""Seconds that a closing sink waits for the store process."""


class Sent:
    """A sent batch that may not be in the store yet; `end` is the position in the ring after it."""

    __slots__ = ("end", "footer", "operations", "sink")

    def __init__(
        self,
        end: int,
        sink: int,
        operations: tuple[Operation, ...],
        footer: Footer | ChildEnd | None,
    ) -> None:
        self.end = end
        self.sink = sink
        self.operations = operations
        self.footer = footer


class Channel(Protocol):
    """The connection to the store process. Any method may raise GoneError once that process has ended."""

    @property
    def has_slot(self) -> bool:
        """Whether this process has a slot of the shared memory."""

    @property
    def is_settled(self) -> bool:
        """Whether everything that this process sent is committed or given up."""

    def register(self, sink: RemoteSink) -> int:
        """Register a sink and return its number."""

    def wait_for(self, sink: RemoteSink) -> Opened:
        """Wait until the trace of a sink is begun."""

    def send(
        self,
        message: Opening | Batch | Closing | Retry,
        operations: tuple[Operation, ...] = (),
        footer: Footer | ChildEnd | None = None,
    ) -> int:
        """Send a message; return the position after it."""

    def settle(self, timeout: float) -> bool:
        """Wait until all that was sent is committed or given up; return whether it is."""

    def receive(self) -> None:
        """Receive the replies, and pass each to its sink."""

    def take_back(self, sink: int) -> Sequence[Sent]:
        """Return the batches of a sink that may not be in the store."""


class RemoteSink:
    """The sink of one trace that the store process writes.

    If the store process has ended, this process writes the trace itself, and holds a descriptor of the store only while it
    commits.

    Attributes:
        is_direct: whether this process writes the trace itself.
        lost: the number of operations that are not in the store because of faults there.
        fault: the first of these faults, in one line.
    """

    def __init__(
        self,
        direct: SqliteSink,
        process: Channel,
        header: Header | None = None,
        *,
        is_part: bool = False,
    ) -> None:
        """Make one.

        Args:
            direct: the sink by which this process would write the trace.
            process: the connection to the store process.
            header: the header of a trace that the store process has to begin; None for one that exists.
            is_part: whether it is the trace of a call, which nobody waits for.
        """
        self.fork_order = 1
        self._is_part = is_part
        self.id = direct.id
        self._direct = direct
        self._process = process
        self._header = header
        self._reset()
        forks.register(self)

    def _reset(self) -> None:
        self._lock = unpatched.RLock()
        self._pending: list[Operation] = []
        self._footer: Footer | ChildEnd | None = None
        self.number = self._process.register(self)
        self._is_open = False
        self.was_opened: Opened | None = None
        self.fault_of_drop: str | None = None
        self.is_direct = False
        self._own_lost = self._others_lost = self._waiting = 0
        self.fault: str | None = None

    def opened(self) -> RemoteSink | SqliteSink:
        """Begin the trace now; return this sink, or the direct one if the store process has ended.

        Raises:
            StoreError: the store can't be written.
        """
        try:
            self._open(now=True)
            reply = self._process.wait_for(self)
        except GoneError:
            forks.unregister(self)
            return self._direct
        if reply.fault is not None:
            raise StoreError.of(reply.fault)
        self._direct.use(reply.number, None)
        self._header = None
        return self

    def _open(self, *, now: bool = False) -> None:
        direct, header = self._direct, self._header
        names = (direct.path, direct.file, direct.durability, header, direct.id, direct.number, direct.child)
        self._process.send(Opening(self.number, *names, now))
        self._is_open = True

    # --- the methods of a sink ---------------------------------------------------------------------------------------

    def put(self, envelope: Envelope) -> None:
        """Put an envelope; see `SqliteSink.put`."""
        with self._lock:
            self._pending.append(envelope)

    def extend(self, seq: int, items: Sequence[bytes]) -> None:
        """Add items to the stream of an envelope."""
        with self._lock:
            self._pending.append((seq, tuple(items)))

    def end(self, footer: Footer | ChildEnd) -> None:
        """Put the footer, or the end report of a child process; a later one replaces it."""
        with self._lock:
            self._footer = footer

    def commit(self) -> None:
        """Send everything that was put, so that it survives the end of this process; it is in the store after `settle`."""
        with self._lock:
            operations, self._pending = tuple(self._pending), []
            footer, self._footer = self._footer, None
            if not operations and footer is None:
                return
            if not self.is_direct:
                try:
                    self._send(operations, footer)
                except GoneError:
                    self._take_over()
                else:
                    return
            self._write(operations, footer)

    def close(self) -> None:
        """Commit, wait for the store process, and close the store."""
        try:
            self.leave()
        finally:
            self._direct.close()

    def leave(self) -> None:
        """Commit, and wait for the store process."""
        with self._lock:
            try:
                self.commit()
                if not self.is_direct and self._is_open:
                    self._close_remotely()
            finally:
                forks.unregister(self)

    def write(self, operations: Sequence[Operation], footer: Footer | ChildEnd | None) -> None:
        """Write operations, and wait until they are in the store.

        Raises:
            StoreError: they are not in the store after `PATIENCE` seconds, or there was a fault.
        """
        with self._lock:
            self._pending, self._footer = list(operations), footer
            lost = self.lost
            self.commit()
            if not self.settle(PATIENCE) or self.lost > lost:
                raise StoreError.of(
                    self.fault or f"{self._direct.path} was not written within {PATIENCE:.0f} s"
                )

    def reserve(self, lane: str, label: str | None = None) -> tuple[str, int]:
        """Reserve a run of seqs for a child process; see `SqliteSink.reserve`."""
        return self._direct.reserve(lane, label)

    @property
    def is_unknown(self) -> bool:
        """Whether this process has reserved no seqs of the trace yet."""
        return self._direct.is_unknown

    # --- the store process -------------------------------------------------------------------------------------------

    @property
    def lost(self) -> int:
        """The number of operations that are not in the store because of faults there; a successful retry lowers it."""
        return self._own_lost + self._others_lost

    @property
    def is_settled(self) -> bool:
        """Whether everything that was put is in the store."""
        return self.is_direct or (self._process.is_settled and not self._waiting)

    def settle(self, timeout: float) -> bool:
        """Wait until everything that was put is in the store; return whether it is. `timeout` is in seconds."""
        with self._lock:
            try:
                return self.is_direct or self._settle(timeout)
            except GoneError:
                self._take_over()
                return True

    def receive(self, reply: SinkReport | Opened | Dropped) -> None:
        """Note a reply of the store process to this sink."""
        if isinstance(reply, Opened):
            self.was_opened = reply
            return
        if isinstance(reply, Dropped):
            self.fault_of_drop = reply.fault
            return
        self._own_lost, self._waiting = reply.lost, reply.waiting
        if self.fault is None:
            self.fault = reply.fault

    def count_other_losses(self, report: SinkReport) -> None:
        """Add the losses in a report on another sink of this process, which is closed."""
        self._others_lost += report.lost
        if self.fault is None:
            self.fault = report.fault

    def _settle(self, timeout: float) -> bool:
        if self._is_part:  # the trace of a call: the program goes on to the next call
            self._process.receive()
            return True
        if self._waiting:
            self._process.send(Retry(self.number))
        return self._process.settle(timeout) and not self._waiting

    def _send(self, operations: tuple[Operation, ...], footer: Footer | ChildEnd | None) -> None:
        direct = self._direct
        batch = Batch(
            self.number,
            operations,
            footer if isinstance(footer, Footer) else None,
            footer if isinstance(footer, ChildEnd) else None,
            direct.child,
        )
        if not self._is_open:
            self._open()
        self._process.send(batch, operations, footer)

    def _close_remotely(self) -> None:
        try:
            self._process.send(Closing(self.number))
            if not self._is_part and not self._process.settle(PATIENCE):
                raise StoreError(
                    f"{self._direct.path}: the store process has not written all of trace {self._direct.id} within "
                    f"{PATIENCE:.0f} s; see what keeps it from writing"
                )
        except GoneError:
            self._take_over()

    def _take_over(self) -> None:
        """Write what the store process may not have written, and write everything directly from now on."""
        self.is_direct = True
        unsaved = self._process.take_back(self.number)
        if self._process.has_slot and self.fault is None:
            self.fault = (
                "the process that wrote the store was ended by something else; what it had not written is written by the "
                "program's process now"
            )
        for batch in unsaved:
            try:
                self._write(batch.operations, batch.footer)
            except StoreError as error:
                self._own_lost += len(batch.operations)
                self.fault = str(error)

    def _write(self, operations: Sequence[Operation], footer: Footer | ChildEnd | None) -> None:
        direct = self._direct
        for operation in operations:
            if isinstance(operation, Envelope):
                direct.put(operation)
            else:
                direct.extend(*operation)
        if footer is not None:
            direct.end(footer)
        try:
            direct.commit()
        finally:
            direct.rest()

    # --- forks -------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait for a commit in another thread."""
        self._resting = self._lock.acquire(timeout=forks.PATIENCE)

    def after_fork_in_parent(self) -> None:
        """Resume."""
        if self._resting:
            self._resting = False
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew with what the child puts: pending operations are the parent's."""
        self._resting = False
        self._reset()
