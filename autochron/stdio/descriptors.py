"""Capture what passes through the descriptors of standard output and input, whatever code reads and writes them.

A file is read afterwards, from the offset where the program began to the offset where it ended. A pipe goes through a
relay. At a terminal, or if output and errors go to the same place, the program or its user would notice anything in
between. There only Python's streams and `os.write` are captured, and the trace says so.
"""

from __future__ import annotations

import functools
import io
import itertools
import stat
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from autochron._runtime import unpatched
from autochron._runtime.own_frames import drop_frame
from autochron._runtime.std_streams import LIMIT
from autochron._runtime.unpatched import os, program_os
from autochron.effects.undisturbed import undisturbed
from autochron.model import Unprinted
from autochron.store.detached import Work, start_all
from autochron.store.own_descriptors import hidden

if TYPE_CHECKING:
    from autochron.stdio.relay import OutputRelay

INPUT: Final = 0
OUTPUT: Final = 1
_PIPE: Final = 65_536
"""Bytes that a new pipe holds."""


class OutputDescriptor:
    """The descriptor of standard output.

    Attributes:
        kind: `file` or `pipe`; empty if the descriptor is not captured.
    """

    def __init__(self) -> None:
        self.kind = ""
        self._relay: OutputRelay | None = None
        self._file = -1
        self._start = 0
        self._is_fresh = False
        """Whether output is appended at the end of the file, so that the file's size says how much was written."""
        self._beside: tuple[Work, ...] = ()
        self._process = unpatched.getpid()

    def start(self, *beside: Work) -> None:
        """Start capturing, before any thread runs; start the processes `beside` together with the relay."""
        self._beside = beside
        self._begin()
        start_all(*self._beside)

    def _begin(self) -> None:
        if not is_ordinary(sys.stdout, OUTPUT):
            return
        try:
            kind = os.fstat(OUTPUT)
            if _is_same(kind, OUTPUT + 1):
                return
            sys.stdout.flush()
            if stat.S_ISREG(kind.st_mode):
                self._start_file(kind.st_size)
            elif stat.S_ISFIFO(kind.st_mode):
                self._start_relay()
        except (OSError, ValueError, ImportError):
            return

    def _start_file(self, size: int) -> None:
        import fcntl  # lazy: Windows does not have it

        self._start = os.lseek(OUTPUT, 0, os.SEEK_CUR)
        if fcntl.fcntl(OUTPUT, fcntl.F_GETFL) & os.O_APPEND:
            self._start = size
        self._is_fresh = self._start == size
        self._file = _opened_anew()
        self.kind = "file"

    def _start_relay(self) -> None:
        if sys.platform != "linux" or self._process == 1:  # the relay would be a child of process 1
            return
        from autochron.stdio.relay import OutputRelay  # lazy: for pipes

        beside, self._beside = self._beside, ()
        self._relay = OutputRelay(OUTPUT, *beside)
        # A child may close its standard output so that the reader sees the end. It must not keep the pipe open by our
        # descriptors.
        os.register_at_fork(after_in_child=self._forked)
        self.kind = "pipe"

    def _forked(self) -> None:
        for descriptor in () if self._relay is None else self._relay.own:
            try:
                os.close(descriptor)
            except OSError:
                pass

    def take_over(self) -> None:
        """Go on in a fork, in whose place of standard output is another file with the same content."""
        self._process = unpatched.getpid()
        if self._file >= 0:
            before, self._file = self._file, _opened_anew()
            os.close(before)

    def position(self) -> int:
        """Return how many bytes were written so far; 0 if that can't be found out."""
        try:
            if self._relay is not None:
                return self._relay.position()
            return (
                os.fstat(OUTPUT).st_size - self._start if self._is_fresh else os.lseek(OUTPUT, 0, os.SEEK_CUR)
            )
        except OSError:
            return 0

    def content(self) -> bytes | None:
        """Return the bytes that were written so far; None if the descriptor is not captured.

        Of more than `LIMIT` bytes the rest is replaced by a line with its size and digest.
        """
        try:
            if self._relay is not None:
                self._relay.drain()
                return with_rest(*self._relay.passed())
            return self._read() if self._file >= 0 else None
        except OSError:
            return None

    def stop(self) -> None:
        """Restore the descriptor."""
        if unpatched.getpid() != self._process:
            return
        relay, self._relay, file, self._file = self._relay, None, self._file, -1
        try:
            if relay is not None:
                relay.stop()
            if file >= 0:
                os.close(file)
        except OSError:
            pass

    def _end(self) -> int:
        """Return the offset in the file where the output ends."""
        facts = os.fstat(self._file)
        is_own = _is_same(facts, OUTPUT)  # the program may have redirected or closed it
        return os.lseek(OUTPUT, 0, os.SEEK_CUR) if is_own and not self._is_fresh else facts.st_size

    def _read(self) -> bytes:
        end = self._end()
        kept = os.pread(self._file, min(max(end - self._start, 0), LIMIT), self._start)
        position, rest = self._start + LIMIT, None
        while position < end:
            piece = os.pread(self._file, min(end - position, 1 << 20), position)
            if not piece:
                break
            if rest is None:
                from _blake2 import blake2b  # lazy: few programs print so much

                rest = blake2b(digest_size=16)
            rest.update(piece)
            position += len(piece)
        return kept if rest is None else with_rest(kept, position - self._start - LIMIT, rest.hexdigest())


def _opened_anew() -> int:
    """Return a descriptor of the file that standard output leads to, with an offset of its own."""
    opened = os.open(f"/proc/self/fd/{OUTPUT}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return hidden(opened)
    finally:
        os.close(opened)


def with_rest(kept: bytes, more: int, digest: str) -> bytes:
    """Append a line with the size in bytes and the digest of what was not kept, if anything."""
    return kept + f"\n… and {more:,} bytes more, with the digest {digest}\n".encode() if more else kept


def output_kind() -> str:
    """Return words for what the descriptor of standard output leads to, such as `a terminal`."""
    try:
        facts = os.fstat(OUTPUT)
        if os.isatty(OUTPUT):
            return "a terminal"
        if os.path.samestat(facts, os.stat(os.devnull)):
            return os.devnull
    except (OSError, ValueError):
        return "closed"
    if _is_same(facts, OUTPUT + 1):
        return "the same as standard error"
    is_captured = stat.S_ISREG(facts.st_mode) or stat.S_ISFIFO(facts.st_mode)
    return "not captured at its descriptor" if is_captured else "neither a file nor a pipe"


def is_ordinary(stream: Any, descriptor: int) -> bool:
    """Return whether a standard stream is the one that Python made for a descriptor."""
    own = sys.__stdout__ if descriptor == OUTPUT else sys.__stdin__
    try:
        return type(stream) is io.TextIOWrapper and own is stream and stream.fileno() == descriptor
    except (OSError, ValueError):
        return False


def paths_of(descriptor: int) -> tuple[str | int, ...]:
    """Return the number and the paths by which a program may open a standard stream."""
    name = ("stdin", "stdout", "stderr")[descriptor]
    return (descriptor, f"/dev/{name}", f"/dev/fd/{descriptor}", f"/proc/self/fd/{descriptor}")


def _is_same(facts: os.stat_result, other: int) -> bool:
    """Return whether a descriptor leads to the file that these facts describe."""
    try:
        return os.path.samestat(facts, os.fstat(other))
    except OSError:
        return False


def foreign_lines(lines: Sequence[bytes], printed: Sequence[bytes]) -> list[int] | None:
    """Return the indexes of output lines that Python's streams did not print.

    Args:
        lines: the lines of the descriptor's output.
        printed: the lines that Python's streams printed.

    Returns:
        The indexes; None if the printed lines are not all found in order.
    """
    indexes: list[int] = []
    position = 0
    for index, line in enumerate(lines):
        if position < len(printed) and printed[position] == line:
            position += 1
        else:
            indexes.append(index)
    return indexes if position == len(printed) else None


def unprinted(output: bytes, printed: bytes, during: Sequence[tuple[int, int, int]]) -> tuple[Unprinted, ...]:
    """Return the runs of lines that Python's streams did not print, each with the tools that ran meanwhile.

    Args:
        output: the descriptor's output.
        printed: what Python's streams printed.
        during: for each tool the start and the end of the output, in bytes, while it ran, and the `seq` of its
            crossing.
    """
    if output == printed:
        return ()
    lines = output.splitlines(keepends=True)
    foreign = foreign_lines(lines, printed.splitlines(keepends=True))
    if not foreign:
        return ()
    starts = [0, *itertools.accumulate(map(len, lines))]
    runs: list[Unprinted] = []
    for line in foreign:
        offset = starts[line]
        tools = tuple(seq for begin, end, seq in during if begin <= offset < end)
        previous = runs[-1] if runs else None
        if previous is not None and previous.line + previous.count == line and previous.during == tools:
            runs[-1] = Unprinted(previous.line, previous.count + 1, tools)
        else:
            runs.append(Unprinted(line, 1, tools))
    return tuple(runs)


def note_writes(note: Callable[[bytes], None]) -> Callable[[], None]:
    """Call `note` with what `os.write` writes to standard output; return the undo function."""
    original = program_os.write

    @functools.wraps(original)
    def write(fd: int, data: Any, /) -> int:
        try:
            count = original(fd, data)
        except BaseException as error:
            drop_frame(error)
            raise
        if fd == OUTPUT and count:
            note(bytes(memoryview(data).cast("B")[:count]))
        return count

    program_os.write = write

    def undo() -> None:
        if program_os.write is write:
            program_os.write = original

    return undo


def flush_c() -> None:
    """Flush the streams of C, as the end of the process would."""
    import ctypes  # lazy: called only if the program has imported it

    with undisturbed():
        ctypes.CDLL(None).fflush(None)


# --- standard input ----------------------------------------------------------------------------------------------------


class InputDescriptor:
    """The descriptor of standard input, while a program is recorded.

    Attributes:
        kind: `file`, `pipe` or `terminal`; empty for anything else.
    """

    def __init__(self) -> None:
        self.kind = ""
        self._file = -1
        self._start = 0

    def start(self) -> None:
        """Find out what the descriptor leads to; of a file, remember the offset."""
        try:
            mode = os.fstat(INPUT).st_mode
            if stat.S_ISREG(mode):
                self._start = os.lseek(INPUT, 0, os.SEEK_CUR)
                self._file = hidden(INPUT)  # the program may close its descriptor
                self.kind = "file"
            elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                self.kind = "pipe"
            elif os.isatty(INPUT):
                self.kind = "terminal"
        except OSError:
            return

    def read(self, seen: bytes) -> bytes:
        """Return what was read so far.

        Of a file that is all up to the current offset, whatever code has read it. Otherwise it is `seen`, which is what
        Python's streams and `os.read` have read.
        """
        if self.kind != "file":
            return seen
        try:
            size = os.lseek(self._file, 0, os.SEEK_CUR) - self._start
            return os.pread(self._file, min(size, LIMIT), self._start) if size > len(seen) else seen
        except OSError:
            return seen


def note_reads(note: Callable[[bytes], None]) -> Callable[[], None]:
    """Call `note` with what `os.read` reads from standard input; return the undo function.

    asyncio and prompt_toolkit read like this.
    """
    original = program_os.read

    @functools.wraps(original)
    def read(fd: int, length: int, /) -> bytes:
        try:
            data = original(fd, length)
        except BaseException as error:
            drop_frame(error)
            raise
        if fd == INPUT and data:
            note(data)
        return data

    program_os.read = read

    def undo() -> None:
        if program_os.read is read:
            program_os.read = original

    return undo


def serve_input(data: bytes, kind: str) -> Callable[[], None] | None:
    """Make the descriptor of standard input deliver some data and then its end.

    Args:
        data: the data.
        kind: what standard input was when it was recorded: for `file` it becomes a file, otherwise a pipe.

    Returns:
        The undo function; None if `sys.stdin` is not the original stream, or if the system refuses.
    """
    if not is_ordinary(sys.stdin, INPUT):
        return None
    try:
        saved = hidden(INPUT)
    except OSError:
        return None
    try:
        source = _file_of(data) if kind == "file" else _pipe_of(data)
    except OSError:
        os.close(saved)
        return None
    os.dup2(source, INPUT, inheritable=True)
    os.close(source)

    def undo() -> None:
        os.dup2(saved, INPUT, inheritable=True)
        os.close(saved)

    return undo


def _file_of(data: bytes) -> int:
    """Return a descriptor of a temporary file with this content, at its start."""
    import tempfile  # lazy: only for a standard input that was a file

    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


def _pipe_of(data: bytes) -> int:
    """Return the read end of a pipe that delivers some data.

    Raises:
        OSError: the pipe can't be made, or the system can't set its size.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        if len(data) > _PIPE:
            import fcntl  # lazy: as above

            fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, min(len(data), 1 << 20))
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(write_end, rest) :]
        except BlockingIOError:
            os.set_blocking(write_end, True)
            _feed(write_end, rest)
            return read_end
        os.close(write_end)
    except (OSError, AttributeError, ImportError):
        os.close(read_end)
        os.close(write_end)
        raise OSError from None
    return read_end


def _feed(descriptor: int, data: memoryview) -> None:
    """Write data that does not fit into a pipe from a thread, as the program reads; then close the descriptor."""

    def feed() -> None:
        rest = data
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:  # the read end is closed
            pass
        os.close(descriptor)

    unpatched.start_new_thread(feed, ())
