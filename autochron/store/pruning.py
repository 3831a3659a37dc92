"""Which traces of a store to drop: by age, and the oldest ones until the rest fits."""

from __future__ import annotations

import time
from collections.abc import Sequence

from autochron._runtime import unpatched
from autochron.errors import UsageError
from autochron.model import TraceSummary

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_BYTES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def seconds(text: str, option: str) -> float:
    """Read an age, such as `90m`, `12h` or `30d`; UsageError for anything else."""
    return _amount(text, _SECONDS, f"{option} wants an age such as 12h, 30d or 8w")


def room(text: str, option: str) -> float:
    """Read a size in bytes, such as `500MB` or `2GB`; UsageError for anything else."""
    return _amount(text.upper(), _BYTES, f"{option} wants a size such as 500MB or 2GB")


def moment_ago(seconds: float) -> str:
    """Return the moment that was so long ago, as traces tell when they began."""
    moment = max(0.0, unpatched.time_ns() / 1e9 - seconds)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(moment))}.{int(moment % 1 * 1000):03d}Z"


def to_drop(
    summaries: Sequence[TraceSummary], *, begun_before: str | None = None, room: float | None = None
) -> list[TraceSummary]:
    """Choose from the traces of a store, oldest first.

    Args:
        summaries: as `Store.summaries` lists them.
        begun_before: ISO 8601, UTC; what began earlier is dropped.
        room: bytes; the oldest are dropped until the others take no more.
    """
    chosen = [each for each in summaries if begun_before is not None and each.header.created < begun_before]
    left = summaries[len(chosen) :]
    taken = sum(each.size for each in left)
    for each in left:
        if room is None or taken <= room:
            break
        chosen.append(each)
        taken -= each.size
    return chosen


def _amount(text: str, units: dict[str, int], wants: str) -> float:
    number = text.rstrip("".join(units))
    unit = text[len(number) :]
    try:
        amount = float(number) * units[unit]
    except (KeyError, ValueError):
        raise UsageError(f"{wants}, and got {text!r}") from None
    if not 0 <= amount < 1e18:  # also what is no number
        raise UsageError(f"{wants}, and got {text!r}")
    return amount
