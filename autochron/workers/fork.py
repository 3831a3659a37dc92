"""One piece of work in a fork: its limits hold whatever the code does, and how it ended is told apart.

A time-out by SIGALRM is none: code in C runs past it, and a broad `except` swallows it. The parent waits for so long and
kills the child's process group. Should the parent be gone, the limit of processor time ends the child.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, NoReturn, TypeAlias

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.scratch_folders import discard_of
from autochron.workers.ending import kill_child, kill_group
from autochron.workers.limits import Limits, address_space, limit_process
from autochron.workers.pipes import deadline_after, read_part, write_all
from autochron.workers.silence import silence

_ours: set[int] = set()
"""Descriptors that forks with a group of their own close."""


class ForkEnd(NamedTuple):
    """How a fork ended.

    Attributes:
        said: what it wrote.
        is_whole: whether that is all, and it ended by itself.
        signal: that which killed it, or 0.
        status: its exit status, or 0.
        is_late: whether it was ended because it took too long.
    """

    said: bytes
    is_whole: bool = False
    signal: int = 0
    status: int = 0
    is_late: bool = False


_END = b"\n.\n"
"""Behind what was written whole."""


def keep_from_forks(*descriptors: int) -> None:
    """Have every fork with a group of its own close these: what it writes there would be taken for what we say."""
    _ours.update(descriptors)


def close_ours(*descriptors: int) -> None:
    """Close what was kept from forks."""
    for each in descriptors:
        _ours.discard(each)
        os.close(each)


def fork_process() -> int:
    """Fork this process with the function that the program can't have replaced; return as `os.fork` does."""
    fork = unpatched.fork
    assert fork is not None  # noqa: S101 - asked before
    process: int = fork()
    return process


Tell: TypeAlias = Callable[[bytes], None]
"""Writes what is known so far, should the rest not come."""


def forked(work: Callable[[Tell], bytes], limits: Limits, *, apart: bool = True) -> ForkEnd:
    """Do some work in a fork of this process, which must have one thread; return what it wrote, and how it ended.

    With `apart` it leads a process group of its own, which is killed at the end with all that was started in it.
    """
    came = parted(limits, apart=apart)
    if isinstance(came, Fork):
        try:
            came.end(work(came.tell))
        finally:
            unpatched.immediate_exit(1)
    return came


def at_rest(limits: Limits) -> Callable[[], None]:
    """Do here, once, what each fork would: for a process that does nothing but fork.

    Returns:
        What `parted` takes as `lift`.
    """
    gc.disable()
    silence()
    return limit_process(limits, address_space())


def parted(limits: Limits, *, apart: bool = True, lift: Callable[[], None] | None = None) -> ForkEnd | Fork:
    """Fork; return in the child the `Fork` that it answers with, and in this process how the child ended.

    Args:
        limits: what the child may take.
        apart: whether the child leads a process group of its own, as in `forked`.
        lift: what `at_rest` returned; None: the child is limited and silenced itself.
    """
    size = address_space()
    reading, writing = os.pipe()
    process = fork_process()
    if process == 0:
        os.close(reading)
        return _begun(writing, limits, size, apart=apart, lift=lift)
    os.close(writing)
    if apart:
        with suppress(OSError):  # it has done so already, or has ended
            os.setpgid(process, process)
    said, is_late = b"", True
    try:
        said, is_late = _heard(reading, limits.seconds)
    finally:
        os.close(reading)
        status = _ended(process, is_over=is_late or said.endswith(_END), apart=apart)
    if said.endswith(_END) and not is_late:
        return ForkEnd(said.removesuffix(_END), is_whole=True)
    discard_of(process)
    if is_late:
        return ForkEnd(said, is_late=True)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ForkEnd(said, signal=number, is_late=number == signal.SIGXCPU)
    return ForkEnd(said, status=os.WEXITSTATUS(status))


class Fork:
    """A fork, to itself."""

    def __init__(self, writing: int) -> None:
        """Take the descriptor that the parent reads from."""
        self._writing = writing
        self._process = unpatched.getpid()
        self.lift: Callable[[], None] = lambda: None
        """Lifts the limit of memory, so that there is some to report what happened."""

    def tell(self, said: bytes) -> None:
        """Write what is known so far."""
        if unpatched.getpid() != self._process:  # one that the work has forked, and that came back to here
            unpatched.immediate_exit(0)
        write_all(self._writing, said)

    def end(self, said: bytes) -> NoReturn:
        """Write the rest, and end."""
        status = 1
        try:
            self.lift()
            self.tell(said + _END)
            status = 0
        finally:
            unpatched.immediate_exit(status)


def _begun(writing: int, limits: Limits, size: int, *, apart: bool, lift: Callable[[], None] | None) -> Fork:
    try:
        fork = Fork(writing)
        if apart:
            os.setpgid(0, 0)
            for each in _ours:
                os.close(each)
        if lift is None:
            gc.disable()  # a pass through all that the parent has would copy it
            silence()
            lift = limit_process(limits, size)
        fork.lift = lift
    except BaseException:
        unpatched.immediate_exit(1)
    return fork


def _heard(descriptor: int, seconds: float) -> tuple[bytes, bool]:
    """Return what a fork says until it has ended or the time is over, and whether it is over."""
    deadline = deadline_after(seconds)
    said = bytearray()
    while not said.endswith(_END):  # who was started by it may hold the pipe open
        part = read_part(descriptor, deadline)
        if part is None:
            return bytes(said), True
        if not part:
            break
        said += part
    return bytes(said), False


def _ended(process: int, *, is_over: bool, apart: bool) -> int:
    """End a fork with what it has left behind, at once where it has said all or is late; return its status."""
    # One that has closed its pipe without its last word is about to end by itself.
    for pause in () if is_over else (0, 0.001, 0.01, 0.1):
        unpatched.sleep(pause)
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            if apart:
                kill_group(process)
            return status
    return kill_child(process, with_group=apart)
