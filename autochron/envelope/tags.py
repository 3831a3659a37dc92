"""Tagged trees: whether a body has tags, where its opaque parts are, and how a path through it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_DOLLAR = ord("$")
_QUOTE = ord('"')


def has_tag(body: bytes, tag: bytes = b"$") -> bool:
    """Return whether a string of a JSON text starts with a tag.

    It goes from one dollar to the next: to search for several bytes takes a hundred times as long as to search for one.
    """
    if _DOLLAR not in body:
        return False
    offset = body.find(_DOLLAR)
    while offset > 0:
        if body[offset - 1] == _QUOTE and body.startswith(tag, offset):
            return True
        offset = body.find(_DOLLAR, offset + 1)
    return False


def opaque_paths(tree: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (path, type, reason) of each opaque part. Tags are no segments of a path."""
    if isinstance(tree, list):
        for position, item in enumerate(tree):
            yield from opaque_paths(item, join(path, position))
    elif isinstance(tree, dict):
        tag = next(iter(tree), "")
        if tag == "$opaque":
            yield path, str(tree[tag]), str(tree.get("reason", ""))
        elif tag == "$dict":
            for key, item in tree[tag]:  # a trace that was edited may have anything here, which raises
                yield from opaque_paths(key, join(path, "(key)"))
                yield from opaque_paths(item, join(path, key if isinstance(key, str) else "(key)"))
        else:
            for key, item in tree.items():
                yield from opaque_paths(item, path if key.startswith("$") else join(path, key))


def join(path: str, segment: object) -> str:
    """Add a segment to a dotted path."""
    return f"{path}.{segment}" if path else str(segment)
