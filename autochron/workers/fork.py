"""Do one piece of work in a fork. Limits hold whatever the code does, and the result says how the fork ended.

A time limit by SIGALRM would not hold: code in C runs past it, and a broad `except` swallows it. So the parent waits
for a limited time and then kills the child's process group. If the parent is gone, the limit of processor time ends
the child.
"""

from __future__ import annotations

import gc
import signal
import warnings
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

_kept_from_forks: set[int] = set()
"""Descriptors that forks with a process group of their own close."""


class ForkEnd(NamedTuple):
    """How a fork ended.

    Attributes:
        output: the bytes that it wrote.
        is_whole: whether these are complete, and it ended by itself.
        signal: number of the signal that killed it, or 0.
        status: its exit status, or 0.
        is_late: whether it was ended because it took too long.
    """

    output: bytes
    is_whole: bool = False
    signal: int = 0
    status: int = 0
    is_late: bool = False


_END = b"\n.\n"
"""Ends the bytes of a fork that has written all of them."""


def keep_from_forks(*descriptors: int) -> None:
    """Have each fork with a process group of its own close these descriptors.

    What it writes there would be taken for ours.
    """
    _kept_from_forks.update(descriptors)


def close_ours(*descriptors: int) -> None:
    """Close descriptors that were kept from forks."""
    for descriptor in descriptors:
        _kept_from_forks.discard(descriptor)
        os.close(descriptor)


def fork_process() -> int:
    """Fork this process by the original `os.fork`, which the program can't have replaced; return as that does."""
    fork = unpatched.fork
    assert fork is not None  # noqa: S101 - the caller has checked that forks exist
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of other threads, which what is forked does not need
        process: int = fork()
    return process


WritePart: TypeAlias = Callable[[bytes], None]
"""Type of a function that writes a part of the result early, in case the rest is never written."""


def forked(work: Callable[[WritePart], bytes], limits: Limits, *, own_group: bool = True) -> ForkEnd:
    """Do some work in a fork of this process, which must have one thread only.

    Args:
        work: does the work, and returns the bytes of the result. It may write parts of them early.
        limits: what the fork may take.
        own_group: whether the fork leads a process group of its own, which is killed at the end with all that was started
            in it.

    Returns:
        The bytes that it wrote, and how it ended.
    """
    fork_or_end = fork_or_wait(limits, own_group=own_group)
    if isinstance(fork_or_end, Fork):
        try:
            fork_or_end.end(work(fork_or_end.write))
        finally:
            unpatched.immediate_exit(1)
    return fork_or_end


def prepare_for_forks(limits: Limits) -> Callable[[], None]:
    """Disable garbage collection and silence and limit this process, so that its forks need not do so themselves.

    It is for a process that does nothing but fork.

    Args:
        limits: what each fork may take.

    Returns:
        A function that `fork_or_wait` takes as `lift`.
    """
    gc.disable()
    silence()
    return limit_process(limits, address_space())


def fork_or_wait(
    limits: Limits, *, own_group: bool = True, lift: Callable[[], None] | None = None
) -> ForkEnd | Fork:
    """Fork. In the child, return the `Fork` by which it writes its result. In this process, wait for the child's end.

    Args:
        limits: what the child may take.
        own_group: whether the child leads a process group of its own, as in `forked`.
        lift: what `prepare_for_forks` returned; None if the child has to be limited and silenced itself.
    """
    size = address_space()
    reading, writing = os.pipe()
    process = fork_process()
    if process == 0:
        os.close(reading)
        return _begin(writing, limits, size, own_group=own_group, lift=lift)
    os.close(writing)
    if own_group:
        with suppress(OSError):  # the child has done so itself, or has ended
            os.setpgid(process, process)
    output, is_late = b"", True
    try:
        output, is_late = _read_all(reading, limits.seconds)
    finally:
        os.close(reading)
        status = _end(process, is_over=is_late or output.endswith(_END), own_group=own_group)
    if output.endswith(_END) and not is_late:
        return ForkEnd(output.removesuffix(_END), is_whole=True)
    discard_of(process)
    if is_late:
        return ForkEnd(output, is_late=True)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ForkEnd(output, signal=number, is_late=number == signal.SIGXCPU)
    return ForkEnd(output, status=os.WEXITSTATUS(status))


class Fork:
    """A fork, as seen by itself: writes its result."""

    def __init__(self, writing: int) -> None:
        """Make one.

        Args:
            writing: the descriptor that the parent reads from.
        """
        self._writing = writing
        self._process = unpatched.getpid()
        self.lift: Callable[[], None] = lambda: None
        """Lifts the limit of memory, so that enough is left to report the result."""

    def write(self, part: bytes) -> None:
        """Write a part of the result."""
        if unpatched.getpid() != self._process:  # a fork that the work has made, and that ran on to here
            unpatched.immediate_exit(0)
        write_all(self._writing, part)

    def end(self, result: bytes) -> NoReturn:
        """Write the rest of the result, and end the process."""
        status = 1
        try:
            self.lift()
            self.write(result + _END)
            status = 0
        finally:
            unpatched.immediate_exit(status)


def _begin(
    writing: int, limits: Limits, size: int, *, own_group: bool, lift: Callable[[], None] | None
) -> Fork:
    """Set up a fork, in the child: its process group, limits, and silence."""
    try:
        fork = Fork(writing)
        if own_group:
            os.setpgid(0, 0)
            for descriptor in _kept_from_forks:
                os.close(descriptor)
        if lift is None:
            gc.disable()  # a collection would write to all pages that are shared with the parent, and so copy them
            silence()
            lift = limit_process(limits, size)
        fork.lift = lift
    except BaseException:
        unpatched.immediate_exit(1)
    return fork


def _read_all(descriptor: int, seconds: float) -> tuple[bytes, bool]:
    """Read what a fork writes until it has ended or the time is over; return that, and whether the time is over."""
    deadline = deadline_after(seconds)
    output = bytearray()
    while not output.endswith(_END):  # a process that it started may hold the pipe open
        part = read_part(descriptor, deadline)
        if part is None:
            return bytes(output), True
        if not part:
            break
        output += part
    return bytes(output), False


def _end(process: int, *, is_over: bool, own_group: bool) -> int:
    """End a fork and what it has left behind; return its status.

    Args:
        process: its id.
        is_over: whether it has written everything or is late, so that it is killed at once.
        own_group: whether it leads a process group.
    """
    # A fork that has closed its pipe early is about to end by itself.
    for pause in () if is_over else (0, 0.001, 0.01, 0.1):
        unpatched.sleep(pause)
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            if own_group:
                kill_group(process)
            return status
    return kill_child(process, with_group=own_group)
