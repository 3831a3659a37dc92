"""Capture the standard streams without changing their types.

Output is captured when it is written to the buffer of `sys.stdout`. `sys.stdin` is replaced by a stream with the same
descriptor, encoding and buffering, over a raw file that reports what is read. What a program writes past Python's streams
(`os.write`, a child process) is not captured.
"""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any

from autochron._runtime.own_frames import drop_frame

LIMIT = 4 << 20
"""Bytes of a stream that are kept; of the rest only a digest is."""


_NEWLINE = "\n"
"""The `newline` of Python's own standard streams, which do not translate line ends."""


def _noting_readinto(raw: io.FileIO, note: Callable[[bytes], None]) -> Callable[[Any], int | None]:
    original: Any = raw.readinto

    def readinto(buffer: Any, /) -> int | None:
        try:
            count: int | None = original(buffer)
        except BaseException as error:
            drop_frame(error)
            raise
        if count:
            note(bytes(memoryview(buffer).cast("B")[:count]))
        return count

    return readinto


def _noting_readall(raw: io.FileIO, note: Callable[[bytes], None]) -> Callable[[], bytes]:
    original = raw.readall

    def readall() -> bytes:
        try:
            data = original()
        except BaseException as error:
            drop_frame(error)
            raise
        if data:
            note(data)
        return data

    return readall


class CapturedBytes:
    """The bytes that passed through a stream, up to `LIMIT`, and a digest of the rest. Called with each piece."""

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
            self._digest_rest(data[max(room, 0) :])

    def _digest_rest(self, data: bytes) -> None:
        if self._rest is None:
            from _blake2 import blake2b  # lazy: few programs print so much

            self._rest = blake2b(digest_size=16)
        self._rest.update(data)
        self._more += len(data)

    @property
    def is_cut(self) -> bool:
        """Whether there was more than the limit."""
        return bool(self._more)

    @property
    def data(self) -> bytes:
        """The bytes up to the limit."""
        return b"".join(self._parts)

    @property
    def data_and_rest(self) -> bytes:
        """The bytes up to the limit, and a line with the size and the digest of the rest if there is one."""
        if not self._more:
            return self.data
        return (
            self.data
            + f"\n… and {self._more:,} bytes more, with the digest {self._rest.hexdigest()}\n".encode()
        )


def listen_to_output(note: Callable[[bytes], None], *, errors: bool = False) -> Callable[[], None]:
    """Report what the program writes to standard output. Do nothing if that is not an ordinary stream.

    Args:
        note: called with each piece that was written.
        errors: whether it is standard error that is listened to.

    Returns:
        A function that undoes this.
    """
    stream, original_stream = (sys.stderr, sys.__stderr__) if errors else (sys.stdout, sys.__stdout__)
    if type(stream) is not io.TextIOWrapper or original_stream is not stream:
        return _nothing
    buffer: Any = stream.buffer
    original = buffer.write

    # The method of the buffer, which takes all of the data or raises. Not that of the raw file: if a signal handler raises
    # after its write, the buffer would write the same data again. And not a stream of our own class: the program could see
    # its type, its buffering and its last flush.
    def write(data: Any, /) -> Any:
        try:
            count = original(data)
        except BaseException as error:
            drop_frame(error)
            raise
        if count:
            note(bytes(data) if count == len(data) else bytes(memoryview(data).cast("B")[:count]))
        return count

    vars(buffer)["write"] = write
    return lambda: vars(buffer).pop("write", None)


def listen_to_prints(note: Callable[[str], None], *, any_stream: bool = False) -> Callable[[], None]:
    """Report each text when it is printed, which may be long before it reaches the buffer.

    Args:
        note: called with each text.
        any_stream: whether to listen also to a text stream with which a test or a block has replaced `sys.stdout`.

    Returns:
        A function that undoes this.
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
        try:
            count: int = original(text)
        except BaseException as error:
            drop_frame(error)
            raise
        note(text)
        return count

    vars(stream)["write"] = write
    return lambda: vars(stream).pop("write", None)


def listen_to_prints_anywhere(note: Callable[[str], None]) -> Callable[[], None]:
    """Report each text when it is printed, also to a stream that has replaced `sys.stdout`; return the undo."""
    return listen_to_prints(note, any_stream=True)


ReadListener = Callable[[str, int], None]
"""Called with how much the program reads from standard input: (`text`, characters) or (`bytes`, bytes)."""


def listen_to_stdin(note: CapturedBytes, taken: ReadListener) -> Callable[[], None]:
    """Capture what is read from standard input. Do nothing if `sys.stdin` is not an ordinary stream.

    Args:
        note: gets the bytes that are read from the descriptor, which may be more than the program asked for.
        taken: called with how much the program asked for. A loop over the lines is not reported.

    Returns:
        A function that undoes this.
    """
    stream = sys.stdin
    if type(stream) is not io.TextIOWrapper or sys.__stdin__ is not stream:
        return _nothing
    try:
        raw = _raw(stream.fileno(), stream, note)
        replacement = _rebuild(stream, raw)
    except (OSError, ValueError):
        return _nothing
    sys.stdin = sys.__stdin__ = replacement  # type: ignore[misc]
    _replaced.append(stream)
    undo_taking = _listen_to_taking(replacement, taken)

    def undo() -> None:
        undo_taking()
        for method in ("readinto", "readall"):
            vars(raw).pop(method, None)

    return undo


_TAKING = ("read", "readline", "readlines")


def _listen_to_taking(stream: io.TextIOWrapper, taken: ReadListener) -> Callable[[], None]:
    """Report how much a stream's methods return, and its buffer's methods if not called by the stream; return the undo."""
    is_inside = [False]

    def listening(owner: Any, name: str, kind: str) -> Callable[..., Any]:
        original = getattr(owner, name)

        def read(*args: Any) -> Any:
            is_outermost = not is_inside[0]
            is_inside[0] = True
            try:
                data = original(*args)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                is_inside[0] = not is_outermost
            if not is_outermost:
                return data
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
"""The original `sys.stdin`, which is kept alive because the program may refer to it."""


def _nothing() -> None:
    return None


def _raw(descriptor: int, stream: Any, note: CapturedBytes) -> io.FileIO:
    # Not a subclass of FileIO: the program could see its type.
    raw = io.FileIO(descriptor, "rb", closefd=False)
    vars(raw).update(readinto=_noting_readinto(raw, note), readall=_noting_readall(raw, note))
    raw.name = stream.name
    return raw


def _rebuild(stream: Any, raw: io.FileIO) -> io.TextIOWrapper:
    # The buffer size that Python uses: the program can see how far a stream reads ahead.
    size = getattr(raw, "_blksize", io.DEFAULT_BUFFER_SIZE)
    buffer: Any = raw if isinstance(stream.buffer, io.RawIOBase) else io.BufferedReader(raw, size)
    replacement = io.TextIOWrapper(
        buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        newline=_NEWLINE,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    replacement.mode = stream.mode  # type: ignore[misc]
    return replacement


def serve_stdin(data: bytes) -> Callable[[], None]:
    """Let the program read this as its standard input; return the undo."""
    stream = sys.stdin
    encoding, errors = ("utf-8", "strict") if stream is None else (stream.encoding, stream.errors)
    replacement = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors=errors, newline=_NEWLINE)
    replacement.mode = "r"  # type: ignore[misc]
    sys.stdin = replacement

    def undo() -> None:
        if sys.stdin is replacement:
            sys.stdin = stream

    return undo


def listen_to_input(
    kept_in: CapturedBytes, kept_out: CapturedBytes, taken: ReadListener
) -> Callable[[], None]:
    """Capture `input()` at a terminal, where it reads and prompts past `sys.stdin` and `sys.stdout`; return the undo.

    Args:
        kept_in: gets the lines that are read.
        kept_out: gets the prompts.
        taken: called with how many characters the program read.
    """
    original = builtins.input
    if sys.stdin is None or not _is_terminal():
        return _nothing

    def noting(prompt: object = "", /) -> str:
        try:
            line = original(prompt)
        except BaseException as error:
            drop_frame(error)
            raise
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
