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


def reporter(
    *, quiet: bool, as_json: bool = False, page: str | None = None, whole: bool = False
) -> ReportReplay:
    """Return a function that writes the report to standard error after the replay.

    Args:
        quiet: whether to write nothing if replay and record agree; has no effect on JSON.
        as_json: whether to write JSON, not text.
        page: the path of an HTML page of the replay; None for none.
        whole: whether to leave nothing out of long lists.
    """

    def report(summary: ReplaySummary, replayer: Replayer) -> None:
        from autochron.report.replay import write_replay  # lazy: after the program

        def draw(divergences: Sequence[Divergence]) -> Drawing:
            # lazy: only where there is something to see
            from autochron.report.tree import DRAWN_WHOLE, draw_replay

            record = replayer.record
            recorded = record if record.size <= DRAWN_WHOLE else ()
            return draw_replay(replayer.replayed(), divergences, recorded, get=record.get)

        write_replay(summary, sys.stderr, quiet=quiet, as_json=as_json, draw=draw, whole=whole)
        if page is not None:
            _write_page(page, summary, replayer, quiet=quiet or as_json)

    return report


def _write_page(path: str, summary: ReplaySummary, replayer: Replayer, *, quiet: bool) -> None:
    """Write the page of a replay beside its record, and say where, or why it could not be written."""
    from autochron.errors import UsageError  # lazy: after the program
    from autochron.report.replay import verdict
    from autochron.viewing.page import write_page
    from autochron.viewing.side_by_side import replay_page

    record = replayer.record
    try:
        data = replay_page(
            record.header,
            record.footer,
            record,
            list(replayer.replayed()),
            summary.divergences,
            title=f"replay of {record.header.name or record.header.id}",
            verdict=verdict(summary),
            is_same=summary.same,
            status=summary.status,
        )
        write_page(data, path)
    except UsageError as error:
        message = str(error)
    else:
        message = "" if quiet else f"the page is {path}"
    if message:
        sys.stderr.write(f"autochron: {message}\n")
