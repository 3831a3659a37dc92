"""The memory that a program's processes and their store process share: a slot for each process that writes.

It is mapped without a file or a descriptor, and forks inherit it. What is never touched takes no room.
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
"""Processes that can write at the same time; the first slot is that of the program itself."""

_PAGE: Final = 4096
_FIRST_SIZE: Final = 4 << 20
_OTHER_SIZE: Final = 256 << 10
_REPLY_SIZE: Final = _PAGE * 2 - CONTROL

_PATIENCE: Final = 1.0
"""Seconds to wait for a process that claims a slot."""

# Words of the first page.
_STATE: Final = 0
_PROCESS: Final = 1

STARTING: Final = 0
RUNNING: Final = 1
ENDED: Final = 2
"""The store process has ended, or was given up by the program."""

_OWNERS: Final = 64
"""The first of the words with the ids of the processes that own the slots; 0 where one is free."""

# Words of a slot's first page.
_DONE: Final = 0


class Slot:
    """What one process and the store process share.

    Attributes:
        ring: the messages to the store process.
        replies: those from it.
    """

    def __init__(self, memory: memoryview) -> None:
        self._words = memory[:_PAGE].cast("Q")
        start = _PAGE + CONTROL + _REPLY_SIZE
        self.replies = Ring(memory[_PAGE:start])
        self.ring = Ring(memory[start:])

    @property
    def done(self) -> int:
        """Return up to which position of the ring everything is committed or given up."""
        return self._words[_DONE]

    @done.setter
    def done(self, position: int) -> None:
        self._words[_DONE] = position

    def clear(self) -> None:
        """Make the slot ready for another process."""
        self.ring.clear()
        self.replies.clear()
        self.done = 0


class Shared:
    """All of the memory.

    Attributes:
        owners: the ids of the processes that own the slots; 0 where one is free.
        bell: a semaphore that wakes the store process; None where there is none to be had.
        claims: a semaphore that is held while a slot changes its owner.
    """

    def __init__(self, descriptor: int = -1) -> None:
        """Map it; a descriptor, of a file of `SIZE` bytes, where who shares it is no fork."""
        self._map = mmap.mmap(descriptor, SIZE)
        memory = memoryview(self._map)
        self._words = memory[:_PAGE].cast("Q")
        self.owners = self._words[_OWNERS : _OWNERS + SLOTS]
        self._memory = memory
        self._slots: dict[int, Slot] = {}
        self.bell = _semaphore(0) if descriptor < 0 else None
        self.claims = _semaphore(1) if descriptor < 0 else None

    def slot(self, number: int) -> Slot:
        """Return a slot."""
        found = self._slots.get(number)
        if found is None:
            start = _PAGE if number == 0 else _PAGE + _size(_FIRST_SIZE) + (number - 1) * _size(_OTHER_SIZE)
            size = _size(_OTHER_SIZE if number else _FIRST_SIZE)
            found = self._slots[number] = Slot(self._memory[start : start + size])
        return found

    @property
    def state(self) -> int:
        """Return whether the store process is starting, running or has ended."""
        return self._words[_STATE]

    @state.setter
    def state(self, state: int) -> None:
        self._words[_STATE] = state

    @property
    def process(self) -> int:
        """Return the id of the store process."""
        return self._words[_PROCESS]

    @process.setter
    def process(self, process: int) -> None:
        self._words[_PROCESS] = process

    @contextlib.contextmanager
    def claimed(self) -> Iterator[bool]:
        """Keep slots from changing their owners; yield whether that is so: whoever held this may have been killed."""
        claims = self.claims
        held = claims is not None and claims.acquire(True, _PATIENCE)
        try:
            yield held
        finally:
            if claims is not None and held:
                claims.release()

    def claim(self, process: int) -> int | None:
        """Take a slot for a process that was forked; None where there is none, or the store process has ended."""
        with self.claimed() as held:
            if not held or self.state == ENDED:
                return None
            owners = self.owners.tolist()
            if 0 not in owners:
                return None
            number = owners.index(0)
            self.owners[number] = process
            return number

    def release(self, number: int) -> None:
        """Make a slot free; while it is claimed, by the store process."""
        self.slot(number).clear()
        self.owners[number] = 0

    def keep_for_ever(self) -> None:
        """Keep the memory mapped as long as the process lasts."""
        abandon(self._map)

    def wake(self) -> None:
        """Wake the store process."""
        if self.bell is not None:
            try:
                self.bell.release()
            except ValueError:
                pass  # it rings already

    def is_serving(self) -> bool:
        """Return whether the store process is there."""
        return self.state != ENDED and self.process != 0 and is_running(self.process)


def _size(ring: int) -> int:
    return _PAGE + CONTROL + _REPLY_SIZE + CONTROL + ring


SIZE: Final = _PAGE + _size(_FIRST_SIZE) + (SLOTS - 1) * _size(_OTHER_SIZE)
"""Bytes of the whole."""


def _semaphore(value: int) -> Any:
    """Return a semaphore that forks inherit and that holds no descriptor; None where the system has none."""
    try:
        from _multiprocessing import SemLock  # type: ignore[import-not-found]  # lazy: only who starts a store process needs one

        name = f"/autochron-{unpatched.getpid()}-{unpatched.urandom(6).hex()}"
        return SemLock(1, value, 1, name, True)  # its name is gone again at once
    except (ImportError, OSError):
        return None


def is_running(process: int) -> bool:
    """Return whether a process of ours is there and has not ended. No signal and no descriptor where Linux can be asked."""
    try:
        os.stat(f"/proc/{process}/exe")
    except FileNotFoundError:
        pass  # it is gone, has ended and waits to be collected, or there is no /proc here
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
