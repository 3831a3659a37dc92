"""The log of a replay: what crossed, for tests and reports. Of a crossing equal to its record only the `seq` is kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import structs

from autochron._runtime import unpatched
from autochron.envelope import codec
from autochron.model import Abandoned, Closed, Envelope, Mode, Raised, Replayed, Returned, Streamed

if TYPE_CHECKING:
    from collections.abc import Callable

    from autochron.crossing.crossing import Crossing
    from autochron.model import Outcome
    from autochron.replaying.inputs import InputReader

VALUES = 4096
"""The number of model results that are kept as objects. Older ones are decoded from the record."""

_CHANGED = frozenset({dict, list, set, bytearray})

NOTHING: Any = type("Nothing", (), {"__slots__": (), "__bool__": lambda _self: False})()
"""Stands for a value that was not kept, or does not exist yet."""


class LogEntry:
    """One crossing of a replay.

    Attributes:
        place: its place in the order of starts, from 1.
        address: name and occurrence of its record; without a record the next occurrence of its name.
        recorded: its record, or None.
        parent: the place of the crossing that encloses it, or None.
        input: its input if it differs from that of the record, else None.
        value: the object that it returned; `NOTHING` if that was not kept.
        error: the exception that it raised, or None.
        items: the encoded items of a stream, or None.
        outcome: its encoded outcome; None while it is open, and if it equals that of the record.
        started: nanoseconds of the performance counter.
        duration: nanoseconds.
    """

    __slots__ = (
        "address", "duration", "error", "form", "input", "items", "kind", "lane", "mode", "outcome", "parent", "place",
        "recorded", "site", "started", "value",
    )  # fmt: skip

    def __init__(
        self,
        place: int,
        crossing: Crossing[Any],
        mode: Mode,
        recorded: Envelope | None,
        address: tuple[str, int],
    ) -> None:
        self.place = place
        self.address = address
        self.kind = crossing.rule.kind
        self.lane = crossing.root.lane
        self.site = "" if recorded is None else recorded.site
        self.mode = mode
        self.recorded = recorded
        self.parent: int | None = None
        self.input: bytes | None = None
        self.value: Any = NOTHING
        self.error: BaseException | None = None
        self.items: list[bytes] | None = None
        self.outcome: Outcome | None = None
        self.form = crossing.form
        self.started = unpatched.perf_counter_ns()
        self.duration = 0

    @property
    def full_address(self) -> str:
        """The address as text: `NAME[K]`."""
        return f"{self.address[0]}[{self.address[1]}]"

    # --- for a crossing whose body runs --------------------------------------------------------------------------------

    def returned(self, crossing: Crossing[Any], value: Any) -> None:
        """Keep the value that the crossing returned."""
        self._ended(crossing)
        encoded = codec.encode(value)
        # The object of a model's SDK is kept. The agent may change plain data later, so that is decoded from the outcome.
        if encoded.opaque or (self.kind == "model" and type(value) not in _CHANGED):
            self.value = value
        self._end_with(Returned(encoded.body))

    def raised(self, crossing: Crossing[Any], error: BaseException) -> None:
        """Keep the error that the crossing raised. GeneratorExit means that its stream was closed."""
        self._ended(crossing)
        if isinstance(error, GeneratorExit):
            self._end_with(Closed())
            return
        self.error = error
        self._end_with(Raised(codec.encode(error).body))

    def item(self, item: Any) -> None:
        """Keep an item of a stream."""
        if self.items is None:
            self.items = []
        self.items.append(codec.encode(item).body)

    def _ended(self, crossing: Crossing[Any]) -> None:
        self.form = crossing.form
        self.duration = unpatched.perf_counter_ns() - self.started

    def _end_with(self, end: Returned | Raised | Closed) -> None:
        if self.items is not None or isinstance(end, Closed):
            self.outcome = Streamed(tuple(self.items or ()), end)
        else:
            self.outcome = end


class Log:
    """The crossings of a replay, in order of start."""

    def __init__(self, get: Callable[[int], Envelope], began: int) -> None:
        """Start an empty log.

        Args:
            get: returns the envelope of a `seq`.
            began: when the replay began, in nanoseconds of the performance counter.
        """
        self._get = get
        self._began = began
        self._order = array("q")
        """The `seq` of the record of each crossing; 0 if it has none."""
        self._entries: dict[int, LogEntry] = {}
        """The entries of the crossings that differ from their record, by place."""
        self._elsewhere: dict[int, Replayed] = {}
        """The crossings of other processes that differ from their record, by place."""
        self._kept: list[int] = []
        """The places of the entries whose value was kept, oldest first."""

    def __len__(self) -> int:
        return len(self._order)

    def served(self, envelope: Envelope) -> int:
        """Add a crossing that equals its record. Return its place."""
        self._order.append(envelope.seq)
        return len(self._order)

    def begin(
        self,
        crossing: Crossing[Any],
        mode: Mode,
        recorded: Envelope | None,
        address: tuple[str, int] | None = None,
    ) -> LogEntry:
        """Add a crossing with an entry of its own.

        Args:
            crossing: the crossing.
            mode: how it is replayed.
            recorded: its record, or None.
            address: name and occurrence, instead of those of the record or the crossing.
        """
        self._order.append(0 if recorded is None else recorded.seq)
        place = len(self._order)
        if address is None:
            address = (crossing.name, crossing.nth) if recorded is None else (recorded.name, recorded.nth)
        entry = self._entries[place] = LogEntry(place, crossing, mode, recorded, address)
        return entry

    def keep_value(self, entry: LogEntry, value: Any) -> None:
        """Keep the object that a model call returned, and drop the oldest one if there are more than `VALUES`."""
        entry.value = value
        self._kept.append(entry.place)
        if len(self._kept) > VALUES:
            self._entries[self._kept.pop(0)].value = NOTHING

    def replaced(self, entry: LogEntry, envelope: Envelope) -> None:
        """Assign another record to a crossing."""
        entry.recorded = envelope
        entry.address = (envelope.name, envelope.nth)
        self._order[entry.place - 1] = envelope.seq

    def add(self, replayed: Replayed) -> None:
        """Add a crossing of another process that differs from its record.

        If it has a record, the crossing is in the log already, as a served one.
        """
        recorded = replayed.recorded
        if recorded is None:
            self._order.append(0)
            self._elsewhere[len(self._order)] = replayed
            return
        for place in range(len(self._order), 0, -1):
            if self._order[place - 1] == recorded.seq:
                self._elsewhere[place] = replayed
                return

    def live(self) -> tuple[str, ...]:
        """Return the addresses of the crossings that ran live, in order of start."""
        own = [(place, entry.full_address) for place, entry in self._entries.items() if entry.mode == "live"]
        others = [
            (place, replayed.envelope.address)
            for place, replayed in self._elsewhere.items()
            if replayed.mode == "live"
        ]
        return tuple(address for _, address in sorted(own + others))

    def count(self, mode: Mode) -> int:
        """Return how many crossings were replayed in a mode other than `served`."""
        others = sum(replayed.mode == mode for replayed in self._elsewhere.values())
        return others + sum(entry.mode == mode for entry in list(self._entries.values()))

    def entry(self, place: int) -> LogEntry | None:
        """Return the entry of a crossing by its place; None if it has none."""
        return self._entries.get(place)

    def __iter__(self) -> Iterator[tuple[int, Envelope | None, LogEntry | None]]:
        """Yield (place, record, entry) of each crossing. Record and entry may be None."""
        for place, seq in enumerate(list(self._order), 1):
            entry = self._entries.get(place)
            yield (
                place,
                (self._get(seq) if entry is None and seq else entry.recorded if entry else None),
                entry,
            )

    def replayed(self, inputs: InputReader) -> Iterator[tuple[Replayed, LogEntry | None]]:
        """Yield each crossing as it was in the replay, with its entry; None where it has none.

        Args:
            inputs: masks the outcomes that are not in the record.
        """
        places: dict[int, int] = {}
        for place, recorded, entry in self:
            if recorded is not None:
                places[recorded.seq] = place
            elsewhere = self._elsewhere.get(place)
            if elsewhere is not None:
                envelope = structs.replace(elsewhere.envelope, seq=place, parent=None)
                yield structs.replace(elsewhere, envelope=envelope), None
            elif entry is None:
                assert recorded is not None  # noqa: S101 - a crossing without a record has an entry
                parent = None if recorded.parent is None else places.get(recorded.parent)
                envelope = structs.replace(recorded, seq=place, parent=parent)
                yield Replayed(mode="served", envelope=envelope, recorded=recorded), None
            else:
                yield self.replayed_at(entry, inputs), entry

    def replayed_at(self, entry: LogEntry, inputs: InputReader) -> Replayed:
        """Return one crossing as it was in the replay."""
        return Replayed(mode=entry.mode, envelope=self._envelope(entry, inputs), recorded=entry.recorded)

    def _envelope(self, entry: LogEntry, inputs: InputReader) -> Envelope:
        recorded = entry.recorded
        changes: dict[str, Any] = {"seq": entry.place, "parent": entry.parent}
        if entry.input is not None:
            changes["input"] = entry.input
        outcome = entry.outcome
        if outcome is None and entry.mode == "live":  # it has not ended, however the recorded one did
            outcome = Streamed(tuple(entry.items or ()), Abandoned())
        if outcome is not None:
            changes["outcome"] = masked(outcome, inputs)
            changes |= {"exchanges": (), "reenters": False, "changed": None, "form": entry.form}
        if entry.mode != "served":
            changes |= {"started": entry.started - self._began, "duration": entry.duration}
        if recorded is not None:
            return structs.replace(recorded, **changes)
        name, nth = entry.address
        fields: dict[str, Any] = {"outcome": Streamed((), Abandoned()), "input": b"{}", **changes}
        return Envelope(name=name, nth=nth, kind=entry.kind, lane=entry.lane, site=entry.site, **fields)


def masked(outcome: Outcome, inputs: InputReader) -> Outcome:
    """Return an outcome with its secrets masked."""
    if isinstance(outcome, Returned):
        return Returned(inputs.mask(outcome.value), outcome.argument)
    if isinstance(outcome, Raised):
        return Raised(inputs.mask(outcome.error))
    end = outcome.end
    last: Any = end if isinstance(end, Abandoned | Closed) else masked(end, inputs)
    return Streamed(inputs.mask_items(outcome.items), last)
