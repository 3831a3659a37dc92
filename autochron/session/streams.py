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


class _Listening(io.FileIO):
    """A raw file that notes what is written to it or read from it."""

    note: Callable[[bytes], None]

    def write(self, data: Any) -> int:
        count = super().write(data)
        if count:
            self.note(bytes(memoryview(data).cast("B")[:count]))
        return count

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        if count:
            self.note(bytes(memoryview(buffer).cast("B")[:count]))
        return count

    def readall(self) -> bytes:
        data = super().readall()
        if data:
            self.note(data)
        return data


class Kept:
    """What passed through a stream."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.cut = False

    def __call__(self, data: bytes) -> None:
        if self._size + len(data) > LIMIT:
            self.cut = True
            return
        self._size += len(data)
        self._parts.append(data)

    @property
    def data(self) -> bytes:
        """All of it, up to the limit."""
        return b"".join(self._parts)


def listen(name: str, kept: Kept) -> Callable[[], None]:
    """Listen to `stdout` or `stdin`; gives the undo. Nothing is done where the stream is not an ordinary one."""
    stream = getattr(sys, name)
    if type(stream) is not io.TextIOWrapper or getattr(sys, f"__{name}__") is not stream:
        return _nothing
    try:
        descriptor = stream.fileno()
        writing = name == "stdout"
        if writing:
            stream.flush()
        made = _again(stream, _raw(descriptor, "wb" if writing else "rb", stream, kept), writing=writing)
    except (OSError, ValueError):
        return _nothing
    setattr(sys, name, made)
    setattr(sys, f"__{name}__", made)

    def undo() -> None:
        if getattr(sys, name) is made:
            if name == "stdout":
                made.flush()
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

    return undo


def _nothing() -> None:
    return None


def _raw(descriptor: int, mode: str, stream: Any, kept: Kept) -> _Listening:
    raw = _Listening(descriptor, mode, closefd=False)
    raw.note = kept
    raw.name = stream.name
    return raw


def _again(stream: Any, raw: _Listening, *, writing: bool) -> io.TextIOWrapper:
    unbuffered = isinstance(stream.buffer, io.RawIOBase)
    buffer: Any = raw if unbuffered else (io.BufferedWriter(raw) if writing else io.BufferedReader(raw))
    made = io.TextIOWrapper(
        buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n" if writing else None,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    made.mode = stream.mode  # type: ignore[misc]
    return made


def serve_stdin(data: bytes) -> Callable[[], None]:
    """Let the program read this as its standard input; gives the undo."""
    stream = sys.stdin
    made = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
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
