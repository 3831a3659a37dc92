"""Kill worker processes, together with those that they have started."""

from __future__ import annotations

import signal
from contextlib import suppress

from autochron._runtime.unpatched import os


def kill_group(group: int) -> bool:
    """Kill a process group.

    Args:
        group: its id.

    Returns:
        Whether there was such a group that we may kill.
    """
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_child(process: int, *, with_group: bool) -> int:
    """Kill a child of this process, and wait for its end.

    Args:
        process: its id.
        with_group: whether it leads a process group, all of which is killed.

    Returns:
        Its status, as `os.waitpid` encodes it.
    """
    if not (with_group and kill_group(process)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]
