"""What passes through the descriptors of standard output and input themselves, whoever reads and writes them.

A file is read afterwards, from where the program began to where it ended. A pipe goes through a relay. At a terminal, or
where output and errors go to the same place, nothing can be put in between that the program or its user would not see: there
what Python's streams and `os.write` say is all that is known, and it is said so.
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
"""Bytes that a pipe holds as it comes."""


class OutputDescriptor:
    """Standard output at its descriptor.

    Attributes:
        kind: `file` or `pipe`; empty where only Python's streams are known.
    """

    def __init__(self) -> None:
        self.kind = ""
        self._relay: OutputRelay | None = None
        self._file = -1
        self._start = 0
        self._is_fresh = False
        self._beside: tuple[Work, ...] = ()
        self._process = unpatched.getpid()

    def start(self, *beside: Work) -> None:
        """Begin, before any thread of ours or the program's runs, and start other processes of ours with the relay."""
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
        import fcntl  # lazy: there is none on Windows

        self._start = os.lseek(OUTPUT, 0, os.SEEK_CUR)
        if fcntl.fcntl(OUTPUT, fcntl.F_GETFL) & os.O_APPEND:
            self._start = size
        self._is_fresh = self._start == size
        opened = os.open(f"/proc/self/fd/{OUTPUT}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._file = hidden(opened)
        finally:
            os.close(opened)
        self.kind = "file"

    def _start_relay(self) -> None:
        if sys.platform != "linux" or self._process == 1:  # the relay would be a child of process 1
            return
        from autochron.stdio.relay import OutputRelay  # lazy: for pipes

        beside, self._beside = self._beside, ()
        self._relay = OutputRelay(OUTPUT, *beside)
        # A child that closes its standard output to let its caller go must not hold the pipe all the same.
        os.register_at_fork(after_in_child=self._forked)
        self.kind = "pipe"

    def _forked(self) -> None:
        for each in () if self._relay is None else self._relay.own:
            try:
                os.close(each)
            except OSError:
                pass

    def position(self) -> int:
        """Return how many bytes were written so far."""
        try:
            if self._relay is not None:
                return self._relay.position()
            return (
                os.fstat(OUTPUT).st_size - self._start if self._is_fresh else os.lseek(OUTPUT, 0, os.SEEK_CUR)
            )
        except OSError:
            return 0

    def said(self) -> bytes | None:
        """Return what was written so far, with a line that has the digest of what is too much; None where it is not known."""
        try:
            if self._relay is not None:
                self._relay.drain()
                return with_rest(*self._relay.said())
            return self._read() if self._file >= 0 else None
        except OSError:
            return None

    def stop(self) -> None:
        """Leave the descriptor as it was."""
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
        facts = os.fstat(self._file)
        is_own = _is_same(facts, OUTPUT)  # the program may let it lead elsewhere, or close it
        return os.lseek(OUTPUT, 0, os.SEEK_CUR) if is_own and not self._is_fresh else facts.st_size

    def _read(self) -> bytes:
        end = self._end()
        kept = os.pread(self._file, min(max(end - self._start, 0), LIMIT), self._start)
        at, rest = self._start + LIMIT, None
        while at < end:
            piece = os.pread(self._file, min(end - at, 1 << 20), at)
            if not piece:
                break
            if rest is None:
                from _blake2 import blake2b  # lazy: few programs print so much

                rest = blake2b(digest_size=16)
            rest.update(piece)
            at += len(piece)
        return kept if rest is None else with_rest(kept, at - self._start - LIMIT, rest.hexdigest())


def with_rest(kept: bytes, more: int, digest: str) -> bytes:
    """Add a line that tells the size and the digest of what was let go."""
    return kept + f"\n… and {more:,} bytes more, with the digest {digest}\n".encode() if more else kept


def is_ordinary(stream: Any, descriptor: int) -> bool:
    """Return whether a standard stream is the one that Python made for a descriptor."""
    own = sys.__stdout__ if descriptor == OUTPUT else sys.__stdin__
    try:
        return type(stream) is io.TextIOWrapper and own is stream and stream.fileno() == descriptor
    except (OSError, ValueError):
        return False


def paths_of(descriptor: int) -> tuple[str | int, ...]:
    """Return how a program may name the descriptor of a standard stream."""
    name = ("stdin", "stdout", "stderr")[descriptor]
    return (descriptor, f"/dev/{name}", f"/dev/fd/{descriptor}", f"/proc/self/fd/{descriptor}")


def _is_same(kind: os.stat_result, other: int) -> bool:
    """Return whether another descriptor leads to the same place."""
    try:
        return os.path.samestat(kind, os.fstat(other))
    except OSError:
        return False


def foreign_lines(said: Sequence[bytes], printed: Sequence[bytes]) -> list[int] | None:
    """Return which lines of what a descriptor said Python's streams did not print; None where that can't be told apart."""
    found: list[int] = []
    at = 0
    for index, line in enumerate(said):
        if at < len(printed) and printed[at] == line:
            at += 1
        else:
            found.append(index)
    return found if at == len(printed) else None


def unprinted(said: bytes, printed: bytes, during: Sequence[tuple[int, int, int]]) -> tuple[Unprinted, ...]:
    """Return the lines that Python's streams did not print, each with the tools that ran meanwhile.

    Args:
        said: what the descriptor said.
        printed: what Python's streams printed.
        during: from where to where the output grew while a tool ran, with the `seq` of its crossing.
    """
    if said == printed:
        return ()
    lines = said.splitlines(keepends=True)
    foreign = foreign_lines(lines, printed.splitlines(keepends=True))
    if not foreign:
        return ()
    starts = [0, *itertools.accumulate(map(len, lines))]
    found: list[Unprinted] = []
    for line in foreign:
        at = starts[line]
        tools = tuple(seq for begin, end, seq in during if begin <= at < end)
        last = found[-1] if found else None
        if last is not None and last.line + last.count == line and last.during == tools:
            found[-1] = Unprinted(last.line, last.count + 1, tools)
        else:
            found.append(Unprinted(line, 1, tools))
    return tuple(found)


def note_writes(note: Callable[[bytes], None]) -> Callable[[], None]:
    """Report what `os.write` writes to standard output; give the undo."""
    original = program_os.write

    @functools.wraps(original)
    def write(fd: int, data: Any, /) -> int:
        count = original(fd, data)
        if fd == OUTPUT and count:
            note(bytes(memoryview(data).cast("B")[:count]))
        return count

    program_os.write = write

    def undo() -> None:
        if program_os.write is write:
            program_os.write = original

    return undo


def flush_c() -> None:
    """Have the streams of C write what waits in them, as they would at the end of the process."""
    import ctypes  # lazy: the program has it already

    with undisturbed():
        ctypes.CDLL(None).fflush(None)


# --- standard input
# ------------------------------------------------------------------------------------------------


class InputDescriptor:
    """Standard input at its descriptor, while a program is recorded.

    Attributes:
        kind: `file`, `pipe` or `terminal`; empty for anything else.
    """

    def __init__(self) -> None:
        self.kind = ""
        self._file = -1
        self._start = 0

    def start(self) -> None:
        """Begin."""
        try:
            mode = os.fstat(INPUT).st_mode
            if stat.S_ISREG(mode):
                self._start = os.lseek(INPUT, 0, os.SEEK_CUR)
                self._file = hidden(INPUT)  # the program may close its own
                self.kind = "file"
            elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                self.kind = "pipe"
            elif os.isatty(INPUT):
                self.kind = "terminal"
        except OSError:
            return

    def read(self, seen: bytes) -> bytes:
        """Return what was read so far: of a file all up to where it was read, by whomever; else what was seen."""
        if self.kind != "file":
            return seen
        try:
            size = os.lseek(self._file, 0, os.SEEK_CUR) - self._start
            return os.pread(self._file, min(size, LIMIT), self._start) if size > len(seen) else seen
        except OSError:
            return seen


def note_reads(note: Callable[[bytes], None]) -> Callable[[], None]:
    """Report what `os.read` reads from standard input, as asyncio and prompt_toolkit do; give the undo."""
    original = program_os.read

    @functools.wraps(original)
    def read(fd: int, length: int, /) -> bytes:
        data = original(fd, length)
        if fd == INPUT and data:
            note(data)
        return data

    program_os.read = read

    def undo() -> None:
        if program_os.read is read:
            program_os.read = original

    return undo


def serve_input(data: bytes, kind: str) -> Callable[[], None] | None:
    """Let the descriptor of standard input give this; return the undo, or None where that can't be.

    Args:
        data: what is read before the end.
        kind: what it was when it was recorded: a `file` is one again, anything else is a pipe.
    """
    if not is_ordinary(sys.stdin, INPUT):
        return None
    try:
        made = _file_of(data) if kind == "file" else _pipe_of(data)
    except OSError:
        return None
    saved = hidden(INPUT)
    os.dup2(made, INPUT, inheritable=True)
    os.close(made)

    def undo() -> None:
        os.dup2(saved, INPUT, inheritable=True)
        os.close(saved)

    return undo


def _file_of(data: bytes) -> int:
    import tempfile  # lazy: for programs that read a file

    with tempfile.TemporaryFile() as made:
        made.write(data)
        made.flush()
        made.seek(0)
        return os.dup(made.fileno())


def _pipe_of(data: bytes) -> int:
    """Return the end of a pipe out of which data comes."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        if len(data) > _PIPE:
            import fcntl  # lazy: as above

            fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, min(len(data), 1 << 20))
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(write_end, left) :]
        except BlockingIOError:
            os.set_blocking(write_end, True)
            _feed(write_end, left)
            return read_end
        os.close(write_end)
    except (OSError, AttributeError):
        os.close(read_end)
        os.close(write_end)
        raise OSError from None
    return read_end


def _feed(descriptor: int, data: memoryview) -> None:
    """Write what does not fit into the pipe, from a thread: the program reads it when it likes."""

    def feed() -> None:
        left = data
        try:
            while left:
                left = left[os.write(descriptor, left) :]
        except OSError:  # nobody reads it any more
            pass
        os.close(descriptor)

    unpatched.start_new_thread(feed, ())
