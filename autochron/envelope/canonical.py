"""The canonical form of inputs: compared and shown, never turned back.

One encode in C where it can be: keys and sets sorted, so that equal values give equal text. Types that JSON
doesn't have are
written as people would: a tuple as a list, a date as text, a model as the fields that were set, an object
that is no value by its
type. No address and no `repr` ever gets in. NaN and the infinities read as null below the top level.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Sequence
from math import isfinite
from typing import Any

import msgspec

from autochron.envelope import bodies, shapes
from autochron.envelope import types as names

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_SENTINELS = frozenset({"NotGiven", "Omit", "Unset", "UnsetType"})
_MAX_DEPTH = 100
_CYCLE = {"$cycle": True}
_DEEP = {"$deep": True}


def _hook(value: Any) -> Any:
    """Give plain data for what msgspec has no form for."""
    cls = type(value)
    shape = _SHAPES.get(cls)
    if shape is None:
        shape = _SHAPES[cls] = _shape_of(cls)
    return shape(value)


_encoder = msgspec.json.Encoder(enc_hook=_hook, order="deterministic")
_encode = encode_sorted = _encoder.encode
encode_unsorted = msgspec.json.Encoder(enc_hook=_hook).encode


def canonical(parameters: Sequence[str], values: Sequence[Any]) -> bytes:
    """Write the bound arguments as one JSON object, sorted by parameter."""
    bound = dict(zip(parameters, values, strict=False))
    try:
        body = _encode(bound)
    except Exception:
        return _encode_walked(bound)
    if b":null" in body:
        for value in values:
            if type(value) is float and not isfinite(value):
                return _encode_walked(bound)
    return body


def snapshot(values: Sequence[Any]) -> bytes | None:
    """Write values as they stand, unsorted, to tell later whether they were changed; None where that can't be told.

    Equal snapshots mean equal canonical forms, at a third of their cost; different ones mean nothing.
    """
    try:
        return encode_unsorted(values)
    except Exception:
        return None


def canonical_value(value: Any) -> bytes:
    """Write one value."""
    try:
        return _encode(value)
    except Exception:
        return _encode_walked(value)


def _encode_walked(value: Any) -> bytes:
    try:
        return msgspec.json.encode(_walk(value, set()), order="deterministic")
    except Exception as error:
        return msgspec.json.encode({"$unreadable": type(error).__name__})


# --- what msgspec has no form for
# ----------------------------------------------------------------------------------


def _opaque(value: Any) -> Any:
    return {"$opaque": names.label(type(value))}


def _model(value: Any) -> Any:
    """Give the fields that were set, as `exclude_unset` does; sentinels for "not given" are left out."""
    own, extra = value.__dict__, value.__pydantic_extra__
    found = {
        key: own[key]
        for key in value.__pydantic_fields_set__
        if key in own and type(own[key]).__name__ not in _SENTINELS
    }
    if extra:
        found.update(extra)
    return found


def _reference(value: Any) -> Any:
    return {"$ref": names.label(value) if isinstance(value, type) else names.label_function(value)}


def _error(value: BaseException) -> Any:
    return {"$error": names.label(type(value)), "args": list(value.args)}


def _request(value: Any) -> Any:
    found = {"method": value.method, "url": str(value.url)}
    content = getattr(value, "_content", b"")
    return {
        **found,
        "content": msgspec.Raw(bodies.store_body(content, value.headers.get("content-type", ""))),
    }


def _response(value: Any) -> Any:
    content = getattr(value, "_content", b"")
    stored = msgspec.Raw(bodies.store_body(content, value.headers.get("content-type", "")))
    return {"status": value.status_code, "content": stored}


def _headers(value: Any) -> Any:
    return {key.decode("latin-1"): item.decode("latin-1") for key, item in value.raw}


def _enum(value: Any) -> Any:
    return value._value_ if isinstance(value._value_, (str, int)) else {"$enum": value._name_}


def _partial(value: Any) -> Any:
    return {"$partial": value.func, "args": list(value.args), "keywords": dict(value.keywords)}


_HTTP = {"Request": _request, "Response": _response, "URL": str, "Headers": _headers}
_BASES: tuple[tuple[type, Any], ...] = (
    (str, lambda value: "".join(str.__iter__(value))),
    (int, int.__int__),
    (float, float.__float__),
    (complex, lambda value: [value.real, value.imag]),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytes(bytearray.copy(value))),
    (dict, lambda value: dict(dict.items(value))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: list(tuple.__iter__(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: set(frozenset.__iter__(value))),
    (deque, list),
)


def _shape_of(cls: type) -> Any:
    """Decide once how instances of a class are shown."""
    if issubclass(cls, type) or issubclass(cls, _FUNCTIONS):
        return _reference
    if issubclass(cls, BaseException):
        return _error
    kind = shapes.kind_of(cls)
    if kind == "http":
        return _HTTP[shapes.http_class(cls)]
    simple = {"pydantic": _model, "namespace": lambda value: dict(vars(value)), "enum": _enum}.get(kind)
    if simple is not None:
        return simple
    if kind == "record":
        slots = shapes.slots_of(cls)
        return lambda value: shapes.attributes(value, slots)
    for base, shape in _BASES:
        if issubclass(cls, base):
            return shape
    return _library_shape(cls)


def _library_shape(cls: type) -> Any:
    if cls is range or cls is slice:
        return lambda value: [value.start, value.stop, value.step]
    if cls is types.MappingProxyType:
        return dict
    if cls is types.ModuleType:
        return lambda value: {"$module": str(value.__name__)}
    for module, name, shape in (
        ("pathlib", "PurePath", str),
        ("functools", "partial", _partial),
        ("fractions", "Fraction", str),
        ("datetime", "tzinfo", str),
    ):
        known = getattr(sys.modules.get(module), name, None)
        if (
            isinstance(known, type)
            and issubclass(cls, known)
            and cls.__module__.partition(".")[0] in (module, "zoneinfo")
        ):
            return shape
    return _opaque


_SHAPES: dict[type, Any] = {}


# --- the fallback
# --------------------------------------------------------------------------------------------------


def _walk(value: Any, open_: set[int]) -> Any:
    """Make plain data that msgspec takes, whatever is in it."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**64 else {"$int": hex(value)}
    if kind is float:
        return value if isfinite(value) else {"$float": float.__repr__(value)}
    key = id(value)
    if key in open_:
        return _CYCLE
    if len(open_) >= _MAX_DEPTH:
        return _DEEP
    open_.add(key)
    try:
        return _walk_inside(value, open_)
    finally:
        open_.discard(key)


def _walk_inside(value: Any, open_: set[int]) -> Any:
    if isinstance(value, dict):
        items = list(dict.items(value))
        if all(type(key) is str for key, _ in items):
            return {_walk(key, open_): _walk(item, open_) for key, item in items}
        pairs = [[_walk(key, open_), _walk(item, open_)] for key, item in items]
        return {"$dict": sorted(pairs, key=lambda pair: msgspec.json.encode(pair[0]))}
    if isinstance(value, (list, tuple)):
        base: Any = list if isinstance(value, list) else tuple
        return [_walk(item, open_) for item in base.__iter__(value)]
    if isinstance(value, (set, frozenset)):
        return sorted((_walk(item, open_) for item in value), key=msgspec.json.encode)
    if isinstance(value, msgspec.Raw):
        return value
    if isinstance(value, msgspec.Struct):
        return {name: _walk(getattr(value, name), open_) for name in value.__struct_fields__}
    if shapes.is_record(type(value)):
        return _walk(shapes.attributes(value, shapes.slots_of(type(value))), open_)
    try:
        return msgspec.json.decode(msgspec.json.encode(value))  # dates, UUIDs, Decimals, bytes, plain enums
    except Exception:
        return _walk(_hook(value), open_)
