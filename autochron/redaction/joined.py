"""Secrets in pieces: a stream gives text in many items, and only together do they say `password: …`.

The texts that stand at one path of successive items are read as one. What is secret in that is replaced by one mask in the
item where it begins, and left out of those where it goes on. `mask_together` does it for items that are all there;
`StreamMasker` does it as they come, and holds back an item only while the last word of its text may go on.
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
"""Keys whose values are no part of a text that goes on."""
_ORDER: Final = ("index", "output_index", "content_index")
"""Keys that tell the texts of one stream apart."""
_MOST_CONTEXT: Final = 4000
"""Characters before the held ones that are still read with them."""
_MOST_HELD: Final = 512
"""Items that are held back at most, of a text without a blank."""
_MOST_NESTING: Final = 40


class JoinedLooker(Protocol):
    """What joined text is shown to."""

    def suspicious(self, text: str) -> bool: ...

    def mask_string(self, text: str, nesting: int = 0) -> str: ...


class _Piece:
    """One string of one item: where it stands in the decoded item, and what it says."""

    __slots__ = ("holder", "key", "text")

    def __init__(self, holder: Any, key: Any, text: str) -> None:
        self.holder = holder
        self.key = key
        self.text = text

    def write(self, text: str) -> None:
        if self.key == "$bytes":
            raw = text.encode("utf-8", "surrogateescape")
            text = binascii.b2a_base64(raw, newline=False).decode()
        self.holder[self.key] = text


def mask_together(bodies: Sequence[bytes], looker: JoinedLooker) -> list[bytes]:
    """Mask the secrets that several items make together, each of which is masked for itself already.

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
    """Mask the secrets that the members of an array make together, which a stored body has at a key."""
    tree = _tree(body)[0]
    if not isinstance(tree, dict) or not isinstance(tree.get(key), list):
        return body
    trees = [[member] for member in tree[key]]
    if not _mask_trees(trees, looker, {}):
        return body
    tree[key] = [each[0] for each in trees]
    return _encode(tree)


class StreamMasker:
    """Masks the items of one stream as they come. What it holds back is in memory only; `flush` gives it."""

    __slots__ = ("_before", "_held", "_looker", "has_masked")

    def __init__(self, looker: JoinedLooker) -> None:
        self._looker = looker
        self.has_masked = False
        """Whether something was masked that no item says alone."""
        self._held: list[bytes] = []
        self._before: dict[Path, str] = {}
        """What the items that were given back said, at each path: its end."""

    def push(self, body: bytes) -> list[bytes]:
        """Take an item, masked for itself; return those that can be written now, in their order."""
        self._held.append(body)
        return self._give(_settled(self._held) if len(self._held) <= _MOST_HELD else len(self._held))

    def flush(self) -> list[bytes]:
        """Return what is held back: the stream has ended, or is left."""
        return self._give(len(self._held))

    def _give(self, count: int) -> list[bytes]:
        if not count:
            return []
        trees = [_tree(body) for body in self._held]
        texts: dict[Path, str] = {}
        for tree in trees[:count]:
            for path, piece in _pieces(tree):
                texts[path] = texts.get(path, "") + piece.text
        changed = _mask_trees(trees, self._looker, self._before)
        self.has_masked |= any(at < count for at in changed)
        given = [_encode(trees[at][0]) if at in changed else self._held[at] for at in range(count)]
        for path, text in texts.items():
            self._before[path] = (self._before.get(path, "") + text)[-_MOST_CONTEXT:]
        del self._held[:count]
        return given


def _tree(body: bytes) -> list[Any]:
    """Return decoded JSON in a list of its own, for a string to be replaced there; None for what can't be decoded."""
    try:
        return [_decode(body)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return [None]


def _settled(bodies: Sequence[bytes]) -> int:
    """Return how many items at the front say nothing that the next one could go on with."""
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
    """Mask what decoded items make together, in place; return which were changed."""
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
    """Replace spans of a joined text in its pieces; `at` is where the first of them begins."""
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
    """Return the spans of a text that masks stand for; where that isn't certain a span is rather too long.

    Args:
        text: before it was masked; it may have masks in it already.
        masked: the same with more masks.
    """
    if text == masked:
        return []
    parts = masked.split(MASK)
    ends, at = [], 0
    for part in parts:  # each part where it can stand first
        at = text.find(part, at)
        if at < 0:
            return [(0, len(text))]
        at += len(part)
        ends.append(at)
    starts, at = [], len(text)
    for part in reversed(parts):  # and where it can stand last
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
    """Yield the strings of a decoded item that may be a part of a text, with the path to each."""
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
                    (*path, 0 if isinstance(each, dict) and isinstance(each.get("index"), int) else at),
                    value,
                    at,
                )
                for at, each in enumerate(value)
            )
