"""The first place where two canonical inputs differ."""

from __future__ import annotations

from typing import Any

import msgspec

from autochron.envelope.tags import join

MISSING = "(missing)"
_WIDTH = 200
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def first_difference(recorded: bytes, replayed: bytes) -> tuple[str, str, str] | None:
    """Give (path, recorded, replayed), each shortened to fit a screen, or None where both say the same.

    The order of keys doesn't count; `1`, `1.0` and `true` do differ. Where texts differ, what is shown
    starts shortly
    before the difference.
    """
    if recorded == replayed:
        return None
    return _difference(_decode(recorded), _decode(replayed), "")


def _difference(one: Any, other: Any, path: str) -> tuple[str, str, str] | None:
    if type(one) is not type(other):
        return _report(path, _show(one), _show(other))
    if isinstance(one, dict):
        return _difference_of_objects(one, other, path)
    if isinstance(one, list):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            found = _difference(mine, theirs, join(path, index))
            if found:
                return found
        return _difference_of_lengths(one, other, path)
    if one == other:
        return None
    if isinstance(one, str):
        return _report(path, *_show_texts(one, other))
    return _report(path, _show(one), _show(other))


def _difference_of_objects(
    one: dict[str, Any], other: dict[str, Any], path: str
) -> tuple[str, str, str] | None:
    for key in [*one, *(key for key in other if key not in one)]:
        if key not in other:
            return _report(join(path, key), _show(one[key]), MISSING)
        if key not in one:
            return _report(join(path, key), MISSING, _show(other[key]))
        found = _difference(one[key], other[key], join(path, key))
        if found:
            return found
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
