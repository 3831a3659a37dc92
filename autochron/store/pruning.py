"""Select the traces of a store to drop: by age, or the oldest ones until the rest fits into a size."""

from __future__ import annotations

import time
from collections.abc import Sequence

from autochron._runtime import unpatched
from autochron.errors import UsageError
from autochron.model import TraceSummary

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_BYTES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def seconds(text: str, option: str) -> float:
    """Parse an age, such as `90m`, `12h` or `30d`, into seconds.

    Raises:
        UsageError: the text is no age; `option` is named in the message.
    """
    return _amount(text, _SECONDS, f"{option} wants an age such as 12h, 30d or 8w")


def room(text: str, option: str) -> float:
    """Parse a size, such as `500MB` or `2GB`, into bytes.

    Raises:
        UsageError: the text is no size; `option` is named in the message.
    """
    return _amount(text.upper(), _BYTES, f"{option} wants a size such as 500MB or 2GB")


def moment_ago(seconds: float) -> str:
    """Return the moment that was so many seconds ago, in the form of `Header.created`."""
    moment = max(0.0, unpatched.time_ns() / 1e9 - seconds)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(moment))}.{int(moment % 1 * 1000):03d}Z"


def to_drop(
    summaries: Sequence[TraceSummary], *, begun_before: str | None = None, room: float | None = None
) -> list[TraceSummary]:
    """Return the traces to drop, oldest first.

    Args:
        summaries: the traces of a store, oldest first, as `Store.summaries` returns them.
        begun_before: ISO 8601, UTC; traces that began earlier are dropped.
        room: bytes that the remaining traces may take; the oldest of them are dropped until they do.
    """
    chosen = [
        summary for summary in summaries if begun_before is not None and summary.header.created < begun_before
    ]
    left = summaries[len(chosen) :]
    size = sum(summary.size for summary in left)
    for summary in left:
        if room is None or size <= room:
            break
        chosen.append(summary)
        size -= summary.size
    return chosen


def _amount(text: str, units: dict[str, int], expected: str) -> float:
    number = text.rstrip("".join(units))
    unit = text[len(number) :]
    try:
        amount = float(number) * units[unit]
    except (KeyError, ValueError):
        raise UsageError(f"{expected}, and got {text!r}") from None
    if not 0 <= amount < 1e18:  # also false for `nan`
        raise UsageError(f"{expected}, and got {text!r}")
    return amount
