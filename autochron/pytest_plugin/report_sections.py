"""Text for pytest's report: the tree of crossings, summary lines, and explanations of failed comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from operator import ne
from pprint import pformat
from typing import TYPE_CHECKING, Any

from autochron.json_differences import differences_between
from autochron.pytest_plugin.sessions import RecordedTest
from autochron.report.tree import draw_trace
from autochron.session.replay_context import replay
from autochron.session.replayed_view import Sequenced

if TYPE_CHECKING:
    import pytest

    from autochron.pytest_plugin.sessions import TestSession

_LINES = 40
_WIDTH = 100


def section_of(session: TestSession) -> str:
    """Return the report section of a test: its trace, what was live, and the tree of crossings with their divergences."""
    handle, options = session.handle, session.options
    if isinstance(session, RecordedTest):
        head = [text for _, text in session.lines]
        return "\n".join([*head, *(_tree_of(session) if session.handle.has_begun else ())])
    if not handle.has_begun:
        return f"trace {options.shown}; the replay did not begin"
    live = f", live: {_live_names(options.live)}" if options.live else ", nothing live"
    return "\n".join([f"trace {options.shown}{live}", *_tree_of(session)])


def _tree_of(session: TestSession) -> list[str]:
    handle = session.handle
    if isinstance(handle, replay):
        return handle.tree(_LINES)
    return draw_trace(handle.trace().envelopes).lines(_LINES)


def _live_names(live: Any) -> str:
    entries = [live] if isinstance(live, str) or callable(live) else live
    return ", ".join(
        entry if isinstance(entry, str) else getattr(entry, "__name__", "…") for entry in entries
    )


def lines_of(session: TestSession) -> list[tuple[str, str]]:
    """Return the summary lines of a test as pairs of severity and text, each text on one line."""
    return [(severity, " ".join(text.split())) for severity, text in session.lines]


def without_traceback(error: pytest.ExceptionInfo[BaseException], item: pytest.Item) -> Any:
    """Return pytest's representation of an autochron error: the message only, as its traceback has pytest's frames only."""
    shown: Any = error.getrepr(style="value")
    path, line, _ = item.location
    shown.reprcrash.path, shown.reprcrash.lineno = path, (line or 0) + 1
    return shown


# --- assertions ------------------------------------------------------------------------------------------------------------


def compared(session: TestSession, left: object, right: object) -> Sequence[str] | None:
    """Explain where a sequence of crossings, or a crossing's result, differs from the expected value.

    Returns:
        Lines of text; None if neither operand comes from the session.
    """
    if isinstance(left, Sequenced) and isinstance(right, list):
        return _compare_sequences(left, right, "crossed", "expected")
    if isinstance(right, Sequenced) and isinstance(left, list):
        return _compare_sequences(right, left, "crossed", "expected")
    for result, expected, side in ((left, right, "left"), (right, left, "right")):
        address = _address_of_result(session, result)
        if address is not None and isinstance(result, dict | list):
            return _compare_values(address, result, expected, side)
    return None


def _compare_sequences(crossed: Sequence[str], expected: Sequence[str], *named: str) -> list[str]:
    """Write both sequences side by side, from two rows before the first difference."""
    count = max(len(crossed), len(expected))
    rows = [
        tuple(sequence[index] if index < len(sequence) else "–" for sequence in (crossed, expected))
        for index in range(count)
    ]
    first = next((index for index, (actual, wanted) in enumerate(rows) if actual != wanted), 0)
    start, end = max(first - 2, 0), first + 8
    width = max(len(cell) for row in [named, *rows[start:end]] for cell in row[:1])
    lines = [
        (
            f"replay.sequence() differs from what was expected at [{first}]:"
            f" {_entry_at(crossed, first)} instead of {_entry_at(expected, first)}"
        ),
        f"       {named[0]:{width}}  {named[1]}",
    ]
    for index, (actual, wanted) in enumerate(rows[start:end], start):
        lines.append(f"{'>' if actual != wanted else ' '} {f'[{index}]':>4} {actual:{width}}  {wanted}")
    return [*lines, f"  … {count - end} more"] if count > end else lines


def _entry_at(sequence: Sequence[str], at: int) -> str:
    return sequence[at] if at < len(sequence) else "the end"


def _address_of_result(session: TestSession, value: object) -> str | None:
    """Return the address of the crossing whose result a value is; None if it is no crossing's."""
    return next((crossing.address for crossing in session.handle.crossings if crossing.gave(value)), None)


def _compare_values(address: str, result: Any, expected: object, side: str) -> list[str]:
    differences = list(differences_between(result, expected, is_other=ne))
    if not differences:
        return []
    first = differences[0]
    more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
    lines = [
        f"{address} gave what was not expected, first at {first.indexed or 'the whole'}{more}:",
        f"  gave      {_short(first.first)}",
        f"  expected  {_short(first.second)}",
        f"{side} is what it gave:",
    ]
    return lines + [f"  {line}" for line in pformat(result, width=_WIDTH).splitlines()[:_LINES]]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
