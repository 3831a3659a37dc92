"""Other values that a non-deterministic call might have given: what `impact` puts in the place of one.

A value is what is kept of a call (`drawing`): of a choice its indices, of a time its fields. A variant has a number. The
first ones are the far ends, the others are drawn by the number, the site and how many values were given before: the same
number at the same place gives the same value again.
"""

from __future__ import annotations

import datetime as dt
import random
import time
import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from autochron.detect.ambient_codec import form_of, packed
from autochron.detect.catalogue import MAKING, Source

LEAST = 4
"""So many variants are told apart by their kind; what comes after is drawn."""

MOST_DRAWN = 1_000

_DAY = 86_400.0
_SHIFTS = (
    43_219.7,
    -21_583.3,
    21_641.9,
    -3_661.3,
    431 * _DAY + 0.9,
    -409 * _DAY - 41_873.1,
)
"""Seconds by which a clock is off. The first three are a quarter of a day apart, so that each part of the day of so many
hours is met or left; the first two come to another day of the calendar, too (`_other_day`)."""

_LATER = 7_423.9
"""Seconds by which each value of the third variant is later than the one before: what a duration in days is off by."""

_GAPS = (7.3, 4_001.9, 0.13, 97_003.1, 61.7, 700_001.3)
"""Seconds by which a clock that can't go back is ahead, more with each value: what a duration is off by."""

_LONG = frozenset({1, 3, 5, 8, 10})
"""The months of 31 days after which a shorter one comes."""

_STEADY = frozenset({"monotonic", "perf_counter", "process_time", "thread_time"})


class VariedCall(NamedTuple):
    """One call of a source whose value is varied."""

    source: Source
    name: str
    """The function's own name, where a source has several: `get` of `os.environ`."""
    given: tuple[Any, ...]
    """What it was given, as `drawing.Draw` has it."""
    nth: int
    """How many values its site has given before."""
    place: str
    """Seeds what is drawn."""

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments by position, where they are kept as they are."""
        return self.given[0] if self.given and isinstance(self.given[0], tuple) else ()

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name, where they are kept as they are."""
        return self.given[1] if self.given and len(self.given) > 1 and isinstance(self.given[1], dict) else {}

    @property
    def size(self) -> int:
        """How many there are to choose from."""
        return self.given[0] if self.given and isinstance(self.given[0], int) else 0


Vary = Callable[[VariedCall, Any, int], Any]
"""Return another value than this one; or the same, where there is none."""


class Unvaried(Exception):  # noqa: N818 - no error: there is no other value of this one
    """A value of a kind that nothing is known of."""


def vary(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return the variant of what is kept of a call's value.

    Raises:
        Unvaried: no other value is known.
    """
    how = _how(call.source)
    if how is None:
        raise Unvaried
    return how(call, kept, variant)


def can_vary(source: Source) -> bool:
    """Return whether other values of a source are known."""
    return _how(source) is not None


def _how(source: Source) -> Vary | None:
    if source.category in {"clock", "random", "uuid"} and form_of(source) is None:
        return None
    if source.call in MAKING:
        return None
    return _BY_CATEGORY.get(source.category)


def _generator(call: VariedCall, variant: int) -> random.Random:
    return random.Random(f"{call.place} {variant} {call.nth}")


# --- clocks ----------------------------------------------------------------------------------------------------------


def _clock(call: VariedCall, kept: Any, variant: int) -> Any:
    name = call.source.call.rpartition(".")[2]
    if isinstance(kept, bool):
        raise Unvaried
    if isinstance(kept, int | float):
        unit = 1e9 if name.endswith("_ns") else 1
        if name.removesuffix("_ns") in _STEADY or name.startswith("clock_gettime"):
            shift = _GAPS[variant % len(_GAPS)] * (1 + variant // len(_GAPS)) * (call.nth + 1)
        else:
            shift = _shift(call, dt.datetime.fromtimestamp(kept / unit, dt.UTC), variant)
        return kept + type(kept)(shift * unit)
    if isinstance(kept, list):
        return _fields(call, kept, variant)
    if isinstance(kept, dt.datetime):
        return kept + dt.timedelta(seconds=_shift(call, kept, variant))
    if isinstance(kept, str):
        return _written(call, name, variant)
    raise Unvaried


def _shift(call: VariedCall, moment: dt.datetime, variant: int) -> float:
    """Return the seconds by which a clock that shows this is off."""
    least = _SHIFTS[variant % len(_SHIFTS)] * (1 + variant // len(_SHIFTS))
    shift = least + (_LATER if variant == 2 else 1.7) * call.nth
    day = (moment + dt.timedelta(seconds=least)).date()
    return shift + (_other_day(day, moment.weekday(), variant) - day).days * _DAY


@lru_cache(maxsize=256)  # a program that polls asks often
def _other_day(day: dt.date, weekday: int, variant: int) -> dt.date:
    """Return another day: a leap day to come, or a past 31st before a shorter month, on a weekend if this weekday is none.

    What a program does at the end of a month, on weekends or once in four years, it does in one of these.
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
    """Return another date; a new year's day and yesterday, where no hours are there to move."""
    if variant < 2:
        return _other_day(kept, kept.weekday(), variant)
    if variant == 2:
        return dt.date(kept.year + 1, 1, 1)
    shift = _SHIFTS[variant % len(_SHIFTS)] * (1 + variant // len(_SHIFTS))
    return kept + dt.timedelta(days=round(shift / _DAY) or (1 if shift > 0 else -1))


def _written(call: VariedCall, name: str, variant: int) -> str:
    """Return a time as text, as the call would write it."""
    seconds = time.time() // _DAY * _DAY  # the same all day long
    seconds += _shift(call, dt.datetime.fromtimestamp(seconds, dt.UTC), variant)
    if name == "strftime":
        return time.strftime(call.args[0], time.gmtime(seconds))
    if name in {"ctime", "asctime"}:
        return time.asctime(time.gmtime(seconds))
    if name == "formatdate":
        return time.strftime("%a, %d %b %Y %H:%M:%S -0000", time.gmtime(seconds))
    raise Unvaried


# --- chance ----------------------------------------------------------------------------------------------------------


class _End(random.Random):
    """A generator that gives the least, or the most, of what it may."""

    def __init__(self, *, most: bool) -> None:
        self._most = most
        super().__init__(0)

    def random(self) -> float:
        return 0.999999 if self._most else 0.0

    def getrandbits(self, k: int, /) -> int:
        return (1 << k) - 1 if self._most else 0

    def _randbelow(self, n: int) -> int:
        return n - 1 if self._most else 0


_ENDED = frozenset({"random", "uniform", "randint", "randrange", "getrandbits", "triangular", "randbytes"})
"""The draws of which the ends can be given; others repeat until a draw fits."""


def _random(call: VariedCall, kept: Any, variant: int) -> Any:
    owner, _, name = call.source.call.rpartition(".")
    generator = _generator(call, variant)
    if isinstance(kept, list):
        return _indices(name, call, kept, variant, generator)
    if isinstance(kept, bytes):
        return generator.randbytes(len(kept))
    if isinstance(kept, str):
        return "".join(generator.choice("0123456789abcdef") for _ in kept)
    if name == "choice" and call.size and isinstance(kept, int):
        return _other(call, call.size, kept, variant)
    if owner.startswith("numpy") and name not in {
        "seed",
        "SeedSequence",
    }:  # of these a seed is kept, a number
        return _array(name, call, variant)
    small = _small(name, call, kept)
    if small is not None:
        return small[_other(call, len(small), small.index(kept), variant)]
    if owner in {"random", "random.SystemRandom"} and isinstance(kept, int | float):
        if name in _ENDED and variant < 2:
            generator = _End(most=variant == 1)
        if hasattr(generator, name) and name not in {"seed", "Random"}:
            return getattr(generator, name)(*call.args, **call.kwargs)
    if type(kept) is int:
        return generator.getrandbits(max(kept.bit_length(), 1))
    raise Unvaried


def _small(name: str, call: VariedCall, kept: Any) -> range | None:
    """Return the whole numbers that a draw is one of, where its arguments say so in the usual way."""
    args = call.args
    if type(kept) is not int or call.kwargs or not all(type(each) is int for each in args):
        return None
    if name == "randint" and len(args) == 2:
        found = range(args[0], args[1] + 1)
    elif (name == "randrange" and 1 <= len(args) <= 3) or (name == "randbelow" and len(args) == 1):
        found = range(*args)
    else:
        return None
    return found if kept in found else None


def _other(call: VariedCall, size: int, kept: int, variant: int) -> int:
    """Return another number below this: the ends first, then the rest, none twice until all were there."""
    ends = [each for each in dict.fromkeys((0, size - 1)) if each != kept]
    if variant < len(ends):
        return ends[variant]
    if size > MOST_DRAWN:
        return _generator(call, variant).randrange(size)
    rest = [each for each in range(1, size - 1) if each != kept]
    random.Random(f"{call.place} {call.nth}").shuffle(rest)
    others = ends + rest
    return others[variant % len(others)] if others else kept


def _indices(
    name: str, call: VariedCall, kept: list[Any], variant: int, generator: random.Random
) -> list[Any]:
    """Return other indices for choices, for a sample, or for the order of what is shuffled."""
    if name == "shuffle":
        moved = {0: kept[::-1], 1: list(range(len(kept))), 2: kept[1:] + kept[:1]}.get(variant)
        return generator.sample(kept, len(kept)) if moved is None else moved
    size = call.size
    if name == "choices":
        if variant < 2:
            return [(0, size - 1)[variant]] * len(kept)
        return [generator.randrange(size) for _ in kept]
    if name != "sample" or call.given[2]:
        raise Unvaried
    ends = {0: range(len(kept)), 1: range(size - 1, size - 1 - len(kept), -1)}.get(variant)
    return generator.sample(range(size), len(kept)) if ends is None else list(ends)


def _array(name: str, call: VariedCall, variant: int) -> Any:
    import numpy as np  # lazy: the program has drawn from it

    generator = np.random.RandomState(random.Random(f"{call.place} {variant} {call.nth}").getrandbits(32))
    if name == "shuffle" or not hasattr(generator, name):
        raise Unvaried
    return packed(getattr(generator, name)(*call.args, **call.kwargs))


def _uuid(call: VariedCall, kept: Any, variant: int) -> Any:
    generator = _generator(call, variant)
    if isinstance(kept, uuid.UUID):
        return uuid.UUID(int=generator.getrandbits(128), version=4 if kept.version is None else kept.version)
    if isinstance(kept, str):
        return "".join(
            generator.choice("0123456789abcdef") if each in "0123456789abcdefABCDEF" else each
            for each in kept
        )
    if type(kept) is int:
        return generator.getrandbits(48)
    raise Unvaried


# --- the surroundings ------------------------------------------------------------------------------------------------


def _environment(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return an environment variable another value, none, or an empty one."""
    if call.name == "__contains__":
        return not kept
    if kept is not None and not isinstance(kept, str):
        raise Unvaried
    if variant == 1:
        if call.name == "__getitem__":
            raise KeyError(*call.args)
        return call.args[1] if len(call.args) > 1 else call.kwargs.get("default")
    if variant == 2:
        return ""
    if kept and kept.isdecimal():
        return str(int(kept) + 17 + 1000 * variant)
    flag = {"1": "0", "true": "false", "false": "true", "yes": "no", "no": "yes"}.get((kept or "").lower())
    if variant == 0 and flag is not None:
        return flag
    return (
        ("1", "", "", "other-value")[variant] if not kept and variant < 4 else f"{kept or 'value'}-{variant}"
    )


def _host(call: VariedCall, kept: Any, variant: int) -> Any:
    if isinstance(kept, bool) or not isinstance(kept, int | float | str):
        raise Unvaried
    if isinstance(kept, str):
        return f"{kept}-{variant}" if kept else f"other-{variant}"
    return type(kept)(
        (kept + 1, 1, kept * 2 + 3, kept + 7919)[variant] if variant < 4 else kept + 31 * variant
    )


def _files(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return a listing in another order, or without one entry: what isn't a listing is left alone."""
    if isinstance(kept, list):
        others = {0: kept[::-1], 1: kept[:-1], 2: kept[1:] + kept[:1], 3: kept[1:]}.get(variant)
        return _generator(call, variant).sample(kept, len(kept)) if others is None else others
    raise Unvaried


_BY_CATEGORY: dict[str, Vary] = {
    "clock": _clock,
    "random": _random,
    "uuid": _uuid,
    "env": _environment,
    "host": _host,
    "files": _files,
}
