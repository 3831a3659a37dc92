"""Alternative values that a non-deterministic call might have returned, which `impact` substitutes for the recorded ones.

A value here is the recorded form of a call's result (see `detect.ambient_codec`): the indices of a choice, the fields of a
time. Variants are numbered from 0. The first ones are extreme values. The others are drawn, seeded by the variant, the site
and the number of values that the site gave before. So the same variant at the same place gives the same value again.
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
"""The number of variants that are chosen by kind; the ones after these are drawn."""

MOST_DRAWN = 1_000
"""The largest range of numbers whose variants are enumerated without repetition; in a larger one they are drawn."""

_DAY = 86_400.0
_SHIFTS = (
    43_219.7,
    -21_583.3,
    21_641.9,
    -3_661.3,
    431 * _DAY + 0.9,
    -409 * _DAY - 41_873.1,
)
"""Seconds that are added to a clock. The first three are a quarter of a day apart, so that a program which tests for a part
of the day enters or leaves it in one of them. The first two also move to another calendar day (`_other_day`)."""

_LATER = 7_423.9
"""Seconds that each value of the third variant gains on the one before, so that durations in days change."""

_GAPS = (7.3, 4_001.9, 0.13, 97_003.1, 61.7, 700_001.3)
"""Seconds that are added to a monotonic clock, once more with each value, so that durations change."""

_LONG = frozenset({1, 3, 5, 8, 10})
"""Months of 31 days that a shorter month follows."""

_STEADY = frozenset({"monotonic", "perf_counter", "process_time", "thread_time"})
"""Clocks that never go back."""


class VariedCall(NamedTuple):
    """One call of a source whose value is varied."""

    source: Source
    name: str
    """The function's own name, where a source has several: `get` of `os.environ`."""
    compared: tuple[Any, ...]
    """`Draw.compared` of the call: the values that a replay compares (see `detect.ambient_codec`)."""
    nth: int
    """How many values its site has given before."""
    place: str
    """Site and lane, which seed the drawn variants."""
    began: float = 0.0
    """When the trace began, in seconds since 1970. Times that are recorded as a text are varied from it."""

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; empty if the source compares other values."""
        return self.compared[0] if self.compared and isinstance(self.compared[0], tuple) else ()

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments; empty if the source compares other values."""
        return (
            self.compared[1]
            if self.compared and len(self.compared) > 1 and isinstance(self.compared[1], dict)
            else {}
        )

    @property
    def size(self) -> int:
        """The number of elements that a choice is made from; 0 for other calls."""
        return self.compared[0] if self.compared and isinstance(self.compared[0], int) else 0


Vary = Callable[[VariedCall, Any, int], Any]
"""Takes a call, its value and a variant; returns another value, or the same one where the call has only one."""


class Unvaried(Exception):  # noqa: N818 - no error: there is no other value of this one
    """No alternative is known for this kind of value."""


def vary(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return a variant of a call's value.

    Args:
        call: the call.
        kept: the recorded form of its value.
        variant: the variant's number, from 0.

    Raises:
        Unvaried: no alternative is known for this kind of value.
        KeyError: the variant is that `os.environ[...]` finds no such variable.
        ArithmeticError, ValueError: the variant lies outside what the type can hold, as a date does after year 9999.
    """
    vary_category = _function_for(call.source)
    if vary_category is None:
        raise Unvaried
    return vary_category(call, kept, variant)


def can_vary(source: Source) -> bool:
    """Return whether alternatives are known for a source's values."""
    return _function_for(source) is not None


def _function_for(source: Source) -> Vary | None:
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
        return _formatted(call, name, variant)
    raise Unvaried


def _shift(call: VariedCall, moment: dt.datetime, variant: int) -> float:
    """Return the seconds that are added to a clock that shows this moment."""
    least = _SHIFTS[variant % len(_SHIFTS)] * (1 + variant // len(_SHIFTS))
    shift = least + (_LATER if variant == 2 else 1.7) * call.nth
    day = (moment + dt.timedelta(seconds=least)).date()
    return shift + (_other_day(day, moment.weekday(), variant) - day).days * _DAY


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
    shift = _SHIFTS[variant % len(_SHIFTS)] * (1 + variant // len(_SHIFTS))
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


# --- randomness ------------------------------------------------------------------------------------------------------


class _ExtremeGenerator(random.Random):
    """A generator whose values all lie at the lower end of their range, or at the upper one."""

    def __init__(self, *, most: bool) -> None:
        self._most = most
        super().__init__(0)

    def random(self) -> float:
        return 0.999999 if self._most else 0.0

    def getrandbits(self, k: int, /) -> int:
        return (1 << k) - 1 if self._most else 0

    def _randbelow(self, n: int) -> int:
        return n - 1 if self._most else 0


_EXTREME_DRAWS = frozenset(
    {"random", "uniform", "randint", "randrange", "getrandbits", "triangular", "randbytes"}
)
"""Methods that work with extreme values; the others draw until a value fits, and would never end."""


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
        return _other_index(call, call.size, kept, variant)
    if owner.startswith("numpy") and name not in {
        "seed",
        "SeedSequence",
    }:  # of these a seed is kept, a number
        return _array(name, call, variant)
    small = _small(name, call, kept)
    if small is not None:
        return small[_other_index(call, len(small), small.index(kept), variant)]
    if owner in {"random", "random.SystemRandom"} and isinstance(kept, int | float):
        if name in _EXTREME_DRAWS and variant < 2:
            generator = _ExtremeGenerator(most=variant == 1)
        if hasattr(generator, name) and name not in {"seed", "Random"}:
            return getattr(generator, name)(*call.args, **call.kwargs)
    if type(kept) is int:
        return generator.getrandbits(max(kept.bit_length(), 1))
    raise Unvaried


def _small(name: str, call: VariedCall, kept: Any) -> range | None:
    """Return the range that an integer is drawn from; None where the arguments don't name it by position."""
    args = call.args
    if type(kept) is not int or call.kwargs or not all(type(argument) is int for argument in args):
        return None
    if name == "randint" and len(args) == 2:
        numbers = range(args[0], args[1] + 1)
    elif (name == "randrange" and 1 <= len(args) <= 3) or (name == "randbelow" and len(args) == 1):
        numbers = range(*args)
    else:
        return None
    return numbers if kept in numbers else None


def _other_index(call: VariedCall, size: int, kept: int, variant: int) -> int:
    """Return another number from 0 to size - 1: the two ends first, then all others in a seeded order, without repetition."""
    ends = [index for index in dict.fromkeys((0, size - 1)) if index != kept]
    if variant < len(ends):
        return ends[variant]
    if size > MOST_DRAWN:
        return _generator(call, variant).randrange(size)
    rest = [index for index in range(1, size - 1) if index != kept]
    random.Random(f"{call.place} {call.nth}").shuffle(rest)
    others = ends + rest
    return others[variant % len(others)] if others else kept


def _indices(
    name: str, call: VariedCall, kept: list[Any], variant: int, generator: random.Random
) -> list[Any]:
    """Return other indices for `choices`, `sample` or `shuffle`."""
    if name == "shuffle":
        moved = {0: kept[::-1], 1: list(range(len(kept))), 2: kept[1:] + kept[:1]}.get(variant)
        return generator.sample(kept, len(kept)) if moved is None else moved
    size = call.size
    if name == "choices":
        if variant < 2:
            return [(0, size - 1)[variant]] * len(kept)
        return [generator.randrange(size) for _ in kept]
    if name != "sample" or call.compared[2]:
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
            generator.choice("0123456789abcdef") if character in "0123456789abcdefABCDEF" else character
            for character in kept
        )
    if type(kept) is int:
        return generator.getrandbits(48)
    raise Unvaried


# --- the machine -----------------------------------------------------------------------------------------------------


def _environment(call: VariedCall, kept: Any, variant: int) -> Any:
    """Return another value of an environment variable, the default for a missing one, or an empty string."""
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
    """Return a folder's listing in another order, or without one entry. Other values have no variants."""
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
