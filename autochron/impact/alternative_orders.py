"""Other orders of sets, and other places of objects in memory: what `impact` puts in the place of these.

A variant has a number. An order depends on it and on the order that the set has, and on nothing else, so that one set is
gone through in one order wherever the same variant is in force; so do addresses and hashes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FunctionType
from typing import Any, Self

from autochron._runtime import unpatched

_ADDRESS = re.compile(r"\b0x([0-9a-fA-F]{6,16})\b")
_NUMBERS = frozenset({int, bool, float, complex})
_PLAIN = _NUMBERS | {str, bytes, type(None)}
_BY_PLACE: Any = object.__hash__
_SHOWN: Any = object.__str__
_BITS = 36
"""Of an address, in which objects differ."""
_TAKEN = -1
"""What no hash is."""


def other_order(values: list[Any], variant: int) -> list[Any]:
    """Return values in another order."""
    match variant:
        case 0:
            moved = values[::-1]
        case 1:
            moved = [*values[1:], *values[:1]]
        case 2:
            moved = sorted(values, key=lambda each: without_addresses(repr(each)))
        case _:
            moved = random.Random(variant).sample(values, len(values))
    return moved if is_moved(moved, values) else [*values[1:], *values[:1]]


def is_moved(order: Iterable[Any], values: Iterable[Any]) -> bool:
    """Return whether two orders of the same values differ."""
    return any(one is not other for one, other in zip(order, values, strict=True))


def has_one_order(values: Collection[Any]) -> bool:
    """Return whether values are in the same order in every process."""
    return len(values) < 2 or all(map(hashes_alike, values))


def hashes_by_place(value: object) -> bool:
    """Return whether a value's hash is made of its address."""
    own: Any = type(value).__hash__
    return own is _BY_PLACE


def shows_place(value: object) -> bool:
    """Return whether a value's text is what Python itself makes of it, with its address."""
    own: Any = type(value)
    return own.__str__ is _SHOWN and not isinstance(own.__repr__, FunctionType)


def hashes_alike(value: object) -> bool:
    """Return whether a value has the same hash in every process."""
    return type(value) in _NUMBERS


def in_order(values: Collection[Any]) -> list[Any]:
    """Return the values in the order that they have; where it is that of addresses, in one that goes by what they hold."""
    found = list(values)
    if any(each is not None and hashes_by_place(each) for each in found):
        found.sort(key=_trait)
    return found


def _trait(value: Any) -> tuple[str, str, str]:
    """Distinguish a value from others by what is plain in it: nothing of its own is called."""
    kind = type(value).__qualname__
    if type(value) in _PLAIN:
        return kind, repr(value), ""
    fields = getattr(value, "__dict__", {}) if not isinstance(value, type) else {}
    if fields.__class__ is not dict:
        fields = {}
    plain = sorted(f"{name}={each!r}" for name, each in list(fields.items()) if type(each) in _PLAIN)
    name = value.__qualname__ if isinstance(value, type | FunctionType) else ""
    return kind, name, " ".join(plain)


def fingerprint(values: Collection[Any]) -> int:
    """Return a number that is the same in two processes where all hashes are, and so the order in a set."""
    is_placed = any(map(hashes_by_place, values))
    return hash((unpatched.getpid() if is_placed else 0, *sorted(map(hash, values))))


def other_hash(value: int, variant: int) -> int:
    """Return another hash than this one."""
    if variant < 2:
        found = (value + 1 if value < (1 << 62) else value - 1, ~value)[variant]
    else:
        found = random.Random(f"{variant} {value}").getrandbits(62) - (1 << 61)
    return found if found != _TAKEN else -2


def other_address(address: int, variant: int) -> int:
    """Return another address than this one: others have others. Some variants turn the order round, or mix it."""
    low = (address >> 4) & ((1 << _BITS) - 1)
    match variant:
        case 0:
            low += 0x1234567
        case 1:
            low = ~low
        case _:
            low *= random.Random(variant).getrandbits(_BITS) | 1
    # As long as every address of a heap is: so long that the length of a text tells nothing.
    return (0x7F << (_BITS + 4)) + ((low & ((1 << _BITS) - 1)) << 4)


def without_addresses(text: str) -> str:
    """Leave the addresses out of a text."""
    return _ADDRESS.sub("0x", text)


def readdressed(text: str, moved: Callable[[int], int]) -> str:
    """Put other addresses into a text."""
    return _ADDRESS.sub(lambda found: hex(moved(int(found[1], 16))), text)


def going(order: list[Any], of: Collection[Any]) -> Iterator[Any]:
    """Go through what is in a set in another order, and refuse as Python does where the set changes."""
    size = len(of)
    for each in order:
        if len(of) != size:
            raise RuntimeError("Set changed size during iteration")
        yield each


class OrderedSet(set):  # type: ignore[type-arg]
    """A set that is gone through, and shown, in an order of its own."""

    __slots__ = ("_order",)

    def __init__(self, order: list[Any]) -> None:
        super().__init__(order)
        self._order = order

    def __iter__(self) -> Iterator[Any]:
        return going(self._order, self)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._order))}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (self._order,)


class OrderedFrozenSet(frozenset):  # type: ignore[type-arg]
    """Such a frozenset."""

    __slots__ = ("_order",)
    _order: list[Any]

    def __new__(cls, order: list[Any]) -> Self:
        made = super().__new__(cls, order)
        made._order = order
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(map(repr, self._order))}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (self._order,)


class Popping:
    """A set of which another element than the first one is popped."""

    __slots__ = ("_first", "_of")

    def __init__(self, of: set[Any], first: Callable[[], Any]) -> None:
        self._of = of
        self._first = first

    def pop(self) -> Any:
        """Remove an element, and give it."""
        if not self._of:
            return self._of.pop()
        popped = self._first()
        self._of.remove(popped)
        return popped


class ShownPlace:
    """An object whose text names another place."""

    __slots__ = ("_of", "_text")

    def __init__(self, of: object, text: str) -> None:
        self._of = of
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __format__(self, spec: str) -> str:
        return format(self._of, spec) if spec else self._text


class Hashed:
    """An object with another hash."""

    __slots__ = ("_hash",)

    def __init__(self, value: int) -> None:
        self._hash = value

    def __hash__(self) -> int:
        return self._hash
