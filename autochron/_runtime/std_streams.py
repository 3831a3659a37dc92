"""Listen to the standard streams without changing what they are.

What is printed is noted on its way into the buffer of `sys.stdout`. `sys.stdin` is made again over a raw file that notes
what is read, with the same descriptor, encoding and buffering. What a program writes past Python (`os.write`, a child
process) is not seen.
"""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any

LIMIT = 4 << 20
"""Bytes of a stream that are kept; of the rest a digest is."""


_NEWLINE = "\n"
"""What Python's own streams have where line ends are not translated."""


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
        self._rest: Any = None
        self._more = 0

    def __call__(self, data: bytes) -> None:
        room = LIMIT - self._size
        if room > 0:
            self._parts.append(data[:room])
            self._size += min(len(data), room)
        if len(data) > room:
            self._let_go(data[max(room, 0) :])

    def _let_go(self, data: bytes) -> None:
        if self._rest is None:
            from _blake2 import blake2b  # lazy: few programs print so much

            self._rest = blake2b(digest_size=16)
        self._rest.update(data)
        self._more += len(data)

    @property
    def is_cut(self) -> bool:
        """Whether some was let go."""
        return bool(self._more)

    @property
    def data(self) -> bytes:
        """All of it, up to the limit."""
        return b"".join(self._parts)

    @property
    def data_and_rest(self) -> bytes:
        """The same, and a line that tells the size and the digest of what was let go."""
        if not self._more:
            return self.data
        return (
            self.data
            + f"\n… and {self._more:,} bytes more, with the digest {self._rest.hexdigest()}\n".encode()
        )


def listen_to_output(kept: Callable[[bytes], None], *, errors: bool = False) -> Callable[[], None]:
    """Note what the program prints, or with `errors` what it writes to standard error; gives the undo.

    Nothing is done where that is not an ordinary stream.
    """
    stream, own = (sys.stderr, sys.__stderr__) if errors else (sys.stdout, sys.__stdout__)
    if type(stream) is not io.TextIOWrapper or own is not stream:
        return _nothing
    buffer: Any = stream.buffer
    original = buffer.write

    # On the buffer, which takes all or raises. Not below it: there a signal's exception after the write would let the
    # buffer write the same again. And not a stream of ours instead: its type, buffering and last flush would show.
    def write(data: Any, /) -> Any:
        count = original(data)
        if count:
            kept(bytes(data) if count == len(data) else bytes(memoryview(data).cast("B")[:count]))
        return count

    vars(buffer)["write"] = write
    return lambda: vars(buffer).pop("write", None)


def listen_to_prints(note: Callable[[str], None], *, any_stream: bool = False) -> Callable[[], None]:
    """Report each text when it is printed, which may be long before it reaches the buffer; gives the undo.

    With `any_stream` also where a test or a block has put another text stream in the place of the process's own.
    """
    stream: Any = sys.stdout
    if any_stream:
        is_text = type(stream) is io.TextIOWrapper or isinstance(stream, io.TextIOBase)
        if not is_text or type(getattr(stream, "__dict__", None)) is not dict:
            return _nothing
    elif type(stream) is not io.TextIOWrapper or sys.__stdout__ is not stream:
        return _nothing
    if "write" in vars(stream):
        return _nothing
    original = stream.write

    def write(text: str, /) -> int:
        count: int = original(text)
        note(text)
        return count

    vars(stream)["write"] = write
    return lambda: vars(stream).pop("write", None)


def listen_to_prints_anywhere(note: Callable[[str], None]) -> Callable[[], None]:
    """Do so also where another stream stands in the place of the process's own."""
    return listen_to_prints(note, any_stream=True)


Taken = Callable[[str, int], None]
"""Told how much the program takes from standard input: `text` and characters, or `bytes` and bytes."""


def listen_to_stdin(kept: Kept, taken: Taken) -> Callable[[], None]:
    """Note what is read from standard input, and how much of it is taken; gives the undo.

    Nothing is done where `sys.stdin` is not an ordinary stream. How much a loop over its lines takes is not seen.
    """
    stream = sys.stdin
    if type(stream) is not io.TextIOWrapper or sys.__stdin__ is not stream:
        return _nothing
    try:
        raw = _raw(stream.fileno(), stream, kept)
        made = _again(stream, raw)
    except (OSError, ValueError):
        return _nothing
    sys.stdin = sys.__stdin__ = made  # type: ignore[misc]
    _replaced.append(stream)
    undo_taking = _listen_to_taking(made, taken)

    def undo() -> None:
        undo_taking()
        for method in ("readinto", "readall"):
            vars(raw).pop(method, None)

    return undo


_TAKING = ("read", "readline", "readlines")


def _listen_to_taking(stream: io.TextIOWrapper, taken: Taken) -> Callable[[], None]:
    """Return how much is read by the methods of a stream, and by those of its buffer that it does not call itself."""
    is_inside = [False]

    def listening(owner: Any, name: str, kind: str) -> Callable[..., Any]:
        original = getattr(owner, name)

        def read(*args: Any) -> Any:
            if is_inside[0]:
                return original(*args)
            is_inside[0] = True
            try:
                data = original(*args)
            finally:
                is_inside[0] = False
            count = sum(map(len, data)) if isinstance(data, list) else len(data or "")
            if count:
                taken(kind, count)
            return data

        read.__name__ = read.__qualname__ = name
        return read

    both: list[tuple[Any, str]] = [(stream, "text"), (stream.buffer, "bytes")]
    for owner, kind in both:
        vars(owner).update({name: listening(owner, name, kind) for name in _TAKING})

    def undo() -> None:
        for owner, _ in both:
            for name in _TAKING:
                vars(owner).pop(name, None)

    return undo


_replaced: list[Any] = []
"""The stream as it was: it lives on, since others may hold it."""


def _nothing() -> None:
    return None


def _raw(descriptor: int, stream: Any, kept: Kept) -> io.FileIO:
    # Not a subclass of FileIO: its type would show.
    raw = io.FileIO(descriptor, "rb", closefd=False)
    vars(raw).update(readinto=_noting_readinto(raw, kept), readall=_noting_readall(raw, kept))
    raw.name = stream.name
    return raw


def _again(stream: Any, raw: io.FileIO) -> io.TextIOWrapper:
    size = getattr(
        raw, "_blksize", io.DEFAULT_BUFFER_SIZE
    )  # as Python has it: how far it reads ahead can be seen
    buffer: Any = raw if isinstance(stream.buffer, io.RawIOBase) else io.BufferedReader(raw, size)
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


def listen_to_input(kept_in: Kept, kept_out: Kept, taken: Taken) -> Callable[[], None]:
    """Note what `input()` gets at a terminal: there it reads and prompts past `sys.stdin` and `sys.stdout`."""
    original = builtins.input
    if sys.stdin is None or not _is_terminal():
        return _nothing

    def noting(prompt: object = "", /) -> str:
        line = original(prompt)
        kept_out(str(prompt).encode())
        kept_in(f"{line}\n".encode())
        taken("text", len(line) + 1)
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
