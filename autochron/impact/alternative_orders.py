"""Alternative orders of sets, addresses of objects and hashes, which `impact` substitutes for the real ones.

Variants are numbered from 0. An alternative order depends on the variant and on the set's own order, and on nothing else.
Therefore one set has one order wherever the same variant is in force. The same holds for addresses and hashes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FunctionType
from typing import Any, Self

from autochron._runtime import unpatched
from autochron.detect.steadiness import hashes_by_place

_ADDRESS = re.compile(r"\b0x([0-9a-fA-F]{6,16})\b")
_NUMBERS = frozenset({int, bool, float, complex})
_PLAIN = _NUMBERS | {str, bytes, type(None)}
_BITS = 36
"""The number of bits in which the addresses of objects differ."""
_INVALID_HASH = -1
"""CPython reserves this hash value for errors."""


def other_order(values: list[Any], variant: int) -> list[Any]:
    """Return the values in another order.

    Variant 0 is reversed, 1 is rotated by one, and 2 is sorted by text. All others are shuffled, seeded by the variant. Fewer
    than two values have no other order and come back as they are.
    """
    match variant:
        case 0:
            moved = values[::-1]
        case 1:
            moved = [*values[1:], *values[:1]]
        case 2:
            moved = sorted(values, key=lambda value: without_addresses(repr(value)))
        case _:
            moved = random.Random(variant).sample(values, len(values))
    return moved if is_moved(moved, values) else [*values[1:], *values[:1]]


def is_moved(order: Iterable[Any], values: Iterable[Any]) -> bool:
    """Return whether two orders of the same values differ."""
    return any(left is not right for left, right in zip(order, values, strict=True))


def ordered_values(values: Collection[Any]) -> list[Any]:
    """Return the values in their present order, or sorted by their plain fields where the order depends on addresses."""
    ordered = list(values)
    if any(value is not None and hashes_by_place(value) for value in ordered):
        ordered.sort(key=_trait)
    return ordered


def _trait(value: Any) -> tuple[str, str, str]:
    """Return a sort key made of a value's type, name and plain fields. None of the value's own methods are called."""
    kind = type(value).__qualname__
    if type(value) in _PLAIN:
        return kind, repr(value), ""
    fields = getattr(value, "__dict__", {}) if not isinstance(value, type) else {}
    if fields.__class__ is not dict:
        fields = {}
    plain = sorted(f"{name}={field!r}" for name, field in list(fields.items()) if type(field) in _PLAIN)
    name = value.__qualname__ if isinstance(value, type | FunctionType) else ""
    return kind, name, " ".join(plain)


def fingerprint(values: Collection[Any]) -> int:
    """Return a number that two processes share if all hashes of the values are equal, and so the order of the set.

    The process id is part of it where a hash is derived from an address.
    """
    is_placed = any(map(hashes_by_place, values))
    return hash((unpatched.getpid() if is_placed else 0, *sorted(map(hash, values))))


def other_hash(value: int, variant: int) -> int:
    """Return another valid hash than this one."""
    if variant < 2:
        changed = (value + 1 if value < (1 << 62) else value - 1, ~value)[variant]
    else:
        changed = random.Random(f"{variant} {value}").getrandbits(62) - (1 << 61)
    while changed in {value, _INVALID_HASH}:
        changed += 1
    return changed


def other_address(address: int, variant: int) -> int:
    """Return another address. Different addresses stay different.

    Variant 0 keeps the order of addresses, 1 reverses it, and all others mix it.
    """
    low = (address >> 4) & ((1 << _BITS) - 1)
    match variant:
        case 0:
            low += 0x1234567
        case 1:
            low = ~low
        case _:
            low *= random.Random(variant).getrandbits(_BITS) | 1
    # With as many digits as every address of a heap, so that the length of a text does not depend on it.
    return (0x7F << (_BITS + 4)) + ((low & ((1 << _BITS) - 1)) << 4)


def without_addresses(text: str) -> str:
    """Return a text in which each address is reduced to `0x`."""
    return _ADDRESS.sub("0x", text)


def with_addresses(text: str, moved: Callable[[int], int]) -> str:
    """Return a text in which `moved` has replaced each address."""
    return _ADDRESS.sub(lambda address: hex(moved(int(address[1], 16))), text)


def iterate_in(order: list[Any], original: Collection[Any]) -> Iterator[Any]:
    """Yield the elements of `original` in this order.

    Raises:
        RuntimeError: the size of `original` changed meanwhile, as Python's own iterator raises it.
    """
    size = len(original)
    for value in order:
        if len(original) != size:
            raise RuntimeError("Set changed size during iteration")
        yield value


class OrderedSet(set):  # type: ignore[type-arg]
    """A set that is iterated and printed in a given order."""

    __slots__ = ("_order",)

    def __init__(self, order: list[Any]) -> None:
        super().__init__(order)
        self._order = order

    def __iter__(self) -> Iterator[Any]:
        return iterate_in(self._order, self)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._order))}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (self._order,)


class OrderedFrozenSet(frozenset):  # type: ignore[type-arg]
    """A frozenset that is iterated and printed in a given order."""

    __slots__ = ("_order",)
    _order: list[Any]

    def __new__(cls, order: list[Any]) -> Self:
        instance = super().__new__(cls, order)
        instance._order = order
        return instance

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(map(repr, self._order))}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (self._order,)


class PoppingSet:
    """A stand-in for a set whose `pop` removes a chosen element."""

    __slots__ = ("_choose", "_elements")

    def __init__(self, elements: set[Any], choose: Callable[[], Any]) -> None:
        self._elements = elements
        self._choose = choose

    def pop(self) -> Any:
        """Remove the chosen element and return it. An empty set raises its own KeyError."""
        if not self._elements:
            return self._elements.pop()
        element = self._choose()
        self._elements.remove(element)
        return element


class AddressStandIn:
    """A stand-in for an object whose text contains another address."""

    __slots__ = ("_target", "_text")

    def __init__(self, target: object, text: str) -> None:
        self._target = target
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __format__(self, spec: str) -> str:
        return format(self._target, spec) if spec else self._text


class HashStandIn:
    """An object that has a given hash."""

    __slots__ = ("_hash",)

    def __init__(self, value: int) -> None:
        self._hash = value

    def __hash__(self) -> int:
        return self._hash
