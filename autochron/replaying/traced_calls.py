"""Calls of the traced function in a replay: their inputs are compared with the recorded call, and their ends are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.json import decode, encode

from autochron._runtime.signals import is_interruption
from autochron.diff.json import first_difference
from autochron.envelope.type_trees import without_types
from autochron.http import asgi
from autochron.inputs import call_input, is_method, masked_call_input
from autochron.redaction.json_paths import drop_paths

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.redaction.redactor import Redactor
    from autochron.weaving.gate import Point


class TracedCalls:
    """The calls of the traced function in one replay.

    Attributes:
        ended: the error of each call in order of their ends; None for a call that did not raise.
        typed: whether the recorded input holds types.
    """

    def __init__(
        self,
        call: Envelope | None,
        redactor: Redactor,
        on_difference: Callable[[Envelope, str, str, str], None],
        *,
        typed: bool = True,
    ) -> None:
        """Prepare the comparison.

        Args:
            call: the recorded call; None if the trace has none.
            redactor: masks the inputs as in the recording.
            on_difference: called with (call, path, recorded, replayed) for an input that differs.
            typed: whether the recorded input holds types. That of an old trace does not.
        """
        self.ended: list[BaseException | None] = []
        self.typed = typed
        self._call = call
        self._redactor = redactor
        self._on_difference = on_difference
        self._open = 0

    def begin(self, point: Point, arguments: tuple[Any, ...]) -> TracedCall:
        """Begin a call, and compare its input. The input of a call inside another is not compared: the outer one is traced.

        Args:
            point: the traced function.
            arguments: those of the call.
        """
        recorded, redactor = self._call, self._redactor
        call = TracedCall(self, point, arguments, redactor)
        if recorded is not None and not call.is_request and b'"request"' in recorded.meta:
            return call  # an ASGI application is called for its start and stop, too
        call.is_compared = True
        self._open += 1
        if recorded is not None and self._open == 1:
            try:
                call.compare(recorded)
            except Exception as error:
                if is_interruption(error):
                    raise
                self.note_difference(
                    recorded, "(value)", "what it was given", f"unreadable: {type(error).__name__}: {error}"
                )
        return call

    def note_difference(self, call: Envelope, path: str, recorded: str, replayed: str) -> None:
        """Note that the input of a call differs from the recorded one at a path. The values are JSON texts."""
        self._on_difference(call, path, recorded, replayed)

    def end(self, error: BaseException | None) -> None:
        """Note the end of a call that is compared: its error, or None."""
        self._open -= 1
        self.ended.append(error)


class TracedCall:
    """One call of the traced function, as its crossing's token sees it.

    Attributes:
        is_request: whether the call is an HTTP request to an ASGI application.
        is_compared: whether the call counts as one of the traced function.
    """

    def __init__(
        self, calls: TracedCalls, point: Point, arguments: tuple[Any, ...], redactor: Redactor
    ) -> None:
        self._calls = calls
        self._redactor = redactor
        self._point, self._arguments = point, arguments
        self._request = asgi.incoming(point.parameters, arguments, int(is_method(point)))
        self.is_request = self._request is not None
        self.is_compared = False
        self._recorded: Envelope | None = None
        """The recorded call, if the body of its request is still to be compared."""
        if self._request is not None:
            self._request.listen(*(arguments[-2:] if self._request.beside else ()))

    def compare(self, call: Envelope) -> None:
        """Note the first difference of the input from the recorded call. A request's body is compared at the call's end."""
        request = self._request
        parameter = None if request is None else request.parameter
        input_body = call_input(self._point, self._arguments, request)
        if not self._calls.typed:
            input_body = without_types(input_body)
        input_body, _ = masked_call_input(self._redactor, input_body, parameter)
        recorded = call.input
        if request is not None:
            recorded = drop_paths(recorded, (f"{request.parameter}.body",))
        difference = None if input_body == recorded else first_difference(recorded, input_body)
        if difference is not None:
            self._calls.note_difference(call, *difference)
        elif request is not None:
            self._recorded = call

    def _compare_body(self) -> None:
        call, request = self._recorded, self._request
        if call is None or request is None:
            return
        recorded = call.arguments.get(request.parameter, {}).get("body")
        replayed = decode(self._redactor.mask(request.body()))
        # A body that was not read, now or in the recording, is unknown. That is no difference of the input.
        if recorded is None or replayed is None or recorded == replayed:
            return
        difference = first_difference(encode(recorded), encode(replayed))
        if difference is not None:
            path, before, after = difference
            full_path = f"{request.parameter}.body" + ("" if path == "(value)" else f".{path}")
            self._calls.note_difference(call, full_path, before, after)

    # --- called by the crossing's token --------------------------------------------------------------------------------

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for an argument: for a channel of a request, a channel that listens."""
        return argument if self._request is None else self._request.substitute(argument)

    def item(self, _item: Any) -> None:
        """Do nothing: the results of a traced call are not compared."""

    def returned(self, _value: Any) -> None:
        """Note that the call returned."""
        self._end(None)

    def raised(self, error: BaseException) -> None:
        """Note that the call raised an error."""
        self._end(error)

    def served(self) -> None:
        """Note that the call was served as a whole."""
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        request = self._request
        if request is not None:
            request.let_go()
            self._compare_body()
        if self.is_compared:
            self._calls.end(error)
