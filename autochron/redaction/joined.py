"""Secrets in pieces: a stream hands out text in many items, and only together they say `password: …`.

The texts at one path of successive items are read as one text. A secret in it is replaced by one mask in the item where
it begins, and removed from the items where it goes on. `mask_together` does this for items that are complete.
`StreamMasker` does it as items arrive, and holds an item back only while the last word of its text may go on.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from autochron.redaction.secret_patterns import MASK

Path: TypeAlias = tuple[str | int, ...]
Bounds: TypeAlias = tuple[int, int]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_FIXED: Final = frozenset(
    "id type object model event role item_id status service_tier system_fingerprint obfuscation finish_reason created".split()  # noqa: SIM905
)
"""Keys whose values are never a part of a longer text."""
_ORDER: Final = ("index", "output_index", "content_index")
"""Keys that distinguish the texts of one stream."""
_MOST_CONTEXT: Final = 4000
"""Characters before the held ones that are still read with them, at most."""
_MOST_HELD: Final = 512
"""Items of a text without a blank that are held back, at most."""
_MOST_NESTING: Final = 40


class JoinedLooker(Protocol):
    """The scanner, as this module calls it: it judges joined text."""

    def suspicious(self, text: str) -> bool:
        """Return whether a text may hold a secret."""

    def mask_string(self, text: str, nesting: int = 0) -> str:
        """Mask the secrets in a decoded string."""


class _Piece:
    """One string of one item: its place in the decoded item, and its text."""

    __slots__ = ("holder", "key", "text")

    def __init__(self, holder: Any, key: Any, text: str) -> None:
        self.holder = holder
        self.key = key
        self.text = text

    def write(self, text: str) -> None:
        """Replace the string in the item."""
        if self.key == "$bytes":
            raw = text.encode("utf-8", "surrogateescape")
            text = binascii.b2a_base64(raw, newline=False).decode()
        self.holder[self.key] = text


def mask_together(bodies: Sequence[bytes], looker: JoinedLooker) -> list[bytes]:
    """Mask the secrets that several items make together. Each item was masked by itself before.

    Args:
        bodies: JSON texts, in their order.
        looker: finds secrets in plain text.
    """
    trees = [_tree(body) for body in bodies]
    changed = _mask_trees(trees, looker, {})
    return [
        _encode(tree[0]) if at in changed else body
        for at, (tree, body) in enumerate(zip(trees, bodies, strict=True))
    ]


def mask_members(body: bytes, key: str, looker: JoinedLooker) -> bytes:
    """Mask the secrets that the members of an array make together.

    Args:
        body: a stored body whose object has the array.
        key: the array's key.
        looker: finds secrets in plain text.
    """
    tree = _tree(body)[0]
    if not isinstance(tree, dict) or not isinstance(tree.get(key), list):
        return body
    trees = [[member] for member in tree[key]]
    if not _mask_trees(trees, looker, {}):
        return body
    tree[key] = [holder[0] for holder in trees]
    return _encode(tree)


class StreamMasker:
    """Masks the items of one stream as they arrive. Held items are only in memory; `flush` returns them."""

    __slots__ = ("_before", "_held", "_looker", "has_masked")

    def __init__(self, looker: JoinedLooker) -> None:
        self._looker = looker
        self.has_masked = False
        """Whether something was masked that no item has by itself."""
        self._held: list[bytes] = []
        self._before: dict[Path, str] = {}
        """The end of the text that the released items have at each path."""

    def push(self, body: bytes) -> list[bytes]:
        """Take an item that was masked by itself, and return the items that can be written now, in their order."""
        self._held.append(body)
        return self._release(_settled(self._held) if len(self._held) <= _MOST_HELD else len(self._held))

    def flush(self) -> list[bytes]:
        """Return the items that are held back: the stream has ended, or is abandoned."""
        return self._release(len(self._held))

    def _release(self, count: int) -> list[bytes]:
        if not count:
            return []
        trees = [_tree(body) for body in self._held]
        texts: dict[Path, str] = {}
        for tree in trees[:count]:
            for path, piece in _pieces(tree):
                texts[path] = texts.get(path, "") + piece.text
        changed = _mask_trees(trees, self._looker, self._before)
        self.has_masked |= any(at < count for at in changed)
        released = [_encode(trees[at][0]) if at in changed else self._held[at] for at in range(count)]
        for path, text in texts.items():
            self._before[path] = (self._before.get(path, "") + text)[-_MOST_CONTEXT:]
        del self._held[:count]
        return released


def _tree(text: bytes) -> list[Any]:
    """Return decoded JSON in a list, so that a string at the top can be replaced; [None] for what can't be decoded."""
    try:
        return [_decode(text)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return [None]


def _settled(bodies: Sequence[bytes]) -> int:
    """Return how many items at the front have no text that the next item could go on with."""
    last: dict[Path, int] = {}
    for at, body in enumerate(bodies):
        for path, piece in _pieces(_tree(body)):
            if piece.text[-1:].isspace():
                last.pop(path, None)
            elif any(sign.isspace() for sign in piece.text):
                last[path] = at
            else:
                last.setdefault(path, at)
    return min(last.values(), default=len(bodies))


def _mask_trees(trees: Sequence[list[Any]], looker: JoinedLooker, before: dict[Path, str]) -> set[int]:
    """Mask the secrets that decoded items make together, in place; return the indexes of the changed items.

    Args:
        trees: each item in a list, see `_tree`.
        looker: finds secrets in plain text.
        before: the end of the text before the first item, by path.
    """
    streams: dict[Path, list[tuple[int, _Piece]]] = {}
    for at, tree in enumerate(trees):
        for path, piece in _pieces(tree):
            streams.setdefault(path, []).append((at, piece))
    changed: set[int] = set()
    for path, pieces in streams.items():
        start = before.get(path, "")
        if (len(pieces) < 2 and not start) or (
            len(pieces) > 1 and len({piece.text for _, piece in pieces}) == 1
        ):
            continue
        joined = start + "".join(piece.text for _, piece in pieces)
        if not looker.suspicious(joined):
            continue
        spans = differences(joined, looker.mask_string(joined))
        changed |= _write(pieces, spans, len(start))
    return changed


def _write(pieces: Sequence[tuple[int, _Piece]], spans: Sequence[Bounds], at: int) -> set[int]:
    """Replace spans of a joined text in its pieces, and return the indexes of the changed items.

    Args:
        pieces: the pieces, each with the index of its item.
        spans: the bounds of each secret in the joined text.
        at: the offset of the first piece in the joined text.
    """
    changed: set[int] = set()
    for item, piece in pieces:
        end = at + len(piece.text)
        parts: list[str] = []
        here = at
        for start, stop in spans:
            if stop <= at or start >= end:
                continue
            parts.append(piece.text[here - at : max(start, at) - at])
            if start >= at:
                parts.append(MASK)
            here = min(stop, end)
        if here > at or parts:
            parts.append(piece.text[here - at :])
            piece.write("".join(parts))
            changed.add(item)
        at = end
    return changed


def differences(text: str, masked: str) -> list[Bounds]:
    """Return the spans of a text that masks replace. Where they are uncertain a span is too long rather than too short.

    Args:
        text: the text before masking; it may have masks already.
        masked: the same text with more masks.
    """
    if text == masked:
        return []
    parts = masked.split(MASK)
    ends, at = [], 0
    for part in parts:  # the first position of each part
        at = text.find(part, at)
        if at < 0:
            return [(0, len(text))]
        at += len(part)
        ends.append(at)
    starts, at = [], len(text)
    for part in reversed(parts):  # the last position of each part
        at = text.rfind(part, 0, at)
        if at < 0:
            return [(0, len(text))]
        starts.append(at)
    starts.reverse()
    if not text.startswith(parts[0]) or not text.endswith(parts[-1]):
        return [(0, len(text))]
    return [
        (end, start)
        for end, start in zip(ends[:-1], starts[1:], strict=True)
        if end < start and text[end:start] != MASK
    ]


def _pieces(tree: list[Any]) -> Iterator[tuple[Path, _Piece]]:
    """Yield the strings of a decoded item that may be a part of a longer text, with the path of each."""
    waiting: list[tuple[Path, Any, Any]] = [((), tree, 0)]
    while waiting:
        path, holder, key = waiting.pop()
        value = holder[key]
        if isinstance(value, str):
            if key == "$bytes":
                try:
                    value = binascii.a2b_base64(value, strict_mode=True).decode("utf-8", "surrogateescape")
                except (binascii.Error, ValueError):
                    continue
            if value:
                yield path, _Piece(holder, key, value)
        elif len(path) > _MOST_NESTING:
            continue
        elif isinstance(value, dict):
            order = tuple(value[name] for name in _ORDER if isinstance(value.get(name), int))
            waiting += (
                ((*path, *order, name), value, name)
                for name in value
                if name not in _FIXED and (name == "$bytes" or not name.startswith("$") or name == "$tuple")
            )
        elif isinstance(value, list):
            waiting += (
                (
                    (*path, 0 if isinstance(item, dict) and isinstance(item.get("index"), int) else at),
                    value,
                    at,
                )
                for at, item in enumerate(value)
            )
