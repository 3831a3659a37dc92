"""Canonical inputs of a boundary whose arguments grow from call to call, as a conversation's history does.

Sorting the keys of a long history costs four times what writing it does. So a list is first written as it stands, which is
cheap; where that begins as the last one did, all but its tail is canonical already.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec

from autochron.envelope.canonical import canonical, encode_look, encode_sorted, screen, with_types
from autochron.interrupts import is_interruption

_LONG = 8
"""Elements from which on a list is worth keeping."""

_JSON = b"["

_key = msgspec.json.encode


class _Kept:
    """A list as it was last: how it looked, how many it had, and where it stands in the last body."""

    __slots__ = ("count", "end", "look", "start")

    def __init__(self, look: bytes, count: int, start: int, end: int) -> None:
        self.look = look
        self.count = count
        self.start = start
        self.end = end


class _Page:
    """A body that is being put together. Joined once: each copy of a long history is a few messages' work."""

    __slots__ = ("kept", "pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes | memoryview] = []
        self.size = 0
        self.kept: dict[tuple[str, ...], _Kept] = {}

    def add(self, piece: bytes | memoryview) -> None:
        self.pieces.append(piece)
        self.size += len(piece)


class Growing:
    """The canonical inputs of one boundary in one lane: equal to those of `canonical`, byte for byte."""

    __slots__ = ("_body", "_kept", "looks")

    def __init__(self) -> None:
        self._body = b""
        self._kept: dict[tuple[str, ...], _Kept] = {}
        self.looks: dict[int, bytes] = {}
        """How the long lists of the last input look, by identity, for whoever wants to know if they change."""

    def canonical(self, names: Sequence[str], values: Sequence[Any], *, typed: bool = True) -> bytes:
        """Write the bound arguments as one JSON object, sorted by parameter, as `canonical` does."""
        self.looks.clear()
        try:
            screen(values)
            bound = dict(zip(names, values, strict=False))
            if any(type(value) is float and not isfinite(value) for value in values):
                return canonical(names, values, typed=typed)
            page = _Page()
            self._object(bound, (), page)
            body = b"".join(page.pieces)
        except Exception as error:
            self._kept = {}
            if is_interruption(error):
                raise
            return canonical(names, values, typed=typed)
        self._body, self._kept = body, page.kept
        return with_types(bound, body) if typed else body

    def _object(self, value: dict[str, Any], path: tuple[str, ...], page: _Page) -> None:
        sign = b"{"
        for key in sorted(value):
            page.add(sign + _key(key) + b":")
            self._value(value[key], (*path, key), page)
            sign = b","
        page.add(b"}" if value else b"{}")

    def _value(self, value: Any, path: tuple[str, ...], page: _Page) -> None:
        kind = type(value)
        if kind is list and len(value) >= _LONG:
            self._list(value, path, page)
        elif kind is dict and len(path) < 3 and self._holds_list(value):
            self._object(value, path, page)
        else:
            page.add(encode_sorted(value))

    def _holds_list(self, value: dict[Any, Any]) -> bool:
        long = False
        for key, held in value.items():
            if type(key) is not str:
                return False
            if type(held) is list and len(held) >= _LONG:
                long = True
        return long

    def _list(self, value: list[Any], path: tuple[str, ...], page: _Page) -> None:
        look = self.looks[id(value)] = encode_look(value)
        kept, start, count = self._kept.get(path), page.size, len(value)
        if kept is None:
            page.add(encode_sorted(value))
        elif look == kept.look:
            page.add(memoryview(self._body)[kept.start : kept.end])
        elif count > kept.count and _begins_with(look, count, kept):
            page.add(memoryview(self._body)[kept.start : kept.end - 1])
            page.add(b",")
            page.add(memoryview(encode_sorted(value[kept.count :]))[1:])
        else:
            page.add(encode_sorted(value))
        page.kept[path] = _Kept(look, count, start, page.size)


def _begins_with(look: bytes, count: int, kept: _Kept) -> bool:
    """Tell whether a list begins with all elements of the one that was kept.

    Never so where either look is in JSON, which starts as no list does in MessagePack: there a header tells the length.
    """
    if _JSON in (look[:1], kept.look[:1]):
        return False
    return look.startswith(memoryview(kept.look)[_header(kept.count) :], _header(count))


def _header(count: int) -> int:
    """Give how many bytes stand before the elements of a list in MessagePack."""
    return 1 if count < 16 else 3 if count < 65_536 else 5
