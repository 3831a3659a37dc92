"""The call that a trace is of, in a replay: whether it is given what it was given when it was recorded, and how it ends."""

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
        ended: how each ended, in order: with an error, or with None.
    """

    def __init__(
        self,
        call: Envelope | None,
        redactor: Redactor,
        tell: Callable[[Envelope, str, str, str], None],
        *,
        typed: bool = True,
    ) -> None:
        """Take the recorded call, what notes a difference, and whether the call's input tells types.

        `tell` gets (call, path, recorded, replayed).
        """
        self.ended: list[BaseException | None] = []
        self.typed = typed
        self._call = call
        self._redactor = redactor
        self._tell = tell
        self._open = 0

    def begin(self, point: Point, arguments: tuple[Any, ...]) -> TracedCall:
        """Compare what a call is given; one inside another is not compared, for the trace is of the outer one."""
        call, redactor = self._call, self._redactor
        made = TracedCall(self, point, arguments, redactor)
        if call is not None and not made.is_request and b'"request"' in call.meta:
            return made  # an application is started and stopped by calls, too
        made.is_compared = True
        self._open += 1
        if call is not None and self._open == 1:
            try:
                made.compare(call)
            except Exception as error:
                if is_interruption(error):
                    raise
                self.tell(
                    call, "(value)", "what it was given", f"unreadable: {type(error).__name__}: {error}"
                )
        return made

    def tell(self, call: Envelope, path: str, recorded: str, replayed: str) -> None:
        """Note that a call is given something else."""
        self._tell(call, path, recorded, replayed)

    def end(self, error: BaseException | None) -> None:
        """Note how a call ended that is compared."""
        self._open -= 1
        self.ended.append(error)


class TracedCall:
    """Hears of one call of the traced function."""

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
        """The recorded call, where the body of its request is to be compared yet."""
        if self._request is not None:
            self._request.listen(*(arguments[-2:] if self._request.beside else ()))

    def compare(self, call: Envelope) -> None:
        """Note the first difference in what it is given; the body of a request is compared when the call has ended."""
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
            self._calls.tell(call, *difference)
        elif request is not None:
            self._recorded = call

    def _compare_body(self) -> None:
        call, request = self._recorded, self._request
        if call is None or request is None:
            return
        before = call.arguments.get(request.parameter, {}).get("body")
        now = decode(self._redactor.mask(request.body()))
        # A call that ends before it has read the body was given it all the same.
        if before is None or now is None or before == now:
            return
        difference = first_difference(encode(before), encode(now))
        if difference is not None:
            path, was, is_now = difference
            where = f"{request.parameter}.body" + ("" if path == "(value)" else f".{path}")
            self._calls.tell(call, where, was, is_now)

    # --- told by the call's token --------------------------------------------------------------------------------------

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for a channel of a request."""
        return argument if self._request is None else self._request.substitute(argument)

    def item(self, _item: Any) -> None:
        """Nothing: what a traced call hands out is its caller's to judge."""

    def returned(self, _value: Any) -> None:
        """Note that it returned."""
        self._end(None)

    def raised(self, error: BaseException) -> None:
        """Note that it raised."""
        self._end(error)

    def served(self) -> None:
        """Note that it was served as a whole."""
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        request = self._request
        if request is not None:
            request.let_go()
            self._compare_body()
        if self.is_compared:
            self._calls.end(error)
