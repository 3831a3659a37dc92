"""The first place where two canonical inputs differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from autochron.envelope.tags import join

MISSING = "(missing)"

Excuse: TypeAlias = Callable[[str, Any, Any], bool]
"""Told of a path and what stands there on both sides, or MISSING: whether that is no difference after all."""

_WIDTH = 200
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def first_difference(
    recorded: bytes, replayed: bytes, excuse: Excuse | None = None
) -> tuple[str, str, str] | None:
    """Give (path, recorded, replayed), each shortened to fit a screen, or None where both say the same.

    The order of keys doesn't count; `1`, `1.0` and `true` do differ. Where texts differ, what is shown
    starts shortly before the difference. A difference that is excused is passed over.
    """
    if recorded == replayed:
        return None
    return difference_of(_decode(recorded), _decode(replayed), excuse)


def difference_of(one: Any, other: Any, excuse: Excuse | None = None) -> tuple[str, str, str] | None:
    """Do the same for values that were read already."""
    return _difference(one, other, "", excuse or _unexcused)


def _unexcused(_path: str, _one: Any, _other: Any) -> bool:
    return False


def _difference(one: Any, other: Any, path: str, excuse: Excuse) -> tuple[str, str, str] | None:
    if type(one) is not type(other):
        return None if excuse(path, one, other) else _report(path, _show(one), _show(other))
    if isinstance(one, dict):
        return _difference_of_objects(one, other, path, excuse)
    if isinstance(one, list):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            found = _difference(mine, theirs, join(path, index), excuse)
            if found:
                return found
        return _difference_of_lengths(one, other, path)
    if one == other or excuse(path, one, other):
        return None
    if isinstance(one, str):
        return _report(path, *_show_texts(one, other))
    return _report(path, _show(one), _show(other))


def _difference_of_objects(
    one: dict[str, Any], other: dict[str, Any], path: str, excuse: Excuse
) -> tuple[str, str, str] | None:
    for key in [*one, *(key for key in other if key not in one)]:
        if key in one and key in other:
            found = _difference(one[key], other[key], join(path, key), excuse)
            if found:
                return found
        elif not excuse(join(path, key), one.get(key, MISSING), other.get(key, MISSING)):
            mine, theirs = (_show(side[key]) if key in side else MISSING for side in (one, other))
            return _report(join(path, key), mine, theirs)
    return None


def _difference_of_lengths(one: list[Any], other: list[Any], path: str) -> tuple[str, str, str] | None:
    if len(one) == len(other):
        return None
    shared = min(len(one), len(other))
    mine = _show(one[shared]) if len(one) > shared else MISSING
    theirs = _show(other[shared]) if len(other) > shared else MISSING
    return _report(join(path, shared), mine, theirs)


def _report(path: str, one: str, other: str) -> tuple[str, str, str]:
    return path or "(value)", one, other


def _show(value: Any) -> str:
    text = _encode(value).decode()
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _show_texts(one: str, other: str) -> tuple[str, str]:
    """Show two strings around the place where they part."""
    if max(len(one), len(other)) <= _WIDTH - 2:
        return _show(one), _show(other)
    at = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, at - 40)
    lead = "…" if start else ""
    return tuple(_show(lead + text[start : start + _WIDTH]) for text in (one, other))  # type: ignore[return-value]
