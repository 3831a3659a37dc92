"""What a test's report says of its replay: the tree, what is to be known of a test that passed, and how values differ."""

from __future__ import annotations

from collections.abc import Sequence
from operator import ne
from pprint import pformat
from typing import TYPE_CHECKING, Any

from autochron.json_differences import differences_between
from autochron.pytest_plugin.plays import Recorder
from autochron.report.tree import draw_trace
from autochron.session.replay_context import replay
from autochron.session.replayed_view import Sequenced

if TYPE_CHECKING:
    import pytest

    from autochron.pytest_plugin.plays import Play

_LINES = 40
_WIDTH = 100


def section_of(play: Play) -> str:
    """Draw what crossed in a test, with what was live and what differed."""
    face, asked = play.face, play.asked
    if isinstance(play, Recorder):
        head = [text for _, text in play.lines]
        return "\n".join([*head, *(_drawn(play) if play.face.has_begun else ())])
    if not face.has_begun:
        return f"trace {asked.shown}; the replay did not begin"
    live = f", live: {_named(asked.live)}" if asked.live else ", nothing live"
    return "\n".join([f"trace {asked.shown}{live}", *_drawn(play)])


def _drawn(play: Play) -> list[str]:
    face = play.face
    if isinstance(face, replay):
        return face.tree(_LINES)
    return draw_trace(face.trace().envelopes).lines(_LINES)


def _named(live: Any) -> str:
    several = [live] if isinstance(live, str) or callable(live) else live
    return ", ".join(each if isinstance(each, str) else getattr(each, "__name__", "…") for each in several)


def lines_of(play: Play) -> list[tuple[str, str]]:
    """Return what there is to say in one line each, with how grave it is."""
    return [(severity, " ".join(text.split())) for severity, text in play.lines]


def shown_plainly(error: pytest.ExceptionInfo[BaseException], item: pytest.Item) -> Any:
    """Show an error of ours by what it says: its traceback leads through pytest alone."""
    shown: Any = error.getrepr(style="value")
    path, line, _ = item.location
    shown.reprcrash.path, shown.reprcrash.lineno = path, (line or 0) + 1
    return shown


# --- assertions ------------------------------------------------------------------------------------------------------------


def compared(play: Play, left: object, right: object) -> Sequence[str] | None:
    """Say where a sequence of crossings, or what one gave, is other than expected; None where it is neither."""
    if isinstance(left, Sequenced) and isinstance(right, list):
        return _sequences(left, right, "crossed", "expected")
    if isinstance(right, Sequenced) and isinstance(left, list):
        return _sequences(right, left, "crossed", "expected")
    for one, other, of in ((left, right, "left"), (right, left, "right")):
        address = _giver(play, one)
        if address is not None and isinstance(one, dict | list):
            return _values(address, one, other, of)
    return None


def _sequences(crossed: Sequence[str], expected: Sequence[str], *named: str) -> list[str]:
    """Show both sequences beside each other, from a little before they part."""
    count = max(len(crossed), len(expected))
    rows = [tuple(each[at] if at < len(each) else "–" for each in (crossed, expected)) for at in range(count)]
    first = next((at for at, (one, other) in enumerate(rows) if one != other), 0)
    start, end = max(first - 2, 0), first + 8
    wide = max(len(each) for row in [named, *rows[start:end]] for each in row[:1])
    lines = [
        f"replay.sequence() parts from what was expected at [{first}]: {_at(crossed, first)} for {_at(expected, first)}",
        f"       {named[0]:{wide}}  {named[1]}",
    ]
    for at, (one, other) in enumerate(rows[start:end], start):
        lines.append(f"{'>' if one != other else ' '} {f'[{at}]':>4} {one:{wide}}  {other}")
    return [*lines, f"  … {count - end} more"] if count > end else lines


def _at(sequence: Sequence[str], at: int) -> str:
    return sequence[at] if at < len(sequence) else "the end"


def _giver(play: Play, value: object) -> str | None:
    """Return the address of the crossing that a value was asked of."""
    return next((each.address for each in play.face.crossings if each.gave(value)), None)


def _values(address: str, given: Any, expected: object, of: str) -> list[str]:
    differing = list(differences_between(given, expected, is_other=ne))
    if not differing:
        return []
    nearest = differing[0]
    more = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
    lines = [
        f"{address} gave what was not expected, first at {nearest.indexed or 'the whole'}{more}:",
        f"  gave      {_short(nearest.first)}",
        f"  expected  {_short(nearest.second)}",
        f"{of} is what it gave:",
    ]
    return lines + [f"  {line}" for line in pformat(given, width=_WIDTH).splitlines()[:_LINES]]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
