"""Read HTTP requests to an ASGI service from the arguments of the function that handles them.

A request is recognised by its shape and not by its framework. An application takes `scope`, `receive` and `send`. A
framework passes an endpoint an object that has the `scope`. The body is noted as the service itself reads it: a body
that autochron received first would be missing for the service.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from autochron._runtime.own_frames import drop_frame
from autochron.envelope.bodies import store_body

CHANNELS = ("scope", "receive", "send")
"""The last parameters of an ASGI application."""

_SAFE = "/:@!$&'()*+,;=~-._"
"""Characters that stay unquoted in a path."""

MAX_BODY = 16 << 20
"""Largest size in bytes of a body that is kept."""


class Incoming:
    """One HTTP request that a call takes, and its response.

    Attributes:
        parameter: name of the function's parameter that holds the request.
        beside: names of further parameters that belong to the request.
        scope: the ASGI scope.
        missing: the reason why the body is not kept; None if it is.
    """

    def __init__(self, parameter: str, scope: Mapping[str, Any], holder: Any = None) -> None:
        """Set up; `holder` is the object that has the scope, None if the function is the application."""
        self.parameter = parameter
        self.beside = frozenset(CHANNELS[1:]) if holder is None else frozenset[str]()
        self.scope = scope
        self._holder = holder
        self._received = bytearray()
        self._channels: tuple[Any, ...] = ()
        self._original_receive: Any = None
        self._status = 0
        self._answer_type = ""
        self._sent = bytearray()
        state = _state_of(holder)
        is_read = bool(state.get("_stream_consumed")) and "_body" not in state
        self.missing = "it was read before the call" if is_read else None

    # --- request and response ----------------------------------------------------------------------------------------

    def head(self) -> dict[str, Any]:
        """Return method, path and query, as replays compare them. The path is quoted as it was sent."""
        raw = self.scope.get("raw_path")
        path = _text(raw).partition("?")[0] if isinstance(raw, bytes) and raw else ""
        return {
            "method": str(self.scope.get("method", "GET")),
            "path": path or quote(str(self.scope.get("path", "/")), safe=_SAFE),
            "query": _text(self.scope.get("query_string", b"")),
        }

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers in the order in which they were sent."""
        return tuple((_text(name), _text(value)) for name, value in self.scope.get("headers", ()))

    def body(self) -> bytes:
        """Return the stored body, as far as the service has read it; this sets `missing` if it is too large."""
        kept = _state_of(self._holder).get("_body")
        content = kept if isinstance(kept, bytes) else bytes(self._received)
        if len(content) > MAX_BODY:
            self.missing, content = f"it is larger than {MAX_BODY >> 20} MB", b""
        return store_body(content, self._header("content-type"))

    def response(self, value: Any) -> dict[str, Any] | None:
        """Return status and stored body of the response.

        Args:
            value: the result of the call, which is the response of an endpoint. An application sends its response.

        Returns:
            The response; None if the application sent none and the value is no response.
        """
        if self._status:
            return _response(self._status, bytes(self._sent), self._answer_type)
        return response_of(value)

    # --- listening -----------------------------------------------------------------------------------------------------

    def listen(self, receive: Any = None, send: Any = None) -> None:
        """Start noting the request's body.

        Args:
            receive: the channel of an application.
            send: the channel of an application, by which its response is noted.
        """
        if self._holder is None:
            self._channels = (receive, send)
            return
        original = _state_of(self._holder).get("_receive")
        if callable(original):
            self._original_receive = original
            _state_of(self._holder)["_receive"] = self._receiving(original)

    def substitute(self, argument: Any) -> Any:
        """Return the listening function that replaces a channel of an application, or any other argument as it is."""
        if self._channels and argument is self._channels[0]:
            return self._receiving(argument)
        if self._channels and argument is self._channels[1]:
            return self._sending(argument)
        return argument

    def let_go(self) -> None:
        """Restore the request object's own channel."""
        if self._original_receive is not None:
            _state_of(self._holder)["_receive"] = self._original_receive
            self._original_receive = None

    def _receiving(self, receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        async def listen() -> Any:
            try:
                message = await receive()
            except BaseException as error:
                drop_frame(error)
                raise
            if message.get("type") == "http.request":
                _add(self._received, message.get("body", b""))
            return message

        return listen

    def _sending(self, send: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        async def listen(message: Any) -> None:
            kind = message.get("type")
            if kind == "http.response.start":
                self._status = int(message.get("status", 0))
                self._answer_type = _header(message.get("headers", ()), "content-type")
            elif kind == "http.response.body":
                _add(self._sent, message.get("body", b""))
            try:
                await send(message)
            except BaseException as error:
                drop_frame(error)
                raise

        return listen

    def _header(self, name: str) -> str:
        return _header(self.scope.get("headers", ()), name)


def incoming(parameters: Sequence[str], arguments: Sequence[Any], first: int = 0) -> Incoming | None:
    """Return the HTTP request among the arguments of a call; None if there is none.

    Args:
        parameters: names of the function's parameters.
        arguments: their values.
        first: index of the first parameter that may hold the request. The receiver of a method is skipped, because an
            endpoint that is a class may have a `scope` too.
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
    """Return status and stored body of a value in the shape of an HTTP response; None for any other value."""
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
    """Append a piece of a body, unless the body is too large already."""
    if len(content) <= MAX_BODY:
        content += piece


def _is_request(scope: Any) -> bool:
    return isinstance(scope, dict) and scope.get("type") == "http" and "method" in scope


def _state_of(value: Any) -> dict[str, Any]:
    """Return an object's attributes without running its code."""
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
