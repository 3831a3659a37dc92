"""Canonical inputs of a boundary whose arguments grow from call to call, as a conversation's history does.

Sorting the keys of a long history costs four times what writing it does. So a list is first written as it stands, which is
cheap; where that begins as the last one did, all but its tail is canonical already. Plain lists are written for that by
an encoder that refuses what JSON has no type for. Then equal beginnings also mean equal types, and only the tail's types
are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec

from autochron._runtime.bare import identity
from autochron._runtime.signals import is_interruption
from autochron.envelope.canonical import (
    canonical,
    encode_look,
    encode_screened,
    encode_sorted,
    with_types,
)
from autochron.envelope.exact_look import exact_look
from autochron.envelope.looks import LARGE
from autochron.envelope.plain_json import MAX_DEPTH, is_plain
from autochron.envelope.screening import screen

_LONG = 8
"""Elements from which on a list is worth keeping."""

_LARGEST_KEPT = 16 << 20
"""Bytes of a body from which on the next one is written anew."""

_JSON = b"["

_key = msgspec.json.encode


class _KeptList:
    """A list as it was last: how it looked, how many it had, and where it stands in the last body."""

    __slots__ = ("count", "end", "look", "plain", "start")

    def __init__(self, look: bytes, count: int, start: int, end: int, *, plain: bool) -> None:
        self.look = look
        self.plain = plain
        self.count = count
        self.start = start
        self.end = end


class _Page:
    """A body that is being put together. Joined once: each copy of a long history is a few messages' work."""

    __slots__ = ("kept", "pieces", "plain", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes | memoryview] = []
        self.size = 0
        self.plain = True
        self.kept: dict[tuple[str, ...], _KeptList] = {}

    def add(self, piece: bytes | memoryview) -> None:
        self.pieces.append(piece)
        self.size += len(piece)


class Growing:
    """The canonical inputs of one boundary in one lane: equal to those of `canonical`, byte for byte."""

    __slots__ = ("_body", "_kept", "_was_large", "looks")

    def __init__(self) -> None:
        self._was_large = False
        """Whether the last body was too large to be kept."""
        self._body = b""
        self._kept: dict[tuple[str, ...], _KeptList] = {}
        self.looks: dict[int, bytes] = {}
        """How the long lists of the last input look, by identity, for whoever wants to know if they change."""

    def canonical(self, names: Sequence[str], values: Sequence[Any], *, typed: bool = True) -> bytes:
        """Write the bound arguments as one JSON object, sorted by parameter, as `canonical` does."""
        self.looks.clear()
        try:
            bound = dict(zip(names, values, strict=False))
            if self._was_large or not self._may_grow(bound):
                self._body, self._kept = b"", {}
                body = canonical(names, values, typed=typed)
                self._was_large = len(body) > _LARGEST_KEPT
                return body
            if any(type(value) is float and not isfinite(value) for value in values):
                return canonical(names, values, typed=typed)
            page = _Page()
            self._object(bound, (), page)
            if page.size > _LARGEST_KEPT:
                page.kept.clear()
                for key in [key for key, look in self.looks.items() if len(look) > LARGE]:
                    del self.looks[key]
            body = b"".join(page.pieces)
        except Exception as error:
            self._kept = {}
            if is_interruption(error):
                raise
            return canonical(names, values, typed=typed)
        self._was_large = len(body) > _LARGEST_KEPT
        self._body, self._kept = b"" if self._was_large else body, page.kept
        return with_types(bound, body, plain=page.plain) if typed else body

    def _may_grow(self, bound: dict[str, Any]) -> bool:
        """Return whether an argument is a list that is worth keeping, or has one."""
        return any(
            len(value) >= _LONG if type(value) is list else type(value) is dict and self._holds_list(value)
            for value in bound.values()
        )

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
        elif is_plain(value, MAX_DEPTH - len(path) + 1):
            page.add(encode_sorted(value))
        else:
            page.plain = False
            screen((value,))
            page.add(encode_screened(value))

    def _holds_list(self, value: dict[Any, Any]) -> bool:
        long = False
        for key, held in value.items():
            if type(key) is not str:
                return False
            if type(held) is list and len(held) >= _LONG:
                long = True
        return long

    def _list(self, value: list[Any], path: tuple[str, ...], page: _Page) -> None:
        kept, start, count = self._kept.get(path), page.size, len(value)
        depth = MAX_DEPTH - len(path) + 1
        grows = kept is not None and count > kept.count
        # Looked at first: what multiplies would be written for ever.
        is_new_plain = is_plain(value[kept.count :] if kept is not None and grows else value, depth)
        may_be_exact = is_new_plain and (kept is None or kept.plain or count < kept.count)
        look = exact_look(value) if may_be_exact else None
        exact = look is not None
        if look is None:
            screen((value,))
            look = encode_look(value)
        self.looks[identity(value)] = look
        if kept is not None and (
            look == kept.look or (count > kept.count and _begins_with(look, count, kept))
        ):
            tail = value[kept.count :]
            was_plain = kept.plain
            page.add(memoryview(self._body)[kept.start : kept.end - bool(tail)])
            if tail:
                page.add(b",")
                page.add(memoryview(encode_sorted(tail))[1:])
        else:
            is_new_plain = is_new_plain and (not grows or is_plain(value, depth))
            was_plain = True
            page.add(encode_sorted(value))
        plain = exact and was_plain and is_new_plain
        page.plain = page.plain and plain
        page.kept[path] = _KeptList(look, count, start, page.size, plain=plain)


def _begins_with(look: bytes, count: int, kept: _KeptList) -> bool:
    """Return whether a list begins with all elements of the one that was kept.

    Never so where either look is in JSON, which starts as no list does in MessagePack: there a header tells the length.
    """
    if _JSON in (look[:1], kept.look[:1]):
        return False
    return look.startswith(memoryview(kept.look)[_header(kept.count) :], _header(count))


def _header(count: int) -> int:
    """Return how many bytes stand before the elements of a list in MessagePack."""
    return 1 if count < 16 else 3 if count < 65_536 else 5
