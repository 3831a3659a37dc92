"""How much of a value is read: a graph whose parts are shared may be exponentially larger when it is written out.

msgspec writes in C, and nothing can stop it but its buffer: a bytearray that is exported can't grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from autochron._runtime.bare import identity, of_error, slot
from autochron.envelope import shapes
from autochron.envelope.value_digest import TooLargeError

__all__ = ["MOST_VISITS", "TooLargeError", "count_shown", "encode_within", "multiplies"]

MOST_VISITS: Final = 20_000
"""Parts that are read before it is asked whether a value multiplies."""

_SIZES = (1 << 13, 1 << 16, 1 << 20)
"""Bytes of the buffers that are tried before it is."""

_MOST_PARTS = 200_000
_MOST_TIMES = 4
_MAX_DEPTH = 100
_ATOMS = frozenset({str, int, float, bool, type(None), bytes, bytearray, complex, type, range})
_ITEMS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_BUILTIN = frozenset({dict, *_ITEMS})
_last = [0]
"""Which of the sizes was enough the last time."""

_left = [-1]
"""How many more values an encoder's hook may show; negative: any number."""


class _ManyError(Exception):
    """More values were shown than may be before it is asked whether a value multiplies."""


def count_shown() -> None:
    """Count a value that an encoder's hook shows: what a call of Python costs has no bound in the buffer's size."""
    _left[0] -= 1
    if not _left[0]:
        raise _ManyError


def encode_within(encoder: Any, value: Any, show: Callable[[Any], Any]) -> bytes:
    """Return what an encoder of msgspec writes.

    Args:
        encoder: with `encode` and `encode_into`.
        value: what to write.
        show: gives what the encoder's hook gives.

    Raises:
        TooLargeError: the value multiplies.
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
    if multiplies(value, show):
        raise TooLargeError
    body: bytes = encoder.encode(value)
    return body


def multiplies(value: Any, show: Callable[[Any], Any] | None = None) -> bool:
    """Return whether a value has many more parts when what is shared in it is written each time; linear in what it has.

    So it is with one that contains itself more than once: it has a path for every order of its parts.
    """
    count = _Count(show)
    total = count.parts(value, 0)
    return count.cycles > len(count.known) + 1 or (
        total > _MOST_PARTS and total > _MOST_TIMES * count.visited
    )


class _Count:
    """Counts parts with what is shared counted each time, and visits each part once."""

    def __init__(self, show: Callable[[Any], Any] | None) -> None:
        self.known: dict[int, tuple[int, Any]] = {}
        """How many parts an object has, by its identity; and the object, so that nothing else gets that."""
        self.visited = self.cycles = 0
        self._open: set[int] = set()
        self._show = show

    def parts(self, value: Any, depth: int) -> int:
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
        for held in self._held(value, kind):
            if type(held) in _ATOMS:
                self.visited += 1
                total += 1
            else:
                total += self.parts(held, depth + 1)
        self._open.discard(key)
        self.known[key] = (total, value)
        return total

    def _held(self, value: Any, kind: type) -> list[Any]:
        if kind is list:
            return list(value)
        if kind is dict:
            return [*value, *value.values()]
        held: list[Any] = []
        if issubclass(kind, dict):
            held += (part for pair in dict.items(value) for part in pair)
        for base in _ITEMS:
            if issubclass(kind, base):
                held += base.__iter__(value)
        if issubclass(kind, BaseException):
            held += (*of_error(value, "args"), of_error(value, "__cause__"), of_error(value, "__context__"))
        if issubclass(kind, msgspec.Struct):
            held += (slot(value, name) for name in shapes.struct_fields(kind))
        elif shapes.is_pydantic(kind):
            for more in ("__pydantic_extra__", "__pydantic_private__"):
                held += (slot(value, more) or {}).values()
        if kind not in _BUILTIN:
            held += shapes.attributes(value, shapes.slots_of(kind)).values()
            if not held and self._show is not None:
                shown = self._show(value)
                held += shown.values() if type(shown) is dict else shown if type(shown) in _BUILTIN else ()
        return held
