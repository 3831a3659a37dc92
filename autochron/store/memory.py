"""Keep traces in memory, as envelopes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from autochron._runtime import unpatched
from autochron.errors import StoreError
from autochron.model import Child, ChildEnd, Envelope, Footer, Header, Streamed, Trace, TraceSummary
from autochron.store import forks, lookup
from autochron.store.whole import WholeRecord

if TYPE_CHECKING:
    from autochron.ports import Record, Sink


class _KeptTrace:
    """One trace in memory."""

    __slots__ = ("envelopes", "footer", "header", "items", "settle")

    def __init__(self, header: Header) -> None:
        self.header = header
        self.settle: Callable[[], object] = _nothing
        """Called before the trace is read: puts pending drafts into it."""
        self.footer: Footer | None = None
        self.envelopes: dict[int, Envelope] = {}
        self.items: dict[int, list[bytes]] = {}

    def whole(self, seq: int) -> Envelope:
        """Return an envelope with the items that were added to its stream."""
        envelope = self.envelopes[seq]
        outcome = envelope.outcome
        if isinstance(outcome, Streamed) and seq in self.items:
            return structs.replace(envelope, outcome=Streamed(tuple(self.items[seq]), outcome.end))
        return envelope


def _nothing() -> None:
    return None


class _Shared:
    """The lock of all stores in memory. One is enough, since a put is short, and cheap for sessions of a single call."""

    def __init__(self) -> None:
        self.lock = unpatched.RLock()
        self.fork_order = 1
        self._resting = False

    def before_fork(self) -> None:
        """Wait for a put in another thread."""
        self._resting = self.lock.acquire(timeout=forks.PATIENCE)

    def after_fork_in_parent(self) -> None:
        """Resume."""
        if self._resting:
            self.lock.release()

    def after_fork_in_child(self) -> None:
        """Make a new lock; the child keeps a copy of the parent's traces."""
        self.lock = unpatched.RLock()


SHARED = _Shared()
forks.register(SHARED)


class MemorySink:
    """The sink of one trace in memory."""

    __slots__ = ("_kept", "_open")

    def __init__(self, kept: _KeptTrace) -> None:
        self._kept = kept
        self._open = True

    def put(self, envelope: Envelope) -> None:
        """Keep an envelope; one with the same `seq` replaces it. See `SqliteSink.put` for streams."""
        with SHARED.lock:
            self._check()
            self._kept.envelopes[envelope.seq] = envelope
            outcome = envelope.outcome
            if not isinstance(outcome, Streamed):
                self._kept.items.pop(envelope.seq, None)
            elif outcome.items:
                self._kept.items[envelope.seq] = list(outcome.items)

    def extend(self, seq: int, items: Sequence[bytes]) -> None:
        """Add items to the stream of an envelope."""
        with SHARED.lock:
            self._check()
            self._kept.items.setdefault(seq, []).extend(items)

    def end(self, footer: Footer | ChildEnd) -> None:
        """Keep the footer."""
        with SHARED.lock:
            self._check()
            assert isinstance(footer, Footer)  # noqa: S101 - no child process gets here
            self._kept.footer = footer

    def read_through(self, settle: Callable[[], object]) -> None:
        """Have `settle` called before the trace is read."""
        self._kept.settle = settle

    def commit(self) -> None:
        """Do nothing: a put is final."""

    def close(self) -> None:
        """Refuse further puts."""
        self._open = False
        self._kept.settle = _nothing

    def _check(self) -> None:
        if not self._open:
            raise StoreError(f"trace {self._kept.header.id} in memory is closed; begin another one")


class MemoryStore:
    """Traces in the memory of this process."""

    def __init__(self) -> None:
        self.url: str | None = None
        self._traces: dict[str, _KeptTrace] = {}

    def begin(self, header: Header) -> Sink:
        """Begin a new trace.

        Raises:
            StoreError: a trace of this id exists.
        """
        if header.id in self._traces:
            raise StoreError(f"memory holds a trace {header.id} already; give the new one an id of its own")
        kept = self._traces[header.id] = _KeptTrace(header)
        return MemorySink(kept)

    def join(self, trace: str, lane: str, label: str) -> tuple[Sink, str, int]:
        """Raise StoreError: other processes can't write into this process's memory."""
        raise StoreError(
            f"trace {trace} is kept in memory, which other processes can't write to; give a file"
        )

    def children(self, reference: str) -> list[Child]:
        """Return an empty list: child processes can't be recorded into memory."""
        return []

    def count(self, trace: str) -> int:
        """Count the crossings of the trace with this id; 0 if there is none."""
        kept = self._traces.get(trace)
        if kept is None:
            return 0
        kept.settle()
        return len(kept.envelopes)

    def counts(self, reference: str) -> dict[str, int]:
        """Count the crossings of a trace by name."""
        return Counter(envelope.name for envelope in self.envelopes(reference))

    def summaries(self) -> list[TraceSummary]:
        """List the traces, oldest first."""
        summaries = []
        for kept in list(self._traces.values()):
            kept.settle()
            seqs = list(kept.envelopes)
            size = sum(len(kept.envelopes[seq].input) for seq in seqs)
            status = kept.footer.status if kept.footer else None
            summaries.append(TraceSummary(kept.header, len(seqs), status, kept.footer is not None, size))
        return sorted(summaries, key=lambda summary: summary.header.created)

    def find(self, reference: str) -> str:
        """Return the id of the trace that a reference means; see `lookup.find`."""
        headers = sorted(
            (kept.header for kept in list(self._traces.values())), key=lambda header: header.created
        )
        return lookup.find(
            reference, [(header.id, header.name, header.created) for header in headers], "memory"
        )

    def outline(self, reference: str) -> tuple[Header, Footer | None]:
        """Return header and footer of a trace."""
        kept = self._traces[self.find(reference)]
        kept.settle()
        return kept.header, kept.footer

    def load(self, reference: str) -> Trace:
        """Read a whole trace."""
        header, footer = self.outline(reference)
        return Trace(header, tuple(self.envelopes(header.id)), footer)

    def envelopes(self, reference: str) -> Iterator[Envelope]:
        """Read the envelopes of a trace one by one, in order of start."""
        kept = self._traces[self.find(reference)]
        kept.settle()
        return iter([kept.whole(seq) for seq in sorted(kept.envelopes)])

    def record(self, reference: str) -> Record:
        """Open a trace as a record to replay."""
        return WholeRecord(self.load(reference))

    def drop(self, ids: Sequence[str]) -> None:
        """Drop traces by their ids; unknown ids are ignored."""
        for trace_id in ids:
            self._traces.pop(trace_id, None)

    def close(self) -> None:
        """Do nothing: another `memory:` of this process is the same store."""
