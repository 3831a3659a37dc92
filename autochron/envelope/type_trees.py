"""Reading the tree of types under `$types` in an input: which values have state, and which are not compared.

`value_types` makes the tree, and describes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from autochron.envelope.tags import join

KEY: Final = "$types"
"""The key of the tree in an input."""

TYPES: Final = b'{"$types":'
"""How an input begins that has a tree."""

BEYOND: Final = "$beyond"
"""The key that stands for a value that is too large to be compared."""

Tree: TypeAlias = "str | dict[str, Any]"


def split(tree: Any) -> tuple[Any, Any]:
    """Return a decoded input without its types, and the types; `{}` where it has none."""
    if isinstance(tree, dict) and KEY in tree:
        return {key: value for key, value in tree.items() if key != KEY}, tree[KEY]
    return tree, {}


def without_types(body: bytes) -> bytes:
    """Return a canonical input as formats before 3 wrote it."""
    return split_body(body)[0]


def split_body(body: bytes) -> tuple[bytes, bytes | None]:
    """Return a canonical input without its types, and the types; None where it has none."""
    if not body.startswith(TYPES):
        return body, None
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    types = fields.pop(KEY)
    return msgspec.json.encode(fields), bytes(types)


def tells_state(types: Any, path: str) -> bool:
    """Return whether the tree has more than the type of the value at a path."""
    for step in path.split(".") if path else ():
        if not isinstance(types, dict):
            return False
        types = types.get(step, types.get("*"))
    return (
        isinstance(types, dict)
        and "$unread" not in types
        and any(key[:1] == "$" and key != "$is" for key in types)
    )


def unread_paths(types: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, type) of each value that has state but is compared only by its type or its name."""
    if not isinstance(types, dict):
        return
    if "$unread" in types:
        yield path, str(types["$unread"])
    for key, tree in types.items():
        if key[:1] != "$" or key[:2] == "$$":
            yield from unread_paths(tree, join(path, key.removeprefix("$")))


def beyond_paths(body: bytes) -> tuple[str, ...]:
    """Return the paths of the values of a canonical input that are too large to be compared."""
    if not body.startswith(TYPES) or b'"$beyond":true' not in body:
        return ()
    return tuple(_beyond(msgspec.json.decode(body)[KEY], ""))


def _beyond(tree: Any, path: str) -> Iterator[str]:
    if isinstance(tree, dict):
        if BEYOND in tree:
            yield path
        for key, below in tree.items():
            yield from _beyond(below, join(path, key[1:] if key[:1] == "$" else key))
    elif isinstance(tree, list):
        for item in tree:
            yield from _beyond(item, path)
