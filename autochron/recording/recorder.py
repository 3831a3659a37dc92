"""The recorder: the handler of crossings that notes each one in a draft and submits it to the writer.

The program's own thread encodes the input before the body runs and the outcome before the caller gets it, because either
may be changed afterwards. A fault of ours never reaches the program: it is reported once, and the crossing is counted as
lost.
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
from autochron.recording.held_crossings import HeldCrossings
from autochron.recording.model_requests import ModelRequests
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
"""Bytes. A larger draft is counted by the writer, which limits how many bytes wait to be written."""


class Recorder:
    """A `CrossingHandler` that records. It keeps its notes in the crossing's `record`, a `Draft`."""

    def __init__(self, submit: Callable[[Any], None], problem: Callable[[str], None]) -> None:
        self._submit = submit
        self._problem = problem
        self._open: dict[int, Crossing[Draft]] = {}
        self.stdio = StdioNotes(self._open)
        self.lost = 0
        self.outside: OutsideEffects | None = None
        """Separates changes made inside boundaries from those made outside; None while nobody observes these."""
        self.weigh: Callable[[int], None] | None = None
        """Called with the size of a large draft in bytes before it is submitted; None for a store in memory."""
        self.requests = ModelRequests()
        self.held = HeldCrossings(submit)
        self._lock = unpatched.RLock()

    def begin(self, crossing: Crossing[Draft], arguments: tuple[Any, ...]) -> Serving | None:  # noqa: C901 - the hot path
        """Open a draft and note the input in it."""
        if self.outside is not None and not self._open:
            self._notify_outside(self.outside.crossing_began)
        draft = crossing.record = drafts.Draft(_now(), arguments)
        self._open[crossing.seq] = crossing
        stdio = self.stdio
        stdio.latest = crossing.seq
        if crossing.boundary.is_tool and stdio.needs_attention():
            stdio.attend(draft)
        root = crossing.root
        if root.is_ordered:
            _note_order(root, draft)
        if crossing.boundary.is_found:
            draft.is_confirmed = self.requests.began(crossing, arguments)
        try:
            inputs: Inputs | None = crossing.boundary.inputs
            if inputs is None:
                inputs = call_inputs.inputs_of(crossing)
            draft.inputs = inputs
            point = crossing.point
            if point.transport:
                draft.wires = [point.transport.sent(point.parameters, arguments)]
                self.requests.sent(crossing, draft.wires[0])
            if crossing.boundary.runs:
                # Arguments are not watched: the body runs on replay, too, and changes them again.
                draft.input = canonical.canonical(*inputs.read(arguments))
            elif not inputs.deferred:
                if inputs.large or not inputs.whole:
                    value_notes.note_arguments(crossing, draft, inputs)
                else:
                    draft.input = body = canonical.canonical(point.parameters, arguments)
                    inputs.large = is_large = len(body) > call_inputs.LARGE
                    if (is_large or body[2:3] == b"$") and canonical.needs_limit(body):
                        draft.watch = changes.watch(
                            point, arguments, inputs.caught, inputs.changing, take=canonical.screened_snapshot
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
        """Note the value that the crossing returned, and submit the crossing."""
        draft = crossing.record
        # The record is None if `begin` failed. The crossing is not open if the recording is over.
        if draft is None or crossing.seq not in self._open:
            return value
        draft.ended = _now()
        try:
            if draft.wires is not None and crossing.point.transport:
                crossing.point.transport.attend(
                    draft.wires[0], value, lambda _wire: self.wire_ended(crossing)
                )
            inputs = draft.inputs
            if draft.substitute is not None:
                draft.outcome = draft.substitute
            elif crossing.boundary.runs:
                draft.outcome = Returned(call_inputs.observed(crossing.rule, value))
            elif draft.streamed:
                draft.end = value_notes.stream_end(draft, value)
            elif inputs is None or not inputs.deferred:
                value_notes.note_value(crossing, draft, value)
            elif draft.wires:
                draft.outcome = Returned()
            else:
                self._report_no_exchange(crossing)
                value_notes.note_value(crossing, draft, value)
            self._finish(crossing, draft)
        except Exception as error:
            self._failed(crossing, error)
        return value

    def raised(self, crossing: Crossing[Draft], error: BaseException) -> None:
        """Note the error that the crossing raised, and submit the crossing."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        draft.ended = _now()
        try:
            if draft.wires is not None and crossing.point.transport:
                draft.wires[0].error = error
                draft.wires[0].closed = True
            left_open = draft.streamed or crossing.point.function != "sync" or crossing.form == "awaitable"
            if draft.substitute is not None:
                draft.outcome = draft.substitute
            elif type(error) is GeneratorExit and left_open and not crossing.boundary.runs:
                if draft.left_to_exchanges and not draft.streamed:
                    draft.outcome = Returned()  # on replay the body runs, and the consumer closes it again
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
        """Submit one item of a stream at once: a stream may go on after everything else has ended."""
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
            draft.note_item(_now() if crossing.rule.codec == "dialog" else None)
        except Exception as error:
            if is_interruption(error):
                raise  # the woven generator reports it to `raised`, as any error
            self._fault(crossing, error)

    def sent(self, crossing: Crossing[Draft], value: Any, thrown: BaseException | None) -> None:
        """Note what the consumer sent or threw into a stream that a replay will serve."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open or crossing.boundary.runs or not draft.streamed:
            return
        try:
            draft.note_sent(call_inputs.sent_form(value, thrown))
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(crossing, error)

    def substituted(self, crossing: Crossing[Draft], argument: Any) -> Any:
        """Encode the argument that stands for the outcome, before the body can change it, and return the argument."""
        draft = crossing.record
        if draft is not None and crossing.seq in self._open:
            try:
                encoded = codec.encode(argument)
                draft.add_opaque(encoded.opaque)
                draft.substitute = Returned(encoded.body)
            except Exception as error:
                if is_interruption(error):
                    raise  # the woven code reports it to `raised`, as any error
                self._fault(crossing, error)
        return argument

    def follows(self, crossing: Crossing[Draft]) -> bool:
        """Return whether to record an iterator item by item: not if recorded HTTP exchanges hold its items anyway."""
        draft = crossing.record
        if draft is None or draft.left_to_exchanges or crossing.boundary.runs:
            return False
        if draft.inputs is None or not draft.inputs.deferred:
            self._begin_stream(crossing, draft)
        # If the input is deferred, the first read may send the request, and then the exchange holds all items.
        return True

    def follows_object(self, crossing: Crossing[Draft], value: Any) -> bool:
        """Return whether to follow an object: one that the codec can't encode, but whose class can be imported by name."""
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
        """Note the attributes of a followed object that have changed since the last look."""
        draft = crossing.record
        try:
            assert draft is not None  # noqa: S101 - a followed object has one
            attributes = shapes.attributes(value, shapes.slots_of(type(value)))
            draft.note_attributes("end" if at_end else str(draft.items), attributes)
            if crossing.done:  # the object was closed after its crossing had ended
                self._submit_again(crossing, draft)
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(crossing, error)

    def written(self, crossing: Crossing[Draft]) -> None:
        """Release the notes of a written crossing: a context copied inside the crossing may keep it alive for ever."""
        draft = crossing.record
        if type(draft) is not drafts.Draft:
            return
        draft.waiting -= 1
        if crossing.seq in self._open or draft.waiting > 0:  # it will be written again
            return
        if crossing.form == "value" and not draft.streamed and not draft.wires:
            crossing.record = None
        else:
            draft.release_bodies()

    def detach(self, crossing: Crossing[Draft]) -> tuple[tuple[Any, ...], ArgumentWatch | None] | None:
        """Return the program's objects that the draft holds, and release them; None if the draft has to keep them."""
        draft = crossing.record
        if type(draft) is not drafts.Draft:
            return None
        inputs = draft.inputs
        has_returned = crossing.point.function == "sync" or crossing.form != "value"
        if inputs is not None and inputs.deferred and has_returned:
            return None  # if nobody reads the result, no request is sent, and the arguments are recorded
        arguments, watch = draft.arguments, draft.watch
        if has_returned:  # hold the arguments weakly, so that they die when they would without us
            arguments = tuple([weak_values.weak(value) for value in arguments])
            if watch is not None:
                watch.weaken()
        draft.arguments, draft.watch = (), None
        return arguments, watch

    def attach(
        self, crossing: Crossing[Draft], objects: tuple[tuple[Any, ...], ArgumentWatch | None]
    ) -> None:
        """Hold the objects again that `detach` returned."""
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        arguments, watch = objects
        arguments = tuple([weak_values.alive(argument) for argument in arguments])
        if watch is not None:
            watch.strengthen()
        draft.arguments, draft.watch = arguments, watch

    def dropped(self, crossing: Crossing[Draft]) -> None:
        """Release the objects of a crossing whose result was dropped, so that it can never end."""
        draft = crossing.record
        if crossing.done or crossing.seq not in self._open or type(draft) is not drafts.Draft:
            return
        if not draft.streamed and drafts.is_read_later(crossing, draft):
            if draft.left_to_exchanges:
                return
            self._begin_stream(crossing, draft)  # nobody read it, so it never sent its request
        draft.release()
        if draft.streamed:  # the stream was abandoned
            draft.ended = _now()
            self._close_one(crossing)
            self._submit(drafts.Begun(crossing))

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Note a request of an HTTP client and return its token; None if no model crossing is open around the request."""
        if type(current) is not Crossing or current.handler is not self or not current.rule.keeps_exchanges:
            return None
        if current.record is None:  # the model crossing is written; something it started is still sending
            return exchange_tokens.UNNOTED
        try:
            wire = point.transport.sent(point.parameters, arguments)
            draft: Draft = current.record
            if not draft.add_wire(wire):
                return exchange_tokens.UNNOTED
            self.requests.sent(current, wire)
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(current, error)
            return None
        return exchange_tokens.Request(current, wire, self.wire_ended, self._fault)

    def wire_ended(self, crossing: Crossing[Draft]) -> None:
        """Submit the crossing again once a response body is read or dropped, if the crossing itself has ended."""
        self.requests.ended(crossing.seq)
        draft = crossing.record
        if draft is None or crossing.seq not in self._open:
            return
        if draft.outcome is not None or draft.end is not None:
            self._finish(crossing, draft)

    # --- the end -----------------------------------------------------------------------------------------------------

    def submit_open(self) -> list[str]:
        """Submit open crossings with an outcome, and open streams so far. Return the addresses of the others."""
        self.held.release_all()
        unfinished = []
        for crossing in list(self._open.values()):
            draft = crossing.record
            assert draft is not None  # noqa: S101 - an open crossing has one
            if draft.outcome is None and not draft.streamed and drafts.is_read_later(crossing, draft):
                if draft.left_to_exchanges:
                    draft.outcome, draft.ended = Returned(), _now()
                else:  # nobody read it, so it never sent its request
                    self._begin_stream(crossing, draft)
                    continue
            if draft.streamed and draft.end is None:
                draft.ended = _now()
                self._submit(drafts.Begun(crossing))
            elif draft.streamed or draft.outcome is not None:
                self._submit_again(crossing, draft)
            else:
                unfinished.append(crossing.address)
        return unfinished

    def close(self) -> list[str]:
        """End the recording: submit open streams as abandoned; return the addresses of crossings that are lost."""
        self.requests.close()
        unfinished = self.submit_open()
        for crossing in list(self._open.values()):  # a copy: releasing one may drop another out of the dict
            if crossing.record is not None:
                crossing.record.release()
        self._open.clear()
        return unfinished

    def forget(self) -> None:
        """Forget the open crossings: in a forked process they belong to the parent."""
        self._open.clear()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _notify_outside(self, notify: Callable[[], None]) -> None:
        try:
            notify()
        except Exception as error:  # the program may have replaced a function of `os`
            if is_interruption(error):
                raise
            self._problem(
                f"what changed outside of boundaries is not known: {type(error).__name__}: {error} (unlooked)"
            )

    def _close_one(self, crossing: Crossing[Draft]) -> None:
        self._open.pop(crossing.seq, None)
        if self.outside is not None and not self._open:
            self._notify_outside(self.outside.crossing_ended)

    def _finish(self, crossing: Crossing[Draft], draft: Draft) -> None:
        """Submit a crossing that has ended. It is submitted again when a response body beneath it is read later."""
        watch = draft.watch
        if watch is not None:
            if watch.is_weak:
                watch.strengthen()
            draft.changed, opaque = watch.changes()
            if opaque:
                draft.add_opaque(opaque)
        wires = draft.wires
        if wires is None or all(wire.closed for wire in wires):
            self._open.pop(crossing.seq, None)  # `_close_one`, inlined: the hot path
            if self.outside is not None and not self._open:
                self._notify_outside(self.outside.crossing_ended)
        if draft.input is None and not wires:
            self._note_late(draft)
        if draft.streamed and not wires and draft.inputs is not None and draft.inputs.deferred:
            self._report_no_exchange(crossing)
        draft.arguments, draft.watch = (), None  # a part of `Draft.release`, inlined
        if draft.is_attended:
            if crossing.root.task is not None:
                note_waiting(crossing.root)
            self.stdio.finish(crossing, draft)
        if self.weigh is not None and (size := draft.size) > HEAVY:
            self.weigh(size)
        draft.waiting += 1  # `_submit_again`, inlined
        if not (self.held.has_held and self.held.has_ended(crossing)):
            self._submit(crossing)

    def _submit_again(self, crossing: Crossing[Draft], draft: Draft) -> None:
        draft.waiting += 1
        self._submit(crossing)

    def _begin_stream(self, crossing: Crossing[Draft], draft: Draft) -> None:
        draft.streamed = True
        draft.ended = _now()
        if draft.input is None and not draft.wires:
            self._note_late(draft)
        self._submit(drafts.Begun(crossing))

    def _note_late(self, draft: Draft) -> None:
        """Note the arguments of an SDK call that sent no request. The body may have changed them by now."""
        if draft.inputs is not None:
            draft.input = canonical.canonical(*draft.inputs.read(draft.arguments))

    def _report_no_exchange(self, crossing: Crossing[Draft]) -> None:
        self._problem(
            f"{crossing.name} made no HTTP request that was seen, so it is recorded by its value, with its arguments as"
            ' they were at its end; say codec = "value" if that is how it works (no-exchange)'
        )

    def _failed(self, crossing: Crossing[Draft], error: Exception) -> None:
        """Record and re-raise an error of a signal handler that interrupted us; report any other error as our fault."""
        if is_interruption(error):
            draft = crossing.record
            if draft is None:  # the crossing is written already, with its outcome
                self._problem(
                    f"{crossing.address} is recorded by its outcome, and then a signal handler raised {type(error).__name__}"
                    " in the program in its place (interrupted)"
                )
                raise error
            draft.waiting += 1  # so that `written` releases nothing meanwhile
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
