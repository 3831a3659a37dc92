"""Drafts: the notes that the recorder takes of crossings, on the program's own threads.

`envelope_editor` does the work that can wait, such as masking, on the writer's thread.
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

_MOST_COMPARED = 1 << 24
"""Bytes of attributes that are compared between the items of one object. After that, mutable ones are compared at the end."""


class Draft(Struct, eq=False):
    """The notes on one crossing, kept in its `record`.

    A crossing waits in the writer's queue with its draft. The writer reads only what no longer changes, or a copy. A
    crossing may be submitted several times: a stream when it begins (`Begun`), and when it ends.

    Attributes:
        started, ended: nanoseconds of `perf_counter_ns`.
        arguments: the bound arguments; released at the end.
        inputs: selects the arguments that form the input.
        input: the canonical input; None while the requests beneath the crossing may become the input.
        watch: finds changes of the arguments; None if none of them can change.
        opaque: parts that can't be rebuilt, by path; replaced and never mutated, since the writer may be reading it.
        streamed: whether it is recorded as a stream.
        outcome: the outcome of a call; None while it is open.
        end: the end of a stream.
        substitute: the argument that stands for the outcome, encoded as the call began.
        changed: the arguments that were changed in place, as they are at the end.
        wires: the requests and responses beneath the crossing.
        prints: what was printed inside, in pieces.
        are_mixed: whether prints from elsewhere came between the pieces, or may have.
        items: how many items were yielded.
        states: changed attributes of the returned object, by the number of items before the change, or `end`.
        attributes: all attributes of that object, as of the last look.
        compared: how many bytes of attributes were compared so far.
        after: crossings of other lanes that had to begin before this one: it was started by them, or waited for them.
        sends: what was sent or thrown into the stream, by the number of items before.
        steps: arguments that were changed in place before an item, by the number of items before.
        aliases: the places of arguments in the outcome, with their names.
        waiting: how many times it was submitted and is not written yet.
        is_confirmed: whether a result has confirmed that it is of a found tool.
        taken: reads from standard input inside the crossing: (kind of read, amount).
        is_attended: whether `Recorder._finish` has more to do than to note the outcome.
        undo: stops listening to a stream that replaced standard output.
        moments: when each item of a dialog was yielded, in nanoseconds of `perf_counter_ns`.
        position: bytes written to standard output's descriptor when the crossing began; -1 if that is unknown.
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
    substitute: Returned | None = None
    changed: bytes | None = None
    wires: list[Wire] | None = None
    prints: list[Print] | None = None
    are_mixed: bool = False
    items: int = 0
    steps: dict[int, bytes] | None = None
    states: dict[str, dict[str, bytes]] | None = None
    attributes: dict[str, _Attribute] | None = None
    compared: int = 0
    sends: dict[int, bytes] | None = None
    after: tuple[int, ...] = ()
    position: int = -1
    taken: list[tuple[str, int]] | None = None
    undo: Callable[[], None] | None = None
    is_attended: bool = False
    waiting: int = 0
    is_confirmed: bool = False
    aliases: list[tuple[list[str | int], str]] | None = None
    moments: list[int] | None = None

    def add_opaque(self, entries: Iterable[str]) -> None:
        """Note paths of parts that can't be rebuilt."""
        self.opaque = {**(self.opaque or {}), **dict.fromkeys(entries)}

    def note_item(self, moment: int | None = None) -> None:
        """Count an item, and note the arguments that were changed before it was yielded; of a dialog, also the moment."""
        if moment is not None:
            self.moments = [moment] if self.moments is None else self.moments
            if self.items:
                self.moments.append(moment)
        changed = None if self.watch is None else self.watch.changes_meanwhile()
        if changed is not None:
            if self.steps is None:
                self.steps = {}
            if changed != next(reversed(self.steps.values()), None):
                self.steps[self.items] = changed
        self.items += 1

    def note_attributes(self, position: str, attributes: dict[str, Any]) -> None:
        """Note the attributes of the returned object that have changed since the last look.

        Args:
            position: the number of items before this look; `end` after the last item.
            attributes: all attributes of the object.
        """
        if self.attributes is None:
            self.attributes = {}
        changed = {}
        for key, value in attributes.items():
            before = self.attributes.get(key)
            is_immutable = kind_at(type(value)) == STILL
            if (
                self.compared > _MOST_COMPARED
                and position != "end"
                and before is not None
                and not is_immutable
            ):
                continue
            attribute = self.attributes[key] = _Attribute.of(value, before, is_immutable=is_immutable)
            self.compared += len(attribute.snapshot)
            if before is None or attribute.body != before.body:
                changed[key] = attribute.body
        if changed:
            if self.states is None:
                self.states = {}
            self.states[position] = {**self.states.get(position, {}), **changed}

    def note_sent(self, sent: bytes) -> None:
        """Note what was sent or thrown into the stream."""
        if self.sends is None:
            self.sends = {}
        self.sends[self.items] = sent

    @property
    def size(self) -> int:
        """Bytes of its input, its outcome and the exchanges beneath it."""
        outcome = self.outcome
        value = outcome.value if type(outcome) is Returned else None
        size = len(self.input or b"") + len(value or b"")
        return size if self.wires is None else size + sum([wire.size for wire in self.wires])

    def release(self) -> None:
        """Release the program's objects: it may take long until the writer gets to this draft."""
        self.arguments = ()
        self.watch = None
        self.attributes = None

    def add_wire(self, wire: Wire) -> bool:
        """Note a request that is about to be sent; it replaces a failed one that it repeats.

        Returns:
            Whether it is noted. It is not while another HTTP client has a request under way, which is then sent through
            this client.
        """
        wires = self.wires
        if wires is None:
            wires = self.wires = []
        for (
            earlier
        ) in wires:  # a loop and not `any`, which costs a call more: every request comes through here
            is_sending = not earlier.status and not earlier.closed and earlier.error is None
            if is_sending and earlier.door is not wire.door:
                return False
        if wires and wires[-1].failed() and wires[-1].same_request(wire):
            wire.attempts = wires[-1].attempts + 1
            wires[-1] = wire
        else:
            wires.append(wire)
        return True

    def release_bodies(self) -> None:
        """Release the bodies of its exchanges once they are written: the program may keep its responses for ever."""
        for wire in self.wires or ():
            wire.let_go()

    @property
    def left_to_exchanges(self) -> bool:
        """Whether the exchanges beneath the crossing are its whole record."""
        return self.inputs is not None and self.inputs.deferred and bool(self.wires)


class _Attribute(NamedTuple):
    """An attribute of a returned object, as of one look.

    Attributes:
        value: the value if it is immutable, else None.
        kind: its type.
        snapshot: the snapshot of a mutable value; empty for an immutable one.
        body: the encoded value.
    """

    value: Any
    kind: type
    snapshot: bytes
    body: bytes

    @classmethod
    def of(cls, value: Any, before: _Attribute | None, *, is_immutable: bool) -> _Attribute:
        """Look at an attribute; encode its value only if it has changed since `before`."""
        snapshot = b"" if is_immutable else screened_snapshot(value)
        is_unchanged = before is not None and type(value) is before.kind and snapshot == before.snapshot
        if before is not None and is_unchanged and (not is_immutable or value is before.value):
            return before
        return cls(value if is_immutable else None, type(value), snapshot, codec.encode(value).body)


class Print(NamedTuple):
    """One print inside a crossing.

    Attributes:
        items: how many items the crossing had yielded.
        text: what was printed.
        number: the number of the print in the run, from 1.
        latest: the `seq` of the crossing that began last before the print.
        is_written: whether `os.write` wrote the text, and not Python's stream.
    """

    items: int
    text: str
    number: int
    latest: int
    is_written: bool = False


class Begun:
    """A stream that has begun, submitted to the writer. Its items follow, even if it has ended when the writer gets here."""

    __slots__ = ("crossing",)

    def __init__(self, crossing: Crossing[Draft]) -> None:
        self.crossing = crossing


class Item:
    """One item of a stream, submitted to the writer."""

    __slots__ = ("body", "rule", "seq")

    def __init__(self, seq: int, rule: BoundaryRule, body: bytes) -> None:
        self.seq = seq
        self.rule = rule
        self.body = body


def is_read_later(crossing: Crossing[Draft], draft: Draft) -> bool:
    """Return whether the caller holds a stream whose items come from exchanges: it may leave that open for ever."""
    return crossing.form.endswith("iterator") or (
        draft.left_to_exchanges and crossing.point.function.endswith("generator")
    )
