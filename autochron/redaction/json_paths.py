"""Paths into stored JSON: `choices.*.message.tool_calls.*.function.name`, `output.*[type=function_call].name`.

The grammar is that of `rules.paths`. Tags of the typed codec are no steps: a path goes through `$tuple` and its like as if
the list stood there itself. Only through tags that hold something: in a request's body `$defs` is a key like others.
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
_HOLDING = frozenset({"$tuple", "$set", "$frozenset", "$dict", "$mappingproxy"})
"""Tags whose list or object stands for what they are the tag of."""
_THROUGH = _HOLDING | {"$type"}


class _Pair(int):
    """The index of a key and its value in the list of a `$dict`."""

    __slots__ = ()


def read_path(value: Any, path: str) -> list[Any]:
    """List what stands at a path in decoded JSON."""
    return read_steps(value, parse_path(path))


def read_steps(value: Any, steps: Sequence[PathStep]) -> list[Any]:
    """List what stands at a parsed path in decoded JSON."""
    found = [value]
    for step in steps:
        following: list[Any] = []
        for holder in found:
            # The plain case first: a key of an ordinary object.
            if type(holder) is dict and not step.filters and step.key in holder and _is_untagged(holder):
                following.append(holder[step.key])
            else:
                following += [item for _, _, item in _children(holder, step)]
        if not following:
            return following
        found = following
    return found


def redact_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Mask what stands at the paths."""
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
    """Leave out what stands at the paths."""
    tree = _decode(body)
    has_dropped = _drop_types(tree, paths)
    return _encode(tree) if _drop(tree, paths) or has_dropped else body


def _drop_types(tree: Any, paths: Iterable[str]) -> bool:
    """Leave out the types and the state of what stands at the paths; return whether there were any."""
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
    """Leave out everything but what stands at the paths and what leads there."""
    kept = _kept(_decode(body), [parse_path(path) for path in paths])
    return _encode({} if kept is _NOTHING else kept)


_NOTHING: Any = object()


def _is_untagged(holder: dict[str, Any]) -> bool:
    """Return whether an object stands for itself; a tag is always the first key."""
    for first in holder:
        return first not in _THROUGH
    return True


def _inner(holder: Any) -> tuple[Any, bool]:
    """Look through tags to the list or object that they stand for; tell whether it is a list of keys and values."""
    tag = ""
    while type(holder) is dict:
        tag = next(iter(holder), "")
        key = "$type.value" if tag == "$type" else tag
        if tag not in _THROUGH or not isinstance(holder.get(key), list | dict):
            return holder, False
        holder = holder[key]
    return holder, tag == "$dict"


def _children(holder: Any, step: PathStep) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (container, key, item) of what a step selects."""
    for spot in _under(holder, step.key):
        if all(_has(spot[2], key, wanted) for key, wanted in step.filters):
            yield spot


def _has(item: Any, key: str, wanted: str) -> bool:
    return any(spelled(found) == wanted for _, _, found in _under(item, key))


def _under(holder: Any, key: str) -> Iterator[tuple[Any, Any, Any]]:
    holder, pairs = _inner(holder)
    if pairs:
        for index, pair in enumerate(holder):
            if key in ("*", str(pair[0])):
                yield holder, _Pair(index), pair[1]
    elif isinstance(holder, dict):
        for each in list(holder) if key == "*" else (key,):
            if each in holder and not (key == "*" and each[:1] == "$"):
                yield holder, each, holder[each]
    elif isinstance(holder, list):
        if key == "*":
            for index, item in enumerate(holder):
                yield holder, index, item
        elif (at := index_of(key, len(holder))) is not None:
            yield holder, at, holder[at]


def _spots(tree: Any, paths: Iterable[str]) -> list[tuple[Any, Any, Any]]:
    """List (container, key, item) of all that stands at the paths.

    Before anything is changed: a filter must not miss because another path masked what it looks at.
    """
    found: list[tuple[Any, Any, Any]] = []
    for path in paths:
        *before, last = parse_path(path)
        for holder in read_steps(tree, before):
            found += _children(holder, last)
    return found


def _kept(tree: Any, paths: list[Sequence[PathStep]]) -> Any:
    if not all(paths):
        return tree
    items: dict[Any, Any] = {}
    rests: dict[Any, list[Sequence[PathStep]]] = {}
    for path in paths:
        for _, key, item in _children(tree, path[0]):
            items[key] = item
            rests.setdefault(key, []).append(path[1:])
    found = {key: _kept(item, rests[key]) for key, item in items.items()}
    holder, pairs = _inner(tree)
    keys = (
        [key for key in (holder if isinstance(holder, dict) else range(len(holder))) if key in found]
        if found
        else []
    )
    keys = [key for key in keys if found[key] is not _NOTHING]
    if not keys:
        return _NOTHING
    if pairs:
        return {"$dict": [[holder[key][0], found[key]] for key in keys]}
    return {key: found[key] for key in keys} if isinstance(holder, dict) else [found[key] for key in keys]
