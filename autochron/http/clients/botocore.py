"""The door of botocore, which uses urllib3: complete responses, byte streams and event streams."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.envelope import bodies
from autochron.http.exchange import UNREAD, Ended, Wire, ending, headers_for
from autochron.model import Exchange


class Botocore:
    """The door at `URLLib3Session.send`, which takes an `AWSPreparedRequest` and returns an `AWSResponse`.

    The function reads the response's body unless the request asks for a stream.
    """

    names = frozenset({"URLLib3Session.send"})

    def method_and_url(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return method and URL of a request."""
        request = arguments[parameters.index("request")]
        return request.method, str(request.url)

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a request. A file in its body is not read."""
        body = arguments[parameters.index("request")].body
        content = body.encode() if isinstance(body, str) else body
        return Wire(
            self,
            *self.method_and_url(parameters, arguments),
            bytes(content) if isinstance(content, bytes | bytearray) else b"",
        )

    def left_alone(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        """Do nothing: Python's sockets raise the audit event."""

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note a response; if its body is still to be read, note the reading."""
        wire.status = response.status_code
        wire.headers = [(str(name), str(value)) for name, value in response.headers.items()]
        content = response._content  # noqa: SLF001 - the public property would read it
        if content is not None:
            wire.chunks.append(content)
            wire.end(ended, complete=True)
            return
        response.raw = _Listener(response.raw, wire, ended)

    def decoded(self, wire: Wire) -> bytes:
        """Return the response's body as far as it was read. botocore does not decode bodies."""
        return wire.body()

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the client's response for a recorded exchange."""
        request = arguments[parameters.index("request")]
        body = bodies.restore_body(exchange.body)
        response_type = sys.modules["botocore.awsrequest"].AWSResponse
        response = response_type(
            request.url, exchange.status, dict(headers_for(exchange, body)), _BotocoreBody(body, exchange)
        )
        if not request.stream_output:
            response.content  # noqa: B018 - the property reads the body
        return response

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the client's exception for a recorded exchange that failed; None if it did not."""
        return ending(exchange)


DOOR = Botocore()


class _Listener:
    """Wraps urllib3's response and notes what is read of it."""

    def __init__(self, raw: Any, wire: Wire, ended: Ended) -> None:
        self._raw = raw
        self._wire = wire
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def __iter__(self) -> Iterator[bytes]:
        return self.stream()

    def read(self, amt: int | None = None, *arguments: Any, **options: Any) -> bytes:
        """Read up to `amt` bytes, or all bytes without it."""
        try:
            chunk: bytes = self._raw.read(amt, *arguments, **options)
        except BaseException as error:
            drop_frame(error)
            self._failed(error)
            raise
        self._note(chunk, at_end=amt is None or (not chunk and amt > 0))
        return chunk

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer."""
        try:
            count: int = self._raw.readinto(buffer)
        except BaseException as error:
            drop_frame(error)
            self._failed(error)
            raise
        self._note(bytes(memoryview(buffer)[:count]), at_end=not count and len(buffer) > 0)
        return count

    def stream(self, *arguments: Any, **options: Any) -> Iterator[bytes]:
        """Yield the chunks as they arrive."""
        try:
            for chunk in self._raw.stream(*arguments, **options):
                self._wire.chunks.append(chunk)
                yield chunk
        except BaseException as error:
            drop_frame(error)
            self._failed(error)
            raise
        self._wire.end(self._ended, complete=True)

    def close(self) -> None:
        """Close the response; the rest of the body is not read."""
        try:
            self._raw.close()
        except BaseException as error:
            drop_frame(error)
            raise
        self._wire.end(self._ended, complete=False)

    def _note(self, chunk: bytes, *, at_end: bool) -> None:
        self._wire.chunks.append(chunk)
        # A reader that knows the length does not read once more to see the end.
        if at_end or getattr(self._raw, "length_remaining", None) == 0:
            self._wire.end(self._ended, complete=True)

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            return
        if not self._wire.closed:
            self._wire.error = error
        self._wire.end(self._ended, complete=False)


class _BotocoreBody(io.BytesIO):
    """A recorded body with the part of the interface of urllib3's response that botocore uses."""

    def __init__(self, body: bytes, exchange: Exchange) -> None:
        super().__init__(body)
        self._length = len(body)
        self._exchange = exchange

    def read(self, amt: int | None = None, *_options: Any, **_more: Any) -> bytes:
        """Read up to `amt` bytes, or all bytes without it."""
        chunk = super().read(amt)
        error = None if chunk or amt == 0 else self._error_at_end()
        if error is not None:
            with unchanged(error):
                raise error
        return chunk

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer."""
        count = super().readinto(buffer)
        error = None if count or not len(buffer) else self._error_at_end()
        if error is not None:
            with unchanged(error):
                raise error
        return count

    def stream(self, amt: int = 65536, *_options: Any, **_more: Any) -> Iterator[bytes]:
        """Yield the body in chunks."""
        while chunk := super().read(amt):
            yield chunk
        error = self._error_at_end()
        if error is not None:
            with unchanged(error):
                raise error

    def release_conn(self) -> None:
        """Do nothing, because there is no connection."""

    @property
    def length_remaining(self) -> int:
        """How many bytes are left to read."""
        return self._length - self.tell()

    def _error_at_end(self) -> BaseException | None:
        """Return the error that the reading of the recorded body ended with; None if it ended regularly."""
        error = ending(self._exchange)
        if error is not None or self._exchange.complete:
            return error
        unread: BaseException = sys.modules["botocore.exceptions"].ResponseStreamingError(error=UNREAD)
        return unread
