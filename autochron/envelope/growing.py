"""Canonical inputs of a boundary whose arguments grow from call to call, as a conversation's history does.

Sorting the keys of a long history costs four times what writing it does. So a list is written unsorted, which is cheap;
where that begins as the last one did, all but its tail is canonical already.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec

from autochron.envelope.canonical import canonical, encode_sorted, encode_unsorted, screen
from autochron.interrupts import is_interruption

_LONG = 8
"""Elements from which on a list is worth keeping."""

_key = msgspec.json.encode


class _Kept:
    """A list as it was written last."""

    __slots__ = ("canonical", "count", "prefix", "unsorted")

    def __init__(self, unsorted: bytes, canonical: bytes, count: int) -> None:
        self.unsorted = unsorted
        self.prefix = unsorted[:-1]
        self.canonical = canonical
        self.count = count


class Growing:
    """The canonical inputs of one boundary in one lane: equal to those of `canonical`, byte for byte."""

    __slots__ = ("_kept", "looks")

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], _Kept] = {}
        self.looks: dict[int, bytes] = {}
        """Unsorted text of the long lists of the last input, by identity, for whoever wants to know if they change."""

    def canonical(self, names: Sequence[str], values: Sequence[Any]) -> bytes:
        """Write the bound arguments as one JSON object, sorted by parameter."""
        looks = self.looks
        if looks:
            looks.clear()
        for value in values:
            kind = type(value)
            if kind is list:
                if len(value) >= _LONG:
                    break
            elif kind is dict and value:
                for held in value.values():
                    if type(held) is list and len(held) >= _LONG:
                        break
                else:
                    continue
                break
        else:
            return canonical(names, values)
        try:
            screen(values)
            bound = dict(zip(names, values, strict=False))
            if any(type(value) is float and not isfinite(value) for value in values):
                return canonical(names, values)
            return self._object(bound, ())
        except Exception as error:
            self._kept.clear()
            if is_interruption(error):
                raise
            return canonical(names, values)

    def _object(self, value: dict[str, Any], path: tuple[str, ...]) -> bytes:
        parts = [_key(key) + b":" + self._value(value[key], (*path, key)) for key in sorted(value)]
        return b"{" + b",".join(parts) + b"}"

    def _value(self, value: Any, path: tuple[str, ...]) -> bytes:
        kind = type(value)
        if kind is list and len(value) >= _LONG:
            return self._list(value, path)
        if kind is dict and len(path) < 3 and self._holds_list(value):
            return self._object(value, path)
        return encode_sorted(value)

    def _holds_list(self, value: dict[Any, Any]) -> bool:
        long = False
        for key, held in value.items():
            if type(key) is not str:
                return False
            if type(held) is list and len(held) >= _LONG:
                long = True
        return long

    def _list(self, value: list[Any], path: tuple[str, ...]) -> bytes:
        unsorted = self.looks[id(value)] = encode_unsorted(value)
        kept = self._kept.get(path)
        if kept is not None:
            if unsorted == kept.unsorted:
                return kept.canonical
            count = kept.count
            size = len(kept.prefix)
            if len(value) > count and unsorted[size : size + 1] == b"," and unsorted.startswith(kept.prefix):
                tail = encode_sorted(value[count:])
                written = b"".join((memoryview(kept.canonical)[:-1], b",", memoryview(tail)[1:]))
                self._kept[path] = _Kept(unsorted, written, len(value))
                return written
        written = encode_sorted(value)
        self._kept[path] = _Kept(unsorted, written, len(value))
        return written
