"""The door of aiohttp's client."""

# ruff: noqa: SLF001 - the connection, which is missing here, would set a response's private attributes

from __future__ import annotations

import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

from autochron._runtime.own_frames import unchanged
from autochron.envelope import bodies
from autochron.http.exchange import UNREAD, Ended, Wire, ending, headers_for
from autochron.model import Exchange

_LIMIT = 2**16
"""Buffer limit of a stream in bytes, as aiohttp sets it."""

_listeners: dict[int, tuple[Wire, Ended]] = {}
"""By `id()` of a stream: the exchange that it feeds. Streams have slots, so no attribute can be added."""


class Aiohttp:
    """The door at `ClientSession._request`, which takes method, URL and body and returns a `ClientResponse`.

    The caller reads the response's body.
    """

    names = frozenset({"ClientSession._request"})

    def method_and_url(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""
        values = dict(zip(parameters, arguments, strict=False))
        return values["method"], str(_url(values))

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a request. A form or a stream in its body is not read."""
        values = dict(zip(parameters, arguments, strict=False))
        body, value = values.get("data"), values.get("json")
        if value is not None:
            body = values["self"]._json_serialize(value)
        content = body.encode() if isinstance(body, str) else body
        return Wire(
            self,
            *self.method_and_url(parameters, arguments),
            bytes(content) if isinstance(content, bytes | bytearray) else b"",
        )

    def left_alone(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        """Do nothing: Python's sockets raise the audit event."""

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note a response, and its body as it arrives. aiohttp decodes the body before that."""
        wire.status = response.status
        # Not `raw_headers`: programs see capitalised names.
        wire.headers = [(str(name), value) for name, value in response.headers.items()]
        content = response.content
        wire.chunks += getattr(content, "_buffer", ())
        reader = _module("aiohttp.streams").StreamReader
        is_fed = type(content) is reader
        if content.is_eof() or not is_fed:
            wire.end(ended, complete=True)
            return
        _listeners[id(content)] = (wire, ended)
        content.__class__ = _listener(reader)

    def decoded(self, wire: Wire) -> bytes:
        """Return the response's body as far as it has arrived; it is decoded already."""
        return wire.body()

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the client's response for a recorded exchange."""
        values = dict(zip(parameters, arguments, strict=False))
        body = bodies.restore_body(exchange.body)
        # If the session raises for a status, it did so in the recorded run too. The exception is served by `ended`.
        return _response(values["self"], values["method"], _url(values), exchange, body)

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the client's exception for a recorded exchange that failed; None if it did not."""
        return ending(exchange)


DOOR = Aiohttp()


def _module(name: str) -> Any:
    """Return a module that aiohttp has imported. An import here would cost every recorded program time."""
    return sys.modules[name]


def _url(values: dict[str, Any]) -> Any:
    url = values["self"]._build_url(values["str_or_url"])
    return url.extend_query(values["params"]) if values.get("params") else url


@cache
def _listener(reader: Any) -> Any:
    """Return a class of streams that note what they are fed.

    It has the slots of `reader`, so that `__class__` of an existing stream can be set to it.
    """

    class Listener(reader):  # type: ignore[misc]
        __slots__ = ()

        def feed_data(self, data: bytes, *arguments: Any) -> Any:
            if id(self) in _listeners and data:
                _listeners[id(self)][0].chunks.append(bytes(data))
            return super().feed_data(data, *arguments)

        def feed_eof(self) -> None:
            self._finish(None)
            super().feed_eof()

        def set_exception(self, error: BaseException, *arguments: Any) -> None:
            self._finish(error)
            super().set_exception(error, *arguments)

        def _finish(self, error: BaseException | None) -> None:
            wire, ended = _listeners.pop(id(self), (None, None))
            if wire is not None and ended is not None:
                # When the caller closes the response, aiohttp sets an error of exactly this type.
                if type(error) is not _module("aiohttp").ClientConnectionError:
                    wire.error = error
                wire.end(ended, complete=error is None)

    return Listener


def _response(session: Any, method: str, url: Any, exchange: Exchange, body: bytes) -> Any:
    aiohttp, multidict = _module("aiohttp"), _module("multidict")
    headers = headers_for(exchange, body)
    multi_headers = multidict.CIMultiDictProxy(multidict.CIMultiDict(headers))
    loop = _module("asyncio").get_running_loop()
    options = {
        "writer": None,
        "continue100": None,
        "timer": None,
        "request_info": aiohttp.RequestInfo(
            url, method, multidict.CIMultiDictProxy(multidict.CIMultiDict()), url
        ),
        "traces": [],
        "loop": loop,
        "session": session,
        "stream_writer": SimpleNamespace(output_size=0),
    }
    # The keywords of the constructor differ between versions.
    accepted = _module("inspect").signature(aiohttp.ClientResponse).parameters
    response = aiohttp.ClientResponse(
        method, url, **{name: value for name, value in options.items() if name in accepted}
    )
    response.version = aiohttp.HttpVersion11
    response.status = exchange.status
    response.reason = _module("http").HTTPStatus(exchange.status).phrase
    response._headers = multi_headers
    response._raw_headers = tuple(
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers
    )
    response.content = _content(aiohttp, loop, exchange, body)
    return response


def _content(aiohttp: Any, loop: Any, exchange: Exchange, body: bytes) -> Any:
    protocol = _module("aiohttp.base_protocol").BaseProtocol(loop)
    content = _served(aiohttp.StreamReader)(protocol, _LIMIT, loop=loop)
    content.error = ending(exchange)
    if content.error is None and not exchange.complete:
        content.error = aiohttp.ClientPayloadError(UNREAD)
    if body:
        content.feed_data(body)
    if content.error is None:
        content.feed_eof()
    return content


@cache
def _served(reader: Any) -> Any:
    """Return a class of streams that raise `error` after the recorded body. `set_exception` would raise earlier."""

    class Served(reader):  # type: ignore[misc]
        __slots__ = ("error",)

        async def _wait(self, func_name: str) -> None:
            with unchanged(self.error):
                raise self.error

    return Served
