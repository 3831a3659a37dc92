"""One HTTP request and its answer as an SDK's client sees them, whichever client that is.

What is a client's own is in its door (`envelope.doors`): how a request and a response are read there, and how a response is
made of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec.json import decode, encode

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
        door: of the client that sends it.
        method, url: of the request.
        content: the request's body as sent.
        status, headers: of the response; 0 until there is one.
        chunks: the body as it came over the wire, so far.
        error: what the transport raised.
        attempts: how many requests were sent for it.
        complete: whether the body was read to its end.
        closed: whether nothing more will come.
        raw: whether `chunks` is still encoded as the content-encoding says.
        library: which one of several that share a door.
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
        """How many bytes the request and the response have so far."""
        return len(self.content) + sum(map(len, self.chunks))

    def body(self) -> bytes:
        """Return the response's body as it came so far, in one piece."""
        body = b"".join(self.chunks)
        if self.closed:
            self.chunks = [body]  # so that it isn't held twice
        return body

    def let_go(self) -> None:
        """Let go of the request's body and the response's."""
        self.content, self.chunks = b"", []

    def failed(self) -> bool:
        """Return whether a client would try again."""
        return self.error is not None or self.status in _RETRIED or self.status >= 500

    def same_request(self, other: Wire) -> bool:
        """Return whether another exchange asks the same."""
        return self.method == other.method and self.url == other.url

    def header(self, name: str) -> str:
        """Return a header of the response, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def end(self, ended: Ended, *, complete: bool) -> None:
        """Note that nothing more will come, once."""
        if not self.closed:
            self.closed = True
            self.complete = complete
            ended(self)


Ended = Callable[[Wire], None]
"""Called once, when nothing more will come of an exchange."""


class Door(Protocol):
    """Where every request of an HTTP client goes through, sync or async.

    A door is a definition that takes a request and gives its response, and that is woven for being one.
    """

    names: frozenset[str]
    """Qualified names of its definitions."""

    def asked(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a request."""

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note a response; where its body is still to be read, listen to the reading."""

    def decoded(self, wire: Wire) -> bytes:
        """Return the response's body as far as it was read, without its content-encoding."""

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Make the response that a client would have got for a request."""

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Make the exception that a client would have raised for a request."""


def path_of(url: str) -> str:
    """Return what identifies a request wherever the provider is: path and query."""
    rest = url.partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"


def stored_exchange(wire: Wire, *, with_request: bool) -> Exchange:
    """Make the record of an exchange, not masked yet."""
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
    """Return the headers of a response that is served with a body."""
    headers = [
        # Of the body that is served: it was decoded, and may be masked or edited since. What has no body only tells of one.
        (name, str(len(body)) if body and name.lower() == "content-length" else value)
        for name, value in exchange.headers
    ]
    if exchange.status >= 400:
        # Only the last attempt was kept: an SDK that tries again would find nothing. The OpenAI and Anthropic SDKs heed this
        # header; to any other client it is one header more, and the number of retries is then its own, each served alike.
        headers.append(("x-should-retry", "false"))
    return headers


UNREAD = "the recorded run read no further than this; autochron has nothing more to serve"


def ending(exchange: Exchange, renamed: Mapping[str, str] | None = None) -> BaseException | None:
    """Return what ended a request or the reading of its body when it was recorded, if that was an error.

    `renamed` are libraries in whose place another of the same shape is at work today: an SDK may change its HTTP client.
    """
    if exchange.error is None:
        return None
    error: BaseException = codec.decode(_renamed(exchange.error, renamed) if renamed else exchange.error)
    return error


def _renamed(body: bytes, names: Mapping[str, str]) -> bytes:
    return encode(_in_other_words(decode(body), names))


def _in_other_words(tree: Any, names: Mapping[str, str]) -> Any:
    if isinstance(tree, list):
        return [_in_other_words(each, names) for each in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _other_type(value, names)
        if key[:1] == "$" and isinstance(value, str)
        else _in_other_words(value, names)
        for key, value in tree.items()
    }


def _other_type(name: str, names: Mapping[str, str]) -> str:
    """Return the name of a type, `module:Name`, in the library that is there instead."""
    module, colon, rest = name.partition(":")
    top, dot, inner = module.partition(".")
    return f"{names[top]}{dot}{inner}{colon}{rest}" if colon and top in names else name
