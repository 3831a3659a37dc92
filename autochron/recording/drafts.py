"""Drafts: what the recorder notes of crossings, on the program's own threads.

What costs time and can wait is done by `envelope_editor`, off them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from autochron.envelope import codec
from autochron.envelope.canonical import screened_snapshot
from autochron.http.exchange import Wire
from autochron.model import (
    Abandoned,
    BoundaryRule,
    Closed,
    Raised,
    Returned,
)
from autochron.recording.changes import STILL, kind_at

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.inputs import Inputs
    from autochron.recording.changes import ArgumentWatch

_MOST_LOOKED = 1 << 24
"""Bytes of attributes that are compared between the items of one object; of longer ones only the end counts."""


class Draft(Struct, eq=False):
    """What the recorder notes of a crossing, in its `record`.

    The crossing with its draft is what waits for the writer, who reads what no one changes any more, or a copy. It may be
    handed over several times, as a stream is when it begins (`Begun`) and when it ends.

    Attributes:
        started, ended: nanoseconds of `perf_counter_ns`.
        arguments: as bound; let go of at the end.
        inputs: how the input is read.
        input: the canonical input; None while the requests beneath are to say it.
        watch: what tells of changes in the arguments; None where nothing can change.
        opaque: parts that can't be rebuilt, by path; replaced and never changed, since the writer may be reading it.
        streamed: whether items were handed out.
        outcome: of a call; None while it is open.
        end: of a stream.
        given: the argument that is the outcome, as it was when the call began.
        changed: arguments that were changed in place, as they are at the end.
        wires: requests and responses beneath.
        prints: what was printed inside, in pieces.
        are_mixed: whether what others printed stands between them.
        items: how many items were handed out.
        states: attributes of the object that was handed out, as they changed, by the number of items before.
        shown: all of its attributes, as they were when it was looked at last.
        looked: how many bytes were compared for that.
        after: crossings of other lanes that had to begin before it: it was started by them, or waited for them.
        sends: what was sent or thrown in, by the number of items before it.
        steps: arguments that were changed in place before an item, by the number of items before it.
        aliases: where in the outcome an argument stands, and which.
        waiting: how often it was handed over and is still to be written.
        taken: how much of standard input was taken inside, and by what.
        is_attended: whether there is more to be done at its end than to note the outcome.
        undo: ends what listens to a stream that stood in the place of standard output.
        position: how much had been written to standard output's descriptor when it began; -1 where that is not known.
    """

    started: int
    arguments: tuple[Any, ...]
    ended: int = 0
    inputs: Inputs | None = None
    input: bytes | None = None
    watch: ArgumentWatch | None = None
    opaque: dict[str, None] | None = None
    streamed: bool = False
    outcome: Returned | Raised | None = None
    end: Returned | Raised | Abandoned | Closed | None = None
    given: Returned | None = None
    changed: bytes | None = None
    wires: list[Wire] | None = None
    prints: list[Print] | None = None
    are_mixed: bool = False
    items: int = 0
    steps: dict[int, bytes] | None = None
    states: dict[str, dict[str, bytes]] | None = None
    shown: dict[str, _Attribute] | None = None
    looked: int = 0
    sends: dict[int, bytes] | None = None
    after: tuple[int, ...] = ()
    position: int = -1
    taken: list[tuple[str, int]] | None = None
    undo: Callable[[], None] | None = None
    is_attended: bool = False
    waiting: int = 0
    aliases: list[tuple[list[str | int], str]] | None = None

    def add_opaque(self, entries: Iterable[str]) -> None:
        """Note parts that can't be rebuilt."""
        self.opaque = {**(self.opaque or {}), **dict.fromkeys(entries)}

    def handed_out(self) -> None:
        """Note that an item was handed out, and what was changed before it."""
        changed = None if self.watch is None else self.watch.changes_meanwhile()
        if changed is not None:
            if self.steps is None:
                self.steps = {}
            if changed != next(reversed(self.steps.values()), None):
                self.steps[self.items] = changed
        self.items += 1

    def look(self, at: str, attributes: dict[str, Any]) -> None:
        """Note the attributes of the object that was handed out, where they are others than before."""
        if self.shown is None:
            self.shown = {}
        changed = {}
        for key, value in attributes.items():
            before = self.shown.get(key)
            is_still = kind_at(type(value)) == STILL
            if self.looked > _MOST_LOOKED and at != "end" and before is not None and not is_still:
                continue
            now = self.shown[key] = _Attribute.of(value, before, is_still=is_still)
            self.looked += len(now.look)
            if before is None or now.body != before.body:
                changed[key] = now.body
        if changed:
            if self.states is None:
                self.states = {}
            self.states[at] = {**self.states.get(at, {}), **changed}

    def send(self, sent: bytes) -> None:
        """Note what was sent or thrown in."""
        if self.sends is None:
            self.sends = {}
        self.sends[self.items] = sent

    @property
    def size(self) -> int:
        """How many bytes its input, its outcome and the exchanges beneath have."""
        outcome = self.outcome
        value = outcome.value if type(outcome) is Returned else None
        size = len(self.input or b"") + len(value or b"")
        return size if self.wires is None else size + sum([wire.size for wire in self.wires])

    def let_go(self) -> None:
        """Let go of the program's objects: it may be long until the writer gets here."""
        self.arguments = ()
        self.watch = None
        self.shown = None

    def add_wire(self, wire: Wire) -> bool:
        """Note a request that is about to be sent, in the place of a failed one that it repeats.

        Returns:
            False where it is not noted: another client is sending it, by way of this one.
        """
        wires = self.wires
        if wires is None:
            wires = self.wires = []
        for each in wires:  # a loop, and no call more: this is on the way of each request
            is_sending = not each.status and not each.closed and each.error is None
            if is_sending and each.door is not wire.door:
                return False
        if wires and wires[-1].failed() and wires[-1].same_request(wire):
            wire.attempts = wires[-1].attempts + 1
            wires[-1] = wire
        else:
            wires.append(wire)
        return True

    def let_go_of_bodies(self) -> None:
        """Let go of the bodies of its exchanges, once they are written: the program may keep its responses for ever."""
        for wire in self.wires or ():
            wire.let_go()

    @property
    def left_to_exchanges(self) -> bool:
        """Whether the exchanges beneath say all that there is to say."""
        return self.inputs is not None and self.inputs.deferred and bool(self.wires)


class _Attribute(NamedTuple):
    """An attribute of an object that was handed out: its value if that can't change, how it looked, and how it is written."""

    value: Any
    kind: type
    look: bytes
    body: bytes

    @classmethod
    def of(cls, value: Any, before: _Attribute | None, *, is_still: bool) -> _Attribute:
        """Look at an attribute again: it is written only where it looks like another one."""
        look = b"" if is_still else screened_snapshot(value)
        is_alike = before is not None and type(value) is before.kind and look == before.look
        if before is not None and is_alike and (not is_still or value is before.value):
            return before
        return cls(value if is_still else None, type(value), look, codec.encode(value).body)


class Print(NamedTuple):
    """What was printed at once inside a crossing.

    Attributes:
        items: how many items it had handed out.
        text: what was printed.
        number: the place of the print in the run.
        latest: the `seq` of the crossing that began last before it.
        is_written: whether `os.write` wrote it, past Python's stream.
    """

    items: int
    text: str
    number: int
    latest: int
    is_written: bool = False


class Begun:
    """A stream that has begun, on its way into a store: whatever it has come to when the writer gets here, items follow."""

    __slots__ = ("crossing",)

    def __init__(self, crossing: Crossing[Draft]) -> None:
        self.crossing = crossing


class Item:
    """One item of a stream on its way into a store."""

    __slots__ = ("body", "rule", "seq")

    def __init__(self, seq: int, rule: BoundaryRule, body: bytes) -> None:
        self.seq = seq
        self.rule = rule
        self.body = body
