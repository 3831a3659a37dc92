"""Alternative readings of the clocks of a system: other days, hours and years, and moments at which fields begin anew."""

from __future__ import annotations

import datetime as dt
import time
from functools import lru_cache
from typing import Any

from autochron.impact.varied_call import FIRST_SOUGHT, Unvaried, VariedCall

_DAY = 86_400.0
_SHIFTS = (
    43_219.737,
    -21_583.351,
    21_641.923,
    -3_661.337,
    4_021 * _DAY + 0.917,
    -409 * _DAY - 41_873.113,
)
"""Seconds that are added to a clock. The first three are a quarter of a day apart, so that a program which tests for a part
of the day enters or leaves it in one of them. The first two also move to another calendar day (`_other_day`)."""

_YEAR_END = 5
"""The variant of a clock that is the last moment of the year, after which all fields begin anew."""
_LATER = 7_423.9
"""Seconds that each value of the third variant gains on the one before, so that durations in days change."""

_STEPS = (7.3, 4_001.9, 0.13, 97_003.1, 61.7, 700_001.3)
"""Seconds that are added to a clock of the system, once more with each value, so that durations change."""

_LONG = frozenset({1, 3, 5, 8, 10})
"""Months of 31 days that a shorter month follows."""


def other_time(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return another reading of a clock, in the form that is recorded."""
    name = call.source.call.rpartition(".")[2]
    if isinstance(kept, bool):
        raise Unvaried
    if isinstance(kept, int | float):
        unit = 1e9 if name.endswith("_ns") else 1
        if name.startswith("clock_gettime"):
            shift = _STEPS[variant % len(_STEPS)] * (1 + variant // len(_STEPS)) * (call.nth + 1)
        else:
            shift = _shift(call, dt.datetime.fromtimestamp(kept / unit, dt.UTC), variant)
        return kept + type(kept)(shift * unit)
    if isinstance(kept, list):
        return _fields(call, kept, variant)
    if isinstance(kept, dt.datetime):
        return kept + dt.timedelta(seconds=_shift(call, kept, variant))
    if isinstance(kept, str):
        return _formatted(call, name, variant)
    raise Unvaried


def _shift(call: VariedCall, moment: dt.datetime, variant: int) -> float:
    """Return the seconds that are added to a clock that shows this moment."""
    least = _SHIFTS[variant % len(_SHIFTS)] if variant < FIRST_SOUGHT else _sought_shift(variant)
    if variant == _YEAR_END:
        last = moment.replace(month=12, day=31, hour=23, minute=59, second=59, microsecond=900_000)
        least = (last - moment).total_seconds()
    shift = least + (_LATER if variant == 2 else 1.7) * call.nth
    day = (moment + dt.timedelta(seconds=least)).date()
    return shift + (_other_day(day, moment.weekday(), variant) - day).days * _DAY


def _sought_shift(variant: int) -> float:
    """Return the seconds of a variant that is sought: of each day around, another hour and minute of the day."""
    number = variant - FIRST_SOUGHT
    seconds = (number // 2 + 1) * (_DAY + 3_607)
    return -seconds if number % 2 else seconds


@lru_cache(maxsize=256)  # a program that polls asks often
def _other_day(day: dt.date, weekday: int, variant: int) -> dt.date:
    """Return another calendar day.

    Variant 0 is a future leap day. Variant 1 is a past 31st before a shorter month, on a weekend if `weekday` is a working
    day and the other way round. So code for month ends, weekends and leap years runs in one of them. Others keep the day.
    """
    if variant == 0:
        year = day.year + 2
        return dt.date(year + -year % 4 + (4 if (year + -year % 4) % 100 == 0 else 0), 2, 29)
    if variant != 1:
        return day
    other = day - dt.timedelta(days=409)
    while (other.day, other.month in _LONG) != (31, True) or (other.weekday() < 5) == (weekday < 5):
        other -= dt.timedelta(days=1)
    return other


def _fields(call: VariedCall, kept: list[Any], variant: int) -> list[Any]:
    if len(kept) == 3 and isinstance(kept[0], list):  # of a struct_time
        fields, zone, offset = kept
        moment = dt.datetime(*fields[:6])  # noqa: DTZ001 - its zone is the call's
        moved = (moment + dt.timedelta(seconds=_shift(call, moment, variant))).timetuple()
        return [[*moved[:8], fields[8]], zone, offset]
    if len(kept) == 3:
        date = _date(dt.date(*kept), variant)
        return [date.year, date.month, date.day]
    *fields, fold = kept
    moment = dt.datetime(*fields)  # noqa: DTZ001 - see above
    moment += dt.timedelta(seconds=_shift(call, moment, variant))
    return [
        *(moment.year, moment.month, moment.day),
        *(moment.hour, moment.minute, moment.second, moment.microsecond),
        fold,
    ]


def _date(kept: dt.date, variant: int) -> dt.date:
    """Return another date: as `_other_day`, then the next New Year's Day, then a shift by whole days."""
    if variant < 2:
        return _other_day(kept, kept.weekday(), variant)
    if variant == 2:
        return dt.date(kept.year + 1, 1, 1)
    if variant >= FIRST_SOUGHT:
        days = (variant - FIRST_SOUGHT) // 2 + 1
        return kept + dt.timedelta(days=-days if variant % 2 else days)
    if variant == _YEAR_END:
        return kept.replace(month=12, day=31)
    shift = _SHIFTS[variant]
    return kept + dt.timedelta(days=round(shift / _DAY) or (1 if shift > 0 else -1))


def _formatted(call: VariedCall, name: str, variant: int) -> str:
    """Return another time as text, in the format of the call."""
    # Not from the clock of this machine: replays on two days would get two texts.
    seconds = call.began + _shift(call, dt.datetime.fromtimestamp(call.began, dt.UTC), variant)
    if name == "strftime":
        return time.strftime(call.args[0], time.gmtime(seconds))
    if name in {"ctime", "asctime"}:
        return time.asctime(time.gmtime(seconds))
    if name == "formatdate":
        return time.strftime("%a, %d %b %Y %H:%M:%S -0000", time.gmtime(seconds))
    raise Unvaried
