"""A digest of a value that is too deep or too large to be written: any depth, no recursion, and no addresses.

Equal values have equal digests in every process. How much is read depends on a budget of values and bytes and never on
time, so two runs stop at the same place.
"""

from __future__ import annotations

from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from autochron._runtime import bare
from autochron._runtime.bare import identity
from autochron._runtime.class_table import ClassTable
from autochron.envelope import objects, shapes
from autochron.envelope import types as names
from autochron.envelope.cycles import CycleError, Cycles

MAX_BYTES: Final = 64 * 1024 * 1024
"""Bytes of strings and the like in one value, at most."""

_SCALARS = (str, int, float, complex, bytes, bytearray, range, type(None), type(Ellipsis))
_FIELDS = frozenset({"pydantic", "struct", "record", "namespace"})
_MAX_SORTED_DEPTH = 20
"""Levels of sets in sets, and of keys that are no scalars, at most. Each has to be sorted by a digest of its own."""


class _Close:
    """Marks, on the stack, the end of a container."""

    __slots__ = ("key",)

    def __init__(self, key: int) -> None:
        self.key = key


class TooLargeError(Exception):
    """A value has more parts than are read."""


class _Budget:
    """What may still be read.

    Attributes:
        values, bytes: how many values and bytes.
        cycles: the parts that lie on a cycle, if they were searched. Each is read once.
        marks: whether a mark stands for a part that contains itself and has no number.
    """

    __slots__ = ("bytes", "cycles", "marks", "values")

    def __init__(self, values: int, cycles: Cycles | None, *, marks: bool) -> None:
        self.values = values
        self.bytes = MAX_BYTES
        self.cycles = cycles
        self.marks = marks

    def spend(self, size: int = 0) -> None:
        self.values -= 1
        self.bytes -= size
        if self.values < 0 or self.bytes < 0:
            raise TooLargeError


def digest_of(value: Any, max_values: int, cycles: Cycles | None = None, *, marks: bool) -> str | None:
    """Return a digest of a value.

    Args:
        value: any value.
        max_values: how many parts are read, at most.
        cycles: the parts that lie on a cycle, if they were searched, with the numbers of those that were read before.
        marks: whether a mark stands for a part that contains itself and has no number.

    Returns:
        32 hexadecimal digits; None where the value has more parts, or too many bytes.

    Raises:
        CycleError: the value contains itself, and there are no marks.
    """
    return digest_and_cost(value, max_values, cycles, marks=marks)[0]


def digest_and_cost(
    value: Any, max_values: int, cycles: Cycles | None = None, *, marks: bool
) -> tuple[str | None, int]:
    """Return the digest as `digest_of` does, and how many parts were read."""
    budget = _Budget(max_values, cycles, marks=marks)
    try:
        digest = _digest(value, budget, 0).hex()
    except TooLargeError:
        digest = None
    return digest, max_values - max(budget.values, 0)


def _digest(value: Any, budget: _Budget, level: int) -> bytes:
    hashed = blake2b(digest_size=16)
    put = hashed.update
    stack: list[Any] = [value]
    open_: set[int] = set()
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is _Close:
            open_.discard(item.key)
            put(b")")
            continue
        if kind in _SCALARS or issubclass(kind, (int, float, str, bytes)):
            data = _scalar(item)
            budget.spend(len(data))
            put(b"%d:" % len(data) + data)
            if kind in _SCALARS:
                continue
        budget.spend()
        if budget.cycles is not None and (number := budget.cycles.number_of(identity(item))) is not None:
            put(b"cycle%d" % number)
            continue
        if identity(item) in open_:
            if not budget.marks:
                raise CycleError
            put(b"cycle")
            continue
        members = _members(item, kind, budget, level)
        open_.add(identity(item))
        put(_labels.find(kind, _label))
        stack.append(_Close(identity(item)))
        stack += reversed(members)
    return hashed.digest()


def _label(kind: type) -> bytes:
    return b"(" + names.label(kind).encode("utf-8", "surrogatepass")


_labels: ClassTable[bytes] = ClassTable()
names.on_root_change(_labels.forget)


def _scalar(value: Any) -> bytes:
    kind = type(value)
    if issubclass(kind, str):
        return b"str " + str.encode(value, "utf-8", "surrogatepass")
    if issubclass(kind, (bytes, bytearray)):
        return kind.__name__.encode() + b" " + bytes(memoryview(value))
    if issubclass(kind, int):
        return f"{'bool' if kind is bool else 'int'} {int.__format__(value, 'x')}".encode()
    if issubclass(kind, float):
        return f"float {float.__repr__(value)}".encode()
    return f"{kind.__name__} {value!r}".encode()  # the `repr` of these types runs no code and has no address


def _members(value: Any, kind: type, budget: _Budget, level: int) -> list[Any]:
    """List the parts of a value, in an order that does not depend on hashes."""
    if issubclass(kind, dict):
        return _pairs(value, budget, level) + _attributes(value, kind)
    if issubclass(kind, (list, tuple, deque)):
        base: Any = list if issubclass(kind, list) else tuple if issubclass(kind, tuple) else deque
        return [*base.__iter__(value), *_attributes(value, kind)]
    if issubclass(kind, (set, frozenset)):
        base = set if issubclass(kind, set) else frozenset
        items = list(base.__iter__(value))
        if budget.cycles is not None:
            return [*sorted(_digests(items, budget, level)), *_attributes(value, kind)]
        return [*_sorted(items, budget, level), *_attributes(value, kind)]
    if kind is slice:
        return [value.start, value.stop, value.step]
    shape = shapes.kind_of(kind)
    if shape == "exception":
        attributes = bare.dictionary_of(value) or {}
        return [list(bare.of_error(value, "args")), *_flat(attributes), bare.of_error(value, "__cause__")]
    if shape == "enum":
        return [str(value._name_)]
    if shape in _FIELDS or objects.is_own(kind):
        return _attributes(value, kind)
    if shape == "container":
        return _attributes(value, kind)
    module = bare.text(kind, "__module__")
    if (
        module in ("datetime", "decimal", "uuid", "fractions", "zoneinfo")
        or module.partition(".")[0] == "pathlib"
    ):
        return [str(value)]
    if bare.text(value, "__qualname__"):
        return [names.label_function(value)]
    return []


def _attributes(value: Any, kind: type) -> list[Any]:
    if shapes.is_pydantic(kind):
        state = {**(bare.dictionary_of(value) or {}), **(bare.slot(value, "__pydantic_extra__") or {})}
    elif issubclass(kind, msgspec.Struct):
        state = {name: bare.slot(value, name) for name in shapes.struct_fields(kind)}
    else:
        state = shapes.attributes(value, shapes.slots_of(kind))
    derived = objects.derived(kind)
    return _flat({key: item for key, item in state.items() if key not in derived})


def _flat(state: dict[Any, Any]) -> list[Any]:
    pairs = sorted(((bare.key_text(key), item) for key, item in state.items()), key=lambda pair: pair[0])
    return [part for pair in pairs for part in pair]


def _pairs(value: dict[Any, Any], budget: _Budget, level: int) -> list[Any]:
    items = dict.items(value)
    if all(type(key) is str for key, _ in items):
        return [part for pair in sorted(items, key=lambda pair: pair[0]) for part in pair]
    return [part for pair in _sorted(list(items), budget, level, lambda pair: pair[0]) for part in pair]


def _sorted(
    values: list[Any], budget: _Budget, level: int, key_of: Callable[[Any], Any] = lambda item: item
) -> list[Any]:
    if level >= _MAX_SORTED_DEPTH:
        raise TooLargeError
    digests = _digests([key_of(value) for value in values], budget, level)
    return [values[index] for index in sorted(range(len(values)), key=digests.__getitem__)]


def _digests(values: list[Any], budget: _Budget, level: int) -> list[bytes]:
    """Return the digest of each of some values. No other part refers to what is in them."""
    if budget.cycles is None:
        return [_digest(value, budget, level + 1) for value in values]
    digests = []
    for value in values:
        with budget.cycles.apart():
            digests.append(_digest(value, budget, level + 1))
    return digests
