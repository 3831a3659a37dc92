"""Say how a JSON text differs from an earlier one, in JSON that a person can read.

A patch is one of

- a value: it stands for itself;
- `{"$value": value}`: the same, for an object with a key that begins with `$`;
- `{"$in": {key: patch, ...}, "$gone": [key, ...]}`: the earlier object without the keys that are gone, with
these
  members changed in their place or added at the end, in this order;
- `{"$keep": n, "$tail": [value, ...], "$end": m}`: the first n elements of the earlier list, these, and its
last m.

Values below `$value` and `$tail` mean nothing but themselves. Texts are put together compactly and otherwise
taken as they stand, so that numbers, escapes and the order of keys survive.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from autochron._runtime.growing_bodies import Latest

DEPTH = 32
"""How deep objects are compared; below, a value is written whole."""

_members = msgspec.json.Decoder(dict[str, Raw])
_elements = msgspec.json.Decoder(list[Raw])
_keys = msgspec.json.Decoder(list[str])
_count = msgspec.json.Decoder(int)
_encode = msgspec.json.encode


LONG = 2048
"""Bytes of a text from which on it is worth keeping what it was put together from."""

KEPT = 16
"""Texts of which that is kept."""


class Parts:
    """What the last long texts were put together from: the next ones mostly continue them, and need not be taken apart."""

    __slots__ = ("_elements", "_members")

    def __init__(self) -> None:
        self._members: Latest[int, tuple[bytes, dict[str, bytes]]] = Latest(KEPT)
        self._elements: Latest[int, tuple[bytes, list[bytes]]] = Latest(KEPT)

    def members(self, text: bytes) -> dict[str, bytes]:
        """Split an object into its members; the dict is the caller's to change."""
        kept = self._members.get(len(text))
        return dict(kept[1]) if kept is not None and kept[0] == text else members(text)

    def elements(self, text: bytes) -> list[bytes]:
        """Split a list into its elements; the list is not to be changed."""
        kept = self._elements.get(len(text))
        return kept[1] if kept is not None and kept[0] == text else elements(text)

    def of_object(self, parts: dict[str, bytes]) -> bytes:
        """Put an object together."""
        text = _object(parts)
        if len(text) >= LONG:
            self._members.put(len(text), (text, dict(parts)))
        return text

    def of_list(self, parts: list[bytes]) -> bytes:
        """Put a list together."""
        text = _list(parts)
        if len(text) >= LONG:
            self._elements.put(len(text), (text, parts))
        return text


class PatchError(ValueError):
    """A patch doesn't fit what it is applied to."""


def members(text: bytes) -> dict[str, bytes]:
    """Split an object into its members, as they are written."""
    return {key: bytes(value) for key, value in _members.decode(text).items()}


def elements(text: bytes) -> list[bytes]:
    """Split a list into its elements, as they are written."""
    return [bytes(value) for value in _elements.decode(text)]


def literal(text: bytes) -> bytes:
    """Return a patch that replaces everything."""
    if (
        text[:1] == b"{"
        and (b"$" in text or b"\\u0024" in text)
        and any(key[:1] == "$" for key in members(text))
    ):
        return b'{"$value":' + text + b"}"
    return text


def difference(base: bytes, text: bytes, depth: int = 0) -> bytes:
    """Return a patch that makes `text` of `base`."""
    first = text[:1]
    if first == base[:1] and depth < DEPTH:
        patch = None
        if first == b"{":
            patch = _difference_of_objects(members(base), members(text), depth)
        elif first == b"[":
            patch = _difference_of_lists(elements(base), elements(text))
        if patch is not None and len(patch) < len(text):
            return patch
    return literal(text)


def _difference_of_objects(old: dict[str, bytes], new: dict[str, bytes], depth: int) -> bytes | None:
    gone = [key for key in old if key not in new]
    added = [key for key in new if key not in old]
    if [key for key in old if key in new] + added != list(new):
        return None  # another order
    changed = {
        key: difference(old[key], value, depth + 1) if key in old else literal(value)
        for key, value in new.items()
        if old.get(key) != value
    }
    parts = [b'"$gone":' + _encode(gone)] if gone else []
    parts.append(b'"$in":' + _object(changed))
    return b"{" + b",".join(parts) + b"}"


def _difference_of_lists(old: list[bytes], new: list[bytes]) -> bytes | None:
    limit = min(len(old), len(new))
    keep = 0
    while keep < limit and old[keep] == new[keep]:
        keep += 1
    end = 0
    while end < limit - keep and old[-1 - end] == new[-1 - end]:
        end += 1
    if not keep and not end:
        return None
    parts = [b'"$end":%d' % end] if end else []
    parts.append(b'"$keep":%d,"$tail":[' % keep + b",".join(new[keep : len(new) - end]) + b"]")
    return b"{" + b",".join(parts) + b"}"


def apply(base: bytes, patch: bytes, parts: Parts | None = None) -> bytes:
    """Make the text that a patch of `base` stands for; `parts` know those before it."""
    if patch[:1] != b"{" or not (b'"$' in patch or b'"\\u0024' in patch):
        return patch
    marks = members(patch)
    if not any(key[:1] == "$" for key in marks):
        return patch
    return apply_marks(base, marks, parts)


def apply_marks(base: bytes, marks: dict[str, bytes], parts: Parts | None = None) -> bytes:
    """Make the text that the members of a patch stand for; see `apply`."""
    kinds = set(marks)
    if kinds == {"$value"}:
        return marks["$value"]
    try:
        if "$in" in kinds and kinds <= {"$in", "$gone"}:
            return _applied_to_object(base, marks, parts or Parts())
        if {"$keep", "$tail"} <= kinds <= {"$keep", "$tail", "$end"}:
            return _applied_to_list(base, marks, parts or Parts())
    except msgspec.DecodeError as error:
        raise PatchError(f"the patch doesn't fit: {error}") from error
    raise PatchError(f"{', '.join(sorted(kinds))} together are no patch")


def _applied_to_object(base: bytes, marks: dict[str, bytes], parts: Parts) -> bytes:
    result = parts.members(base)
    if "$gone" in marks:
        for key in _keys.decode(marks["$gone"]):
            if result.pop(key, None) is None:
                raise PatchError(f"$gone names {key!r}, which the earlier object doesn't have")
    for key, patch in members(marks["$in"]).items():
        result[key] = apply(result.get(key, b"null"), patch, parts)
    return parts.of_object(result)


def _applied_to_list(base: bytes, marks: dict[str, bytes], parts: Parts) -> bytes:
    old = parts.elements(base)
    keep, end = _count.decode(marks["$keep"]), _count.decode(marks.get("$end", b"0"))
    if keep < 0 or end < 0 or keep + end > len(old):
        raise PatchError(f"$keep and $end take {keep} and {end} elements of a list that has {len(old)}")
    return parts.of_list(old[:keep] + elements(marks["$tail"]) + old[len(old) - end :])


def _object(parts: dict[str, bytes]) -> bytes:
    return b"{" + b",".join([_encode(key) + b":" + value for key, value in parts.items()]) + b"}"


def _list(parts: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"
