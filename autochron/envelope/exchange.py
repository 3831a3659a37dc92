"""One HTTP request and its answer as an SDK's client sees them.

For httpx and httpx2, sync and async, whole and streamed. Both share their shape, so nothing here names one: classes are
found in the library that a response comes from.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

from autochron.envelope import bodies, codec
from autochron.model import Exchange

_TRANSFER_HEADERS = frozenset(
    {"content-encoding", "transfer-encoding", "connection", "keep-alive", "alt-svc"}
)
"""Headers of the transfer: a body is kept decoded, so they would describe another one."""

_RETRIED = frozenset({408, 409, 425, 429})


class Wire:
    """An exchange under way.

    Attributes:
        method, url: of the request.
        content: the request's body as sent.
        status, headers: of the response; 0 until there is one.
        chunks: the body as it came over the wire, so far.
        error: what the transport raised.
        attempts: how many requests were sent for it.
        complete: whether the body was read to its end.
        closed: whether nothing more will come.
        raw: whether `chunks` is still encoded as the content-encoding says.
    """

    __slots__ = (
        "attempts", "chunks", "closed", "complete", "content", "error", "headers", "library", "method", "raw", "status",
        "url",
    )  # fmt: skip

    def __init__(self, request: Any) -> None:
        self.method: str = request.method
        self.url = str(request.url)
        self.content: bytes = getattr(request, "_content", None) or b""
        self.library = library_of(request)
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.chunks: list[bytes] = []
        self.error: BaseException | None = None
        self.attempts = 1
        self.complete = self.closed = self.raw = False

    def failed(self) -> bool:
        """Tell whether a client would try again."""
        return self.error is not None or self.status in _RETRIED or self.status >= 500

    def same_request(self, other: Wire) -> bool:
        """Tell whether another exchange asks the same."""
        return self.method == other.method and self.url == other.url

    def header(self, name: str) -> str:
        """Give a header of the response, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def library_of(thing: Any) -> str:
    """Name the library that an object comes from: `httpx` or `httpx2`."""
    return type(thing).__module__.partition(".")[0]


def path_of(url: str) -> str:
    """Give what identifies a request wherever the provider is: path and query."""
    rest = url.partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"


# --- recording
# -----------------------------------------------------------------------------------------------------


def attend(wire: Wire, response: Any, ended: Callable[[Wire], None]) -> None:
    """Note a response; where its body is still to be read, listen to the reading.

    `ended` is called once, when nothing more will come.
    """
    wire.status = response.status_code
    wire.headers = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in response.headers.raw]
    content = getattr(response, "_content", None)
    if content is not None:
        wire.chunks.append(content)
        wire.complete = wire.closed = True
        ended(wire)
        return
    wire.raw = True
    response.stream = _listener(wire.library)(response.stream, wire, ended)


@cache
def _listener(library: str) -> type:  # noqa: C901 - one small class, whose bases are the library's
    """Make the class of streams that listen; a client insists on its own library's base classes."""
    module = sys.modules[library]

    class Listener(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, stream: Any, wire: Wire, ended: Callable[[Wire], None]) -> None:
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
            except Exception as error:
                self._wire.error = error
                self._finish(complete=False)
                raise
            self._finish(complete=True)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._stream:
                    self._wire.chunks.append(chunk)
                    yield chunk
            except Exception as error:
                self._wire.error = error
                self._finish(complete=False)
                raise
            self._finish(complete=True)

        def close(self) -> None:
            self._stream.close()
            self._finish(complete=False)

        async def aclose(self) -> None:
            await self._stream.aclose()
            self._finish(complete=False)

        def _finish(self, *, complete: bool) -> None:
            if not self._wire.closed:
                self._wire.closed = True
                self._wire.complete = complete
                self._ended(self._wire)

    return Listener


def decoded(wire: Wire) -> bytes:
    """Give the response's body as far as it was read, without its content-encoding."""
    raw = b"".join(wire.chunks)
    encoding = wire.header("content-encoding")
    if not wire.raw or not encoding or not raw:
        return raw
    module = sys.modules[wire.library]
    try:
        content: bytes = module.Response(200, headers={"content-encoding": encoding}, content=raw).content
    except module.DecodingError:  # a body that broke off
        return raw
    return content


def stored_exchange(wire: Wire, *, with_request: bool) -> Exchange:
    """Make the record of an exchange, not masked yet."""
    return Exchange(
        method=wire.method,
        url=wire.url,
        request=bodies.store_body(wire.content, "application/json") if with_request else b"null",
        status=wire.status,
        headers=tuple((key, value) for key, value in wire.headers if key.lower() not in _TRANSFER_HEADERS),
        body=bodies.store_body(decoded(wire), wire.header("content-type")),
        error=None if wire.error is None else codec.encode(wire.error).body,
        attempts=wire.attempts,
        complete=wire.complete,
    )


# --- serving
# -------------------------------------------------------------------------------------------------------


def rebuilt(exchange: Exchange, request: Any, *, stream: bool) -> Any:
    """Make the response that a client would have got for a request.

    Args:
        exchange: what was recorded.
        request: the request at hand.
        stream: whether the caller reads the body itself.
    """
    module = sys.modules[library_of(request)]
    body = bodies.restore_body(exchange.body)
    headers = [
        # Of the body that is served: it was decoded, and may be masked or edited since. What has no body only tells of one.
        (name, str(len(body)) if body and name.lower() == "content-length" else value)
        for name, value in exchange.headers
    ]
    if exchange.status >= 400:
        # Only the last attempt was kept: an SDK that tries again would find nothing. The OpenAI and Anthropic SDKs heed this
        # header; to any other client it is one header more, and the number of retries is then its own, each served alike.
        headers.append(("x-should-retry", "false"))
    response = module.Response(
        exchange.status, headers=headers, stream=_served(module.__name__)(body, exchange), request=request
    )
    response.elapsed = _no_time()
    if not stream:
        response.read()  # of a body that is there: async clients find it read
    return response


@cache
def _no_time() -> Any:
    from datetime import timedelta  # lazy: only a replay needs it

    return timedelta(0)


@cache
def _served(library: str) -> type:
    """Make the class of streams that serve a recorded body, sync and async."""
    module = sys.modules[library]

    class Served(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, body: bytes, exchange: Exchange) -> None:
            self._body = body
            self._exchange = exchange

        def _end(self) -> None:
            if self._exchange.error is not None:
                raise codec.decode(self._exchange.error)
            if not self._exchange.complete:
                raise module.RemoteProtocolError(
                    "the recorded run read no further than this; autochron has nothing more to serve"
                )

        def __iter__(self) -> Iterator[bytes]:
            yield self._body
            self._end()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield self._body
            self._end()

    return Served
