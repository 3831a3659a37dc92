"""Canonical inputs of a boundary whose arguments grow from call to call, as a conversation's history does.

To write a long history with sorted keys takes four times as long as to write it as it is. So a snapshot of each long list
is written first, without sorting. If it begins with the snapshot of the last call's list, the canonical form of that list
is copied from the last body, and only the new elements are written.

Snapshots of plain lists are written by an encoder that refuses types which JSON does not have. Then equal beginnings have
equal types, too, and only the types of the new elements are checked.
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
    encode_screened,
    encode_snapshot,
    encode_sorted,
    with_types,
)
from autochron.envelope.exact_snapshot import exact_snapshot
from autochron.envelope.plain_json import MAX_DEPTH, is_plain
from autochron.envelope.screening import screen
from autochron.envelope.value_snapshots import LARGE
from autochron.model import InputForm

_LONG = 8
"""The number of elements from which on a list is kept."""

_LARGEST_KEPT = 16 << 20
"""The size of a body in bytes above which the next one is written without it."""

_JSON = b"["
"""The first byte of a snapshot in JSON."""

_key = msgspec.json.encode


class _KeptList:
    """A list of the last input.

    Attributes:
        snapshot: its snapshot.
        plain: whether all its elements are plain JSON.
        count: the number of its elements.
        start, end: the range of its canonical form in the last body, in bytes.
    """

    __slots__ = ("count", "end", "plain", "snapshot", "start")

    def __init__(self, snapshot: bytes, count: int, start: int, end: int, *, plain: bool) -> None:
        self.snapshot = snapshot
        self.plain = plain
        self.count = count
        self.start = start
        self.end = end


class _BodyBuilder:
    """A body that is being written.

    The pieces are joined once at the end. To copy a long history once more would take as long as to write several messages.

    Attributes:
        pieces: the parts that were written so far.
        size: their size in bytes.
        plain: whether all values were plain JSON so far.
        kept: the long lists that were written, by path.
    """

    __slots__ = ("kept", "pieces", "plain", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes | memoryview] = []
        self.size = 0
        self.plain = True
        self.kept: dict[tuple[str, ...], _KeptList] = {}

    def add(self, piece: bytes | memoryview) -> None:
        """Append a piece."""
        self.pieces.append(piece)
        self.size += len(piece)


class GrowingInputs:
    """Writes the canonical inputs of one boundary in one lane. They equal those of `canonical`, byte for byte.

    Attributes:
        snapshots: the snapshots of the long lists of the last input, by the `id` of the list. The recorder compares them
            later to see whether the lists were changed.
    """

    __slots__ = ("_body", "_kept", "_was_large", "snapshots")

    def __init__(self) -> None:
        self._was_large = False
        """Whether the last body was too large to be kept."""
        self._body = b""
        """The last body, without types; empty if it was not kept."""
        self._kept: dict[tuple[str, ...], _KeptList] = {}
        """The long lists of the last body, by path."""
        self.snapshots: dict[int, bytes] = {}

    def canonical(
        self, names: Sequence[str], values: Sequence[Any], *, form: InputForm = InputForm.NUMBERED
    ) -> bytes:
        """Return the bound arguments as one JSON object, sorted by parameter, as `canonical` does.

        Args:
            names: the parameters.
            values: their values, in the same order.
            form: the form of the object.
        """
        self.snapshots.clear()
        try:
            bound = dict(zip(names, values, strict=False))
            if self._was_large or not self._may_grow(bound):
                self._body, self._kept = b"", {}
                body = canonical(names, values, form=form)
                self._was_large = len(body) > _LARGEST_KEPT
                return body
            if any(type(value) is float and not isfinite(value) for value in values):
                return canonical(names, values, form=form)
            builder = _BodyBuilder()
            self._object(bound, (), builder)
            if builder.size > _LARGEST_KEPT:
                builder.kept.clear()
                for key in [key for key, snapshot in self.snapshots.items() if len(snapshot) > LARGE]:
                    del self.snapshots[key]
            body = b"".join(builder.pieces)
        except Exception as error:
            self._kept = {}
            if is_interruption(error):
                raise
            return canonical(names, values, form=form)
        self._was_large = len(body) > _LARGEST_KEPT
        self._body, self._kept = b"" if self._was_large else body, builder.kept
        return with_types(bound, body, form, plain=builder.plain) if form else body

    def _may_grow(self, bound: dict[str, Any]) -> bool:
        """Return whether an argument is a long list, or a dictionary that has one."""
        return any(
            len(value) >= _LONG if type(value) is list else type(value) is dict and self._has_long_list(value)
            for value in bound.values()
        )

    def _object(self, value: dict[str, Any], path: tuple[str, ...], builder: _BodyBuilder) -> None:
        """Write a dictionary that may have long lists."""
        separator = b"{"
        for key in sorted(value):
            builder.add(separator + _key(key) + b":")
            self._value(value[key], (*path, key), builder)
            separator = b","
        builder.add(b"}" if value else b"{}")

    def _value(self, value: Any, path: tuple[str, ...], builder: _BodyBuilder) -> None:
        """Write a value, and keep it if it is a long list."""
        kind = type(value)
        if kind is list and len(value) >= _LONG:
            self._list(value, path, builder)
        elif kind is dict and len(path) < 3 and self._has_long_list(value):
            self._object(value, path, builder)
        elif is_plain(value, MAX_DEPTH - len(path) + 1):
            builder.add(encode_sorted(value))
        else:
            builder.plain = False
            screen((value,))
            builder.add(encode_screened(value))

    def _has_long_list(self, value: dict[Any, Any]) -> bool:
        """Return whether a dictionary has a long list as a value, and only strings as keys."""
        has_list = False
        for key, member in value.items():
            if type(key) is not str:
                return False
            if type(member) is list and len(member) >= _LONG:
                has_list = True
        return has_list

    def _list(self, value: list[Any], path: tuple[str, ...], builder: _BodyBuilder) -> None:
        """Write a long list, with what it shares with the last one copied, and keep it."""
        kept, start, count = self._kept.get(path), builder.size, len(value)
        depth = MAX_DEPTH - len(path) + 1
        grows = kept is not None and count > kept.count
        # Checked before the list is written: a value whose parts are shared many times would be written for ever.
        is_new_plain = is_plain(value[kept.count :] if kept is not None and grows else value, depth)
        may_be_exact = is_new_plain and (kept is None or kept.plain or count < kept.count)
        snapshot = exact_snapshot(value) if may_be_exact else None
        exact = snapshot is not None
        if snapshot is None:
            screen((value,))
            snapshot = encode_snapshot(value)
        self.snapshots[identity(value)] = snapshot
        if kept is not None and (
            snapshot == kept.snapshot or (count > kept.count and _begins_with(snapshot, count, kept))
        ):
            tail = value[kept.count :]
            was_plain = kept.plain
            builder.add(memoryview(self._body)[kept.start : kept.end - bool(tail)])
            if tail:
                builder.add(b",")
                builder.add(memoryview(encode_sorted(tail))[1:])
        else:
            is_new_plain = is_new_plain and (not grows or is_plain(value, depth))
            was_plain = True
            builder.add(encode_sorted(value))
        plain = exact and was_plain and is_new_plain
        builder.plain = builder.plain and plain
        builder.kept[path] = _KeptList(snapshot, count, start, builder.size, plain=plain)


def _begins_with(snapshot: bytes, count: int, kept: _KeptList) -> bool:
    """Return whether a list of `count` elements begins with all elements of a kept one, by their snapshots.

    False if one of the snapshots is JSON: the elements of both formats can't be compared. No list in MessagePack begins
    with the first byte of JSON.
    """
    if _JSON in (snapshot[:1], kept.snapshot[:1]):
        return False
    return snapshot.startswith(memoryview(kept.snapshot)[_header(kept.count) :], _header(count))


def _header(count: int) -> int:
    """Return the number of bytes before the elements of a list in MessagePack. They hold its length."""
    return 1 if count < 16 else 3 if count < 65_536 else 5
