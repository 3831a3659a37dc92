"""The door of aiohttp's client."""

# ruff: noqa: SLF001 - a response is set up by its connection, which is not there

from __future__ import annotations

import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

from autochron.envelope import bodies
from autochron.http.exchange import UNREAD, Ended, Wire, ending, headers_for
from autochron.model import Exchange

_LIMIT = 2**16

_listeners: dict[int, tuple[Wire, Ended]] = {}
"""Who listens to a stream that is fed, by its identity: it has no room for anything else."""


class Aiohttp:
    """`ClientSession._request`: method, URL and body in, a `ClientResponse` out, its body read by the caller."""

    names = frozenset({"ClientSession._request"})

    def asked(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""
        given = dict(zip(parameters, arguments, strict=False))
        return given["method"], str(_url(given))

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a request. A form or a stream that it sends is not read."""
        given = dict(zip(parameters, arguments, strict=False))
        body, value = given.get("data"), given.get("json")
        if value is not None:
            body = given["self"]._json_serialize(value)
        content = body.encode() if isinstance(body, str) else body
        return Wire(
            self,
            *self.asked(parameters, arguments),
            bytes(content) if isinstance(content, bytes | bytearray) else b"",
        )

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note a response; its body is listened to as it arrives, decoded."""
        wire.status = response.status
        # Not `raw_headers`: the names that programs see are capitalised.
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
        """Return the response's body as far as it arrived: the client decodes it before that."""
        return wire.body()

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Make the response that a client would have got for a request."""
        given = dict(zip(parameters, arguments, strict=False))
        body = bodies.restore_body(exchange.body)
        # A status that the session is to raise for was raised when it was recorded, and is served as that.
        return _response(given["self"], given["method"], _url(given), exchange, body)

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Make the exception that a client would have raised for a request."""
        return ending(exchange)


DOOR = Aiohttp()


def _module(name: str) -> Any:
    """Return a module that aiohttp imported: an import of it here would cost every recorded program its time."""
    return sys.modules[name]


def _url(given: dict[str, Any]) -> Any:
    url = given["self"]._build_url(given["str_or_url"])
    return url.extend_query(given["params"]) if given.get("params") else url


@cache
def _listener(reader: Any) -> Any:
    """Make the class of streams that tell of what they are fed. An object may be made one: it has the same slots."""

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
                # That the caller closed the response is told in this way, too, by an error of just this type.
                if type(error) is not _module("aiohttp").ClientConnectionError:
                    wire.error = error
                wire.end(ended, complete=error is None)

    return Listener


def _response(session: Any, method: str, url: Any, exchange: Exchange, body: bytes) -> Any:
    aiohttp, multidict = _module("aiohttp"), _module("multidict")
    headers = headers_for(exchange, body)
    held = multidict.CIMultiDictProxy(multidict.CIMultiDict(headers))
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
    # What a response is made of differs by a keyword between versions.
    wanted = _module("inspect").signature(aiohttp.ClientResponse).parameters
    response = aiohttp.ClientResponse(
        method, url, **{name: value for name, value in options.items() if name in wanted}
    )
    response.version = aiohttp.HttpVersion11
    response.status = exchange.status
    response.reason = _module("http").HTTPStatus(exchange.status).phrase
    response._headers = held
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
    """Make the class of streams that raise when all that was recorded is read. `set_exception` would raise before."""

    class Served(reader):  # type: ignore[misc]
        __slots__ = ("error",)

        async def _wait(self, func_name: str) -> None:
            raise self.error

    return Served
