"""HTTP requests that a service is sent, as ASGI has them: read from the arguments of the function that takes them.

Recognised by their shape and not by a framework: an application is given `scope`, `receive` and `send`; a framework hands an
endpoint an object with a `scope` that it made of these. The body is read from what the service itself reads of it, since a
body that autochron received would be gone for the service.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from autochron.envelope.bodies import store_body

CHANNELS = ("scope", "receive", "send")
"""The last parameters of an ASGI application."""

_SAFE = "/:@!$&'()*+,;=~-._"

MAX_BODY = 16 << 20
"""Bytes of a body that are kept."""


class Incoming:
    """One HTTP request that a call was given, and what was answered.

    Attributes:
        parameter: of the function: what holds the request.
        beside: further parameters that belong to it.
        scope: as ASGI has it.
        missing: why its body is not kept; None where it is.
    """

    def __init__(self, parameter: str, scope: Mapping[str, Any], holder: Any = None) -> None:
        """Take the object that has the scope; None where the function is the application."""
        self.parameter = parameter
        self.beside = frozenset(CHANNELS[1:]) if holder is None else frozenset[str]()
        self.scope = scope
        self._holder = holder
        self._received = bytearray()
        self._channels: tuple[Any, ...] = ()
        self._own: Any = None
        self._status = 0
        self._answer_type = ""
        self._sent = bytearray()
        state = _state_of(holder)
        is_read = bool(state.get("_stream_consumed")) and "_body" not in state
        self.missing = "it was read before the call" if is_read else None

    # --- what was asked for --------------------------------------------------------------------------------------------

    def head(self) -> dict[str, Any]:
        """Return method, path and query as they are compared: the path as it was sent."""
        raw = self.scope.get("raw_path")
        path = _text(raw).partition("?")[0] if isinstance(raw, bytes) and raw else ""
        return {
            "method": str(self.scope.get("method", "GET")),
            "path": path or quote(str(self.scope.get("path", "/")), safe=_SAFE),
            "query": _text(self.scope.get("query_string", b"")),
        }

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers in their order."""
        return tuple((_text(name), _text(value)) for name, value in self.scope.get("headers", ()))

    def body(self) -> bytes:
        """Return the body as far as the service read it, as a stored body."""
        kept = _state_of(self._holder).get("_body")
        content = kept if isinstance(kept, bytes) else bytes(self._received)
        if len(content) > MAX_BODY:
            self.missing, content = f"it is larger than {MAX_BODY >> 20} MB", b""
        return store_body(content, self._header("content-type"))

    def response(self, value: Any) -> dict[str, Any] | None:
        """Return status and stored body of the answer: what the application sent, or what the endpoint returned."""
        if self._status:
            return _response(self._status, bytes(self._sent), self._answer_type)
        return response_of(value)

    # --- listening -----------------------------------------------------------------------------------------------------

    def listen(self, receive: Any = None, send: Any = None) -> None:
        """Hear what is received and sent: of an application its channels, else those of the object that has the scope."""
        if self._holder is None:
            self._channels = (receive, send)
            return
        own = _state_of(self._holder).get("_receive")
        if callable(own):
            self._own = own
            _state_of(self._holder)["_receive"] = self._receiving(own)

    def substitute(self, argument: Any) -> Any:
        """Return what the application is given instead of a channel; any other argument as it is."""
        if self._channels and argument is self._channels[0]:
            return self._receiving(argument)
        if self._channels and argument is self._channels[1]:
            return self._sending(argument)
        return argument

    def let_go(self) -> None:
        """Put back what was replaced."""
        if self._own is not None:
            _state_of(self._holder)["_receive"] = self._own
            self._own = None

    def _receiving(self, receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        async def hear() -> Any:
            message = await receive()
            if message.get("type") == "http.request":
                _add(self._received, message.get("body", b""))
            return message

        return hear

    def _sending(self, send: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        async def hear(message: Any) -> None:
            kind = message.get("type")
            if kind == "http.response.start":
                self._status = int(message.get("status", 0))
                self._answer_type = _header(message.get("headers", ()), "content-type")
            elif kind == "http.response.body":
                _add(self._sent, message.get("body", b""))
            await send(message)

        return hear

    def _header(self, name: str) -> str:
        return _header(self.scope.get("headers", ()), name)


def incoming(parameters: Sequence[str], arguments: Sequence[Any], first: int = 0) -> Incoming | None:
    """Return the HTTP request among the arguments of a call; None where there is none.

    Args:
        parameters: their names.
        arguments: their values.
        first: the index of the first that is no receiver: an endpoint that is a class may keep the scope, too.
    """
    if tuple(parameters[-3:]) == CHANNELS:
        scope = arguments[-3]
        return Incoming(CHANNELS[0], scope) if _is_request(scope) else None
    for name, value in zip(parameters[first:], arguments[first:], strict=False):
        scope = _state_of(value).get("scope")
        if scope is not None and _is_request(scope):
            return Incoming(name, scope, value)
    return None


def response_of(value: Any) -> dict[str, Any] | None:
    """Return status and stored body of a value that has the shape of an HTTP response; None of any other."""
    state = _state_of(value)
    status, body = state.get("status_code"), state.get("body")
    if type(status) is not int:
        return None
    content_type = _header(state.get("raw_headers", ()), "content-type")
    return _response(status, body if isinstance(body, bytes) else b"", content_type)


def _response(status: int, body: bytes, content_type: str) -> dict[str, Any]:
    if len(body) > MAX_BODY:
        return {"status": status, "body": b"null", "missing": f"it is larger than {MAX_BODY >> 20} MB"}
    return {"status": status, "body": store_body(body, content_type)}


def _add(content: bytearray, piece: bytes) -> None:
    """Add a piece of a body; of one that is too large no more than shows that it is."""
    if len(content) <= MAX_BODY:
        content += piece


def _is_request(scope: Any) -> bool:
    return isinstance(scope, dict) and scope.get("type") == "http" and "method" in scope


def _state_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, without running code of its own."""
    try:
        state = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return state if isinstance(state, dict) else {}


def _header(headers: Any, name: str) -> str:
    wanted = name.encode()
    return next((_text(value) for key, value in headers if key.lower() == wanted), "")


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
