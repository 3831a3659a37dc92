"""What is recorded of an ambient value, and how the value is made of that again.

Of a choice the indices, so that the caller's own elements are given back and no population is stored; of a generator that
is made or seeded without a seed that seed; of a time its fields. The rest is kept as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from autochron._runtime import unpatched
from autochron.detect.catalogue import SOURCES, Source

Function = Callable[..., Any]


class Draw(Struct, frozen=True):
    """One call of a source, taken apart."""

    given: tuple[Any, ...]
    """What is compared: a value for each of the form's parameters."""
    draw: Callable[[Function], Any]
    """What is recorded, by the source or by what stands in its place."""
    made: Callable[[Any], Any]
    """Makes of what was recorded what the caller gets; IndexError or ValueError where it doesn't fit this call."""


class SourceForm(Struct, frozen=True):
    """How the calls of a source are taken apart."""

    parameters: tuple[str, ...]
    apart: Callable[[Function, tuple[Any, ...], dict[str, Any]], Draw | None]
    """From the source and its arguments; None where they are wrong, which the source says best."""


def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return what is compared of a call whose arguments are its input."""
    return (args, kwargs) if kwargs else (args,) if args else ()


def _same(value: Any) -> Any:
    return value


def _plain(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    return Draw(given(args, kwargs), lambda source: source(*args, **kwargs), _same)


# --- choices ---------------------------------------------------------------------------------------------------------


def _bound(names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments by name; None where they don't fit."""
    named = dict(zip(names, args, strict=False))
    if len(args) > len(names) or named.keys() & kwargs.keys() or kwargs.keys() - set(names):
        return None
    return {**named, **kwargs}


def _choice(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    bound = _bound(("seq",), args, kwargs)
    if not bound:
        return None
    population = bound["seq"]
    try:
        size = len(population)
    except TypeError:
        return None
    if not size:
        return None
    return Draw((size,), lambda source: source(range(size)), lambda index: population[_within(index, size)])


def _choices(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    bound = _bound(("population", "weights", "cum_weights", "k"), args[:2], kwargs) if len(args) < 3 else None
    if bound is None or "population" not in bound:
        return None
    population = bound.pop("population")
    try:
        size = len(population)
    except TypeError:
        return None
    k = bound.get("k", 1)
    given = (size, bound.get("weights"), bound.get("cum_weights"), k)

    def made(indices: Any) -> list[Any]:
        return [population[_within(index, size)] for index in _as_many(indices, k)]

    return Draw(given, lambda source: source(range(size), **bound), made)


def _sample(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    bound = _bound(("population", "k", "counts"), args[:2], kwargs) if len(args) < 3 else None
    if bound is None or "k" not in bound or not isinstance(bound.get("population"), Sequence):
        return None
    population = bound.pop("population")
    size, k = len(population), bound["k"]

    def made(indices: Any) -> list[Any]:
        return [population[_within(index, size)] for index in _as_many(indices, k)]

    return Draw((size, k, bound.get("counts")), lambda source: source(range(size), **bound), made)


def _shuffle(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    bound = _bound(("x",), args, kwargs)
    if not bound:
        return None
    shuffled = bound["x"]
    try:
        size = len(shuffled)
        before = list(shuffled) if size > 1 else []
        if size > 1:
            shuffled[0] = shuffled[0]  # what can't be changed says so itself
    except Exception:
        return None

    def draw(source: Function) -> list[int]:
        order = list(range(size))
        source(order)
        return order

    def made(order: Any) -> None:
        order = [_within(index, size) for index in _as_many(order, size)]
        if size < 2:
            return
        if hasattr(shuffled, "dtype"):  # the rows of an array are views of it
            shuffled[...] = shuffled[order]
            return
        for at, index in enumerate(order):
            shuffled[at] = before[index]

    return Draw((size,), draw, made)


def _within(index: Any, size: int) -> int:
    if type(index) is not int or not 0 <= index < size:
        raise IndexError(index)
    return index


def _as_many(indices: Any, count: Any) -> list[Any]:
    if type(indices) is not list or len(indices) != count:
        raise ValueError(indices)
    return indices


# --- seeds -----------------------------------------------------------------------------------------------------------


def _seeded(bits: int, name: str) -> Callable[[Function, tuple[Any, ...], dict[str, Any]], Draw]:
    def apart(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
        rest = {key: value for key, value in kwargs.items() if key != name}

        return Draw((), lambda source: source(bits), lambda seed: function(seed, *args[1:], **rest))

    return apart


def random_bits(bits: int) -> int:
    """Draw a seed as a generator without one would."""
    return int.from_bytes(unpatched.urandom(bits // 8), "big")


# --- times and identifiers --------------------------------------------------------------------------------------------


def _moment(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Take apart a class method that gives a date or a time of its class."""
    cls: Any = getattr(function, "__self__", None)
    zone = args[0] if args else kwargs.get("tz")

    def draw(source: Function) -> list[int]:
        value = source(*args, **kwargs)
        fields = [value.year, value.month, value.day]
        if hasattr(value, "microsecond"):
            fields += [value.hour, value.minute, value.second, value.microsecond, value.fold]
        return fields

    def made(fields: Any) -> Any:
        if len(fields) == 3:
            return cls(*fields)
        *fields, fold = fields
        more = {"fold": fold} if fold else {}
        return cls(*fields, zone, **more) if zone is not None else cls(*fields, **more)

    return Draw(given(args, kwargs), draw, made)


def _fields(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Take apart a call that gives a `struct_time`."""
    import time  # here its type alone matters

    def draw(source: Function) -> list[Any]:
        value = source(*args, **kwargs)
        return [list(value), value.tm_zone, value.tm_gmtoff]

    def made(kept: Any) -> time.struct_time:
        values, zone, offset = kept
        return time.struct_time(tuple(values), {"tm_zone": zone, "tm_gmtoff": offset})

    return Draw(given(args, kwargs), draw, made)


def _text_of(type_: str) -> Callable[[Function, tuple[Any, ...], dict[str, Any]], Draw]:
    """Take apart calls that give an identifier of a library's own type, which its text makes again."""
    module, _, name = type_.partition(":")

    def apart(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
        def made(text: str) -> Any:
            return getattr(sys.modules[module], name)(text)

        return Draw(given(args, kwargs), lambda source: str(source(*args, **kwargs)), made)

    return apart


def _drawn(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Take apart a draw of numpy's, which may be an array, or a number of numpy's own type."""
    return Draw(given(args, kwargs), lambda source: packed(source(*args, **kwargs)), _unpacked)


def packed(value: Any) -> Any:
    """Return the plain values of numpy's arrays and numbers, with their type and shape; all else as it is."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is None or kind not in "biufU":  # of others the plain values are not exact
        return value
    is_array = hasattr(value, "__setitem__")
    shape = list(value.shape) if is_array else None
    return {"dtype": value.dtype.str, "shape": shape, "values": value.ravel().tolist()}


def _unpacked(kept: Any) -> Any:
    if not isinstance(kept, dict):
        return kept
    import numpy as np  # lazy: the program has drawn from it

    flat = np.array(kept["values"], dtype=kept["dtype"])
    return flat[0] if kept["shape"] is None else flat.reshape(kept["shape"])


PLAIN = SourceForm(("args", "kwargs"), _plain)
"""Of calls whose value is kept as it is."""

_SEED = SourceForm((), _seeded(256, "a"))

_FORMS: dict[str, SourceForm] = {
    **{
        f"{owner}.choice": SourceForm(("size",), _choice)
        for owner in ("random", "random.SystemRandom", "secrets")
    },
    **{
        f"{owner}.{name}": form
        for owner in ("random", "random.SystemRandom")
        for name, form in {
            "choices": SourceForm(("size", "weights", "cum_weights", "k"), _choices),
            "sample": SourceForm(("size", "k", "counts"), _sample),
            "shuffle": SourceForm(("size",), _shuffle),
        }.items()
    },
    "random.seed": _SEED,
    "random.Random.seed": _SEED,
    "random.Random": SourceForm((), _seeded(256, "x")),
    **{
        source.call: SourceForm(("args", "kwargs"), _drawn)
        for source in SOURCES
        if source.places and source.call.startswith("numpy.random.")
    },
    "numpy.random.SeedSequence": PLAIN,
    "numpy.random.seed": SourceForm((), _seeded(32, "seed")),
    "numpy.random.shuffle": SourceForm(("size",), _shuffle),
    **{
        f"datetime.datetime.{name}": SourceForm(("args", "kwargs"), _moment)
        for name in ("now", "utcnow", "today")
    },
    "datetime.date.today": SourceForm(("args", "kwargs"), _moment),
    "time.localtime": SourceForm(("args", "kwargs"), _fields),
    "time.gmtime": SourceForm(("args", "kwargs"), _fields),
    **{
        f"fastuuid.{name}": SourceForm(("args", "kwargs"), _text_of("fastuuid:UUID"))
        for name in ("uuid1", "uuid4", "uuid7")
    },
    **{
        f"uuid_utils.{name}": SourceForm(("args", "kwargs"), _text_of("uuid_utils:UUID"))
        for name in ("uuid1", "uuid4", "uuid6", "uuid7")
    },
}

SEEDED = frozenset({"random.seed", "random.Random.seed", "random.Random", "numpy.random.seed"})
"""The sources of which a seed is recorded, drawn by `random_bits` or what stands in its place."""

_NEVER = frozenset({"asyncio.AbstractEventLoop.time", "timeit.timeit", "timeit.repeat", "resource.getrusage"})
"""What can't be served: an event loop's timers go by its own clock; and a `timeit` runs the program's code."""

DRAWN_BY: dict[str, str] = {
    f"numpy.random.{name}": "numpy.random.SeedSequence"
    for name in ("default_rng", "RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}
"""Sources that can't be stood in front of, each with the one by which it draws its seed."""

_CATEGORIES = frozenset({"clock", "random", "uuid"})


def form_of(source: Source) -> SourceForm | None:
    """Return how a source's values are recorded; None where they can't be."""
    if source.category not in _CATEGORIES or source.call in _NEVER:
        return None
    if not source.places and source.call not in DRAWN_BY:
        return None
    form: SourceForm = _FORMS.get(source.call, PLAIN)
    return form
