"""The door of httpx and httpx2: sync and async clients, complete and streamed responses.

Both libraries have the same interface. Classes are looked up in the library of the request.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.envelope import bodies
from autochron.http.exchange import UNREAD, Ended, Wire, ending, headers_for
from autochron.model import Exchange


class Httpx:
    """The door at `Client.send` and `AsyncClient.send`, which take a `Request` and return a `Response`.

    The function reads the response's body unless `stream` is true.
    """

    names = frozenset({"Client.send", "AsyncClient.send"})

    def method_and_url(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""
        request = arguments[parameters.index("request")]
        return request.method, str(request.url)

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a request."""
        request = arguments[parameters.index("request")]
        content: bytes = getattr(request, "_content", None) or b""
        return Wire(self, request.method, str(request.url), content, _library_of(request))

    def left_alone(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        """Do nothing: Python's sockets raise the audit event."""

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note a response; if its body is still to be read, note the reading."""
        wire.status = response.status_code
        wire.headers = [
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in response.headers.raw
        ]
        content = getattr(response, "_content", None)
        if content is not None:
            wire.chunks.append(content)
            wire.end(ended, complete=True)
            return
        wire.raw = True
        stream = response.stream
        response.stream = _listener(wire.library, _base_names_of(stream, wire.library))(stream, wire, ended)

    def decoded(self, wire: Wire) -> bytes:
        """Return the response's body as far as it was read, with the content-encoding decoded."""
        raw = wire.body()
        encoding = wire.header("content-encoding")
        if not wire.raw or not encoding or not raw:
            return raw
        module = sys.modules[wire.library]
        try:
            content: bytes = module.Response(200, headers={"content-encoding": encoding}, content=raw).content
        except module.DecodingError:  # a body that broke off
            return raw
        return content

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the client's response for a recorded exchange."""
        request = arguments[parameters.index("request")]
        module = sys.modules[_library_of(request)]
        body = bodies.restore_body(exchange.body)
        streams = "stream" in parameters and bool(arguments[parameters.index("stream")])
        # A body that is not streamed is read below, for sync and async clients.
        base_names: tuple[str, ...] = _BOTH
        if streams and "self" in parameters:
            is_async = isinstance(arguments[parameters.index("self")], module.AsyncClient)
            base_names = _BOTH[1:] if is_async else _BOTH[:1]
        response = module.Response(
            exchange.status,
            headers=headers_for(exchange, body),
            stream=_served(module.__name__, base_names)(body, exchange),
            request=request,
        )
        response.elapsed = _no_time()
        if not streams:
            response.read()  # the body is in memory, so this works for an async client's response too
        return response

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the client's exception for a recorded exchange that failed; None if it did not."""
        return ending(exchange, _other_names(_library_of(arguments[parameters.index("request")])))


DOOR = Httpx()


_TWINS = ({"httpx": "httpcore"}, {"httpx2": "httpcore2"})
"""Libraries with the same interface, each with its transport library. An SDK may change from one to the other."""


@cache
def _other_names(library: str) -> dict[str, str]:
    """Return by which libraries to replace those in a record: each twin by this one, and likewise its transport."""
    own_twin = next((twin for twin in _TWINS if library in twin), None)
    if own_twin is None:
        return {}
    others = [twin for twin in _TWINS if twin is not own_twin]
    names = {other: library for twin in others for other in twin}
    return names | {beneath: own_twin[library] for twin in others for beneath in twin.values()}


def _library_of(request: Any) -> str:
    """Return the library of a request: `httpx` or `httpx2`."""
    return type(request).__module__.partition(".")[0]


_BOTH = ("SyncByteStream", "AsyncByteStream")
"""The base classes of streams. A client refuses to read a stream without its own base class."""


def _base_names_of(stream: Any, library: str) -> tuple[str, ...]:
    """Return the names of the base classes that a stream has; both if it has none."""
    return tuple(name for name in _BOTH if isinstance(stream, getattr(sys.modules[library], name))) or _BOTH


class _Listening:
    """The methods of a stream that notes what is read."""

    def __init__(self, stream: Any, wire: Wire, ended: Ended) -> None:
        self._stream = stream
        self._wire = wire
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                self._wire.chunks.append(chunk)
                yield chunk
        except BaseException as error:
            drop_frame(error)
            self._failed(error)
            raise
        self._finish(complete=True)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                self._wire.chunks.append(chunk)
                yield chunk
        except BaseException as error:
            drop_frame(error)
            self._failed(error)
            raise
        self._finish(complete=True)

    def close(self) -> None:
        try:
            self._stream.close()
        except BaseException as error:
            drop_frame(error)
            raise
        self._finish(complete=False)

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        except BaseException as error:
            drop_frame(error)
            raise
        self._finish(complete=False)

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, Exception):
            self._wire.error = error
            self._finish(complete=False)

    def _finish(self, *, complete: bool) -> None:
        self._wire.end(self._ended, complete=complete)


@cache
def _listener(library: str, base_names: tuple[str, ...]) -> type:
    """Return a class of streams that note what is read, with these base classes."""
    bases: Any = [getattr(sys.modules[library], name) for name in base_names]

    return type("Listener", (_Listening, *bases), {})


@cache
def _no_time() -> Any:
    from datetime import timedelta  # lazy: only a replay needs it

    return timedelta(0)


@cache
def _served(library: str, base_names: tuple[str, ...]) -> type:
    """Return a class of streams that serve a recorded body, with these base classes."""
    module = sys.modules[library]
    bases: Any = [getattr(module, name) for name in base_names]

    class Served(*bases):  # type: ignore[misc]
        def __init__(self, body: bytes, exchange: Exchange) -> None:
            self._body = body
            self._exchange = exchange

        def _error_at_end(self) -> BaseException | None:
            error = ending(self._exchange, _other_names(library))
            if error is not None or self._exchange.complete:
                return error
            unread: BaseException = module.RemoteProtocolError(UNREAD)
            return unread

        def __iter__(self) -> Iterator[bytes]:
            yield self._body
            error = self._error_at_end()
            if error is not None:
                with unchanged(error):
                    raise error

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield self._body
            error = self._error_at_end()
            if error is not None:
                with unchanged(error):
                    raise error

    return Served
