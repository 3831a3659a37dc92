"""What a trial may take, from what the fix takes."""

from __future__ import annotations

from autochron.errors import UsageError
from autochron.mutate.protocol import ServerTask, TrialReply
from autochron.mutate.server.edge_inputs import seconds_for
from autochron.workers.limits import Limits

FIRST_LIMIT = 120.0
"""Seconds that the fix may take at first, before any other limit is known."""

_MIN_LIMIT = 2.0
"""Seconds that any trial may take."""

_LIMIT_FACTOR = 10.0
"""How many times as long as the fix a trial may take."""


def limits_of(task: ServerTask, fix: TrialReply) -> Limits:
    """Return what a trial may take, from what the fix took.

    Args:
        task: the server's task; its timeout, if any, is used as it is.
        fix: the reply of the fix.

    Raises:
        UsageError: the fix itself takes longer than the timeout of the task.
    """
    if task.server == "widen":
        return Limits(
            (task.timeout or max(_MIN_LIMIT, _LIMIT_FACTOR * fix.seconds)) + seconds_for(task.inputs),
            task.memory,
        )
    if task.timeout is not None and fix.seconds > task.timeout:
        raise UsageError(
            f"with the fix the tests take {fix.seconds:.2g} s, and --timeout gives a trial {task.timeout:g} s; give it more"
        )
    return Limits(task.timeout or max(_MIN_LIMIT, _LIMIT_FACTOR * fix.seconds), task.memory)
