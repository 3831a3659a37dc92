"""The slow half of decoding: from a tagged tree to live values, without running anything that the trace names."""

from __future__ import annotations

import binascii
import math
import sys
import types
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from autochron.envelope import (
    admission,
    channels,
    exceptions,
    newer_types,
    protobuf,
    rpc_states,
    shapes,
    transport,
)
from autochron.envelope import types as names
from autochron.errors import CodecError, OpaqueError

Node: TypeAlias = dict[str, Any]
"""An object of the tree whose first key is a tag."""

_OF_ZONES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/")
"""The characters that names of time zones consist of."""


def read(node: Any) -> Any:
    """Return the value of a tagged tree.

    Raises:
        CodecError: the value can't be made in this program, or may not be.
        OpaqueError: a part of it was recorded without its content.
    """
    kind = type(node)
    if kind is list:
        return [read(item) for item in node]
    if kind is not dict:
        return node
    tag = next(iter(node), "")
    if tag[:1] != "$":
        return {key: read(item) for key, item in node.items()}
    reader = _READERS.get(tag)
    if reader is None:
        raise CodecError(
            f"{tag} is no tag that this release knows; read the trace with the release that wrote it"
        )
    return reader(node)


def _items(node: Any) -> list[Any]:
    return [read(item) for item in node]


def _pairs(node: Node) -> dict[Any, Any]:
    return {read(key): read(value) for key, value in node["$dict"]}


def _int(node: Node) -> int:
    text = node["$int"]
    return int(text, 16) if "x" in text else int(text)


def _proxy(node: Node) -> Any:
    return types.MappingProxyType(read(node["$mappingproxy"]))


def _frozen_dict(node: Node) -> Any:
    if newer_types.FROZEN_DICT is None:
        raise CodecError(
            "it holds a frozendict, which Python has since 3.15; replay it there, or record it again"
        )
    return newer_types.FROZEN_DICT(read(node["$frozendict"]))


def _template(node: Node) -> Any:
    if newer_types.TEMPLATE is None:
        raise CodecError(
            "it holds a template string, which Python has since 3.14; replay it there, or record it again"
        )
    return newer_types.TEMPLATE(*_items(node["$template"]))


def _interpolation(node: Node) -> Any:
    if newer_types.INTERPOLATION is None:
        raise CodecError(
            "it holds a part of a template string, which Python has since 3.14; replay it there, or record it again"
        )
    return newer_types.INTERPOLATION(*_items(node["$interpolation"]))


def _constant(node: Node) -> Any:
    constant = {"Ellipsis": ..., "NotImplemented": NotImplemented, "UNSET": msgspec.UNSET}.get(
        node["$constant"]
    )
    if constant is None:
        raise CodecError(f"{node['$constant']!r} is no constant that this release knows")
    return constant


def _opaque(node: Node) -> Any:
    reason = f": {node['reason']}" if node.get("reason") else ""
    raise OpaqueError(
        f"a value of type {node['$opaque']} was recorded without its content{reason}; make it live, "
        "or let the boundary return a value type"
    )


def _reference(node: Node) -> Any:
    definition = names.find(node["$ref"])
    _refuse(node["$ref"], admission.refusal_of_reference(definition))
    return definition


def _refuse(name: object, reason: str | None) -> None:
    if reason is not None:
        raise CodecError(f"{name} can't stand in a trace: {reason}; let the boundary return plain data")


def _module(node: Node) -> Any:
    module = names.find_module(node["$module"])
    _refuse(
        node["$module"], None if admission.is_own_module(module.__name__) else "it is a module of a library"
    )
    return module


# --- the standard library's value types ----------------------------------------------------------------------------
# These modules are Python's own: importing one on demand runs nothing of the program or of the trace.


def _datetime(node: Node) -> Any:
    import datetime as dt

    return dt.datetime.fromisoformat(node["$datetime"]).replace(
        tzinfo=read(node.get("zone")), fold=_fold(node)
    )


def _time(node: Node) -> Any:
    import datetime as dt

    return dt.time.fromisoformat(node["$time"]).replace(tzinfo=read(node.get("zone")), fold=_fold(node))


def _fold(node: Node) -> Any:
    return node.get("fold", 0)


def _date(node: Node) -> Any:
    import datetime as dt

    return dt.date.fromisoformat(node["$date"])


def _timedelta(node: Node) -> Any:
    import datetime as dt

    return dt.timedelta(*node["$timedelta"])


def _timezone(node: Node) -> Any:
    import datetime as dt

    offset = dt.timedelta(*node["$timezone"])
    if node.get("of") == "pydantic_core":
        kind = getattr(sys.modules.get("pydantic_core"), "TzInfo", None)
        if kind is None:
            raise CodecError(
                "a zone of pydantic's was recorded, but pydantic_core isn't imported in this program; "
                "import it before the replay"
            )
        return kind(offset.days * 86_400 + offset.seconds)
    if "name" in node:
        return dt.timezone(offset, read(node["name"]))
    return dt.timezone(offset) if offset else dt.UTC


def _zone(node: Node) -> Any:
    import zoneinfo

    name = node["$zone"]
    # For an unknown name `zoneinfo` calls the import system's finders, so only names that can be zones are passed on.
    if type(name) is not str or not _OF_ZONES.issuperset(name) or not all(name.split("/")):
        raise CodecError(f"{name!r:.60} is no name of a time zone")
    return zoneinfo.ZoneInfo(name)


def _decimal(node: Node) -> Any:
    import decimal

    return decimal.Decimal(node["$decimal"])


def _fraction(node: Node) -> Any:
    import fractions

    return fractions.Fraction(*_items(node["$fraction"]))


def _uuid(node: Node) -> Any:
    import uuid

    return uuid.UUID(node["$uuid"])


def _path(node: Node) -> Any:
    import pathlib

    if node["flavour"] not in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
        raise CodecError(f"{node['flavour']} is no kind of path")
    return getattr(pathlib, node["flavour"])(read(node["$path"]))


# --- classes -------------------------------------------------------------------------------------------------------


def _class(name: str) -> Any:
    cls = names.find(name)
    if not isinstance(cls, type):
        raise CodecError(f"{name} was recorded as a type, but in this program it is none; it is not called")
    _refuse(name, admission.refusal_of_type(cls))
    return cls


def _state(node: Node) -> dict[Any, Any]:
    state = {key: read(item) for key, item in node.items() if key[:1] != "$"}
    if "$type.state" in node:
        state.update(read(node["$type.state"]))
    return state


def _enum(node: Node) -> Any:
    cls = _class(node["$enum"])
    if shapes.kind_of(cls) != "enum":
        raise CodecError(f"{node['$enum']} is no enumeration in this program")
    if "name" not in node:
        _refuse(node["$enum"], admission.refusal_of_member(cls))
        return cls(read(node["value"]))
    name = read(node["name"])
    try:
        return cls._member_map_[name]
    except KeyError:
        raise CodecError(f"{node['$enum']} has no member {name!r} any more; record the trace again") from None


def _error(node: Node) -> Any:
    return exceptions.rebuild(_class(node["$error"]), node, read)


def _typed(node: Node) -> Any:
    name = node["$type"]
    cls = _class(name)
    maker = _MAKERS.get(shapes.kind_of(cls))
    if maker is None:
        raise CodecError(f"{name} is no value type, so a trace can't make one; record the trace again")
    return maker(cls, node)


def _record(cls: Any, node: Node) -> Any:
    instance, state = object.__new__(cls), _state(node)
    fields = shapes.field_names(cls)
    _refuse_lost(node, set(state) - fields - set(node.get("$type.beside", ())))
    admission.refuse_shadowing(cls, state, fields)
    shapes.set_attributes(instance, state)
    return instance


def _refuse_lost(node: Node, lost: set[str]) -> None:
    """Refuse a value with fields that its type no longer has: a program would not make such an object."""
    if lost:
        fields = " and ".join(sorted(lost))
        raise CodecError(
            f"{node['$type']} was recorded with {fields}, which it no longer has; record the trace again"
        )


def _struct(cls: Any, node: Node) -> Any:
    """Return a msgspec Struct. Only its constructor makes one: a `__post_init__` runs, and its changes are undone."""
    state = _state(node)
    fields = {key: state.pop(key) for key in cls.__struct_fields__ if key in state}
    instance = cls(**fields)
    if hasattr(cls, "__post_init__"):
        for key, value in fields.items():
            msgspec.structs.force_setattr(instance, key, value)
    if state:
        admission.refuse_shadowing(cls, state)
        instance.__dict__.update(state)
    return instance


def _namedtuple(cls: Any, node: Node) -> Any:
    state = _state(node)
    instance = tuple.__new__(cls, [state.pop(field) for field in cls._fields])
    admission.refuse_shadowing(cls, state)
    shapes.set_attributes(instance, state)
    return instance


def _sequence(cls: Any, node: Node) -> Any:
    return cls(tuple(_items(node["$type.value"])), read(node["$type.hidden"]))


def _parametrised(cls: Any, node: Node) -> Any:
    """Return a generic pydantic model with its arguments: only types, and as many as the model has parameters."""
    written, known = node["$type.arguments"], getattr(cls, "__pydantic_generic_metadata__", {})
    arguments = tuple(_items(written)) if isinstance(written, list) else ()
    if not all(isinstance(argument, type) for argument in arguments) or len(arguments) != len(
        known.get("parameters", ())
    ):
        raise CodecError(f"{node['$type']} was recorded with other parameters; record the trace again")
    return cls[arguments] if arguments else cls


def _pydantic(cls: Any, node: Node) -> Any:
    if "$type.arguments" in node:
        cls = _parametrised(cls, node)
    model = object.__new__(cls)
    state = _state(node)
    slots = {key: state.pop(key) for key, _ in shapes.slots_of(cls) if key in state}
    extra, private = read(node.get("$type.extra")), read(node.get("$type.private"))
    set_fields = set(node["$type.set"]) if "$type.set" in node else set(state) | set(extra or ())
    _refuse_lost(node, set(state) - shapes.pydantic_names(cls) - set(node.get("$type.beside", ())))
    for attributes in (state, extra or (), private or ()):
        admission.refuse_shadowing(cls, attributes, cls.__pydantic_fields__)
    put = object.__setattr__
    put(model, "__dict__", state)
    put(model, "__pydantic_fields_set__", set_fields)
    put(model, "__pydantic_extra__", extra)
    put(model, "__pydantic_private__", private)
    shapes.set_attributes(model, slots)
    return model


def _namespace(cls: Any, node: Node) -> Any:
    instance = cls()
    vars(instance).update(_state(node))
    return instance


def _container(cls: Any, node: Node) -> Any:
    base: Any = shapes.container_base(cls)
    content = read(node["$type.value"])
    if base in (list, bytearray, set):
        instance = base.__new__(cls)
        base.__init__(instance, content)
    elif issubclass(base, dict):
        instance = base.__new__(cls)
        if base.__name__ == "defaultdict":
            base.__init__(instance, _factory(node.get("$type.default")))
        put = base.__setitem__
        for key, value in content.items():
            put(instance, key, value)
    elif base.__name__ == "deque":
        instance = base.__new__(cls)
        base.__init__(instance, content, node.get("$type.maxlen"))
    elif base is complex:
        instance = base.__new__(cls, content.real, content.imag)
    else:
        instance = base.__new__(cls, content)
    state = _state(node)
    admission.refuse_shadowing(cls, state)
    shapes.set_attributes(instance, state)
    return instance


def _factory(node: Any) -> Any:
    """Return the factory of a `defaultdict`: a function of the project, or a value type."""
    if node is None or (isinstance(node, dict) and next(iter(node), "") == "$ref"):
        return read(node)
    raise CodecError("what makes missing values is neither a type nor a function; record the trace again")


_MAKERS: dict[str, Callable[[Any, Node], Any]] = {
    "record": _record,
    "struct": _struct,
    "namedtuple": _namedtuple,
    "sequence": _sequence,
    "pydantic": _pydantic,
    "namespace": _namespace,
    "container": _container,
}

_READERS: dict[str, Callable[[Node], Any]] = {
    "$tuple": lambda node: tuple(_items(node["$tuple"])),
    "$set": lambda node: set(_items(node["$set"])),
    "$frozenset": lambda node: frozenset(_items(node["$frozenset"])),
    "$dict": _pairs,
    "$bytes": lambda node: binascii.a2b_base64(node["$bytes"]),
    "$bytearray": lambda node: bytearray(binascii.a2b_base64(node["$bytearray"])),
    "$int": _int,
    "$float": lambda node: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "-nan": -math.nan}[
        node["$float"]
    ],
    "$str": lambda node: node["$str"].encode("ascii").decode("unicode_escape"),
    "$complex": lambda node: complex(*_items(node["$complex"])),
    "$range": lambda node: range(*_items(node["$range"])),
    "$slice": lambda node: slice(*_items(node["$slice"])),
    "$mappingproxy": _proxy,
    "$frozendict": _frozen_dict,
    "$template": _template,
    "$interpolation": _interpolation,
    "$constant": _constant,
    "$opaque": _opaque,
    "$ref": _reference,
    "$module": _module,
    "$datetime": _datetime,
    "$time": _time,
    "$date": _date,
    "$timedelta": _timedelta,
    "$timezone": _timezone,
    "$zone": _zone,
    "$decimal": _decimal,
    "$fraction": _fraction,
    "$uuid": _uuid,
    "$path": _path,
    "$http": lambda node: transport.rebuild(node, read),
    "$message": protobuf.untagged,
    "$rpc": lambda node: rpc_states.rebuild(node, read),
    "$channel": lambda node: channels.rebuild(node["$channel"]),
    "$enum": _enum,
    "$error": _error,
    "$type": _typed,
}
