"""The recorder: hears of crossings, and hands each with what it noted of it to the writer.

What must be exact is taken on the program's own thread, before anyone can change it: the input before the body runs, the
outcome before the caller gets it. A fault of ours never reaches the program: it is reported once, and the crossing is
counted as lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron._runtime.unpatched import getframe
from autochron.crossing.crossing import Crossing
from autochron.crossing.lane_order import note_waiting
from autochron.crossing.lanes import LaneRoot
from autochron.model import Closed, Raised, Returned
from autochron.recording.stdio_notes import StdioNotes

if TYPE_CHECKING:
    from autochron import inputs as call_inputs
    from autochron.crossing import streams
    from autochron.effects.outside import OutsideEffects
    from autochron.envelope import canonical, codec, shapes, types
    from autochron.inputs import Inputs
    from autochron.ports import Serving
    from autochron.recording import changes, drafts, exchange_tokens, value_notes, weak_values
    from autochron.recording.changes import ArgumentWatch
    from autochron.recording.drafts import Draft
else:
    late_modules(
        globals(),
        "autochron.crossing.streams",
        "autochron.envelope.canonical",
        "autochron.envelope.codec",
        "autochron.envelope.shapes",
        "autochron.envelope.types",
        "autochron.recording.changes",
        "autochron.recording.drafts",
        "autochron.recording.exchange_tokens",
        "autochron.recording.value_notes",
        "autochron.recording.weak_values",
        call_inputs="autochron.inputs",
    )

_now = unpatched.perf_counter_ns

HEAVY = 16_384
"""Bytes of an envelope from which on it counts while it waits to be written."""


class Recorder:
    """A `CrossingHandler` that records: what it notes is the crossing's `record`, a `Draft`."""

    def __init__(self, submit: Callable[[Any], None], problem: Callable[[str], None]) -> None:
        self._submit = submit
        self._problem = problem
        self._open: dict[int, Crossing[Draft]] = {}
        self.stdio = StdioNotes(self._open)
        self.lost = 0
        self.outside: OutsideEffects | None = None
        """Who tells what boundaries change from what is changed outside of them; None where nothing was."""
        self.weigh: Callable[[int], None] | None = None
        """Told how many bytes a large draft has, before it is submitted; None where nothing waits to be written."""
        self._lock = unpatched.RLock()

    def begin(self, crossing: Crossing[Draft], arguments: tuple[Any, ...]) -> Serving | None:  # noqa: C901 - the hot path
        """Note the input."""
        if self.outside is not None and not self._open:
            self._tell_outside(self.outside.crossing_began)
        draft = crossing.record = drafts.Draft(_now(), arguments)
        self._open[crossing.seq] = crossing
        stdio = self.stdio
        stdio.latest = crossing.seq
        if crossing.boundary.is_tool and stdio.needs_attention():
            stdio.attend(draft)
        root = crossing.root
        if root.is_ordered:
            _note_order(root, draft)
        try:
            inputs: Inputs | None = crossing.boundary.inputs
            if inputs is None:
                inputs = call_inputs.inputs_of(crossing)
            draft.inputs = inputs
            point = crossing.point
            if point.transport:
                draft.wires = [point.transport.sent(point.parameters, arguments)]
            if crossing.boundary.runs:
                # What the body changes it changes on replay, too: it runs there.
                draft.input = canonical.canonical(*inputs.read(arguments))
            elif not inputs.deferred:
                if inputs.large or not inputs.whole:
                    value_notes.note_arguments(crossing, draft, inputs)
                else:
                    draft.input = body = canonical.canonical(point.parameters, arguments)
                    inputs.large = len(body) > call_inputs.LARGE
                    if body[2:3] == b"$" and canonical.is_cut(body):
                        draft.watch = changes.watch(
                            point, arguments, inputs.caught, inputs.changing, look=canonical.screened_snapshot
                        )
                    else:
                        draft.watch = changes.watch(point, arguments, inputs.caught, inputs.changing)
                    if inputs.globals is not None:
                        value_notes.watch_globals(crossing, draft, inputs)
                    if draft.watch is not None:
                        value_notes.ignore_receiver(crossing.rule, draft.watch)
        except Exception as error:
            self._failed(crossing, error)
        return None

    def returned(self, crossing: Crossing[Draft], value: Any) -> Any:
        """Note the outcome."""
        draft = crossing.record
        # None where it could not be noted when it began; not open where the recording is over.
        if draft is None or crossing.seq not in self._open:
            return value
        draft.ended = _now()
        try:
            if draft.wires is not None and crossing.point.transport:
                crossing.point.transport.attend(
                    draft.wires[0], value, lambda _wire: self.wire_ended(crossing)
                )
            inputs = draft.inputs
            if draft.given is not None:
                draft.outcome = draft.given
            elif crossing.boundary.runs:
                draft.outcome = Returned(call_inputs.observed(crossing.rule, value))
            elif draft.streamed:
                draft.end = value_notes.stream_end(draft, value)
            elif inputs is None or not inputs.deferred:
                value_notes.note_value(crossing, draft, value)
            elif draft.wires:
                draft.outcome = Returned()
            else:
                self._say_late(crossing)
                value_notes.note_value(crossing, draft, value)
            self._finish(crossing, draft)
        except Exception as error:
            self._failed(crossing, error)
        return value

    def raised(self, crossing: Crossing[Draft], error: BaseException) -> None:
        """Note the error."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        draft.ended = _now()
        try:
            if draft.wires is not None and crossing.point.transport:
                draft.wires[0].error = error
                draft.wires[0].closed = True
            left_open = draft.streamed or crossing.point.function != "sync" or crossing.form == "awaitable"
            if draft.given is not None:
                draft.outcome = draft.given
            elif type(error) is GeneratorExit and left_open and not crossing.boundary.runs:
                if draft.left_to_exchanges and not draft.streamed:
                    draft.outcome = Returned()  # the body runs again, and the consumer closes it again
                else:
                    draft.end = Closed()
                    draft.streamed = True
            else:
                encoded = codec.encode(error, getframe())
                if not (draft.left_to_exchanges or crossing.boundary.runs):  # else the body raises it again
                    draft.add_opaque(encoded.opaque)
                if draft.streamed:
                    draft.end = Raised(encoded.body)
                else:
                    draft.outcome = Raised(encoded.body)
            self._finish(crossing, draft)
        except Exception as fault:
            self._failed(crossing, fault)

    def item(self, crossing: Crossing[Draft], item: Any) -> None:
        """Note one item, at once: a stream may outlive everything."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        if crossing.boundary.runs:
            return
        try:
            if not draft.streamed:
                if draft.left_to_exchanges:
                    return
                self._begin_stream(crossing, draft)
            encode = codec.encode_channels if crossing.rule.codec == "channel" else codec.encode
            encoded = encode(item)
            if encoded.opaque:
                draft.add_opaque(changes.below("items.*", encoded.opaque))
            if self.weigh is not None and len(encoded.body) > HEAVY:
                self.weigh(len(encoded.body))
            self._submit(drafts.Item(crossing.seq, crossing.rule, encoded.body))
            draft.handed_out()
        except Exception as error:
            if is_interruption(error):
                raise  # in the woven generator, which tells of it as of any error
            self._fault(crossing, error)

    def sent(self, crossing: Crossing[Draft], value: Any, thrown: BaseException | None) -> None:
        """Note what was sent or thrown into a stream that a replay serves."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open or crossing.boundary.runs or not draft.streamed:
            return
        try:
            draft.send(call_inputs.sent_form(value, thrown))
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(crossing, error)

    def substituted(self, crossing: Crossing[Draft], argument: Any) -> Any:
        """Note the argument that is the outcome, before the body can change it."""
        draft = crossing.record
        if draft is not None and crossing.seq in self._open:
            try:
                encoded = codec.encode(argument)
                draft.add_opaque(encoded.opaque)
                draft.given = Returned(encoded.body)
            except Exception as error:
                if is_interruption(error):
                    raise  # in the woven code, which tells of it as of any error
                self._fault(crossing, error)
        return argument

    def follows(self, crossing: Crossing[Draft]) -> bool:
        """Follow iterators, unless their items come out of HTTP exchanges that are kept anyway."""
        draft = crossing.record
        if draft is None or draft.left_to_exchanges or crossing.boundary.runs:
            return False
        if draft.inputs is None or not draft.inputs.deferred:
            self._begin_stream(crossing, draft)
        # Else it may send its request when it is first read, and then the exchange says all.
        return True

    def follows_object(self, crossing: Crossing[Draft], value: Any) -> bool:
        """Follow objects that are no values, and can be named."""
        cls, draft = type(value), crossing.record
        if shapes.kind_of(cls) != "none":
            return False
        if draft is None or draft.left_to_exchanges or crossing.boundary.runs:
            return False
        try:
            name = types.name_of(cls)
        except types.UnnamedError:
            return False
        if not streams.can_follow(cls) or not self.follows(crossing):
            return False
        crossing.handed = {"object": name}
        if draft.inputs is None or not draft.inputs.deferred:
            draft.arguments = ()
            if draft.watch is not None:
                draft.watch.weaken()
        return True

    def looked(self, crossing: Crossing[Draft], value: Any, *, at_end: bool = False) -> None:
        """Note what of an object's attributes is another than before."""
        draft = crossing.record
        try:
            assert draft is not None  # noqa: S101 - that of an object is kept
            held = shapes.attributes(value, shapes.slots_of(type(value)))
            draft.look("end" if at_end else str(draft.items), held)
            if crossing.done:  # closed after it had ended
                self._hand_over(crossing, draft)
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(crossing, error)

    def written(self, crossing: Crossing[Draft]) -> None:
        """Let go of what was noted of a crossing: a context that was copied inside of it may live for ever."""
        draft = crossing.record
        if type(draft) is not drafts.Draft:
            return
        draft.waiting -= 1
        if crossing.seq in self._open or draft.waiting > 0:  # it is written again
            return
        if crossing.form == "value" and not draft.streamed and not draft.wires:
            crossing.record = None
        else:
            draft.let_go_of_bodies()

    def detach(self, crossing: Crossing[Draft]) -> tuple[tuple[Any, ...], ArgumentWatch | None] | None:
        """Return the program's objects that are kept of a crossing, and keep them no longer."""
        draft = crossing.record
        if type(draft) is not drafts.Draft:
            return None
        inputs = draft.inputs
        has_returned = crossing.point.function == "sync" or crossing.form != "value"
        if inputs is not None and inputs.deferred and has_returned:
            return None  # if its result is never read, no request is sent, and the arguments are all that there is
        arguments, watched = draft.arguments, draft.watch
        if has_returned:  # its arguments die as if we didn't look at them
            arguments = tuple([weak_values.weak(value) for value in arguments])
            if watched is not None:
                watched.weaken()
        draft.arguments, draft.watch = (), None
        return arguments, watched

    def attach(
        self, crossing: Crossing[Draft], objects: tuple[tuple[Any, ...], ArgumentWatch | None]
    ) -> None:
        """Keep again what `detach` returned."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        arguments, watched = objects
        arguments = tuple([weak_values.alive(held) for held in arguments])
        if watched is not None:
            watched.strengthen()
        draft.arguments, draft.watch = arguments, watched

    def dropped(self, crossing: Crossing[Draft]) -> None:
        """Let go of what is kept of a crossing that nobody can bring to its end any more."""
        draft = crossing.record
        if crossing.done or crossing.seq not in self._open or type(draft) is not drafts.Draft:
            return
        if not draft.streamed and _is_held(crossing, draft):
            if draft.left_to_exchanges:
                return
            self._begin_stream(crossing, draft)  # never read, so it never sent its request
        draft.let_go()
        if draft.streamed:  # it was left open
            draft.ended = _now()
            self._close_one(crossing)
            self._submit(drafts.Begun(crossing))

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Begin one request of an HTTP client; None where no model crossing is open around it."""
        if type(current) is not Crossing or current.handler is not self or not _keeps_exchanges(current):
            return None
        if current.record is None:  # it has ended and is written: what was started in it goes on
            return exchange_tokens.PASSING
        try:
            wire = point.transport.sent(point.parameters, arguments)
            draft: Draft = current.record
            if not draft.add_wire(wire):
                return exchange_tokens.PASSING
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(current, error)
            return None
        return exchange_tokens.Request(current, wire, self.wire_ended, self._fault)

    def wire_ended(self, crossing: Crossing[Draft]) -> None:
        """Note that a body was read to its end, or let go."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        if draft.outcome is not None or draft.end is not None:
            self._finish(crossing, draft)

    # --- the end ---------------------------------------------------------------------------------------------------

    def hand_over(self) -> list[str]:
        """Hand over streams that are still open, as far as they are; give the addresses of what has no outcome yet."""
        without = []
        for crossing in list(self._open.values()):
            draft = crossing.record
            assert draft is not None  # noqa: S101 - what is open has one
            if draft.outcome is None and not draft.streamed and _is_held(crossing, draft):
                if draft.left_to_exchanges:
                    draft.outcome, draft.ended = Returned(), _now()
                else:  # never read, so it never sent its request
                    self._begin_stream(crossing, draft)
                    continue
            if draft.streamed and draft.end is None:
                draft.ended = _now()
                self._submit(drafts.Begun(crossing))
            elif draft.streamed or draft.outcome is not None:
                self._hand_over(crossing, draft)
            else:
                without.append(crossing.address)
        return without

    def close(self) -> list[str]:
        """Hand over what never ended: streams that were left open are abandoned; what has no outcome is lost."""
        without = self.hand_over()
        for crossing in list(self._open.values()):  # what is let go of may be the last that held another one
            if crossing.record is not None:
                crossing.record.let_go()
        self._open.clear()
        return without

    def forget(self) -> None:
        """Hear no more of what is open: in a forked process it is the parent's."""
        self._open.clear()

    # --- inside ----------------------------------------------------------------------------------------------------

    def _tell_outside(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception as error:  # a function of `os` that the program has put in the place of Python's
            if is_interruption(error):
                raise
            self._problem(
                f"what changed outside of boundaries is not known: {type(error).__name__}: {error} (unlooked)"
            )

    def _close_one(self, crossing: Crossing[Draft]) -> None:
        self._open.pop(crossing.seq, None)
        if self.outside is not None and not self._open:
            self._tell_outside(self.outside.crossing_ended)

    def _finish(self, crossing: Crossing[Draft], draft: Draft) -> None:
        """Hand over what has ended; again when the bodies beneath were read, if they still are."""
        watched = draft.watch
        if watched is not None:
            if watched.is_weak:
                watched.strengthen()
            draft.changed, beyond = watched.changes()
            if beyond:
                draft.add_opaque(beyond)
        wires = draft.wires
        if wires is None or all(wire.closed for wire in wires):
            self._open.pop(crossing.seq, None)  # as `_close_one` does
            if self.outside is not None and not self._open:
                self._tell_outside(self.outside.crossing_ended)
        if draft.input is None and not wires:
            self._note_late(draft)
        if draft.streamed and not wires and draft.inputs is not None and draft.inputs.deferred:
            self._say_late(crossing)
        draft.arguments, draft.watch = (), None  # as `let_go` does
        if draft.is_attended:
            if crossing.root.task is not None:
                note_waiting(crossing.root)
            self.stdio.finish(crossing, draft)
        if self.weigh is not None and (size := draft.size) > HEAVY:
            self.weigh(size)
        draft.waiting += 1  # as `_hand_over` does
        self._submit(crossing)

    def _hand_over(self, crossing: Crossing[Draft], draft: Draft) -> None:
        draft.waiting += 1
        self._submit(crossing)

    def _begin_stream(self, crossing: Crossing[Draft], draft: Draft) -> None:
        draft.streamed = True
        draft.ended = _now()
        if draft.input is None and not draft.wires:
            self._note_late(draft)
        self._submit(drafts.Begun(crossing))

    def _note_late(self, draft: Draft) -> None:
        """Note the arguments of an SDK call that sent nothing: they are all there is, and they are late."""
        if draft.inputs is not None:
            draft.input = canonical.canonical(*draft.inputs.read(draft.arguments))

    def _say_late(self, crossing: Crossing[Draft]) -> None:
        self._problem(
            f"{crossing.name} made no HTTP request that was seen, so it is recorded by its value, with its arguments as"
            ' they were at its end; say codec = "value" if that is how it works (no-exchange)'
        )

    def _failed(self, crossing: Crossing[Draft], error: Exception) -> None:
        """Take it for the crossing's outcome, and raise it, if a signal handler of the program's raised it; else a fault."""
        if is_interruption(error):
            draft = crossing.record
            if draft is None:  # it is written already, by its outcome
                self._problem(
                    f"{crossing.address} is recorded by its outcome, and then a signal handler raised {type(error).__name__}"
                    " in the program in its place (interrupted)"
                )
                raise error
            draft.waiting += 1  # so that the writing thread lets go of nothing meanwhile
            crossing.record = draft
            if draft.inputs is None:
                draft.inputs = call_inputs.inputs_of(crossing)
            self._open[crossing.seq] = crossing
            self.raised(crossing, error)
            raise error
        self._fault(crossing, error)

    def _fault(self, crossing: Crossing[Draft], error: Exception) -> None:
        self._close_one(crossing)
        with self._lock:
            self.lost += 1
        self._problem(f"{crossing.address} could not be recorded: {type(error).__name__}: {error} (lost)")


def _note_order(root: LaneRoot, draft: Draft) -> None:
    draft.after = root.take_causes()
    if root.task is not None:
        draft.is_attended = True
        note_waiting(root)


def _is_held(crossing: Crossing[Draft], draft: Draft) -> bool:
    """Return whether the caller holds a stream of what the exchanges beneath say: it may leave that open for ever."""
    return crossing.form.endswith("iterator") or (
        draft.left_to_exchanges and crossing.point.function.endswith("generator")
    )


def _keeps_exchanges(crossing: Crossing[Draft]) -> bool:
    rule = crossing.rule
    return rule.kind == "model" and rule.codec != "value"
