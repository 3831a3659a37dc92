"""How processes that work for us are killed, with those that they have started."""

from __future__ import annotations

import signal
from contextlib import suppress

from autochron._runtime.unpatched import os


def kill_group(group: int) -> bool:
    """Kill a process group; return whether there was one that we may kill."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_child(process: int, *, with_group: bool) -> int:
    """Kill a child of this process, wait for its end, and return its status as `os.waitpid` does.

    With `with_group`, the child leads a process group, and all processes of that are killed.
    """
    if not (with_group and kill_group(process)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]
