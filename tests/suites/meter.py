"""Run a command to its end and write its status, CPU seconds and largest resident set.

    python meter.py FILE SECONDS COMMAND...

This is a process of its own, so that RUSAGE_CHILDREN covers only the command. It adopts orphans of the command: the process
that writes a recording's store is forked twice, and its time has to count as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 20.0
"""Seconds that processes may run on after the command has ended."""


def join_family() -> None:
    """Become the parent of orphaned descendants, and end with our own parent; do nothing if the system can't do this."""
    with contextlib.suppress(OSError, AttributeError):
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def end(_number: int, _frame: object) -> None:
    """Kill all children and exit, as the handler of SIGTERM."""
    for child in children():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    os._exit(1)


def run(command: list[str], limit: float) -> tuple[int, bool]:
    """Run a command; return its status, and whether it took too long."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(limit), False
    except subprocess.TimeoutExpired:
        # Under pytest, faulthandler then prints where each thread is.
        process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(5), True
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait(), True


def reap() -> None:
    """Wait for the remaining processes, and kill those that do not end."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended:
            continue
        if time.monotonic() > deadline:
            for child in children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        time.sleep(0.02)


def children() -> list[int]:
    """Return the ids of this process's children."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
    return []


def main(file: str, limit: str, command: list[str]) -> None:
    signal.signal(signal.SIGTERM, end)
    # A shell lets background jobs ignore SIGINT, and then tests of interrupts would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    join_family()
    status, is_late = run(command, float(limit))
    reap()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    kibibyte = 1 if sys.platform != "darwin" else 1024
    measured = {
        "status": status,
        "late": is_late,
        "cpu": used.ru_utime + used.ru_stime,
        "rss": used.ru_maxrss // kibibyte,
    }
    with open(file, "w", encoding="utf-8") as stream:
        json.dump(measured, stream)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
