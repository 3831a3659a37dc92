"""The typed codec for outcomes: a decoded value equals the encoded one, types included, or decoding says that it can't.

Plain JSON stays plain JSON. Any other value is an object whose first key is a tag that starts with `$`; see `writing`.
Decoding finds types among the imported modules, makes value types and exceptions without their `__init__`, and runs
nothing else.

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
from autochron.envelope.budget import MOST_VISITS, TooLargeError, max_containers, max_numbered
from autochron.envelope.cycle_search import find_cycles
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
    """Encode streams between tasks as such, for a boundary whose rule says so; any other value as usual."""
    described = channels.describe(value)
    return encode(value) if described is None else Encoded(msgspec.json.encode(described))


def encode(value: Any, traceback_below: types.FrameType | None = None) -> Encoded:
    """Encode a value.

    Args:
        value: any value.
        traceback_below: the frame below which the tracebacks of exceptions are written; None: they are left out.
    """
    body = encode_plain(value)
    return encode_tagged(value, traceback_below) if body is None else Encoded(body)


def encode_plain(value: Any) -> bytes | None:
    """Write a value that is plain JSON as it is, without tags; return None for any other. This is the hot path."""
    try:
        if not is_plain(value):
            return None
        body = _to_json(value)
    except (UnicodeEncodeError, ValueError, RuntimeError) as error:
        # lone surrogates; an integer of 4,300 digits; nested too deep, or changed by another thread meanwhile
        if is_interruption(error):
            raise
        return None
    return None if _DOLLAR in body and has_tag(body) else body


def encode_tagged(value: Any, below: types.FrameType | None = None) -> Encoded:
    """Write a value that is not plain, with its tags. A value that raises while it is read is opaque."""
    try:
        try:
            tree = ValueWriter(below, MOST_VISITS).write(value)
        except TooLargeError:
            tree = _write_large(value, below)
        body = _to_json(tree)
    except TooLargeError:
        return _too_large(value)
    except Exception as error:
        if is_interruption(error):
            raise
        tree = opaque(value, f"reading it raised {type(error).__name__}")
        body = _to_json(tree)
    if not has_tag(body, _OPAQUE):
        return Encoded(body)
    return Encoded(body, tuple(f"{path or '(value)'}: {kind}" for path, kind, _ in opaque_paths(tree)))


def _write_large(value: Any, below: types.FrameType | None) -> Any:
    cycles = find_cycles(value, of_outcome=True)
    most = max_numbered(cycles) if cycles.parts else max_containers(value)
    return ValueWriter(below, most, cycles.parts).write(value)


def _too_large(value: Any) -> Encoded:
    tree = opaque(value, "it has too many parts when what is shared in it is written each time")
    return Encoded(_to_json(tree), (f"(value): {tree['$opaque']}",))


def decode(body: bytes) -> Any:
    """Return the value of a body.

    Raises:
        OpaqueError: a part of it was recorded without its content.
        CodecError: it can't be made in this program.
    """
    tree = _tree(body)
    if not has_tag(body):
        return tree
    return _read(tree, refuses_opaque=has_tag(body, _OPAQUE))


def decode_without(body: bytes, paths: Sequence[Sequence[str | int]]) -> Any:
    """Return the value as `decode` does, with None in the places of some members of dictionaries, lists and tuples.

    Args:
        body: the encoded value.
        paths: the keys and indexes that lead to each of these members.
    """
    tree = _tree(body)
    for path in paths:
        holder = tree
        for key in path[:-1]:
            holder = _members(holder)[key]
        _members(holder)[path[-1]] = None
    return decode(_to_json(tree))


def _members(tree: Any) -> Any:
    """Return the members of a container in a tagged tree."""
    return next(iter(tree.values())) if isinstance(tree, dict) and next(iter(tree), "")[:1] == "$" else tree


def decode_partly(body: bytes, placeholder: Any) -> Any:
    """Return the value, with a placeholder for each part that was recorded without its content."""
    tree = _tree(body)
    return _read(_replace_opaque(tree, placeholder) if has_tag(body, _OPAQUE) else tree)


def _replace_opaque(tree: Any, placeholder: Any) -> Any:
    if isinstance(tree, list):
        return [_replace_opaque(item, placeholder) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if next(iter(tree), "") == "$opaque":
        return placeholder
    return {key: _replace_opaque(item, placeholder) for key, item in tree.items()}


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
        value = read(tree)
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
    return value


def _refuse_opaque(tree: Any) -> None:
    for path, kind, reason in opaque_paths(tree):
        because = f": {reason}" if reason else ""
        raise OpaqueError(
            f"{path or 'the value'} was recorded as {kind} without its content{because}; "
            "make the crossing live, or let the boundary hand out plain data"
        )
