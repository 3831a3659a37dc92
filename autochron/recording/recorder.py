"""The recorder: hears of crossings and hands a draft of each to the writer.

What must be exact is taken on the program's own thread, before anyone can change it: the input before the body runs, the
outcome before the caller gets it. A fault of ours never reaches the program: it is reported once, and the crossing is
counted as lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from autochron import _originals
from autochron.crossing.arguments import capture
from autochron.crossing.kernel import Crossing
from autochron.crossing.lanes import CURRENT
from autochron.envelope import codec
from autochron.envelope.canonical import canonical
from autochron.envelope.exchange import Wire, attend
from autochron.envelope.growing import Growing
from autochron.interrupts import is_interruption
from autochron.model import Closed, Raised, Returned
from autochron.ports import Serving
from autochron.recording.changes import STILL, Watch, argument_of, below, is_still, kind_at
from autochron.recording.drafts import Draft, Item

_now = _originals.perf_counter_ns

_MAX_LANES = 64
"""Lanes of one boundary whose last inputs are kept in memory."""


class Noted:
    """What the recorder keeps with an open crossing."""

    __slots__ = ("arguments", "input", "inputs", "opaque", "prints", "started", "streamed", "watch", "wires")

    def __init__(self, started: int) -> None:
        self.started = started
        self.input: bytes | None = None
        self.inputs: Inputs | None = None
        self.arguments: tuple[Any, ...] = ()
        self.watch: Watch | None = None
        self.opaque: dict[str, None] | None = None
        self.streamed = False
        self.wires: list[Wire] | None = None
        self.prints: list[str] | None = None

    def add_opaque(self, entries: Iterable[str]) -> None:
        """Note parts that can't be rebuilt."""
        if self.opaque is None:
            self.opaque = {}
        self.opaque.update(dict.fromkeys(entries))


class Inputs:
    """What of a definition's arguments is the input: its parameters without the receiver, or the captured paths.

    Attributes:
        caught: the index of `**kwargs`; -1 where there is none.
        deferred: whether the input is left to the HTTP exchanges beneath, if there are any.
        read: from the bound arguments to (names, values); a captured path that isn't there is in neither.
    """

    __slots__ = ("_growing", "caught", "deferred", "read")

    def __init__(self, crossing: Crossing) -> None:
        point, rule = crossing.point, crossing.rule
        caught = point.variadic[1]
        self._growing: dict[str, Growing] = {}
        self.caught = -1 if caught is None else point.parameters.index(caught)
        self.deferred = (
            point.transport
            or rule.codec == "http"
            or (rule.codec == "auto" and rule.pack is not None and rule.kind == "model")
        )
        self.read: Callable[[tuple[Any, ...]], tuple[tuple[str, ...], tuple[Any, ...]]]
        names = point.parameters
        if rule.capture:
            self.read = capture(rule.capture, point)
        elif names[:1] in {("self",), ("cls",), ("mcs",)} and "." in point.qualname:
            names = names[1:]
            self.read = lambda arguments: (names, arguments[1:])
        else:
            self.read = lambda arguments: (names, arguments)

    def growing(self, lane: str) -> Growing:
        """Give what writes the inputs of a lane, at the cost of what is new in them."""
        growing = self._growing.get(lane)
        if growing is None:
            if len(self._growing) >= _MAX_LANES:
                self._growing.clear()
            growing = self._growing[lane] = Growing()
        return growing


def inputs_of(crossing: Crossing) -> Inputs:
    """Give how a crossing's input is read: decided once for a rule at a definition."""
    boundary = crossing.boundary
    inputs: Inputs | None = boundary.inputs
    if inputs is None:
        inputs = boundary.inputs = Inputs(crossing)
    return inputs


class Recorder:
    """A `CrossingHandler` that records."""

    def __init__(
        self, submit: Callable[[Any], None], problem: Callable[[str], None], site: Callable[[Any], str]
    ) -> None:
        self._submit = submit
        self._problem = problem
        self._site = site
        self._began = _now()
        self._open: dict[int, tuple[Crossing, Draft | None]] = {}
        self.lost = 0
        self._lock = _originals.RLock()

    # --- told by the kernel ----------------------------------------------------------------------------------------

    def begin(self, crossing: Crossing, arguments: tuple[Any, ...]) -> Serving | None:
        """Note the input."""
        noted = crossing.record = Noted(_now())
        self._open[crossing.seq] = (crossing, None)
        try:
            noted.arguments = arguments
            inputs = noted.inputs = inputs_of(crossing)
            if crossing.point.transport:
                noted.wires = [Wire(arguments[crossing.point.parameters.index("request")])]
            if not inputs.deferred:
                names, values = inputs.read(arguments)
                growing = inputs.growing(crossing.root.lane)
                noted.input = growing.canonical(names, values)
                if not is_still(arguments, inputs.caught):
                    noted.watch = Watch(crossing.point, arguments, growing.looks)
        except Exception as error:
            self._failed(crossing, error)
        return None

    def returned(self, crossing: Crossing, value: Any) -> Any:
        """Note the outcome."""
        noted: Noted = crossing.record
        ended = _now()
        try:
            if crossing.point.transport and noted.wires:
                attend(noted.wires[0], value, lambda _wire: self.wire_ended(crossing))
            draft = self._draft(crossing, noted, ended)
            if noted.streamed:
                draft.end = self._stream_value(noted, value)
                self._finish(crossing, draft)
            elif self._left_to_exchanges(noted):
                draft.outcome = Returned()
                self._finish(crossing, draft)
            else:
                if noted.inputs is not None and noted.inputs.deferred:
                    self._say_late(crossing)
                self._value(crossing, noted, draft, value)
        except Exception as error:
            self._failed(crossing, error)
        return value

    def raised(self, crossing: Crossing, error: BaseException) -> None:
        """Note the error."""
        noted: Noted = crossing.record
        try:
            if crossing.point.transport and noted.wires:
                noted.wires[0].error = error
                noted.wires[0].closed = True
            draft = self._draft(crossing, noted, _now())
            left_open = noted.streamed or crossing.point.function != "sync" or crossing.form == "awaitable"
            if type(error) is GeneratorExit and left_open:
                draft.end = Closed()
                draft.streamed = True
            else:
                encoded = codec.encode(error, sys._getframe())
                noted.add_opaque(encoded.opaque)
                raised = Raised(encoded.body)
                if noted.streamed:
                    draft.end = raised
                else:
                    draft.outcome = raised
            self._finish(crossing, draft)
        except Exception as fault:
            self._failed(crossing, fault)

    def item(self, crossing: Crossing, item: Any) -> None:
        """Note one item, at once: a stream may outlive everything."""
        noted: Noted = crossing.record
        try:
            if not noted.streamed:
                noted.streamed = True
                draft = self._draft(crossing, noted, _now())
                draft.streamed = True
                self._submit(draft)
            encoded = codec.encode(item)
            if encoded.opaque:
                noted.add_opaque(below("items.*", encoded.opaque))
            self._submit(Item(crossing.seq, crossing.rule, encoded.body))
        except Exception as error:
            if is_interruption(error):
                raise  # in the woven generator, which tells of it as of any error
            self._fault(crossing, error)

    def printed(self, text: str) -> None:
        """Note what is printed inside crossings that a replay serves: it is printed again with them."""
        current = CURRENT.get(None)
        crossing = current if type(current) is Crossing else getattr(current, "parent", None)
        while crossing is not None:
            noted = crossing.record
            if type(noted) is Noted and noted.inputs is not None and not noted.inputs.deferred:
                if noted.prints is None:
                    noted.prints = []
                noted.prints.append(text)
            crossing = crossing.parent

    def follows(self, crossing: Crossing) -> bool:
        """Follow iterators, unless their items come out of HTTP exchanges that are kept anyway."""
        noted: Noted = crossing.record
        if self._left_to_exchanges(noted):
            return False
        if noted.inputs is not None and noted.inputs.deferred:
            self._say_late(crossing)
        noted.streamed = True
        self._submit_open(crossing, noted)
        return True

    # --- HTTP ------------------------------------------------------------------------------------------------------

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Begin one request of an HTTP client; None where no model crossing is open around it."""
        if type(current) is not Crossing or current.handler is not self or not _keeps_exchanges(current):
            return None
        try:
            wire = Wire(arguments[point.parameters.index("request")])
            noted: Noted = current.record
            wires = noted.wires
            if wires is None:
                wires = noted.wires = []
            if wires and wires[-1].failed() and wires[-1].same_request(wire):
                wire.attempts = wires.pop().attempts + 1
            wires.append(wire)
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(current, error)
            return None
        return Request(self, current, wire)

    def wire_ended(self, crossing: Crossing) -> None:
        """Note that a body was read to its end, or let go."""
        held = self._open.get(crossing.seq)
        if held is not None and held[1] is not None:
            self._finish(crossing, held[1])

    # --- the end ---------------------------------------------------------------------------------------------------

    def hand_over(self) -> list[str]:
        """Hand over streams that are still open, as far as they are; give the addresses of what has no outcome yet."""
        without = []
        for crossing, draft in list(self._open.values()):
            if draft is not None:
                self._submit(draft)
            elif crossing.record.streamed:
                self._submit_open(crossing, crossing.record)
            else:
                without.append(crossing.address)
        return without

    def close(self) -> list[str]:
        """Hand over what never ended: streams that were left open are abandoned; what has no outcome is lost."""
        without = self.hand_over()
        self._open.clear()
        return without

    # --- inside ----------------------------------------------------------------------------------------------------

    def _left_to_exchanges(self, noted: Noted) -> bool:
        return noted.inputs is not None and noted.inputs.deferred and bool(noted.wires)

    def _draft(self, crossing: Crossing, noted: Noted, ended: int) -> Draft:
        draft = Draft()
        draft.address = (crossing.name, crossing.nth)
        draft.seq = crossing.seq
        parent = crossing.parent
        draft.parent = None if parent is None else parent.seq
        draft.lane = crossing.root.lane
        draft.rule = crossing.rule
        draft.site = self._site(crossing.point)
        draft.input = noted.input
        draft.started = noted.started - self._began
        draft.duration = ended - noted.started
        draft.form = crossing.form
        draft.printed = None if noted.prints is None else "".join(noted.prints)
        draft.reenters = self._left_to_exchanges(noted)
        draft.streamed = noted.streamed
        draft.wires = noted.wires
        draft.end = draft.outcome = draft.changed = None
        draft.opaque = () if noted.opaque is None else tuple(noted.opaque)
        if draft.input is None and not draft.reenters and noted.inputs is not None:
            # An SDK call that sent nothing: its arguments are all there is, and they are late.
            draft.input = canonical(*noted.inputs.read(noted.arguments))
        return draft

    def _value(self, crossing: Crossing, noted: Noted, draft: Draft, value: Any) -> None:
        name = None
        if kind_at(type(value)) != STILL:
            arguments = noted.arguments if noted.watch is None else noted.watch.arguments
            name = argument_of(crossing.point, arguments, value)
        if name is not None:
            draft.outcome = Returned(argument=name)
        else:
            encoded = codec.encode(value)
            draft.outcome = Returned(encoded.body)
            if encoded.opaque:
                noted.add_opaque(encoded.opaque)
        self._finish(crossing, draft)

    def _stream_value(self, noted: Noted, value: Any) -> Returned:
        if value is None:
            return Returned()
        encoded = codec.encode(value)
        if encoded.opaque:
            noted.add_opaque(below("return", encoded.opaque))
        return Returned(encoded.body)

    def _finish(self, crossing: Crossing, draft: Draft) -> None:
        noted: Noted = crossing.record
        watch = noted.watch
        if watch is not None:
            noted.watch = None
            draft.changed, beyond = watch.changes()
            if beyond:
                noted.add_opaque(beyond)
        if noted.opaque is not None:
            draft.opaque = tuple(noted.opaque)
        wires = noted.wires
        if wires is not None and any(not wire.closed for wire in wires):
            self._open[crossing.seq] = (crossing, draft)  # again when the body was read
        else:
            self._open.pop(crossing.seq, None)
        self._submit(draft)

    def _submit_open(self, crossing: Crossing, noted: Noted) -> None:
        draft = self._draft(crossing, noted, _now())
        draft.streamed = True
        self._submit(draft)

    def _say_late(self, crossing: Crossing) -> None:
        self._problem(
            f"{crossing.name} made no HTTP request that was seen, so it is recorded by its value, with its arguments as"
            ' they were at its end; say codec = "value" if that is how it works (no-exchange)'
        )

    def _failed(self, crossing: Crossing, error: Exception) -> None:
        """Take it for the crossing's outcome, and raise it, if a signal handler of the program's raised it; else a fault."""
        if is_interruption(error):
            noted: Noted = crossing.record
            if noted.inputs is None:
                noted.inputs = inputs_of(crossing)
            self.raised(crossing, error)
            raise error
        self._fault(crossing, error)

    def _fault(self, crossing: Crossing, error: Exception) -> None:
        self._open.pop(crossing.seq, None)
        with self._lock:
            self.lost += 1
        self._problem(f"{crossing.address} could not be recorded: {type(error).__name__}: {error} (lost)")


def _keeps_exchanges(crossing: Crossing) -> bool:
    rule = crossing.rule
    return rule.kind == "model" and rule.codec != "value"


class Request:
    """The token of one request inside a model crossing."""

    __slots__ = ("_crossing", "_recorder", "_wire")

    def __init__(self, recorder: Recorder, crossing: Crossing, wire: Wire) -> None:
        self._recorder = recorder
        self._crossing = crossing
        self._wire = wire

    def returned(self, response: Any) -> Any:
        """Note the response, and listen to its body."""
        try:
            attend(self._wire, response, lambda _wire: self._recorder.wire_ended(self._crossing))
        except Exception as error:
            if is_interruption(error):
                raise
            self._recorder._fault(self._crossing, error)  # noqa: SLF001 - its own token
        return response

    def raised(self, error: BaseException) -> None:
        """Note what the transport raised."""
        self._wire.error = error
        self._wire.closed = True

    def yielded(self, item: Any) -> None:
        """Nothing: a request is no stream."""

    def resumed(self) -> None:
        """Nothing: a request is no stream."""
