"""The typed codec for outcomes: what is decoded equals what was encoded, type by type, or says that it can't.

Plain JSON stays plain JSON. Everything else is an object whose first key is a tag that starts with `$`; see
`writing`. Decoding looks types up among imported modules, makes value types and exceptions without their
`__init__`, and runs nothing else.

>>> encode((1, "a")).body
b'{"$tuple":[1,"a"]}'
>>> decode(b'{"$tuple":[1,"a"]}')
(1, 'a')
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from autochron._runtime.signals import is_interruption
from autochron.envelope import channels
from autochron.envelope.budget import MOST_VISITS, TooLargeError, multiplies
from autochron.envelope.opaque import opaque
from autochron.envelope.plain_json import is_plain
from autochron.envelope.reading import read
from autochron.envelope.tags import has_tag, opaque_paths
from autochron.envelope.writing import ValueWriter
from autochron.errors import CodecError, OpaqueError

__all__ = ["Encoded", "decode", "decode_partly", "encode", "encode_plain", "encode_tagged"]

_OPAQUE = b'$opaque"'
_DOLLAR = ord("$")
_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder().decode


class Encoded(Struct, frozen=True, gc=False):
    """A value as JSON text."""

    body: bytes
    opaque: tuple[str, ...] = ()
    """`path: type` of each part that can't be rebuilt; the path of the value itself is `(value)`."""


def encode_channels(value: Any) -> Encoded:
    """Encode streams between tasks as such, where a rule says that a boundary gives some."""
    described = channels.describe(value)
    return encode(value) if described is None else Encoded(msgspec.json.encode(described))


def encode(value: Any, traceback_below: types.FrameType | None = None) -> Encoded:
    """Write a value; with `traceback_below`, an exception's traceback below that frame is written as well."""
    body = encode_plain(value)
    return encode_tagged(value, traceback_below) if body is None else Encoded(body)


def encode_plain(value: Any) -> bytes | None:
    """Write a value that is plain JSON as it stands, without tags; None for any other. The hot path."""
    try:
        if not is_plain(value):
            return None
        body = _to_json(value)
    except (UnicodeEncodeError, ValueError, RuntimeError) as error:
        # lone surrogates; an integer of 4,300 digits; too deep, or another thread changes it
        if is_interruption(error):
            raise
        return None
    return None if _DOLLAR in body and has_tag(body) else body


def encode_tagged(value: Any, below: types.FrameType | None = None) -> Encoded:
    """Write a value that is not plain, with its tags. A value that changes or overflows under our hands becomes opaque."""
    try:
        try:
            tree = ValueWriter(below, MOST_VISITS).write(value)
        except TooLargeError:
            if multiplies(value):
                return _too_large(value)
            tree = ValueWriter(below).write(value)
        body = _to_json(tree)
    except Exception as error:
        if is_interruption(error):
            raise
        tree = opaque(value, f"reading it raised {type(error).__name__}")
        body = _to_json(tree)
    if not has_tag(body, _OPAQUE):
        return Encoded(body)
    return Encoded(body, tuple(f"{path or '(value)'}: {kind}" for path, kind, _ in opaque_paths(tree)))


def _too_large(value: Any) -> Encoded:
    tree = opaque(value, "it has too many parts when what is shared in it is written each time")
    return Encoded(_to_json(tree), (f"(value): {tree['$opaque']}",))


def decode(body: bytes) -> Any:
    """Return the value.

    Raises OpaqueError where a part was never kept, CodecError where it can't be made in this program.
    """
    tree = _tree(body)
    if not has_tag(body):
        return tree
    return _read(tree, refuses_opaque=has_tag(body, _OPAQUE))


def decode_without(body: bytes, paths: Sequence[Sequence[str | int]]) -> Any:
    """Return the value as `decode` does, with None in the places of some members of dictionaries, lists and tuples."""
    tree = _tree(body)
    for path in paths:
        held = tree
        for key in path[:-1]:
            held = _inside(held)[key]
        _inside(held)[path[-1]] = None
    return decode(_to_json(tree))


def _inside(tree: Any) -> Any:
    """Return the members of a container of a tagged tree."""
    return next(iter(tree.values())) if isinstance(tree, dict) and next(iter(tree), "")[:1] == "$" else tree


def decode_partly(body: bytes, instead: Any) -> Any:
    """Return the value, with `instead` in the places of parts that were never kept."""
    tree = _tree(body)
    return _read(_with_instead(tree, instead) if has_tag(body, _OPAQUE) else tree)


def _with_instead(tree: Any, instead: Any) -> Any:
    if isinstance(tree, list):
        return [_with_instead(item, instead) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if next(iter(tree), "") == "$opaque":
        return instead
    return {key: _with_instead(item, instead) for key, item in tree.items()}


def _tree(body: bytes) -> Any:
    try:
        return _from_json(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise CodecError(f"a stored value is no JSON text ({error}); record the trace again") from None


def _read(tree: Any, *, refuses_opaque: bool = False) -> Any:
    refused = True
    try:
        if refuses_opaque:
            _refuse_opaque(tree)
        made = read(tree)
        refused = False
    except CodecError:
        raise
    except Exception as error:
        raise CodecError(
            f"a stored value can't be rebuilt: {type(error).__name__}: {error}; "
            "was the trace edited, or the type changed?"
        ) from error
    finally:
        channels.settle(refused=refused)
    return made


def _refuse_opaque(tree: Any) -> None:
    for path, kind, reason in opaque_paths(tree):
        because = f": {reason}" if reason else ""
        raise OpaqueError(
            f"{path or 'the value'} was recorded as {kind} without its content{because}; "
            "make the crossing live, or let the boundary hand out plain data"
        )
