"""What the tree of types has of values of the standard library's types: iterators, buffers, open files and the like.

Each has a reader here, so that a new one is added without a look at the walk through an input.
"""

from __future__ import annotations

import functools
import io
import types
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from autochron._runtime import bare
from autochron._runtime.frame_locals import locals_of
from autochron.envelope import objects
from autochron.envelope import types as names
from autochron.envelope.type_labels import label


class Walk(Protocol):
    """What a reader needs of the walk through an input: the trees of what a value holds."""

    walk: Callable[[Any], Any]

    def members(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]: ...

    def items(self, value: Any, depth: int) -> dict[str, Any]: ...

    def mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]: ...

    def held(self, value: Any, depth: int) -> Any: ...

    def each(self, state: dict[str, Any], depth: int) -> dict[str, Any]: ...


def _array(_walk: Walk, value: Any, _depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "$type": value.typecode,
        "$digest": blake2b(value.tobytes(), digest_size=16).hexdigest(),
    }
    return found | ({"$values": value.tolist()} if len(value) <= 32 and value.typecode not in "uwfd" else {})


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
    """Return which file is open, how, and how far it was read; nothing is flushed or moved for it."""
    name, mode = getattr(value, "name", None), getattr(value, "mode", None)
    found = {"$name": names.relative_file(name) if isinstance(name, str) else "", "$mode": str(mode)}
    if value.closed:
        return {**found, "$state": "closed"}
    try:
        if value.readable() and not value.writable() and value.seekable():
            binary = value.buffer if isinstance(value, io.TextIOWrapper) else value
            found["$position"] = str(binary.tell())
    except (OSError, ValueError):
        pass
    return found


def _iterator(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    """Return what a builtin iterator has still to give, without moving it."""
    reduced = value.__reduce__()
    return {"$rest": walk.each({str(at): held for at, held in enumerate(reduced[1:])}, depth)}


def _generator(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    """Return the locals of a generator: it is told by them where it stands."""
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
    return {**name, "$locals": walk.each(dict(locals_of(frame)), depth)}


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
    return {"$self": walk.held(owner, depth)}


def _mapping_proxy(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    return walk.mapping(bare.mapping_of(value), depth)


def _deque(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    found = walk.items(list(value), depth)
    return found if value.maxlen is None else {**found, "$maxlen": value.maxlen}


def _default(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    found = walk.mapping(dict(value), depth)
    factory = value.default_factory
    return found if factory is None else {**found, "$factory": names.label_function(factory)}


def _ordered(walk: Walk, value: Any, depth: int) -> dict[str, Any]:
    """Return the order of keys, too: two of these are equal only if it is."""
    return {**walk.mapping(dict(value), depth), "$order": [walk.walk(key) for key in value]}


_ITERATORS: tuple[Any, ...] = (
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
"""One of each type that tells by `__reduce__` where it stands."""

Reader: TypeAlias = Callable[[Walk, Any, int], dict[str, Any]]
READERS: dict[type, Reader] = {
    memoryview: _memory,
    io.StringIO: _buffer,
    io.BytesIO: _buffer,
    types.MappingProxyType: _mapping_proxy,
    deque: _deque,
    defaultdict: _default,
    OrderedDict: _ordered,
    **{type(each): _iterator for each in _ITERATORS},
}
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

LAZY: tuple[tuple[str, str, Reader], ...] = (("array", "array", _array), ("re", "Pattern", _pattern))
"""Of modules that need not be there."""
