"""Ask a process that has everything imported to run a command of ours in a fork of it, in the place of a new interpreter.

The request goes over a Unix socket, with the descriptors of standard output and standard error. A line of JSON comes back,
or nothing where the process does not take the request.
"""

from __future__ import annotations

import selectors
import socket
import subprocess

from msgspec import DecodeError, Struct, json, structs

from autochron._runtime.unpatched import os
from autochron.workers.pipes import deadline_after

PREPARED_REPLAYS = "AUTOCHRON_PREPARED"
"""Environment variable with the path of the socket."""

FROM_CUT = "AUTOCHRON_FROM_CUT"
"""Environment variable that is set where a replay may go on from the first call of a swapped-in function."""

_PART = 1 << 16
"""Bytes of one read, at most."""


class PreparedReplay(Struct, frozen=True, kw_only=True):
    """A request to replay the recorded command of a trace, as `autochron replay` does.

    Attributes:
        trace: path of the trace file.
        rules: path of the rule file; None to look for one.
        swaps: functions to replace, each with its replacement.
        allow_unwoven: whether to replay although the model asked for a tool that no rule wove.
        trusted: digest of the command.
        hash_seed: hash seed of the recorded run; empty if any will do.
        environment: the environment of the command.
        folder: its working folder.
        from_cut: whether it may go on in a fork of another replay, from the first call of a swapped-in function.
        limits: by number of a resource, the soft and the hard limit; `run_prepared` sets those of the asking process.
    """

    trace: str
    rules: str | None
    swaps: tuple[tuple[str, str], ...]
    allow_unwoven: bool
    trusted: str
    hash_seed: str
    environment: dict[str, str]
    folder: str
    from_cut: bool = False
    limits: dict[int, tuple[int, int]] = {}


class PreparedEnd(Struct, frozen=True):
    """The end of a replay that was asked for.

    Attributes:
        status: its exit status, as `subprocess` returns it.
        why_whole: why it did not go on from the first call of a swapped-in function; empty where it did, or was not to.
    """

    status: int
    why_whole: str = ""


class NotPreparedError(Exception):
    """There is no process that takes the request."""


def run_prepared(
    address: str, request: PreparedReplay, timeout: float | None
) -> tuple[PreparedEnd, bytes, bytes]:
    """Have a request carried out.

    Args:
        address: path of the socket.
        request: what is to be run.
        timeout: limit in seconds; None for no limit. At its end the command is killed, with all that it has started.

    Returns:
        How it ended, and what it wrote to standard output and to standard error.

    Raises:
        NotPreparedError: nothing was run.
        subprocess.TimeoutExpired: it took longer than `timeout`.
    """
    import resource  # lazy: only Unix has it

    limited = (resource.RLIMIT_AS, resource.RLIMIT_CPU)
    request = structs.replace(request, limits={number: resource.getrlimit(number) for number in limited})
    out_reading, out_writing = os.pipe()
    err_reading, err_writing = os.pipe()
    with socket.socket(socket.AF_UNIX) as connection, open(out_reading, "rb", 0), open(err_reading, "rb", 0):
        try:
            connection.connect(address)
            socket.send_fds(connection, [b"r"], [out_writing, err_writing])
            connection.sendall(json.encode(request) + b"\n")
        except OSError:
            raise NotPreparedError from None
        finally:
            os.close(out_writing)
            os.close(err_writing)
        descriptors = (connection.fileno(), out_reading, err_reading)
        line, stdout, stderr = _read_all(descriptors, timeout)
    try:
        return json.decode(line, type=PreparedEnd), stdout, stderr
    except DecodeError:
        raise NotPreparedError from None


def _read_all(descriptors: tuple[int, ...], timeout: float | None) -> list[bytes]:
    """Read some descriptors to their ends.

    Raises:
        subprocess.TimeoutExpired: the time is over.
    """
    deadline = None if timeout is None else deadline_after(timeout)
    read = {descriptor: bytearray() for descriptor in descriptors}
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            left = None if deadline is None else (deadline - deadline_after(0)) / 1e9
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(["autochron", "replay"], timeout or 0.0)
            for key, _ in selector.select(left):
                part = os.read(key.fd, _PART)
                read[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
    return [bytes(data) for data in read.values()]
