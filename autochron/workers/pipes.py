"""Pipes between a process and its worker: write all of some bytes, and read with a deadline."""

from __future__ import annotations

import select

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os

_PART = 1 << 20
"""Bytes of one read, at most."""

_LONGEST = 1 << 30
"""Milliseconds of one wait, at most. The system takes a C integer."""


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes. One system call may write only a part of them.

    Args:
        descriptor: where to write.
        data: what to write.

    Raises:
        BrokenPipeError: nobody can read them any more.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def deadline_after(seconds: float) -> int:
    """Return the deadline for `read_part` that is `seconds` from now, in nanoseconds of the monotonic clock."""
    return unpatched.perf_counter_ns() + int(seconds * 1e9)


def read_part(descriptor: int, deadline: int) -> bytes | None:
    """Read the next bytes of a pipe.

    Args:
        descriptor: where to read.
        deadline: in nanoseconds of the monotonic clock.

    Returns:
        The bytes; empty if the pipe is closed; None if the deadline passes first.
    """
    # Not `select.select`, which raises ValueError for a descriptor of 1024 or more.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while (left := (deadline - unpatched.perf_counter_ns()) / 1e6) > 0:
        if poll.poll(min(left, _LONGEST)):
            return os.read(descriptor, _PART)
    return None


class WorkerDiedError(Exception):
    """The worker has ended, or has not answered in time."""


class LineChannel:
    """A pipe to a worker, and one back. Each request and each answer is a line."""

    def __init__(self, writing: int, reading: int) -> None:
        """Make one.

        Args:
            writing: descriptor of the pipe for requests.
            reading: descriptor of the pipe for answers.
        """
        self.writing = writing
        self.reading = reading
        self._waiting = b""

    def send(self, line: bytes) -> None:
        """Write a request.

        Args:
            line: the request, with its newline.

        Raises:
            WorkerDiedError: the worker has ended.
        """
        try:
            write_all(self.writing, line)
        except BrokenPipeError:
            raise WorkerDiedError from None

    def receive(self, seconds: float | None) -> bytes:
        """Return the next answer, with its newline.

        Args:
            seconds: how long to wait; None to wait without a limit.

        Raises:
            WorkerDiedError: the worker has ended, or the time is over.
        """
        deadline = None if seconds is None else deadline_after(seconds)
        parts = [self._waiting]
        while b"\n" not in parts[-1]:
            part = os.read(self.reading, _PART) if deadline is None else read_part(self.reading, deadline)
            if not part:
                raise WorkerDiedError
            parts.append(part)
        line, newline, self._waiting = b"".join(parts).partition(b"\n")
        return line + newline

    def close(self) -> None:
        """Close both pipes."""
        for descriptor in (self.writing, self.reading):
            try:
                os.close(descriptor)
            except OSError:  # it is closed already
                pass
