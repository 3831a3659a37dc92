"""One trial in a fork: with limits that hold whatever the code does, and an end that is told for what it is.

A time-out by SIGALRM is none: code in C runs past it, and a broad `except` swallows it. The parent waits for so long and ends
the child's process group; should the parent be gone, the limit of processor time ends it.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, NoReturn, TypeAlias

from autochron._runtime import unpatched
from autochron.effects.scratch_folders import discard_of

_ours: set[int] = set()
"""Descriptors that are no business of a trial."""

MEMORY = 1 << 30
"""Bytes that a trial may take beyond what its server has."""


class Limits(NamedTuple):
    """What a trial may take; `cores` is how many of them it may keep busy all the time."""

    seconds: float
    memory: int = MEMORY
    cores: int = 1


class Ended(NamedTuple):
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


def keep_from_trials(*descriptors: int) -> None:
    """Have every fork with a group of its own close these: what it writes there would be taken for what we say."""
    _ours.update(descriptors)


def close_ours(*descriptors: int) -> None:
    """Close what was kept from trials."""
    for each in descriptors:
        _ours.discard(each)
        os.close(each)


Tell: TypeAlias = Callable[[bytes], None]
"""Writes what is known so far, should the rest not come."""


def forked(work: Callable[[Tell], bytes], limits: Limits, *, apart: bool = True) -> Ended:
    """Do some work in a fork of this process, which must have one thread; gives what it wrote, and how it ended.

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
    """Do here, once, what each fork would: for a process that does nothing but part. Gives what a fork lifts its limit by."""
    gc.disable()
    _be_silent()
    return _limit(limits, _size())


def parted(limits: Limits, *, apart: bool = True, lift: Callable[[], None] | None = None) -> Ended | Fork:
    """Fork, and give in the fork what it tells by, and in this process how it ended; as `forked`, else.

    `lift` is what `at_rest` gave.
    """
    size = _size()
    reading, writing = os.pipe()
    fork = unpatched.fork
    assert fork is not None  # noqa: S101 - asked before
    process: int = fork()
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
        return Ended(said.removesuffix(_END), is_whole=True)
    discard_of(process)
    if is_late:
        return Ended(said, is_late=True)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ended(said, signal=number, is_late=number == signal.SIGXCPU)
    return Ended(said, status=os.WEXITSTATUS(status))


class Fork:
    """A fork, to itself."""

    def __init__(self, writing: int) -> None:
        self._writing = writing
        self._process = unpatched.getpid()
        self.lift: Callable[[], None] = lambda: None
        """Lifts the limit of memory, so that there is some to say what happened."""

    def tell(self, said: bytes) -> None:
        """Write what is known so far."""
        if unpatched.getpid() != self._process:  # one that the trial has forked, and that came back to here
            unpatched.immediate_exit(0)
        view = memoryview(said)
        while view:
            view = view[os.write(self._writing, view) :]

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
            gc.disable()  # a pass through all that the server has would copy it
            _be_silent()
            lift = _limit(limits, size)
        fork.lift = lift
    except BaseException:
        unpatched.immediate_exit(1)
    return fork


def _be_silent() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _limit(limits: Limits, size: int) -> Callable[[], None]:
    """Limit memory and processor time; gives what lifts the limit of memory, so that there is some to say what happened."""
    seconds = int(limits.seconds * limits.cores) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    soonest = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soonest if hard < 0 else min(soonest, hard), hard))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if not size:
        return lambda: None
    most = size + limits.memory
    with suppress(ValueError, OSError):  # a lower one is in force
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))

    def lift() -> None:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    return lift


_known = (0, 0)
"""A process, and its size when it forked first: to ask each time takes a fifth of what an empty fork does."""


def has_grown() -> None:
    """Have the size of this process asked for again, after it has imported or made what every fork then has."""
    global _known  # noqa: PLW0603 - a fact of the process
    _known = (0, 0)


def _size() -> int:
    """Return the bytes of this process's addresses; 0 where that can't be read."""
    global _known  # noqa: PLW0603 - a fact of the process
    process = os.getpid()
    if _known[0] != process:
        try:
            with open("/proc/self/statm", "rb") as file:
                _known = process, int(file.read().split()[0]) * resource.getpagesize()
        except (OSError, ValueError):
            _known = process, 0
    return _known[1]


def _heard(descriptor: int, seconds: float) -> tuple[bytes, bool]:
    """Read what a fork says, until it has ended or the time is over, which is told."""
    until = unpatched.perf_counter_ns() + int(seconds * 1e9)
    said = bytearray()
    while not said.endswith(_END):  # who was started by it may hold the pipe open
        left = (until - unpatched.perf_counter_ns()) / 1e9
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return bytes(said), True
        part = os.read(descriptor, 1 << 20)
        if not part:
            break
        said += part
    return bytes(said), False


def _ended(process: int, *, is_over: bool, apart: bool) -> int:
    """End a fork with what it has left behind, at once where it has said all or is late; gives its status."""
    for pause in (
        () if is_over else (0, 0.001, 0.01, 0.1)
    ):  # it has closed its pipe, and is about to end by itself
        unpatched.sleep(pause)
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            with suppress(ProcessLookupError, PermissionError):
                if apart:
                    os.killpg(process, signal.SIGKILL)
            return status
    try:
        kill = os.killpg if apart else os.kill
        kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def flush() -> None:
    """Write what waits in the standard streams, which each fork would write again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
