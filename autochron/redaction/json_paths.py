"""Paths into stored JSON: `choices.*.message.tool_calls.*.function.name`, `output.*[type=function_call].name`.

The grammar is that of `rules.paths`. Tags of the typed codec are no steps: a path goes through `$tuple` and the like as
if the list were there itself. That holds only for tags with a content: in the body of a request `$defs` is a key like
any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from autochron.envelope.type_trees import KEY as TYPES
from autochron.redaction.secret_patterns import MASK
from autochron.rules.paths import PathStep, index_of, parse_path, spelled

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_HOLDING = frozenset({"$tuple", "$set", "$frozenset", "$dict", "$mappingproxy", "$frozendict", "$template"})
"""Tags whose list or object is the content of the tagged value."""
_THROUGH = _HOLDING | {"$type"}


class _Pair(int):
    """The index of a (key, value) pair in the list of a `$dict`."""

    __slots__ = ()


def read_path(value: Any, path: str) -> list[Any]:
    """Return the values at a path in decoded JSON."""
    return read_steps(value, parse_path(path))


def read_steps(value: Any, steps: Sequence[PathStep]) -> list[Any]:
    """Return the values at a parsed path in decoded JSON."""
    selected = [value]
    for step in steps:
        following: list[Any] = []
        key, is_plain = step.key, not step.filters
        for holder in selected:
            # The plain cases first: all items of a list, and a key of an ordinary object.
            if is_plain and key == "*" and type(holder) is list:
                following += holder
            elif is_plain and key != "*" and type(holder) is dict and _is_untagged(holder):
                if key in holder:
                    following.append(holder[key])
            else:
                following += [item for _, _, item in _children(holder, step)]
        if not following:
            return following
        selected = following
    return selected


def redact_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Mask the values at the paths."""
    tree = _decode(body)
    changed = _drop_types(tree, paths)
    for container, key, item in _spots(tree, paths):
        if item == MASK:
            continue
        changed = True
        if type(key) is _Pair:
            container[key][1] = MASK
        else:
            container[key] = MASK
    return _encode(tree) if changed else body


def drop_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Remove the values at the paths."""
    tree = _decode(body)
    has_dropped = _drop_types(tree, paths)
    return _encode(tree) if _drop(tree, paths) or has_dropped else body


def _drop_types(tree: Any, paths: Iterable[str]) -> bool:
    """Remove the types and the state of the values at the paths; return whether there were any."""
    return isinstance(tree, dict) and isinstance(tree.get(TYPES), dict) and _drop(tree[TYPES], paths)


def _drop(tree: Any, paths: Iterable[str]) -> bool:
    dropped: dict[int, tuple[Any, set[Any]]] = {}
    for container, key, _ in _spots(tree, paths):
        dropped.setdefault(id(container), (container, set()))[1].add(key)
    for container, keys in dropped.values():
        # From the end, so that dropping an item leaves the indexes before it alone.
        for key in sorted(keys, reverse=True):
            del container[key]
    return bool(dropped)


def keep_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Remove everything but the values at the paths and what leads to them."""
    tree = _pick(_decode(body), [parse_path(path) for path in paths])
    return _encode({} if tree is _NOTHING else tree)


_NOTHING: Any = object()


def _is_untagged(holder: dict[str, Any]) -> bool:
    """Return whether an object is no tagged value; a tag is always the first key."""
    for first in holder:
        return first not in _THROUGH
    return True


def _inner(holder: Any) -> tuple[Any, bool]:
    """Return the list or object inside of tags, and whether it is a list of (key, value) pairs."""
    tag = ""
    while type(holder) is dict:
        tag = next(iter(holder), "")
        key = "$type.value" if tag == "$type" else tag
        if tag not in _THROUGH or not isinstance(holder.get(key), list | dict):
            return holder, False
        holder = holder[key]
    return holder, tag == "$dict"


def _children(holder: Any, step: PathStep) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (container, key, item) for each item that a step selects."""
    for spot in _under(holder, step.key):
        if all(_has(spot[2], key, wanted) for key, wanted in step.filters):
            yield spot


def _has(item: Any, key: str, wanted: str) -> bool:
    return any(spelled(value) == wanted for _, _, value in _under(item, key))


def _under(holder: Any, key: str) -> Iterator[tuple[Any, Any, Any]]:
    holder, is_pairs = _inner(holder)
    if is_pairs:
        for index, pair in enumerate(holder):
            if key in ("*", str(pair[0])):
                yield holder, _Pair(index), pair[1]
    elif isinstance(holder, dict):
        for name in list(holder) if key == "*" else (key,):
            if name in holder and not (key == "*" and name[:1] == "$"):
                yield holder, name, holder[name]
    elif isinstance(holder, list):
        if key == "*":
            for index, item in enumerate(holder):
                yield holder, index, item
        elif (at := index_of(key, len(holder))) is not None:
            yield holder, at, holder[at]


def _spots(tree: Any, paths: Iterable[str]) -> list[tuple[Any, Any, Any]]:
    """Return (container, key, item) for each item at the paths.

    All are collected before anything is changed: a filter must not miss because another path has masked what it tests.
    """
    spots: list[tuple[Any, Any, Any]] = []
    for path in paths:
        *before, last = parse_path(path)
        for holder in read_steps(tree, before):
            spots += _children(holder, last)
    return spots


def _pick(tree: Any, paths: list[Sequence[PathStep]]) -> Any:
    """Return a tree without what no path leads to; `_NOTHING` where nothing is left."""
    if not all(paths):
        return tree
    items: dict[Any, Any] = {}
    rests: dict[Any, list[Sequence[PathStep]]] = {}
    for path in paths:
        for _, key, item in _children(tree, path[0]):
            items[key] = item
            rests.setdefault(key, []).append(path[1:])
    picked = {key: _pick(item, rests[key]) for key, item in items.items()}
    holder, is_pairs = _inner(tree)
    keys = (
        [key for key in (holder if isinstance(holder, dict) else range(len(holder))) if key in picked]
        if picked
        else []
    )
    keys = [key for key in keys if picked[key] is not _NOTHING]
    if not keys:
        return _NOTHING
    if is_pairs:
        return {"$dict": [[holder[key][0], picked[key]] for key in keys]}
    return {key: picked[key] for key in keys} if isinstance(holder, dict) else [picked[key] for key in keys]
