"""Hold one HTTP request and its response as an SDK's client sees them, whatever the client.

What differs between clients is in their doors (`http.clients`): how to read a request and a response, and how to make a
response from a record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from msgspec.json import decode, encode

from autochron.envelope import bodies, codec
from autochron.model import Exchange

_TRANSFER_HEADERS = frozenset(
    {"content-encoding", "transfer-encoding", "connection", "keep-alive", "alt-svc"}
)
"""Headers of the transfer. They do not describe a kept body, which is decoded."""

_RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which clients try again."""


class Wire:
    """An HTTP exchange that is under way.

    Attributes:
        door: the door of the client that sends it.
        method: the request's method.
        url: the request's URL.
        content: the request's body as sent.
        status: the response's status; 0 until there is a response.
        headers: the response's headers.
        chunks: the response's body so far, as it was received.
        error: the exception of the transport.
        attempts: how many requests were sent, including repeated ones.
        complete: whether the body was read to its end.
        closed: whether nothing more will come.
        raw: whether `chunks` is still encoded as the content-encoding says.
        library: the client's library, where several share a door.
    """

    __slots__ = (
        "attempts", "chunks", "closed", "complete", "content", "door", "error", "headers", "library", "method", "raw",
        "status", "url",
    )  # fmt: skip

    def __init__(self, door: Door, method: str, url: str, content: bytes, library: str = "") -> None:
        self.door = door
        self.method = method
        self.url = url
        self.content = content
        self.library = library
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.chunks: list[bytes] = []
        self.error: BaseException | None = None
        self.attempts = 1
        self.complete = self.closed = self.raw = False

    @property
    def size(self) -> int:
        """Bytes of the request's body and of the response's so far."""
        return len(self.content) + sum(map(len, self.chunks))

    def body(self) -> bytes:
        """Return the response's body so far, as it was received, in one piece."""
        body = b"".join(self.chunks)
        if self.closed:
            self.chunks = [body]  # so that it isn't held twice
        return body

    def let_go(self) -> None:
        """Release the bodies of the request and the response."""
        self.content, self.chunks = b"", []

    def failed(self) -> bool:
        """Return whether a client would try the request again."""
        return self.error is not None or self.status in _RETRIED or self.status >= 500

    def same_request(self, other: Wire) -> bool:
        """Return whether another exchange has the same method and URL."""
        return self.method == other.method and self.url == other.url

    def header(self, name: str) -> str:
        """Return a header of the response; an empty string if there is none. `name` is in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def end(self, ended: Ended, *, complete: bool) -> None:
        """Note that nothing more will come, and call `ended`; further calls do nothing.

        Args:
            ended: called with this exchange.
            complete: whether the body was read to its end.
        """
        if not self.closed:
            self.closed = True
            self.complete = complete
            ended(self)


Ended = Callable[[Wire], None]
"""Called once for an exchange, when nothing more will come."""


class Door(Protocol):
    """The adapter of an HTTP client, for those functions of it that every request passes through, sync or async.

    Such a function takes a request and returns its response. It is woven even if no rule names it. `parameters` and
    `arguments` are the names and values of its parameters.
    """

    names: frozenset[str]
    """Qualified names of the functions."""

    def method_and_url(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a request."""

    def left_alone(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        """Raise the audit event of a connection for a request that belongs to no crossing, if Python would not raise it.

        Raises:
            Exception: what listens to audit events refuses the connection.
        """

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note a response.

        Args:
            wire: the exchange.
            response: the client's response. If its body is still to be read, the reading is noted.
            ended: called with the exchange when nothing more will come.
        """

    def decoded(self, wire: Wire) -> bytes:
        """Return the response's body as far as it was read, with the content-encoding decoded."""

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the client's response for a recorded exchange."""

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the client's exception for a recorded exchange that failed; None if it did not."""


class AwaitedLater:
    """A served response that a plain function of an asynchronous client returns, and that the program awaits later.

    Attributes:
        turn: waits until the crossing may go on; None if it need not wait.
    """

    turn: Callable[[], Awaitable[None]] | None = None


def path_of(url: str) -> str:
    """Return the path and the query of a URL, which identify a request on any host."""
    rest = url.partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"


def stored_exchange(wire: Wire, *, with_request: bool) -> Exchange:
    """Return the record of an exchange, not masked yet; without the request's body unless `with_request`."""
    return Exchange(
        method=wire.method,
        url=wire.url,
        request=bodies.store_body(wire.content, "application/json") if with_request else b"null",
        status=wire.status,
        headers=tuple((key, value) for key, value in wire.headers if key.lower() not in _TRANSFER_HEADERS),
        body=bodies.store_body(wire.door.decoded(wire), wire.header("content-type")),
        error=None if wire.error is None else codec.encode(wire.error).body,
        attempts=wire.attempts,
        complete=wire.complete,
    )


def headers_for(exchange: Exchange, body: bytes) -> list[tuple[str, str]]:
    """Return the headers of a response that is served with this body.

    Args:
        exchange: the recorded exchange.
        body: the body that is served, decoded.
    """
    headers = [
        # The length is that of the served body, which was decoded and may be masked or edited. A response without a
        # body, as to HEAD, keeps the recorded length.
        (name, str(len(body)) if body and name.lower() == "content-length" else value)
        for name, value in exchange.headers
    ]
    if exchange.status >= 400:
        # Only the last attempt was kept, so an SDK must not try again. The OpenAI and Anthropic SDKs obey this header.
        # Other clients ignore it and retry as they like; each attempt gets the same response.
        headers.append(("x-should-retry", "false"))
    return headers


UNREAD = "the recorded run read no further than this; autochron has nothing more to serve"
"""Message of the exception at the end of a body that the recorded run did not read to its end."""


def ending(exchange: Exchange, renamed: Mapping[str, str] | None = None) -> BaseException | None:
    """Return the recorded exception of a request or of the reading of its body; None if there was none.

    Args:
        exchange: the recorded exchange.
        renamed: by library of the record, the library of the same shape that is used today. An SDK may have changed its
            HTTP client since.
    """
    if exchange.error is None:
        return None
    error: BaseException = codec.decode(_renamed(exchange.error, renamed) if renamed else exchange.error)
    return error


def _renamed(body: bytes, names: Mapping[str, str]) -> bytes:
    """Return an encoded value with the types of some libraries replaced by those of others."""
    return encode(_replace_types(decode(body), names))


def _replace_types(tree: Any, names: Mapping[str, str]) -> Any:
    if isinstance(tree, list):
        return [_replace_types(item, names) for item in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _other_type(value, names)
        if key[:1] == "$" and isinstance(value, str)
        else _replace_types(value, names)
        for key, value in tree.items()
    }


def _other_type(name: str, names: Mapping[str, str]) -> str:
    """Return the name of a type, `module:Name`, in the replacing library."""
    module, colon, name_in_module = name.partition(":")
    library, dot, inner = module.partition(".")
    return f"{names[library]}{dot}{inner}{colon}{name_in_module}" if colon and library in names else name
