"""Encode the values of ambient sources (clock, random, uuid) for the record, and rebuild them from it.

- A choice is recorded as indices. The caller's own elements are returned on replay, and no population is stored.
- A generator that is made or seeded without a seed is recorded as the seed that it is given instead.
- A time is recorded as its fields.
- An identifier of a library's own type is recorded as its text.
- An array or number of numpy is recorded as plain values with their type and shape.
- Any other value is recorded as it is.
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
    """One call of a source: what is compared on replay, how its value is drawn, and how the result is rebuilt."""

    compared: tuple[Any, ...]
    """The values that a replay compares, one for each of the form's parameters."""
    draw: Callable[[Function], Any]
    """Returns the value to record. It takes the source, or a function in its place."""
    rebuild: Callable[[Any], Any]
    """Returns the caller's result, rebuilt from the recorded value.

    It raises IndexError or ValueError if the recorded value does not fit this call.
    """


class SourceForm(Struct, frozen=True):
    """How the calls of one source are encoded."""

    parameters: tuple[str, ...]
    encode: Callable[[Function, tuple[Any, ...], dict[str, Any]], Draw | None]
    """Returns the `Draw` of a call, from the source and its arguments.

    None if the arguments are wrong: the source is then called as it is, and raises its own error.
    """


def draw_of(form: SourceForm, source: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Return the encoded call of a source; None if its arguments are wrong: the source itself raises the right error."""
    try:
        return form.encode(source, args, kwargs)
    except Exception:
        return None


def compared_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the compared values of a call whose arguments are its input."""
    return (args, kwargs) if kwargs else (args,) if args else ()


def _same(value: Any) -> Any:
    return value


def _plain(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Encode a call whose value is recorded as it is."""
    return Draw(compared_arguments(args, kwargs), lambda source: source(*args, **kwargs), _same)


# --- choices ---------------------------------------------------------------------------------------------------------


def _bound(names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments by name; None if they do not fit the parameters `names`."""
    named = dict(zip(names, args, strict=False))
    if len(args) > len(names) or named.keys() & kwargs.keys() or kwargs.keys() - set(names):
        return None
    return {**named, **kwargs}


def _choice(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Encode a choice of one element as its index; None if there is no population of some size."""
    arguments = _bound(("seq",), args, kwargs)
    if not arguments:
        return None
    population = arguments["seq"]
    try:
        size = len(population)
    except TypeError:
        return None
    if not size:
        return None
    return Draw((size,), lambda source: source(range(size)), lambda index: population[_within(index, size)])


def _choices(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Encode choices with replacement as indices."""
    arguments = (
        _bound(("population", "weights", "cum_weights", "k"), args[:2], kwargs) if len(args) < 3 else None
    )
    if arguments is None or "population" not in arguments:
        return None
    population = arguments.pop("population")
    try:
        size = len(population)
    except TypeError:
        return None
    k = arguments.get("k", 1)
    compared = (size, arguments.get("weights"), arguments.get("cum_weights"), k)

    def rebuild(indices: Any) -> list[Any]:
        return [population[_within(index, size)] for index in _as_many(indices, k)]

    return Draw(compared, lambda source: source(range(size), **arguments), rebuild)


def _sample(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Encode choices without replacement as indices."""
    arguments = _bound(("population", "k", "counts"), args[:2], kwargs) if len(args) < 3 else None
    if arguments is None or "k" not in arguments or not isinstance(arguments.get("population"), Sequence):
        return None
    population = arguments.pop("population")
    size, k = len(population), arguments["k"]

    def rebuild(indices: Any) -> list[Any]:
        return [population[_within(index, size)] for index in _as_many(indices, k)]

    return Draw((size, k, arguments.get("counts")), lambda source: source(range(size), **arguments), rebuild)


def _shuffle(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw | None:
    """Encode a shuffle as the new order of the indices. On replay the caller's sequence is put into that order."""
    arguments = _bound(("x",), args, kwargs)
    if not arguments:
        return None
    shuffled = arguments["x"]
    try:
        size = len(shuffled)
        before = list(shuffled) if size > 1 else []
        if size > 1:
            shuffled[0] = shuffled[0]  # fails if it can't be changed; the source then raises its own error
    except Exception:
        return None

    def draw(source: Function) -> list[int]:
        order = list(range(size))
        source(order)
        return order

    def rebuild(order: Any) -> None:
        order = [_within(index, size) for index in _as_many(order, size)]
        if size < 2:
            return
        if hasattr(shuffled, "dtype"):
            # `before` holds views of an array's rows, which an assignment row by row would overwrite.
            shuffled[...] = shuffled[order]
            return
        for position, index in enumerate(order):
            shuffled[position] = before[index]

    return Draw((size,), draw, rebuild)


def _within(index: Any, size: int) -> int:
    """Return the index; raise IndexError if it is no index of a population of `size` elements."""
    if type(index) is not int or not 0 <= index < size:
        raise IndexError(index)
    return index


def _as_many(indices: Any, count: Any) -> list[Any]:
    """Return the indices; raise ValueError if they are no list of `count` elements."""
    if type(indices) is not list or len(indices) != count:
        raise ValueError(indices)
    return indices


# --- seeds -----------------------------------------------------------------------------------------------------------


def _seeded(bits: int, name: str) -> Callable[[Function, tuple[Any, ...], dict[str, Any]], Draw]:
    """Return a function that encodes calls which seed a generator.

    Args:
        bits: the number of bits of the seed.
        name: the name of the parameter that takes the seed.
    """

    def encode(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
        rest = {key: value for key, value in kwargs.items() if key != name}

        return Draw((), lambda source: source(bits), lambda seed: function(seed, *args[1:], **rest))

    return encode


def random_bits(bits: int) -> int:
    """Return a random seed, as an unseeded generator would draw it.

    Args:
        bits: a multiple of 8.
    """
    return int.from_bytes(unpatched.urandom(bits // 8), "big")


# --- times and identifiers --------------------------------------------------------------------------------------------


def _moment(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Encode a call of a class method that returns a date or a time of its class."""
    cls: Any = getattr(function, "__self__", None)
    zone = args[0] if args else kwargs.get("tz")

    def draw(source: Function) -> list[int]:
        value = source(*args, **kwargs)
        fields = [value.year, value.month, value.day]
        if hasattr(value, "microsecond"):
            fields += [value.hour, value.minute, value.second, value.microsecond, value.fold]
        return fields

    def rebuild(fields: Any) -> Any:
        if len(fields) == 3:
            return cls(*fields)
        *fields, fold = fields
        fold_argument = {"fold": fold} if fold else {}
        return cls(*fields, zone, **fold_argument) if zone is not None else cls(*fields, **fold_argument)

    return Draw(compared_arguments(args, kwargs), draw, rebuild)


def _fields(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Encode a call that returns a `struct_time`."""
    import time  # the plain module: only its type `struct_time` is used

    def draw(source: Function) -> list[Any]:
        value = source(*args, **kwargs)
        return [list(value), value.tm_zone, value.tm_gmtoff]

    def rebuild(recorded: Any) -> time.struct_time:
        values, zone, offset = recorded
        return time.struct_time(tuple(values), {"tm_zone": zone, "tm_gmtoff": offset})

    return Draw(compared_arguments(args, kwargs), draw, rebuild)


def _text_of(type_: str) -> Callable[[Function, tuple[Any, ...], dict[str, Any]], Draw]:
    """Return a function that encodes calls which return an identifier of a library's own type.

    Args:
        type_: `module:name` of the type. Its constructor takes the identifier's text.
    """
    module, _, name = type_.partition(":")

    def encode(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
        def rebuild(text: str) -> Any:
            return getattr(sys.modules[module], name)(text)

        return Draw(compared_arguments(args, kwargs), lambda source: str(source(*args, **kwargs)), rebuild)

    return encode


def _drawn(_function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draw:
    """Encode a call of numpy that returns an array, or a number of numpy's own type."""
    return Draw(compared_arguments(args, kwargs), lambda source: packed(source(*args, **kwargs)), _unpacked)


def packed(value: Any) -> Any:
    """Return the plain values of a numpy array or number, with type and shape; any other value as it is.

    Returns:
        `{"dtype": ..., "shape": ..., "values": ...}`, with the values in one flat list. The shape is None for a number.
    """
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is None or kind not in "biufU":  # plain values of other kinds, such as dates, are not exact
        return value
    is_array = hasattr(value, "__setitem__")
    shape = list(value.shape) if is_array else None
    return {"dtype": value.dtype.str, "shape": shape, "values": value.ravel().tolist()}


def _unpacked(recorded: Any) -> Any:
    """Return the array or number that `packed` encoded; any other value as it is."""
    if not isinstance(recorded, dict):
        return recorded
    import numpy as np  # lazy: only for programs that draw from numpy

    flat = np.array(recorded["values"], dtype=recorded["dtype"])
    return flat[0] if recorded["shape"] is None else flat.reshape(recorded["shape"])


PLAIN = SourceForm(("args", "kwargs"), _plain)
"""The form of calls whose value is recorded as it is."""

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
"""The sources of which a seed is recorded. `random_bits`, or a function in its place, draws it."""

_NEVER = frozenset({"asyncio.AbstractEventLoop.time", "timeit.timeit", "timeit.repeat", "resource.getrusage"})
"""Sources whose values are never recorded.

An event loop's timers depend on its own clock. `timeit` runs the program's code.
"""

DRAWN_BY: dict[str, str] = {
    f"numpy.random.{name}": "numpy.random.SeedSequence"
    for name in ("default_rng", "RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}
"""Sources that can't be patched, each with the source that draws its seed."""

_CATEGORIES = frozenset({"clock", "random", "uuid"})


def form_of(source: Source) -> SourceForm | None:
    """Return the form in which a source's values are recorded; None if they can't be."""
    if source.category not in _CATEGORIES or source.call in _NEVER:
        return None
    if not source.places and source.call not in DRAWN_BY:
        return None
    form: SourceForm = _FORMS.get(source.call, PLAIN)
    return form
