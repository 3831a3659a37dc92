"""Dotted paths into JSON: `choices.*.message.tool_calls.*.function.name`, `output.[type=function_call].name`.

A segment is a key, an index, `*` for each item or value, or `[key=value]` for the items that have that
value. Tags of the
typed codec are no segments: a path goes through `$tuple` and its like as if the list stood there itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from autochron.envelope.patterns import MASK

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def read_path(value: Any, path: str) -> list[Any]:
    """List what stands at a path in decoded JSON."""
    found = [value]
    for segment in split_path(path):
        following: list[Any] = []
        for holder in found:
            # The plain case first: a key of an ordinary object.
            if type(holder) is dict and segment in holder and _is_untagged(holder) and segment[:1] not in "*[":
                following.append(holder[segment])
            else:
                following += [item for _, _, item in _children(holder, segment)]
        if not following:
            return following
        found = following
    return found


def _is_untagged(holder: dict[str, Any]) -> bool:
    """Tell whether an object stands for itself; a tag is always the first key."""
    for first in holder:
        return first[:1] != "$"
    return True


@lru_cache(maxsize=1024)
def split_path(path: str) -> tuple[str, ...]:
    """Cut a path at its dots; those in a condition stay."""
    segments: list[str] = []
    for part in path.split(".") if path else ():
        if segments and segments[-1].startswith("[") and not segments[-1].endswith("]"):
            segments[-1] += "." + part
        else:
            segments.append(part)
    return tuple(segments)


def redact_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Mask what stands at the paths."""
    return _change(body, paths, mask=True)


def drop_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Leave out what stands at the paths."""
    return _change(body, paths, mask=False)


def keep_paths(body: bytes, paths: Iterable[str]) -> bytes:
    """Leave out everything but what stands at the paths and what leads there."""
    tree = _decode(body)
    kept = _kept(tree, [split_path(path) for path in paths])
    return _encode({} if kept is _NOTHING else kept)


_NOTHING: Any = object()


def _inner(holder: Any) -> Any:
    """Look through a tag to the list or object that it stands for."""
    while isinstance(holder, dict):
        tag = next(iter(holder), "")
        if tag[:1] != "$" or not isinstance(holder[tag], (list, dict)):
            if tag in ("$type", "$http", "$error") and isinstance(holder.get("$type.value"), (list, dict)):
                return holder["$type.value"]
            return holder
        holder = holder[tag]
    return holder


def _children(holder: Any, segment: str) -> Iterator[tuple[Any, Any, Any]]:
    """Give (container, key, item) of what a segment selects."""
    pairs = isinstance(holder, dict) and "$dict" in holder
    holder = _inner(holder)
    if segment.startswith("[") and segment.endswith("]"):
        yield from _fitting(holder, segment[1:-1])
    elif pairs:
        for pair in holder:
            if segment in ("*", str(pair[0])):
                yield pair, 1, pair[1]
    elif isinstance(holder, dict):
        for key in list(holder) if segment == "*" else (segment,):
            if key in holder and not (segment == "*" and key.startswith("$")):
                yield holder, key, holder[key]
    elif isinstance(holder, list):
        if segment == "*":
            for index, item in enumerate(holder):
                yield holder, index, item
        elif segment.lstrip("-").isdecimal() and -len(holder) <= int(segment) < len(holder):
            yield holder, int(segment), holder[int(segment)]


def _fitting(holder: Any, condition: str) -> Iterator[tuple[Any, Any, Any]]:
    key, _, wanted = condition.partition("=")
    entries = list(enumerate(holder)) if isinstance(holder, list) else [(None, holder)]
    for index, item in entries:
        if isinstance(item, dict) and key in item and _says(item[key]) == wanted:
            yield holder, index, item


def _says(value: Any) -> str:
    return value if isinstance(value, str) else _encode(value).decode()


def _change(body: bytes, paths: Iterable[str], *, mask: bool) -> bytes:
    tree = _decode(body)
    changed = False
    for path in paths:
        *before, last = split_path(path) or ("",)
        holders = read_path(tree, ".".join(before))
        for holder in holders:
            # From the end, so that dropping an item leaves the indexes before it alone.
            for container, key, item in reversed(list(_children(holder, last))):
                if key is None or item == MASK:
                    continue
                changed = True
                if mask:
                    container[key] = MASK
                else:
                    del container[key]
    return _encode(tree) if changed else body


def _kept(tree: Any, paths: list[tuple[str, ...]]) -> Any:
    if any(not path for path in paths):
        return tree
    found: dict[Any, Any] = {}
    holder = _inner(tree)
    for segment in dict.fromkeys(path[0] for path in paths):
        rest = [path[1:] for path in paths if path[0] == segment]
        for _, key, item in _children(tree, segment):
            inner = _kept(item, rest)
            if inner is not _NOTHING and key not in found:
                found[key] = inner
    if not found:
        return _NOTHING
    if isinstance(holder, list):
        return [found[key] for key in sorted(found)] if None not in found else found[None]
    return {key: found[key] for key in holder if key in found} if None not in found else found[None]
