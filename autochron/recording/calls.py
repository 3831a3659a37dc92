"""Calls with a trace of their own: the draft of such a call, and its envelope, which the trace's footer holds.

As in the recorder, the program's own thread encodes the arguments before the body runs and the outcome before the caller gets
it. The writer's thread masks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw
from msgspec.json import encode

from autochron._runtime import unpatched
from autochron._runtime.unpatched import getframe
from autochron.crossing.lanes import MAIN
from autochron.envelope import codec, modules
from autochron.envelope import types as names
from autochron.http import asgi
from autochron.inputs import call_input, is_method, masked_call_input, with_request_body
from autochron.model import Abandoned, Closed, Envelope, Outcome, Raised, Returned, Streamed
from autochron.recording.changes import below
from autochron.recording.envelope_editor import by_type
from autochron.redaction.redactor import Redactor
from autochron.weaving.gate import Point

ARGUMENTS = "arguments"
"""Prefix of paths in a call's arguments, in its envelope's `opaque` and `masked`. A replay repeats the call with these."""

MAX_ITEMS = 10_000
"""Items of a stream that are kept at most: a service may send events for days."""

_now = unpatched.perf_counter_ns


class CallDraft:
    """The notes on a call that has a trace of its own."""

    def __init__(self, point: Point, arguments: tuple[Any, ...]) -> None:
        """Note the arguments.

        Raises:
            Exception: any error of reading or encoding them.
        """
        self._point = point
        self._started = self._ended = _now()
        self._outcome: Outcome | None = None
        self._items: list[bytes] = []
        self._is_stream = point.function.endswith("generator")
        self._opaque: dict[str, None] = {}
        self._arguments: dict[str, bytes] = {}
        self._attributes: dict[str, str] = {}
        self._response: dict[str, Any] | None = None
        self.request = request = asgi.incoming(point.parameters, arguments, int(is_method(point)))
        self._input = call_input(point, arguments, request)
        self._app: str | None = None
        if request is not None:
            self._app = self._application(arguments[0] if is_method(point) else None, request)
            request.listen(*(arguments[-2:] if request.beside else ()))
        self._note_arguments(arguments)

    def _application(self, receiver: Any, request: asgi.Incoming) -> str | None:
        """Return the application as `module:attribute`, by which a replay finds it; None if it is no such attribute."""
        point = self._point
        if request.beside and "." not in point.qualname:
            return f"{names.place_of(point.module)}:{point.qualname}"
        candidates = [receiver] if request.beside and receiver is not None else []
        candidates.append(request.scope.get("app"))
        attributes = (modules.attribute_of(app, point.module) for app in candidates if app is not None)
        return next((attribute for attribute in attributes if attribute is not None), None)

    def _note_arguments(self, arguments: tuple[Any, ...]) -> None:
        request = self.request
        if request is not None:  # a replay repeats the call from the request alone
            return
        for name, value in zip(self._point.parameters, arguments, strict=False):
            encoded = codec.encode(value)
            if encoded.opaque and (attribute := modules.attribute_of(value, self._point.module)) is not None:
                self._attributes[name] = attribute
                continue
            self._arguments[name] = encoded.body
            self._opaque |= dict.fromkeys(below(f"{ARGUMENTS}.{name}", encoded.opaque))

    # --- called by the call's token ----------------------------------------------------------------------------------

    def item(self, item: Any) -> None:
        """Note an item of a stream; after `MAX_ITEMS` items, note only that some are missing."""
        if len(self._items) < MAX_ITEMS:
            encoded = codec.encode(item)
            self._items.append(encoded.body)
            self._opaque |= dict.fromkeys(below("items.*", encoded.opaque))
        else:
            self._opaque[f"items.{MAX_ITEMS}: the items from here on, which are not kept"] = None

    def returned(self, value: Any) -> None:
        """Note the value that the call returned."""
        self._end()
        self._response = self._response_of(value)
        encoded = codec.encode(value)
        if self._response is None:
            self._opaque |= dict.fromkeys(
                below("return", encoded.opaque) if self._is_stream else encoded.opaque
            )
        self._end_with(Returned(encoded.body))

    def raised(self, error: BaseException) -> None:
        """Note the error that the call raised."""
        self._end()
        self._response = self._response_of(None)
        if type(error) is GeneratorExit and self._is_stream:
            self._end_with(Closed())
            return
        encoded = codec.encode(error, getframe())
        self._opaque |= dict.fromkeys(encoded.opaque)
        self._end_with(Raised(encoded.body))

    def _response_of(self, value: Any) -> dict[str, Any] | None:
        return asgi.response_of(value) if self.request is None else self.request.response(value)

    def _end(self) -> None:
        self._ended = _now()
        if self.request is not None:
            self.request.let_go()

    def _end_with(self, end: Returned | Raised | Closed) -> None:
        self._outcome = Streamed((), end) if self._is_stream or isinstance(end, Closed) else end

    # --- called by the writer ----------------------------------------------------------------------------------------

    def envelope(self, redactor: Redactor, site: Callable[[Point], str], began: int) -> Envelope:
        """Make the envelope; the outcome of a call that has not ended is an abandoned stream.

        Args:
            redactor: masks the bodies.
            site: returns the site of a woven point, as envelopes name it.
            began: when the trace began, in nanoseconds of `perf_counter_ns`.
        """
        masked: list[str] = []
        parameter = None if self.request is None else self.request.parameter
        call_body, paths = masked_call_input(redactor, self._whole_input(), parameter)
        if parameter is not None:  # a replay sends the request as it is in the input
            masked += [f"{ARGUMENTS}.{path}" for path in paths]
        meta = self._meta(redactor, masked)
        outcome = self._masked(self._outcome or Streamed((), Abandoned()), redactor, masked)
        point = self._point
        ended = self._ended if self._outcome is not None else _now()
        return Envelope(
            seq=0,
            name=point.called.rpartition(".")[2],
            nth=1,
            kind="router",
            lane=MAIN,
            parent=None,
            site=site(point),
            input=call_body,
            outcome=outcome,
            form={"generator": "iterator", "async_generator": "async_iterator"}.get(point.function, "value"),  # type: ignore[arg-type]
            meta=encode(meta),
            started=self._started - began,
            duration=ended - self._started,
            masked=tuple(dict.fromkeys(masked)),
            opaque=tuple(self._opaque) + by_type(call_body),
        )

    def _whole_input(self) -> bytes:
        request = self.request
        return (
            self._input
            if request is None
            else with_request_body(self._input, request.parameter, request.body())
        )

    def _meta(self, redactor: Redactor, masked: list[str]) -> dict[str, Any]:
        meta: dict[str, Any] = {}
        request = self.request
        if request is not None:
            scope = request.scope
            headers = redactor.mask_headers(request.headers())
            changed = [
                name
                for (name, value), (_, original) in zip(headers, request.headers(), strict=True)
                if value != original
            ]
            masked += [f"{ARGUMENTS}.{request.parameter}.headers.{name}" for name in changed]
            meta["request"] = {
                "parameter": request.parameter,
                "headers": headers,
                "scheme": str(scope.get("scheme", "http")),
                "root_path": str(scope.get("root_path", "")),
                "app": self._app,
                "missing": request.missing,
            }
        else:
            arguments = encode({name: Raw(body) for name, body in self._arguments.items()})
            arguments, paths = redactor.mask_outcome(arguments)
            masked += [f"{ARGUMENTS}.{path}" for path in paths]
            meta["arguments"] = Raw(arguments)
            if self._attributes:
                meta["attributes"] = self._attributes
        if self._response is not None:
            body, paths = redactor.mask_outcome(self._response["body"])
            masked += [f"response.{path}" for path in paths]
            meta["response"] = {**self._response, "body": Raw(body)}
            if "missing" in self._response:
                self._opaque["response.body: the body of the response, which is too large to be kept"] = None
        return meta

    def _masked(self, outcome: Any, redactor: Redactor, masked: list[str]) -> Any:
        if isinstance(outcome, Streamed):
            items = []
            for body, paths in redactor.mask_items(self._items):
                masked += [f"items.*.{path}" for path in paths]
                items.append(body)
            return Streamed(tuple(items), self._masked(outcome.end, redactor, masked))
        if isinstance(outcome, Returned):
            body, paths = redactor.mask_outcome(outcome.value)
            masked += paths
            return Returned(body)
        if isinstance(outcome, Raised):
            body, paths = redactor.mask_outcome(outcome.error)
            masked += paths
            return Raised(body)
        return outcome
