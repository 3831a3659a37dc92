"""The memory that a program's processes and their store process share: a slot for each process that writes.

It is mapped without a file or a descriptor, and forks inherit it. Pages that are never touched take no memory.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from typing import Any, Final

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.store.own_descriptors import abandon
from autochron.store.ring import CONTROL, Ring

SLOTS: Final = 64
"""Processes that can write at the same time; the first slot belongs to the program itself."""

_PAGE: Final = 4096
_FIRST_SIZE: Final = 4 << 20
_OTHER_SIZE: Final = 256 << 10
_REPLY_SIZE: Final = _PAGE * 2 - CONTROL

_PATIENCE: Final = 1.0
"""Seconds to wait while another process claims or releases a slot."""

# Words of the first page.
_STATE: Final = 0
_PROCESS: Final = 1

STARTING: Final = 0
RUNNING: Final = 1
ENDED: Final = 2
"""The store process has ended, or the program has given it up."""

_OWNERS: Final = 64
"""Index of the first of `SLOTS` words: the id of the process that owns the slot, or 0 for a free one."""

# Words of a slot's first page.
_DONE: Final = 0


class Slot:
    """The memory of one process and the store process.

    Attributes:
        ring: messages to the store process.
        replies: messages from the store process.
    """

    def __init__(self, memory: memoryview) -> None:
        self._words = memory[:_PAGE].cast("Q")
        start = _PAGE + CONTROL + _REPLY_SIZE
        self.replies = Ring(memory[_PAGE:start])
        self.ring = Ring(memory[start:])

    @property
    def done(self) -> int:
        """The position in the ring up to which everything is committed or given up."""
        return self._words[_DONE]

    @done.setter
    def done(self, position: int) -> None:
        self._words[_DONE] = position

    def clear(self) -> None:
        """Empty the slot for another process."""
        self.ring.clear()
        self.replies.clear()
        self.done = 0


class Shared:
    """The whole shared memory.

    Attributes:
        owners: for each slot the id of the process that owns it; 0 if it is free.
        bell: a semaphore that wakes the store process; None if the system has none.
        claims: a semaphore that is held while a slot changes its owner; None if the system has none.
    """

    def __init__(self, descriptor: int = -1) -> None:
        """Map the memory.

        Args:
            descriptor: a file of `SIZE` bytes, for a store process that is no fork of this one; -1 for memory that only
                forks share.
        """
        self._map = mmap.mmap(descriptor, SIZE)
        memory = memoryview(self._map)
        self._words = memory[:_PAGE].cast("Q")
        self.owners = self._words[_OWNERS : _OWNERS + SLOTS]
        self._memory = memory
        self._slots: dict[int, Slot] = {}
        self.bell = _semaphore(0) if descriptor < 0 else None
        self.claims = _semaphore(1) if descriptor < 0 else None

    def slot(self, number: int) -> Slot:
        """Return the slot of a number, from 0."""
        slot = self._slots.get(number)
        if slot is None:
            start = _PAGE if number == 0 else _PAGE + _size(_FIRST_SIZE) + (number - 1) * _size(_OTHER_SIZE)
            size = _size(_OTHER_SIZE if number else _FIRST_SIZE)
            slot = self._slots[number] = Slot(self._memory[start : start + size])
        return slot

    @property
    def state(self) -> int:
        """The state of the store process: STARTING, RUNNING or ENDED."""
        return self._words[_STATE]

    @state.setter
    def state(self, state: int) -> None:
        self._words[_STATE] = state

    @property
    def process(self) -> int:
        """The id of the store process; 0 while it is unknown."""
        return self._words[_PROCESS]

    @process.setter
    def process(self, process: int) -> None:
        self._words[_PROCESS] = process

    @contextlib.contextmanager
    def claimed(self) -> Iterator[bool]:
        """Keep the slots from changing owners during a block.

        Yields:
            Whether that is so. It is not if a process was killed while it held the semaphore, or if there is none.
        """
        claims = self.claims
        is_held = claims is not None and claims.acquire(True, _PATIENCE)
        try:
            yield is_held
        finally:
            if claims is not None and is_held:
                claims.release()

    def claim(self, process: int) -> int | None:
        """Take a free slot for a forked process; return None if there is none, or if the store process has ended."""
        with self.claimed() as is_held:
            if not is_held or self.state == ENDED:
                return None
            owners = self.owners.tolist()
            if 0 not in owners:
                return None
            number = owners.index(0)
            self.owners[number] = process
            return number

    def release(self, number: int) -> None:
        """Free a slot; to be called by the store process inside a `claimed` block."""
        self.slot(number).clear()
        self.owners[number] = 0

    def keep_for_ever(self) -> None:
        """Keep the memory mapped until the process ends."""
        abandon(self._map)

    def wake(self) -> None:
        """Wake the store process."""
        if self.bell is not None:
            try:
                self.bell.release()
            except ValueError:
                pass  # it rings already

    def is_serving(self) -> bool:
        """Return whether the store process is alive and has not been given up."""
        return self.state != ENDED and self.process != 0 and is_running(self.process)


def _size(ring: int) -> int:
    return _PAGE + CONTROL + _REPLY_SIZE + CONTROL + ring


SIZE: Final = _PAGE + _size(_FIRST_SIZE) + (SLOTS - 1) * _size(_OTHER_SIZE)
"""Bytes of the whole memory."""


def _semaphore(value: int) -> Any:
    """Return a semaphore that forks inherit and that holds no descriptor; None if the system has none."""
    try:
        from _multiprocessing import SemLock  # type: ignore[import-not-found]  # lazy: only who starts a store process needs one

        name = f"/autochron-{unpatched.getpid()}-{unpatched.urandom(6).hex()}"
        return SemLock(1, value, 1, name, True)  # the name is unlinked at once
    except (ImportError, OSError):
        return None


def is_running(process: int) -> bool:
    """Return whether a process of ours has not ended. On Linux this takes neither a signal nor a descriptor."""
    try:
        os.stat(f"/proc/{process}/exe")
    except FileNotFoundError:
        pass  # the process is gone or a zombie, or this system has no /proc
    except OSError:
        return True
    else:
        return True
    try:
        with undisturbed():
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not os.path.exists("/proc/self/exe")
