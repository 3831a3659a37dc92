"""A process that stands between a program and the pipe of its standard output, and keeps what passes.

So what is written past Python's streams is known, too: by `os.write`, by C code, by children that inherit the descriptor.
The program still has a pipe, of the same size. The relay is no child of the program (it was forked twice), hears no signal
of its terminal or its group, and ends when nobody can write any more. Where the reader of the pipe goes, the relay goes, and
the program is told as it would be without it.
"""

from __future__ import annotations

import fcntl
import mmap
import select
import struct
import sys
from collections.abc import Sequence
from fcntl import ioctl
from termios import FIONREAD
from typing import Any, Final

from autochron._runtime import unpatched
from autochron._runtime.std_streams import LIMIT
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.store.detached import Work, fork_twice, is_alone, start_all
from autochron.store.own_descriptors import abandon, hidden

_TURN: Final = struct.Struct("=Q")
"""In the memory that is shared, first: a count that is odd while the relay reads and keeps."""

_STATE: Final = struct.Struct("=QQQ32s")
"""Then: whether it is handing on, the bytes that came, those that were let go, and the digest of these."""

_HEAD: Final = _TURN.size + _STATE.size

_SIZE: Final = _HEAD + LIMIT

_COUNT: Final = bytes(4)
_CHUNK: Final = 65_536
_PAUSE: Final = 0.000_2
"""Seconds between two looks at whether all has passed."""


class OutputRelay:
    """The relay as the program's process sees it.

    Attributes:
        own: descriptors that a child process is not to inherit: of the pipe, and of the one that leads to the relay.
    """

    def __init__(self, descriptor: int, *beside: Work) -> None:
        """Start the relay for a descriptor that is a pipe, with other processes of ours, and let the descriptor lead to it.

        Raises:
            OSError: there can be none; the descriptor is as it was.
        """
        if _is_unread(descriptor):
            raise BrokenPipeError
        self._descriptor = descriptor
        self.own: tuple[int, ...] = ()
        read_end, write_end = _hidden_pipe()
        try:
            self._pipe = hidden(descriptor)
            self._source = hidden(write_end)  # the program may let the descriptor lead elsewhere
            self.own = (self._pipe, self._source)
            _same_size(self._pipe, write_end)
            self._memory = _start(read_end, self._pipe, beside)
            os.dup2(write_end, descriptor, inheritable=os.get_inheritable(descriptor))
        except OSError:
            self._close()
            raise
        finally:
            os.close(read_end)
            os.close(write_end)

    def position(self) -> int:
        """Return how many bytes were written so far, those on their way with them."""
        memory = self._memory
        while True:
            before = _TURN.unpack_from(memory)
            passed = _STATE.unpack_from(memory, _TURN.size)[1]
            waiting = _waiting(self._source)
            if _TURN.unpack_from(memory) == before and not before[0] % 2:
                return int(passed) + waiting
            if self._has_gone():
                return int(passed)
            unpatched.sleep(0)

    def drain(self) -> None:
        """Wait until all that was written so far is in the pipe: as long as the program itself would wait for its reader."""
        while not self._has_gone():
            # In this order: what waits no more is being read, and what is read no more is being handed on.
            if not (_waiting(self._source) or self._is_reading() or self._is_handing_on()):
                return
            unpatched.sleep(_PAUSE)

    def said(self) -> tuple[bytes, int, str]:
        """Return what passed, up to the limit, how many bytes were let go, and the digest of these."""
        _, passed, more, digest = _STATE.unpack_from(self._memory, _TURN.size)
        kept = bytes(self._memory[_HEAD : _HEAD + passed - more])
        return kept, more, digest.decode() if more else ""

    def stop(self) -> None:
        """Let the descriptor be the pipe again; the relay goes when the last writer has gone."""
        try:
            self.drain()
            if os.path.samestat(os.fstat(self._descriptor), os.fstat(self._source)):
                os.dup2(self._pipe, self._descriptor, inheritable=os.get_inheritable(self._descriptor))
        finally:
            self._close()

    def _close(self) -> None:
        for each in self.own:
            try:
                os.close(each)
            except OSError:
                pass
        self.own = ()

    def _is_reading(self) -> bool:
        return bool(_TURN.unpack_from(self._memory)[0] % 2)

    def _is_handing_on(self) -> bool:
        return bool(_STATE.unpack_from(self._memory, _TURN.size)[0])

    def _has_gone(self) -> bool:
        try:
            return _is_unread(self._source)
        except OSError:
            return True


def _start(source: int, sink: int, beside: Sequence[Work]) -> mmap.mmap:
    """Start the relay and other processes of ours; return the memory that the relay shares."""
    if is_alone():
        memory = mmap.mmap(-1, _SIZE)
        fork_twice(*beside, Work(_Relay(source, sink, memory).run, (source, sink)))
        return memory
    from autochron.store.spawning import open_memory, spawn  # lazy: only where another tool began before us

    start_all(*beside)
    descriptor = open_memory()
    try:
        os.ftruncate(descriptor, _SIZE)
        memory = mmap.mmap(descriptor, _SIZE)
        abandon(memory)  # its copy of the descriptor, which it closes, may be the program's by then
        with undisturbed():
            spawn(__name__, source, sink, descriptor, keep=(source, sink, descriptor))
    finally:
        os.close(descriptor)
    return memory


def main(source: int, sink: int, descriptor: int) -> None:
    """Relay, with memory that a descriptor leads to; from a fresh interpreter, which ends at once."""
    memory = mmap.mmap(descriptor, _SIZE)
    start_all(Work(_Relay(source, sink, memory).run, (source, sink)))


class _Relay:
    """The relay's own side."""

    def __init__(self, source: int, sink: int, memory: mmap.mmap) -> None:
        self._source = source
        self._sink = sink
        self._memory = memory
        self._turns = self._passed = self._more = 0
        self._rest: Any = None

    def run(self) -> None:
        """Hand on all that comes, until nobody writes or nobody reads: then the program is told when it next writes."""
        os.chdir("/")
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._sink, 0)
        while all(found != self._sink for found, _ in poll.poll()):
            self._turn()  # before it is read: what neither waits nor is at work has been handed on
            data = os.read(self._source, _CHUNK)
            if not data:
                return
            self._keep(data)
            self._tell(is_busy=True)
            self._turn()
            self._hand_on(data)
            self._tell(is_busy=False)

    def _keep(self, data: bytes) -> None:
        room = max(LIMIT - self._passed, 0)
        start = _HEAD + min(self._passed, LIMIT)
        kept, rest = data[:room], data[room:]
        self._memory[start : start + len(kept)] = kept
        self._passed += len(data)
        if rest:
            if self._rest is None:
                from _blake2 import blake2b  # lazy: few programs print so much

                self._rest = blake2b(digest_size=16)
            self._rest.update(rest)
            self._more += len(rest)

    def _turn(self) -> None:
        self._turns += 1
        _TURN.pack_into(self._memory, 0, self._turns)

    def _tell(self, *, is_busy: bool) -> None:
        digest = b"" if self._rest is None else self._rest.hexdigest().encode()
        _STATE.pack_into(self._memory, _TURN.size, is_busy, self._passed, self._more, digest)

    def _hand_on(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._sink, left) :]
            except BlockingIOError:  # whoever started us reads and writes it without waiting
                ready = select.poll()
                ready.register(self._sink, select.POLLOUT)
                ready.poll()


def _hidden_pipe() -> tuple[int, int]:
    """Return a pipe whose ends take no number of a standard stream that is closed."""
    ends = os.pipe()
    try:
        return hidden(ends[0]), hidden(ends[1])
    finally:
        for each in ends:
            os.close(each)


def _is_unread(descriptor: int) -> bool:
    """Return whether nobody reads what is written into a pipe any more."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return bool(poll.poll(0))


def _waiting(descriptor: int) -> int:
    """Return how many bytes are in a pipe."""
    return int.from_bytes(ioctl(descriptor, FIONREAD, _COUNT), sys.byteorder)


def _same_size(one: int, other: int) -> None:
    try:
        size = fcntl.fcntl(one, fcntl.F_GETPIPE_SZ)
        fcntl.fcntl(other, fcntl.F_SETPIPE_SZ, size)
    except (OSError, AttributeError):
        pass
