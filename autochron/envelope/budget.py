"""A budget for reading values: a graph whose parts are shared may be exponentially larger when it is written out.

msgspec writes in C, and only its buffer can stop it: a bytearray that is exported can't grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from autochron._runtime.bare import identity, of_error, slot
from autochron.envelope import shapes
from autochron.envelope.cycles import CycleError, Cycles
from autochron.envelope.value_digest import TooLargeError

__all__ = [
    "MOST_VISITS",
    "TooLargeError",
    "count_shown",
    "encode_within",
    "max_containers",
    "max_numbered",
    "multiplies",
]

MOST_VISITS: Final = 20_000
"""Parts that are read before it is tested whether a value multiplies."""

_SIZES = (1 << 13, 1 << 16, 1 << 20)
"""Bytes of the buffers that are tried before that test."""

_MOST_PARTS: Final = 200_000
_MOST_TIMES = 4
_MAX_DEPTH = 100
_ATOMS = frozenset({str, int, float, bool, type(None), bytes, bytearray, complex, type, range})
_ITEMS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_BUILTIN = frozenset({dict, *_ITEMS})
_last = [0]
"""The index of the size that was large enough the last time."""

_left = [-1]
"""How many more values an encoder's hook may show; negative: without limit."""


class _ManyError(Exception):
    """An encoder's hook was called for more values than are shown before the test."""


def count_shown() -> None:
    """Count a value that an encoder's hook shows: the buffer does not limit the time that calls of Python take."""
    _left[0] -= 1
    if not _left[0]:
        raise _ManyError


def encode_within(encoder: Any, value: Any, show: Callable[[Any], Any]) -> bytes:
    """Return what an encoder of msgspec writes.

    Args:
        encoder: has `encode` and `encode_into`.
        value: the value to write.
        show: returns what the encoder's hook returns.

    Raises:
        TooLargeError: the value multiplies.
        CycleError: the value contains itself.
    """
    for index in range(_last[0], len(_SIZES)):
        buffer = bytearray(_SIZES[index])
        view = memoryview(buffer)
        _left[0] = MOST_VISITS
        try:
            encoder.encode_into(value, buffer)
        except BufferError:
            continue
        except _ManyError:
            break
        finally:
            _left[0] = -1
            view.release()
        _last[0] = index if not index or len(buffer) > _SIZES[index - 1] else index - 1
        return bytes(buffer)
    count = _Count(show)
    total = count.parts(value, 0)
    if count.cycles:
        raise CycleError  # msgspec would write it down to the limit of recursion, the rest of it at each level
    if _exceeds(count, total):
        raise TooLargeError
    body: bytes = encoder.encode(value)
    return body


def multiplies(value: Any, show: Callable[[Any], Any] | None = None) -> bool:
    """Return whether a value has many more parts if shared parts are counted each time that they occur.

    So does a value that contains itself more than once: it has a path for every order of its parts. The test takes time
    in proportion to the parts, each counted once.

    Args:
        value: any value.
        show: returns the plain data that stands for an object without parts of its own.
    """
    count = _Count(show)
    return _exceeds(count, count.parts(value, 0))


def max_numbered(cycles: Cycles) -> int:
    """Return how many containers and numbers a walk may write of a value of which each part on a cycle is written once.

    Items of sets are written apart, and what they share is written in each.

    Args:
        cycles: the parts that lie on a cycle.
    """
    return min(_MOST_PARTS, max(MOST_VISITS, _MOST_TIMES * cycles.links))


def max_containers(value: Any, show: Callable[[Any], Any] | None = None) -> int:
    """Return how many containers a walk may open to write a value that does not multiply.

    `multiplies` is exact where no part contains itself. In a cycle, a part has more paths than the one by which it is
    first visited, so a walk that writes them all needs this limit as well.

    Args:
        value: any value.
        show: as in `multiplies`.

    Raises:
        TooLargeError: the value multiplies.
    """
    count = _Count(show)
    if _exceeds(count, count.parts(value, 0)):
        raise TooLargeError
    return max(_MOST_PARTS, _MOST_TIMES * count.visited)


def _exceeds(count: _Count, total: int) -> bool:
    return count.cycles > len(count.known) + 1 or (
        total > _MOST_PARTS and total > _MOST_TIMES * count.visited
    )


class _Count:
    """Counts the parts of a value, shared ones each time that they occur. Each is visited once."""

    def __init__(self, show: Callable[[Any], Any] | None) -> None:
        self.known: dict[int, tuple[int, Any]] = {}
        """By identity: how many parts an object has, and the object, so that no other one gets its identity."""
        self.visited = self.cycles = 0
        self._open: set[int] = set()
        self._show = show

    def parts(self, value: Any, depth: int) -> int:
        """Count the parts of a value."""
        kind, key = type(value), identity(value)
        if kind in _ATOMS or depth > _MAX_DEPTH:
            self.visited += 1
            return 1
        if key in self._open:
            self.cycles += 1
            return 1
        known = self.known.get(key)
        if known is not None:
            return known[0]
        self._open.add(key)
        self.visited += 1
        total = 1
        for part in self._parts_of(value, kind):
            if type(part) in _ATOMS:
                self.visited += 1
                total += 1
            else:
                total += self.parts(part, depth + 1)
        self._open.discard(key)
        self.known[key] = (total, value)
        return total

    def _parts_of(self, value: Any, kind: type) -> list[Any]:
        if kind is list:
            return list(value)
        if kind is dict:
            return [*value, *value.values()]
        parts: list[Any] = []
        if issubclass(kind, dict):
            parts += (part for pair in dict.items(value) for part in pair)
        for base in _ITEMS:
            if issubclass(kind, base):
                parts += base.__iter__(value)
        if issubclass(kind, BaseException):
            parts += (*of_error(value, "args"), of_error(value, "__cause__"), of_error(value, "__context__"))
        if issubclass(kind, msgspec.Struct):
            parts += (slot(value, name) for name in shapes.struct_fields(kind))
        elif shapes.is_pydantic(kind):
            for name in ("__pydantic_extra__", "__pydantic_private__"):
                parts += (slot(value, name) or {}).values()
        if kind not in _BUILTIN:
            parts += shapes.attributes(value, shapes.slots_of(kind)).values()
            if not parts and self._show is not None:
                form = self._show(value)
                parts += form.values() if type(form) is dict else form if type(form) in _BUILTIN else ()
        return parts
