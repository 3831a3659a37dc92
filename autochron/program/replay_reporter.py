"""The function that writes the report of a replayed program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autochron.model import Divergence, ReplaySummary
    from autochron.ports import Replayer
    from autochron.program.running_replay import ReportReplay
    from autochron.report.tree import Drawing


def reporter(*, quiet: bool, as_json: bool = False) -> ReportReplay:
    """Return a function that writes the report to standard error after the replay.

    Args:
        quiet: whether to write nothing if replay and record agree; has no effect on JSON.
        as_json: whether to write JSON, not text.
    """

    def report(summary: ReplaySummary, replayer: Replayer) -> None:
        from autochron.report.replay import write_replay  # lazy: after the program

        def draw(divergences: Sequence[Divergence]) -> Drawing:
            # lazy: only where there is something to see
            from autochron.report.tree import DRAWN_WHOLE, draw_replay

            record = replayer.record
            recorded = record if record.size <= DRAWN_WHOLE else ()
            return draw_replay(replayer.replayed(), divergences, recorded, get=record.get)

        write_replay(summary, sys.stderr, quiet=quiet, as_json=as_json, draw=draw)

    return report
