"""Listen to the standard streams without changing what they are.

A stream is made again over a raw file that notes what passes, with the same descriptor, encoding, buffering and mode:
`isatty`, `fileno` and `.buffer` are as they were. What a program writes past Python (`os.write`, a child process) is not
seen.
"""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any

LIMIT = 4 << 20
"""Bytes of a stream that are kept; the rest is let go."""


_NEWLINE = "\n"
"""What Python's own streams have where line ends are not translated."""


def _noting_write(raw: io.FileIO, note: Callable[[bytes], None]) -> Callable[[Any], int]:
    original = raw.write

    def write(data: Any, /) -> int:
        count = original(data)
        if count:
            note(bytes(memoryview(data).cast("B")[:count]))
        return count

    return write


def _noting_readinto(raw: io.FileIO, note: Callable[[bytes], None]) -> Callable[[Any], int | None]:
    original: Any = raw.readinto

    def readinto(buffer: Any, /) -> int | None:
        count: int | None = original(buffer)
        if count:
            note(bytes(memoryview(buffer).cast("B")[:count]))
        return count

    return readinto


def _noting_readall(raw: io.FileIO, note: Callable[[bytes], None]) -> Callable[[], bytes]:
    original = raw.readall

    def readall() -> bytes:
        data = original()
        if data:
            note(data)
        return data

    return readall


class Kept:
    """What passed through a stream."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def __call__(self, data: bytes) -> None:
        room = LIMIT - self._size
        if room > 0:
            self._parts.append(data[:room])
            self._size += min(len(data), room)

    @property
    def data(self) -> bytes:
        """All of it, up to the limit."""
        return b"".join(self._parts)


def listen(name: str, kept: Kept) -> Callable[[], None]:
    """Listen to `stdout` or `stdin`; gives what ends that. Nothing is done where the stream is not an ordinary one.

    The new stream stays: what the program printed may still wait in it, and it is Python that flushes it at the end, or
    says that it can't.
    """
    stream = getattr(sys, name)
    if type(stream) is not io.TextIOWrapper or getattr(sys, f"__{name}__") is not stream:
        return _nothing
    try:
        descriptor = stream.fileno()
        writing = name == "stdout"
        if writing:
            stream.flush()
        raw = _raw(descriptor, stream, kept, writing=writing)
        made = _again(stream, raw, writing=writing)
    except (OSError, ValueError):
        return _nothing
    setattr(sys, name, made)
    setattr(sys, f"__{name}__", made)
    _replaced.append(stream)

    def undo() -> None:
        for method in ("write", "readinto", "readall"):
            vars(raw).pop(method, None)

    return undo


_replaced: list[Any] = []
"""The streams as they were: they live on, since others may hold them."""


def _nothing() -> None:
    return None


def _raw(descriptor: int, stream: Any, kept: Kept, *, writing: bool) -> io.FileIO:
    # Not a subclass of FileIO: its type would show, and its frames in what Python says of a broken pipe at the end.
    raw = io.FileIO(descriptor, "wb" if writing else "rb", closefd=False)
    makers = (_noting_write,) if writing else (_noting_readinto, _noting_readall)
    vars(raw).update({make.__name__.removeprefix("_noting_"): make(raw, kept) for make in makers})
    raw.name = stream.name
    return raw


def _again(stream: Any, raw: io.FileIO, *, writing: bool) -> io.TextIOWrapper:
    unbuffered = isinstance(stream.buffer, io.RawIOBase)
    size = getattr(
        raw, "_blksize", io.DEFAULT_BUFFER_SIZE
    )  # as Python has it: what waits in a buffer can be seen
    buffered: Any = io.BufferedWriter if writing else io.BufferedReader
    buffer: Any = raw if unbuffered else buffered(raw, size)
    made = io.TextIOWrapper(
        buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        newline=_NEWLINE,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    made.mode = stream.mode  # type: ignore[misc]
    return made


def serve_stdin(data: bytes) -> Callable[[], None]:
    """Let the program read this as its standard input; gives the undo."""
    stream = sys.stdin
    encoding, errors = ("utf-8", "strict") if stream is None else (stream.encoding, stream.errors)
    made = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors=errors, newline=_NEWLINE)
    made.mode = "r"  # type: ignore[misc]
    sys.stdin = made

    def undo() -> None:
        if sys.stdin is made:
            sys.stdin = stream

    return undo


def listen_to_input(kept_in: Kept, kept_out: Kept) -> Callable[[], None]:
    """Note what `input()` gets at a terminal: there it reads and prompts past `sys.stdin` and `sys.stdout`."""
    original = builtins.input
    if sys.stdin is None or not _is_terminal():
        return _nothing

    def noting(prompt: object = "", /) -> str:
        line = original(prompt)
        kept_out(str(prompt).encode())
        kept_in(f"{line}\n".encode())
        return line

    noting.__name__ = noting.__qualname__ = "input"
    builtins.input = noting

    def undo() -> None:
        if builtins.input is noting:
            builtins.input = original

    return undo


def _is_terminal() -> bool:
    try:
        return sys.stdin.isatty() and sys.stdout.isatty()
    except (ValueError, AttributeError):
        return False
