"""Trees of types for values of the standard library: iterators, buffers, open files and the like.

Each type has a reader here, so that a new one can be added without a change of the walk through an input.
"""

from __future__ import annotations

import functools
import io
import types
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeAlias

from autochron._runtime import bare
from autochron._runtime.frame_locals import locals_of
from autochron.envelope import newer_types, objects
from autochron.envelope import types as names
from autochron.envelope.type_labels import label


class Walk(Protocol):
    """The part of the walk through an input that a reader needs: it makes the trees of what a value holds.

    Attributes:
        walk: returns a value as plain JSON data.
    """

    @property
    def walk(self) -> Callable[[Any], Any]:
        """Return what writes a value as plain JSON data."""

    def members(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        """Return the trees of (key, value) pairs by key, without those that are plain."""

    def items(self, value: Any, depth: int) -> dict[str, Any]:
        """Return the trees of a sequence's items by index."""

    def mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        """Return the trees of a dictionary's values by key."""

    def state_value(self, value: Any, depth: int) -> Any:
        """Return a value that is state: its plain data and its tree, or a digest where it is large."""

    def state_values(self, state: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return all values of a piece of state by name, each as `state_value` does."""


def _array(_walk: Walk, value: Any, _depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "$type": value.typecode,
        "$digest": blake2b(value.tobytes(), digest_size=16).hexdigest(),
    }
    return tree | ({"$values": value.tolist()} if len(value) <= 32 and value.typecode not in "uwfd" else {})


def _memory(_walk: Walk, value: Any, _depth: int) -> dict[str, Any]:
    try:
        return {"$format": value.format, "$digest": blake2b(value.tobytes(), digest_size=16).hexdigest()}
    except ValueError:
        return {"$state": "released"}


def _buffer(walk: Walk, value: Any, _depth: int) -> dict[str, Any]:
    if value.closed:
        return {"$state": "closed"}
    content = value.getvalue()
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return {"$position": value.tell(), "$digest": blake2b(raw, digest_size=16).hexdigest()}


def _file(_walk: Walk, value: Any, _depth: int) -> dict[str, Any]:
    """Return which file is open, its mode, and its position. It is neither flushed nor moved."""
    name, mode = getattr(value, "name", None), getattr(value, "mode", None)
    tree = {"$name": names.relative_file(name) if isinstance(name, str) else "", "$mode": str(mode)}
    if value.closed:
        return {**tree, "$state": "closed"}
    try:
        if value.readable() and not value.writable() and value.seekable():
            binary = value.buffer if isinstance(value, io.TextIOWrapper) else value
            tree["$position"] = str(binary.tell())
    except (OSError, ValueError):
        pass
    return tree


def _iterator(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    """Return what a builtin iterator has still to yield, without moving it."""
    reduced = value.__reduce__()
    return {"$rest": walk.state_values({str(index): item for index, item in enumerate(reduced[1:])}, depth)}


def _generator(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    """Return the local variables of a generator or a coroutine: they tell how far it has run."""
    frame = (
        getattr(value, "gi_frame", None)
        or getattr(value, "ag_frame", None)
        or getattr(value, "cr_frame", None)
    )
    name = {"$name": str(getattr(value, "__qualname__", ""))}
    if frame is None:
        return {**name, "$state": "closed"}
    if not objects.is_own_file(frame.f_code.co_filename):
        return {**name, "$unread": label(type(value))}
    return {**name, "$locals": walk.state_values(dict(locals_of(frame)), depth)}


def _pattern(walk: Walk, value: Any, _depth: int) -> dict[str, Any]:
    return {"$pattern": walk.walk(value.pattern), "$flags": int(value.flags)}


def _partial(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    return walk.members(
        [("$partial", value.func), ("args", list(value.args)), ("keywords", value.keywords)], depth
    )


def _builtin(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    owner = getattr(value, "__self__", None)
    if owner is None or issubclass(type(owner), (types.ModuleType, type)):
        return {}
    return {"$self": walk.state_value(owner, depth)}


def _mapping_proxy(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    return walk.mapping(bare.mapping_of(value), depth)


def _frozen_dict(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    return walk.mapping(dict(value), depth)


def _template(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    return walk.items(list(value), depth)


def _interpolation(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    return walk.items(newer_types.interpolation_of(value), depth)


def _deque(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    tree = walk.items(list(value), depth)
    return tree if value.maxlen is None else {**tree, "$maxlen": value.maxlen}


def _default(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    tree = walk.mapping(dict(value), depth)
    factory = value.default_factory
    return tree if factory is None else {**tree, "$factory": names.label_function(factory)}


def _ordered(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    """Return the order of the keys, too: two ordered dictionaries are equal only if it is the same."""
    return {**walk.mapping(dict(value), depth), "$order": [walk.walk(key) for key in value]}


_EXAMPLES: tuple[Any, ...] = (
    *(
        iter([]),
        iter(()),
        iter(""),
        iter("ä"),
        iter(b""),
        iter(bytearray()),
        iter(set()),
        iter(range(0)),
        iter(range(2**70)),
    ),
    *(iter({}), iter({}.keys()), iter({}.values()), iter({}.items()), reversed([]), reversed({})),
    *(enumerate([]), zip(), map(str, []), filter(None, [])),
)
ITERATORS: Final = frozenset(map(type, _EXAMPLES))
"""The types of builtin iterators. The `__reduce__` of each says what is still to come."""

Reader: TypeAlias = Callable[[Walk, Any, int], dict[str, Any]]
"""From the walk, a value and its depth to the parts of the value's tree."""
READERS: dict[type, Reader] = {
    memoryview: _memory,
    io.StringIO: _buffer,
    io.BytesIO: _buffer,
    types.MappingProxyType: _mapping_proxy,
    deque: _deque,
    defaultdict: _default,
    OrderedDict: _ordered,
    **dict.fromkeys(ITERATORS, _iterator),
    **{
        kind: reader
        for kind, reader in (
            (newer_types.FROZEN_DICT, _frozen_dict),
            (newer_types.TEMPLATE, _template),
            (newer_types.INTERPOLATION, _interpolation),
        )
        if kind is not None
    },
}
"""Readers for exact types."""
BASES: tuple[tuple[type, Reader], ...] = (
    (types.GeneratorType, _generator),
    (types.AsyncGeneratorType, _generator),
    (types.CoroutineType, _generator),
    (types.BuiltinFunctionType, _builtin),
    (io.TextIOWrapper, _file),
    (io.BufferedReader, _file),
    (io.BufferedWriter, _file),
    (io.BufferedRandom, _file),
    (io.FileIO, _file),
    (functools.partial, _partial),
)
"""Readers for types and their subclasses."""

LAZY: tuple[tuple[str, str, Reader], ...] = (("array", "array", _array), ("re", "Pattern", _pattern))
"""Readers for types of modules that need not be imported: module, name, reader."""
