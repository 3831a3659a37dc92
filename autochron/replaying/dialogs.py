"""Serving of dialogs: streams of answers to what the program sends meanwhile, such as the output of a process that it asks.

An item is handed out once the crossings have ended that had ended before it came. How far a dialog was read when its
consumer left it is up to timing, so it is not compared: what depended on its items is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autochron.model import Abandoned, Closed, Envelope, Streamed
from autochron.replaying.compare import is_cancelled
from autochron.replaying.turns import running_loop

if TYPE_CHECKING:
    from autochron.replaying.schedule import Schedule

MOMENTS = b'"moments":'
"""In the `meta` of an envelope: it says when each item of a dialog came, in nanoseconds since the recording began."""


async def wait_for_item(schedule: Schedule, envelope: Envelope, moments: Sequence[int], index: int) -> None:
    """Wait until it is time for an item.

    Args:
        schedule: of the replay.
        envelope: the record of the dialog.
        moments: when each item came.
        index: of the item.
    """
    asyncio, loop = sys.modules.get("asyncio"), running_loop()
    if asyncio is None or loop is None or index >= len(moments):
        return
    schedule.dialogs[envelope.seq] = moments[index]
    await schedule.wait_until_over(envelope, moments[index], asyncio, loop)
    with schedule.lock:
        if index + 1 < len(moments):
            schedule.dialogs[envelope.seq] = moments[index + 1]
        else:
            schedule.dialogs.pop(envelope.seq, None)
        schedule.waiters.wake()


def was_cut_off(envelope: Envelope) -> bool:
    """Return whether a recorded stream ended because its consumer was cancelled, or has left a dialog."""
    outcome = envelope.outcome
    if not isinstance(outcome, Streamed):
        return False
    return is_cancelled(outcome.end) or (
        MOMENTS in envelope.meta and isinstance(outcome.end, Closed | Abandoned)
    )
