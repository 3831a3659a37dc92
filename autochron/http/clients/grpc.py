"""The door of gRPC: sync and asyncio clients, with one answer or a stream of answers.

A call is noted as what it is on the wire: a POST to the path of its method. The request's body is the message as JSON, and
the response's are the messages in gRPC's frames. The headers hold the metadata at the beginning, then `grpc-status` and
`grpc-message`, then the metadata at the end. So an error of the server is a response with another status.

Not seen is what `future` starts and what streams in both directions. An asyncio call's metadata is kept only with an error.
"""

# ruff: noqa: SLF001 - the state of a call, which is missing here, would be made by private code of grpc

from __future__ import annotations

import binascii
import sys
from collections.abc import AsyncIterator, Callable, Generator
from functools import cache
from typing import Any

from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.envelope import bodies, protobuf, shapes
from autochron.envelope.grpc_frames import read_frames, write_frames
from autochron.errors import CodecError
from autochron.http.exchange import UNREAD, AwaitedLater, Ended, Wire, ending
from autochron.model import Exchange

_OK = 200
_STATUS, _MESSAGE, _TYPE = "grpc-status", "grpc-message", "content-type"
_DEBUG = "grpc-debug"
_CANCELLED = 1
_LISTENS = "_autochron_wire"
"""The attribute of a call under way that holds its exchange."""


class Grpc:
    """The door at the functions of a method's callable, beneath the interceptors of a sync channel.

    - `_blocking` returns (state, call) of a complete call, from which the caller makes the answer or the error;
    - `__call__` for a stream returns a call that is an iterator;
    - both `__call__` of asyncio return a call: one to be awaited, one that is an asynchronous iterator.
    """

    names = frozenset(
        {
            "_UnaryUnaryMultiCallable._blocking",
            "_StreamUnaryMultiCallable._blocking",
            "_UnaryStreamMultiCallable.__call__",
            "_SingleThreadedUnaryStreamMultiCallable.__call__",
            "UnaryUnaryMultiCallable.__call__",
            "UnaryStreamMultiCallable.__call__",
        }
    )

    def method_and_url(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[str, str]:
        """Return `POST` and the URL of a method: `grpc://host:port/package.Service/Method`."""
        callable_ = arguments[0]
        target = getattr(callable_._channel, "target", b"")  # a method of a sync channel
        host = _text(target() if callable(target) else target).rpartition("/")[2]
        return "POST", f"grpc://{host}{_text(callable_._method)}"

    def sent(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Wire:
        """Begin the record of a call. A stream of requests is not read."""
        request = arguments[1]
        if shapes.is_message(type(request)):
            content = protobuf.to_json(request)
        else:
            content = request if isinstance(request, bytes) else b""
        return Wire(self, *self.method_and_url(parameters, arguments), content)

    def left_alone(self, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        """Raise the audit event of a connection, which gRPC makes in C without one."""
        host, _, port = self.method_and_url(parameters, arguments)[1].split("/")[2].rpartition(":")
        sys.audit("socket.connect", None, (host, int(port) if port.isdecimal() else 0))

    def attend(self, wire: Wire, response: Any, ended: Ended) -> None:
        """Note the answer of a complete call; of any other, note it as it is read."""
        wire.status = _OK
        if isinstance(response, tuple):
            state = response[0]
            _note_metadata(wire, state.initial_metadata)
            if state.response is not None:
                _note(wire, state.response)
            _note_status(wire, state.code, state.details, state.debug_error_string, state.trailing_metadata)
            wire.end(ended, complete=True)
            return
        if isinstance(response, bytes) or shapes.is_message(type(response)):  # it was awaited already
            _note_answer(wire, ended, response)
            return
        setattr(response, _LISTENS, (wire, ended))
        kind: Any = type(response)
        response.__class__ = _listener(kind)

    def decoded(self, wire: Wire) -> bytes:
        """Return the frames of the messages so far."""
        return wire.body()

    def rebuilt(self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the call, or the state of one, for a recorded exchange."""
        callable_ = arguments[0]
        kind = type(callable_)
        answer = _RecordedAnswer(exchange, callable_._response_deserializer)
        if kind.__module__ == "grpc.aio._channel":
            return _served_async(kind.__name__)(answer)
        state = answer.state()
        if "UnaryStream" not in kind.__name__:
            state.response = next(iter(answer.messages()), None)
            return state, None
        return _served_stream()(answer, state)

    def ended(
        self, exchange: Exchange, parameters: tuple[str, ...], arguments: tuple[Any, ...]
    ) -> BaseException | None:
        """Return the exception of a call that was never sent; None if there was none."""
        return ending(exchange)


DOOR = Grpc()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


# --- recording -----------------------------------------------------------------------------------------------------


def _note(wire: Wire, message: Any) -> None:
    """Note one message of an answer."""
    if shapes.is_message(type(message)):
        content, kind = protobuf.to_bytes(message), f"{bodies.MESSAGES}; message={protobuf.name_of(message)}"
    elif isinstance(message, bytes):
        content, kind = message, "application/grpc"
    else:
        raise CodecError(f"an answer of gRPC is no message but a {type(message).__name__}")
    if not wire.chunks:
        wire.headers.insert(0, (_TYPE, kind))
    wire.chunks.append(write_frames([content]))


def _note_metadata(wire: Wire, metadata: Any) -> None:
    for key, value in metadata or ():
        text = binascii.b2a_base64(value, newline=False).decode() if isinstance(value, bytes) else value
        wire.headers.append((str(key), str(text)))


def _note_status(wire: Wire, code: Any, details: Any, debug: Any, metadata: Any) -> None:
    wire.headers += [(_STATUS, str(code.value[0])), (_MESSAGE, _text(details))]
    if debug:  # a text of the client's own, which the text of an error holds
        wire.headers.append((_DEBUG, _text(debug)))
    _note_metadata(wire, metadata)


def _note_answer(wire: Wire, ended: Ended, message: Any) -> None:
    """Note the one answer of an asyncio call."""
    _note(wire, message)
    _note_success(wire, ended)


def _note_success(wire: Wire, ended: Ended) -> None:
    wire.headers += [(_STATUS, "0"), (_MESSAGE, "")]
    wire.end(ended, complete=True)


def _note_error(wire: Wire, ended: Ended, error: Any) -> None:
    """Note the error with which a call ended that was read or awaited."""
    if wire.closed:
        return
    rpc_error = sys.modules["grpc"].RpcError
    if isinstance(error, rpc_error):
        _note_metadata(wire, error.initial_metadata())
        debug = error.debug_error_string()
        _note_status(wire, error.code(), error.details(), debug, error.trailing_metadata())
        wire.end(ended, complete=True)
        return
    if isinstance(error, Exception):
        wire.error = error
    wire.end(ended, complete=False)


@cache
def _listener(kind: Any) -> Any:
    """Return a class of calls that note what is read of them; it has the layout of `kind`."""
    methods = {
        "_next": _next_noted,
        "__await__": _await_noted,
        "__aiter__": _aiter_noted,
        "read": _read_noted,
    }
    own = {name: make(getattr(kind, name)) for name, make in methods.items() if hasattr(kind, name)}
    return type(
        kind.__name__, (kind,), {**own, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    )


def _next_noted(read: Callable[[Any], Any]) -> Any:
    def noted(self: Any) -> Any:
        wire, ended = getattr(self, _LISTENS)
        try:
            message = read(self)
        except StopIteration as stop:
            drop_frame(stop)
            if not wire.closed:
                _note_status(wire, self.code(), self.details(), "", self.trailing_metadata())
                wire.end(ended, complete=True)
            raise
        except BaseException as error:
            drop_frame(error)
            _note_error(wire, ended, error)
            raise
        _note(wire, message)
        return message

    return noted


def _await_noted(wait: Callable[[Any], Any]) -> Any:
    def noted(self: Any) -> Generator[Any, Any, Any]:
        wire, ended = getattr(self, _LISTENS)
        try:
            message = yield from wait(self)
        except BaseException as error:
            drop_frame(error)
            _note_error(wire, ended, error)
            raise
        if not wire.closed:
            _note_answer(wire, ended, message)
        return message

    return noted


def _aiter_noted(iterate: Callable[[Any], Any]) -> Any:
    def noted(self: Any) -> Any:
        return _NotedMessages(iterate(self), *getattr(self, _LISTENS))

    return noted


def _read_noted(read: Callable[[Any], Any]) -> Any:
    async def noted(self: Any) -> Any:
        wire, ended = getattr(self, _LISTENS)
        try:
            message = await read(self)
        except BaseException as error:
            drop_frame(error)
            _note_error(wire, ended, error)
            raise
        if message is not sys.modules["grpc"].aio.EOF:
            _note(wire, message)
        elif not wire.closed:
            _note_success(wire, ended)
        return message

    return noted


class _NotedMessages:
    """The asynchronous iterator of a call. It notes what is read."""

    def __init__(self, messages: Any, wire: Wire, ended: Ended) -> None:
        self._messages = messages
        self._wire = wire
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._messages, name)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        wire = self._wire
        try:
            message = await self._messages.__anext__()
        except StopAsyncIteration as stop:
            drop_frame(stop)
            if not wire.closed:
                _note_success(wire, self._ended)
            raise
        except BaseException as error:
            drop_frame(error)
            _note_error(wire, self._ended, error)
            raise
        _note(wire, message)
        return message


# --- serving -------------------------------------------------------------------------------------------------------


class _RecordedAnswer:
    """The answer of a recorded exchange.

    Attributes:
        exchange: the exchange.
        status: the number of its status; None where the call was not read to its end.
        details: the message of its status.
        debug: the client's own text about an error.
        initial, trailing: its metadata.
    """

    def __init__(self, exchange: Exchange, deserialize: Callable[[bytes], Any] | None) -> None:
        self.exchange = exchange
        self._deserialize = deserialize
        names = [name for name, _ in exchange.headers]
        place = names.index(_STATUS) if _STATUS in names else len(names)
        self.status = int(exchange.headers[place][1]) if place < len(names) else None
        self.details = exchange.headers[place + 1][1] if self.status is not None else ""
        self.initial = _metadata(exchange.headers[names[:1] == [_TYPE] : place])
        rest = exchange.headers[place + 2 :]
        self.debug = rest[0][1] if rest[:1] and rest[0][0] == _DEBUG else ""
        self.trailing = _metadata(rest[1:] if self.debug else rest)

    def messages(self) -> list[Any]:
        """Return the messages, made anew."""
        contents = read_frames(bodies.restore_body(self.exchange.body))
        return contents if self._deserialize is None else [self._deserialize(content) for content in contents]

    def code(self) -> Any:
        """Return the status as grpc has it; CANCELLED where the call was not read to its end."""
        number = _CANCELLED if self.status is None else self.status
        return next(code for code in sys.modules["grpc"].StatusCode if code.value[0] == number)

    def state(self) -> Any:
        """Return the state of a complete call of a sync client."""
        state = sys.modules["grpc._channel"]._RPCState(
            (), self.initial, self.trailing, self.code(), self.details
        )
        state.debug_error_string = self.debug
        return state

    def error(self) -> BaseException | None:
        """Return the error of an asyncio client; None if the call succeeded, or was not read to its end."""
        recorded = ending(self.exchange)
        if recorded is not None or self.status in (0, None):
            return recorded
        aio = sys.modules["grpc"].aio
        metadata = [aio.Metadata(*pairs) for pairs in (self.initial, self.trailing)]
        error: BaseException = aio.AioRpcError(self.code(), *metadata, self.details, self.debug)
        return error

    def unread(self) -> BaseException | None:
        """Return the error for reading further than the recorded run; None if it read to the end."""
        return CodecError(UNREAD) if self.status is None and self.exchange.error is None else None


def _metadata(headers: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, binascii.a2b_base64(value) if name.endswith("-bin") else value) for name, value in headers
    )


@cache
def _served_stream() -> Any:
    """Return a class of iterators over the answers of a recorded call."""
    base: Any = sys.modules["grpc._channel"]._MultiThreadedRendezvous

    class Served(base):  # type: ignore[misc]
        def __init__(self, answer: _RecordedAnswer, state: Any) -> None:
            super().__init__(state, None, None, None)
            self._answer = answer
            self._messages = iter(answer.messages())

        def _next(self) -> Any:
            for message in self._messages:
                return message
            error = ending(self._answer.exchange) or self._answer.unread()
            if error is None and self._answer.status == 0:
                raise StopIteration
            error = error or self
            with unchanged(error):
                raise error

    Served.__module__, Served.__name__, Served.__qualname__ = (
        base.__module__,
        base.__name__,
        base.__qualname__,
    )
    return Served


class _ServedCall(AwaitedLater):
    """The part of a recorded asyncio call that all kinds share."""

    def __init__(self, answer: _RecordedAnswer) -> None:
        self._answer = answer
        self._messages = iter(answer.messages())
        self._is_done = False

    async def _reached(self) -> None:
        """Wait until this call may be answered."""
        turn, self.turn = self.turn, None
        if turn is not None:
            await turn()

    def _end(self) -> None:
        """Raise the recorded error, if there is one."""
        self._is_done = True
        error = self._answer.error() or self._answer.unread()
        if error is not None:
            with unchanged(error):
                raise error

    async def initial_metadata(self) -> Any:
        """Return the metadata at the beginning."""
        return sys.modules["grpc"].aio.Metadata(*self._answer.initial)

    async def trailing_metadata(self) -> Any:
        """Return the metadata at the end."""
        return sys.modules["grpc"].aio.Metadata(*self._answer.trailing)

    async def code(self) -> Any:
        """Return the status."""
        return self._answer.code()

    async def details(self) -> str:
        """Return the message of the status."""
        return self._answer.details

    async def debug_error_string(self) -> str:
        """Return the text of the client's own about an error."""
        return self._answer.debug

    async def wait_for_connection(self) -> None:
        """Do nothing, because there is no connection."""

    def time_remaining(self) -> None:
        """Return None: the call has no deadline."""

    def cancelled(self) -> bool:
        """Return False: a call that was cancelled is served up to there."""
        return False

    def done(self) -> bool:
        """Return whether the call was read to its end."""
        return self._is_done

    def cancel(self) -> bool:
        """End the call; return whether it was open."""
        was_open, self._is_done = not self._is_done, True
        return was_open

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Call `callback` soon: the answer is there already."""
        sys.modules["asyncio"].get_running_loop().call_soon(callback, self)


class _UnaryCall(_ServedCall):
    def __await__(self) -> Generator[Any, Any, Any]:
        return self._message().__await__()

    async def _message(self) -> Any:
        await self._reached()
        for message in self._answer.messages():
            self._is_done = True
            return message
        self._end()
        raise CodecError("a recorded call of gRPC has neither an answer nor an error; was the trace edited?")


class _StreamCall(_ServedCall):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await self._reached()
        for message in self._messages:
            return message
        self._end()
        raise StopAsyncIteration

    async def read(self) -> Any:
        """Return the next message, or `EOF` at the end."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            return sys.modules["grpc"].aio.EOF


@cache
def _served_async(kind: str) -> Any:
    """Return a class of recorded asyncio calls; `kind` is the name of the class of their callable."""
    aio = sys.modules["grpc"].aio
    if "UnaryStream" in kind:
        return type("UnaryStreamCall", (_StreamCall, aio.UnaryStreamCall), {})
    return type("UnaryUnaryCall", (_UnaryCall, aio.UnaryUnaryCall), {})
