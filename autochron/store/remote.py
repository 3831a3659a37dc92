"""Sinks whose traces another process writes, so that the recorded program holds no descriptor of the store while it runs."""

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
    """A batch that was sent, as long as it may not be in the store."""

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
    """The way to the process that writes; any method may raise GoneError once that is not there any more."""

    @property
    def has_slot(self) -> bool:
        """Whether this process was ever served."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing of this process is to be committed."""

    def enter(self, sink: RemoteSink) -> int:
        """Return a sink's number."""

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

    def hear(self) -> None:
        """Hand on what there is to say."""

    def take_back(self, sink: int) -> Sequence[Sent]:
        """Return what was sent of a sink and may not be in the store."""


class RemoteSink:
    """The sink of one trace that the store process writes; where that has ended, this process writes it itself.

    Then it holds a descriptor of the store only while it commits.

    Attributes:
        is_direct: whether this process writes it itself.
        lost: how much of what was put is not in the store because of faults there.
        fault: the first of these, in one line.
    """

    def __init__(
        self,
        direct: SqliteSink,
        process: Channel,
        header: Header | None = None,
        *,
        is_part: bool = False,
    ) -> None:
        """Take the trace as this process would write it; a header where the store process is to begin it.

        `is_part`: it is the trace of a call, and nobody waits until it is written.
        """
        self.fork_order = 1
        self._is_part = is_part
        self.id = direct.id
        self._direct = direct
        self._process = process
        self._header = header
        self._start_anew()
        forks.register(self)

    def _start_anew(self) -> None:
        self._lock = unpatched.RLock()
        self._pending: list[Operation] = []
        self._footer: Footer | ChildEnd | None = None
        self.number = self._process.enter(self)
        self._is_open = False
        self.was_opened: Opened | None = None
        self.fault_of_drop: str | None = None
        self.is_direct = False
        self._own_lost = self._others_lost = self._waiting = 0
        self.fault: str | None = None

    def opened(self) -> RemoteSink | SqliteSink:
        """Have the trace begun now; return the sink, or that of this process where the store process has ended.

        Raises:
            StoreError: the store can't be written.
        """
        try:
            self._open(now=True)
            found = self._process.wait_for(self)
        except GoneError:
            forks.unregister(self)
            return self._direct
        if found.fault is not None:
            raise StoreError.of(found.fault)
        self._direct.use(found.number, None)
        self._header = None
        return self

    def _open(self, *, now: bool = False) -> None:
        direct, header = self._direct, self._header
        names = (direct.path, direct.file, direct.durability, header, direct.id, direct.number, direct.child)
        self._process.send(Opening(self.number, *names, now))
        self._is_open = True

    # --- what a sink does --------------------------------------------------------------------------------------------

    def put(self, envelope: Envelope) -> None:
        """Keep an envelope; see `SqliteSink.put`."""
        with self._lock:
            self._pending.append(envelope)

    def extend(self, seq: int, items: Sequence[bytes]) -> None:
        """Add items to the stream of an envelope."""
        with self._lock:
            self._pending.append((seq, tuple(items)))

    def end(self, footer: Footer | ChildEnd) -> None:
        """Keep the footer, or what a child process had to say; a later one replaces it."""
        with self._lock:
            self._footer = footer

    def commit(self) -> None:
        """Bring all that was put out of reach of what may befall this process; it is in the store after `settle`."""
        with self._lock:
            operations, self._pending = tuple(self._pending), []
            footer, self._footer = self._footer, None
            if not operations and footer is None:
                return
            if not self.is_direct:
                try:
                    self._send(operations, footer)
                except GoneError:
                    self._go_on_alone()
                else:
                    return
            self._write(operations, footer)

    def close(self) -> None:
        """Commit, wait for the store process, and let go of the store."""
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
        """Have it all in the store when this returns, or raise StoreError."""
        with self._lock:
            self._pending, self._footer = list(operations), footer
            lost = self.lost
            self.commit()
            if not self.settle(PATIENCE) or self.lost > lost:
                raise StoreError.of(
                    self.fault or f"{self._direct.path} was not written within {PATIENCE:.0f} s"
                )

    def reserve(self, lane: str, label: str | None = None) -> tuple[str, int]:
        """Take a run of seqs for a child process; see `SqliteSink.reserve`."""
        return self._direct.reserve(lane, label)

    @property
    def is_unknown(self) -> bool:
        """Whether this process has taken no seqs of the trace yet."""
        return self._direct.is_unknown

    # --- what is remote ----------------------------------------------------------------------------------------------

    @property
    def lost(self) -> int:
        """How much of what was put is not in the store because of faults there; it sinks when a retry succeeds."""
        return self._own_lost + self._others_lost

    @property
    def is_settled(self) -> bool:
        """Whether everything that was put is in the store."""
        return self.is_direct or (self._process.is_settled and not self._waiting)

    def settle(self, timeout: float) -> bool:
        """Wait until all that was put is in the store; return whether it is."""
        with self._lock:
            try:
                return self.is_direct or self._settle(timeout)
            except GoneError:
                self._go_on_alone()
                return True

    def hear(self, said: SinkReport | Opened | Dropped) -> None:
        """Note what the store process says of this sink."""
        if isinstance(said, Opened):
            self.was_opened = said
            return
        if isinstance(said, Dropped):
            self.fault_of_drop = said.fault
            return
        self._own_lost, self._waiting = said.lost, said.waiting
        if self.fault is None:
            self.fault = said.fault

    def hear_of_other(self, report: SinkReport) -> None:
        """Note what it says of a sink that is closed."""
        self._others_lost += report.lost
        if self.fault is None:
            self.fault = report.fault

    def _settle(self, timeout: float) -> bool:
        if self._is_part:  # the trace of a call: it answers the next one meanwhile
            self._process.hear()
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
            self._go_on_alone()

    def _go_on_alone(self) -> None:
        """Write what the store process may not have written, and from now on all that comes."""
        self.is_direct = True
        back = self._process.take_back(self.number)
        if self._process.has_slot and self.fault is None:
            self.fault = (
                "the process that wrote the store was ended by something else; what it had not written is written by the "
                "program's process now"
            )
        for each in back:
            try:
                self._write(each.operations, each.footer)
            except StoreError as error:
                self._own_lost += len(each.operations)
                self.fault = str(error)

    def _write(self, operations: Sequence[Operation], footer: Footer | ChildEnd | None) -> None:
        direct = self._direct
        for each in operations:
            if isinstance(each, Envelope):
                direct.put(each)
            else:
                direct.extend(*each)
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
        """Go on."""
        if self._resting:
            self._resting = False
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Send only what the child puts; what waited is the parent's."""
        self._resting = False
        self._start_anew()
