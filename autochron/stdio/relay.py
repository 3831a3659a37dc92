"""Relay the pipe of a program's standard output through a process that keeps what passes.

This captures also what is written past Python's streams: by C code, and by children that inherit the descriptor. The
program still has a pipe, of the same size. The relay is no child of the program, because it is forked twice. It gets no
signal of the program's terminal or process group. It ends when all write ends of its pipe are closed. When the reader
of the program's pipe ends, the relay ends too, and the program gets the same error as without a relay.
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
"""Start of the shared memory: a counter, which is odd while the relay reads and keeps data."""

_STATE: Final = struct.Struct("=QQQ32s")
"""Then: whether the relay is passing data on, the bytes that came, the bytes that were not kept, and their digest."""

_HEAD: Final = _TURN.size + _STATE.size

_SIZE: Final = _HEAD + LIMIT

_COUNT: Final = bytes(4)
"""Argument of the `ioctl` that returns the number of waiting bytes."""

_CHUNK: Final = 65_536
"""Bytes that are read at once."""

_PAUSE: Final = 0.000_2
"""Seconds between two checks whether all data has passed."""


class OutputRelay:
    """The program's side of the relay.

    Attributes:
        own: descriptors that a child process must not keep: of the program's pipe, and of the pipe to the relay.
    """

    def __init__(self, descriptor: int, *beside: Work) -> None:
        """Start the relay and make the descriptor lead to it.

        Args:
            descriptor: a descriptor of a pipe's write end.
            beside: other processes of ours, which are started together with the relay.

        Raises:
            OSError: the relay can't be started; the descriptor is unchanged.
        """
        if _is_unread(descriptor):
            raise BrokenPipeError
        self._descriptor = descriptor
        self.own: tuple[int, ...] = ()
        read_end, write_end = _hidden_pipe()
        try:
            self._pipe = hidden(descriptor)
            self._source = hidden(write_end)  # the program may redirect the descriptor
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
        """Return how many bytes were written so far, including those that wait in the pipe."""
        memory = self._memory
        while True:
            before = _TURN.unpack_from(memory)
            passed = _STATE.unpack_from(memory, _TURN.size)[1]
            waiting = _waiting(self._source)
            if _TURN.unpack_from(memory) == before and not before[0] % 2:
                return int(passed) + waiting
            if self._has_ended():
                return int(passed)
            unpatched.sleep(0)

    def drain(self) -> None:
        """Wait until everything written so far is in the program's pipe.

        That takes as long as the program itself would wait for its reader.
        """
        while not self._has_ended():
            # The order follows the data: what no longer waits is being read, and what was read is being passed on.
            if not (_waiting(self._source) or self._is_reading() or self._is_passing_on()):
                return
            unpatched.sleep(_PAUSE)

    def passed(self) -> tuple[bytes, int, str]:
        """Return the first `LIMIT` bytes that passed, the number of further bytes, and the digest of these."""
        _, passed, more, digest = _STATE.unpack_from(self._memory, _TURN.size)
        kept = bytes(self._memory[_HEAD : _HEAD + passed - more])
        return kept, more, digest.decode() if more else ""

    def stop(self) -> None:
        """Make the descriptor lead to the program's pipe again. The relay ends when the last writer has ended."""
        try:
            self.drain()
            if os.path.samestat(os.fstat(self._descriptor), os.fstat(self._source)):
                os.dup2(self._pipe, self._descriptor, inheritable=os.get_inheritable(self._descriptor))
        finally:
            self._close()

    def _close(self) -> None:
        for descriptor in self.own:
            try:
                os.close(descriptor)
            except OSError:
                pass
        self.own = ()

    def _is_reading(self) -> bool:
        return bool(_TURN.unpack_from(self._memory)[0] % 2)

    def _is_passing_on(self) -> bool:
        return bool(_STATE.unpack_from(self._memory, _TURN.size)[0])

    def _has_ended(self) -> bool:
        try:
            return _is_unread(self._source)
        except OSError:
            return True


def _start(source: int, sink: int, beside: Sequence[Work]) -> mmap.mmap:
    """Start the relay and other processes of ours; return the memory that the relay shares.

    Args:
        source: the read end of the pipe to the relay.
        sink: the write end of the program's pipe.
        beside: the other processes.
    """
    if is_alone():
        memory = mmap.mmap(-1, _SIZE)
        fork_twice(*beside, Work(_Relay(source, sink, memory).run, (source, sink)))
        return memory
    # Lazy: only if other threads run, as those of a tool that started before us.
    from autochron.store.spawning import open_memory, spawn

    start_all(*beside)
    descriptor = open_memory()
    try:
        os.ftruncate(descriptor, _SIZE)
        memory = mmap.mmap(descriptor, _SIZE)
        # It would close its duplicate of the descriptor, whose number may be the program's by then.
        abandon(memory)
        with undisturbed():
            spawn(__name__, source, sink, descriptor, keep=(source, sink, descriptor))
    finally:
        os.close(descriptor)
    return memory


def main(source: int, sink: int, descriptor: int) -> None:
    """Start the relay from a fresh interpreter, which ends at once; `descriptor` leads to the shared memory."""
    memory = mmap.mmap(descriptor, _SIZE)
    start_all(Work(_Relay(source, sink, memory).run, (source, sink)))


class _Relay:
    """The side of the relay's process."""

    def __init__(self, source: int, sink: int, memory: mmap.mmap) -> None:
        self._source = source
        self._sink = sink
        self._memory = memory
        self._turns = self._passed = self._more = 0
        self._rest: Any = None

    def run(self) -> None:
        """Pass data on until no writer or no reader is left.

        Without a reader, the program's next write fails as it would without a relay.
        """
        os.chdir("/")
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._sink, 0)
        while all(descriptor != self._sink for descriptor, _ in poll.poll()):
            self._turn()  # before the reading: data that neither waits nor is being read or passed on has passed
            data = os.read(self._source, _CHUNK)
            if not data:
                return
            self._keep(data)
            self._publish(is_busy=True)
            self._turn()
            self._pass_on(data)
            self._publish(is_busy=False)

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

    def _publish(self, *, is_busy: bool) -> None:
        digest = b"" if self._rest is None else self._rest.hexdigest().encode()
        _STATE.pack_into(self._memory, _TURN.size, is_busy, self._passed, self._more, digest)

    def _pass_on(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._sink, rest) :]
            except BlockingIOError:  # the process that started the program has set the pipe to non-blocking
                ready = select.poll()
                ready.register(self._sink, select.POLLOUT)
                ready.poll()


def _hidden_pipe() -> tuple[int, int]:
    """Return the read and the write end of a pipe, with high numbers: a closed standard stream's number stays free."""
    ends = os.pipe()
    try:
        return hidden(ends[0]), hidden(ends[1])
    finally:
        for end in ends:
            os.close(end)


def _is_unread(descriptor: int) -> bool:
    """Return whether the reader of a pipe has ended; `descriptor` is a write end."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return bool(poll.poll(0))


def _waiting(descriptor: int) -> int:
    """Return how many bytes wait in a pipe."""
    return int.from_bytes(ioctl(descriptor, FIONREAD, _COUNT), sys.byteorder)


def _same_size(pipe: int, other_pipe: int) -> None:
    """Set the size of the second pipe to that of the first, if the system can."""
    try:
        size = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
        fcntl.fcntl(other_pipe, fcntl.F_SETPIPE_SZ, size)
    except (OSError, AttributeError):
        pass
