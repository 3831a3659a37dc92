"""The slow half of encoding: from any live value to a tree of JSON types with tags.

A tag is a key that starts with `$`, and always the first key of its object. A dictionary with such a key, or with a key
that is no string, is written as pairs, so data can't forge a tag. The other keys of a tagged object are named so that
they stay behind the tag when keys are sorted: `$type`, `$type.value`.
"""

from __future__ import annotations

import binascii
import enum
import math
import sys
import types
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from autochron._runtime import bare
from autochron._runtime.bare import identity
from autochron._runtime.class_table import ClassTable
from autochron.envelope import admission, exceptions, newer_types, protobuf, shapes, transport
from autochron.envelope import types as names
from autochron.envelope.budget import TooLargeError
from autochron.envelope.library_plans import LIBRARY
from autochron.envelope.opaque import opaque

Plan: TypeAlias = Callable[["ValueWriter", Any], Any]
"""Writes the instances of one class: from the writer and a value to the value's tree."""

MAX_DEPTH = 100
"""Levels of nesting that are written; deeper values are opaque. Four frames a level stay well below Python's limit."""
_MOST_AFTER_CYCLE = 500
"""Containers that are opened after a part that contains itself, before it is searched which parts do so."""
_INT_DIGITS = 4000  # Python refuses to print longer integers in decimal.


class ValueWriter:
    """One encoding. It remembers which containers are open, so that a cycle ends."""

    __slots__ = ("below", "cycles", "left", "open", "written")

    def __init__(
        self, below: types.FrameType | None, max_containers: int, cycles: frozenset[int] | None = None
    ) -> None:
        """Begin an encoding.

        Args:
            below: the frame below which the tracebacks of exceptions are written; None: they are left out.
            max_containers: how many containers may be opened; beyond that `TooLargeError` is raised.
            cycles: the identities of the parts that lie on a cycle, if they were searched. Each is written once.
        """
        self.below = below
        self.left = max_containers
        self.open: set[int] = set()
        self.cycles = cycles
        self.written: set[int] = set()

    def write(self, value: Any) -> Any:
        """Return the tagged tree of a value."""
        kind = type(value)
        plan = _PLANS.get(kind)
        if plan is None:
            plan = _PLANS.find(kind, _plan_for)
        return plan(self, value)

    def enter(self, value: Any) -> Any:
        """Open a container.

        Returns:
            None, or the opaque tree to write in its place: it contains itself, or is nested too deep.

        Raises:
            TooLargeError: too many containers were opened.
        """
        key = identity(value)
        if key in self.open or key in self.written:
            if self.cycles is None:
                self.left = min(self.left, _MOST_AFTER_CYCLE)
            return opaque(value, "it contains itself")
        self.left -= 1
        if self.left < 0:
            raise TooLargeError
        if len(self.open) >= MAX_DEPTH:
            return opaque(value, f"it is nested deeper than {MAX_DEPTH} levels")
        self.open.add(key)
        if self.cycles is not None and key in self.cycles:
            self.written.add(key)
        return None

    def leave(self, value: Any) -> None:
        """Close a container."""
        self.open.discard(identity(value))

    def items(self, values: Any) -> list[Any]:
        """Write each item of a sequence."""
        return [self.write(item) for item in values]

    def mapping(self, value: dict[Any, Any]) -> dict[str, Any]:
        """Write the items of a dictionary; as pairs if a key could be mistaken for a tag, or is no string."""
        pairs = list(dict.items(value))
        for key, _ in pairs:
            if type(key) is not str or key[:1] == "$" or not _utf8(key):
                return {"$dict": [[self.write(key), self.write(item)] for key, item in pairs]}
        return {key: self.write(item) for key, item in pairs}

    def state(self, state: dict[Any, Any]) -> dict[str, Any]:
        """Write attributes to stand beside a tag: as its keys if all are identifiers, else under `$type.state`."""
        if all(type(key) is str and key.isascii() and key.isidentifier() for key in state):
            return {key: self.write(item) for key, item in state.items()}
        return {"$type.state": self.mapping(state)} if state else {}


def forget_plans() -> None:
    """Drop all plans: the root folder, which names of types depend on, has changed."""
    _PLANS.forget()


def _utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- plans for exact builtin types ---------------------------------------------------------------------------------


def _same(_: ValueWriter, value: Any) -> Any:
    return value


def _int(_: ValueWriter, value: int) -> Any:
    if -(2**63) <= value < 2**64:
        return value
    return {"$int": str(value) if value.bit_length() < _INT_DIGITS * 3 else hex(value)}


def _float(_: ValueWriter, value: float) -> Any:
    if math.isfinite(value):
        return value
    return {"$float": repr(value) if math.copysign(1, value) > 0 or value < 0 else "-nan"}


def _str(_: ValueWriter, value: str) -> Any:
    # Not JSON's own escapes: decoding would join two lone surrogates into one character.
    return value if _utf8(value) else {"$str": value.encode("unicode_escape").decode()}


def _list(writer: ValueWriter, value: list[Any]) -> Any:
    replacement = writer.enter(value)
    if replacement is not None:
        return replacement
    try:
        return writer.items(list.__iter__(value))
    finally:
        writer.leave(value)


def _dict(writer: ValueWriter, value: dict[Any, Any]) -> Any:
    replacement = writer.enter(value)
    if replacement is not None:
        return replacement
    try:
        return writer.mapping(value)
    finally:
        writer.leave(value)


def _tagged_items(tag: str, *, ordered: bool) -> Plan:
    def plan(writer: ValueWriter, value: Any) -> Any:
        replacement = writer.enter(value)
        if replacement is not None:
            return replacement
        try:
            written = writer.items(value)
            return {tag: written if ordered else _sorted(written)}
        finally:
            writer.leave(value)

    return plan


def _sorted(written: list[Any]) -> list[Any]:
    """Order the written items of a set, so that equal sets have equal texts."""
    return sorted(written, key=msgspec.json.encode)


def _bytes(_: ValueWriter, value: bytes) -> Any:
    return {"$bytes": binascii.b2a_base64(value, newline=False).decode()}


def _bytearray(_: ValueWriter, value: bytearray) -> Any:
    return {"$bytearray": binascii.b2a_base64(value, newline=False).decode()}


def _complex(writer: ValueWriter, value: complex) -> Any:
    return {"$complex": [writer.write(value.real), writer.write(value.imag)]}


def _range(writer: ValueWriter, value: range | slice) -> Any:
    tag = "$range" if type(value) is range else "$slice"
    return {tag: [writer.write(value.start), writer.write(value.stop), writer.write(value.step)]}


def _proxy(writer: ValueWriter, value: Any) -> Any:
    return {"$mappingproxy": _dict(writer, bare.mapping_of(value))}


def _constant(_: ValueWriter, value: Any) -> Any:
    return {"$constant": "UNSET" if value is msgspec.UNSET else str(value)}


def _reference(_: ValueWriter, value: Any) -> Any:
    try:
        name = names.name_of(value)
    except names.UnnamedError as error:
        return {"$opaque": names.label_function(value), "reason": str(error)}
    reason = admission.refusal_of_reference(value)
    return {"$ref": name} if reason is None else {"$opaque": names.label_function(value), "reason": reason}


def _builtin_function(writer: ValueWriter, value: Any) -> Any:
    owner = getattr(value, "__self__", None)
    if owner is not None and not issubclass(type(owner), types.ModuleType):
        return opaque(value, "it is bound to an object")
    return _reference(writer, value)


def _module(_: ValueWriter, value: Any) -> Any:
    try:
        name = names.name_module(value)
    except names.UnnamedError as error:
        return opaque(value, str(error))
    if not admission.is_own_module(value.__name__):
        return opaque(value, "it is a module of a library")
    return {"$module": name}


def _frozen_dict(writer: ValueWriter, value: Any) -> Any:
    return {"$frozendict": _dict(writer, dict(value))}


def _template(writer: ValueWriter, value: Any) -> Any:
    return {"$template": [writer.write(part) for part in value]}


def _interpolation(writer: ValueWriter, value: Any) -> Any:
    return {"$interpolation": [writer.write(part) for part in newer_types.interpolation_of(value)]}


_NEWER: dict[Any, Plan] = {
    newer_types.FROZEN_DICT: _frozen_dict,
    newer_types.TEMPLATE: _template,
    newer_types.INTERPOLATION: _interpolation,
}
_BUILTIN: dict[type, Plan] = {
    **{kind: plan for kind, plan in _NEWER.items() if kind is not None},
    type(None): _same,
    bool: _same,
    int: _int,
    float: _float,
    str: _str,
    list: _list,
    dict: _dict,
    tuple: _tagged_items("$tuple", ordered=True),
    set: _tagged_items("$set", ordered=False),
    frozenset: _tagged_items("$frozenset", ordered=False),
    bytes: _bytes,
    bytearray: _bytearray,
    complex: _complex,
    range: _range,
    slice: _range,
    types.MappingProxyType: _proxy,
    types.FunctionType: _reference,
    types.BuiltinFunctionType: _builtin_function,
    types.ModuleType: _module,
    type(Ellipsis): _constant,
    type(NotImplemented): _constant,
    type(msgspec.UNSET): _constant,
}
_PLANS: ClassTable[Plan] = ClassTable(_BUILTIN)


# --- plans made for a class ----------------------------------------------------------------------------------------


def _plan_for(cls: type) -> Plan:
    """Choose how the instances of a class are written; called once for a class."""
    for module, name, plan in LIBRARY:
        if getattr(sys.modules.get(module), name, None) is cls:
            return plan
    if issubclass(cls, type):
        return _reference
    kind = shapes.kind_of(cls)
    if kind == "message":
        return lambda _, value: protobuf.tagged(value)
    if kind == "none":
        return _opaque_plan("it is no value type; return plain data, or give the boundary `outcome = ...`")
    if kind == "http":
        return _http_plan(shapes.http_class(cls))
    try:
        name = names.name_of(_origin(cls))
    except names.UnnamedError as error:
        return _opaque_plan(str(error))
    reason = admission.refusal_of_type(cls)
    return _MAKERS[kind](cls, name) if reason is None else _opaque_plan(reason)


def _origin(cls: type) -> type:
    """Return the class to name: for a parametrised pydantic model, the generic model that it was made from."""
    metadata = bare.class_attribute(cls, "__pydantic_generic_metadata__")
    origin = metadata.get("origin") if isinstance(metadata, dict) else None
    return origin if isinstance(origin, type) else cls


def _opaque_plan(reason: str) -> Plan:
    def plan(_: ValueWriter, value: Any) -> Any:
        return opaque(value, reason)

    return plan


def _guarded(build: Plan) -> Plan:
    def plan(writer: ValueWriter, value: Any) -> Any:
        replacement = writer.enter(value)
        if replacement is not None:
            return replacement
        try:
            return build(writer, value)
        finally:
            writer.leave(value)

    return plan


def _http_plan(name: str) -> Plan:
    return _guarded(lambda writer, value: transport.describe(name, value, writer.write))


def _exception_plan(cls: type, name: str) -> Plan:
    if not exceptions.can_be_made(cls):
        return lambda _, value: opaque(value, "its library makes it in C; it can't be raised again")
    return _guarded(lambda writer, value: exceptions.describe(name, value, writer))


def _record_plan(cls: type, name: str) -> Plan:
    slots, fields = shapes.slots_of(cls), shapes.field_names(cls)

    def build(writer: ValueWriter, value: Any) -> Any:
        state = shapes.attributes(value, slots)
        tree = {"$type": name, **writer.state(state)}
        extra_names = [key for key in state if key not in fields]
        if extra_names:
            tree["$type.beside"] = extra_names
        return tree

    return _guarded(build)


def _struct_plan(cls: type, name: str) -> Plan:
    fields = cls.__struct_fields__  # type: ignore[attr-defined]

    def build(writer: ValueWriter, value: Any) -> Any:
        state = {field: bare.slot(value, field) for field in fields}
        return {"$type": name, **writer.state({**state, **(bare.dictionary_of(value) or {})})}

    return _guarded(build)


def _namedtuple_plan(cls: type, name: str) -> Plan:
    slots = shapes.slots_of(cls)
    fields = cls._fields  # type: ignore[attr-defined]

    def build(writer: ValueWriter, value: Any) -> Any:
        if len(fields) != tuple.__len__(value):
            return opaque(value, "it has another length than its fields")
        state = dict(zip(fields, tuple.__iter__(value), strict=True))
        return {"$type": name, **writer.state({**state, **shapes.attributes(value, slots)})}

    return _guarded(build)


def _sequence_plan(_: type, name: str) -> Plan:
    def build(writer: ValueWriter, value: Any) -> Any:
        visible, hidden = value.__reduce__()[1]
        return {"$type": name, "$type.value": writer.items(visible), "$type.hidden": writer.mapping(hidden)}

    return _guarded(build)


def _enum_plan(cls: Any, name: str) -> Plan:
    is_flag = issubclass(cls, enum.Flag)

    def plan(writer: ValueWriter, value: Any) -> Any:
        member = value._name_
        if isinstance(member, str) and cls._member_map_.get(member) is value:
            return {"$enum": name, "name": writer.write(member)}
        refusal = admission.refusal_of_member(cls) if is_flag else "no member"
        if refusal is not None:
            return opaque(value, refusal)
        return {"$enum": name, "value": writer.write(int(value._value_))}

    return plan


def _pydantic_plan(cls: Any, name: str) -> Plan:
    slots = shapes.slots_of(cls)
    metadata = getattr(cls, "__pydantic_generic_metadata__", {})
    arguments = metadata.get("args") if metadata.get("origin") else None
    known = shapes.pydantic_names(cls)

    def build(writer: ValueWriter, value: Any) -> Any:
        own = bare.dictionary_of(value) or {}
        written: dict[str, Any] = {"$type": name}
        if arguments:
            written["$type.arguments"] = writer.items(arguments)
        extra, private = bare.slot(value, "__pydantic_extra__"), bare.slot(value, "__pydantic_private__")
        set_fields = bare.slot(value, "__pydantic_fields_set__") or set()
        if set_fields != set(own) | set(extra or ()):
            written["$type.set"] = sorted(set_fields)
        if extra is not None:
            written["$type.extra"] = writer.mapping(extra)
        if private is not None:
            written["$type.private"] = writer.mapping(private)
        if not known.issuperset(own):
            written["$type.beside"] = [key for key in own if key not in known]
        return {**written, **writer.state({**shapes.attributes(value, slots)})}

    return _guarded(build)


def _container_plan(cls: Any, name: str) -> Plan:
    slots = shapes.slots_of(cls)
    base: Any = shapes.container_base(cls)
    read = _content_reader(base)

    def build(writer: ValueWriter, value: Any) -> Any:
        written = {"$type": name, "$type.value": read(writer, value)}
        if base.__name__ == "defaultdict" and (factory := bare.factory_of(value)) is not None:
            written["$type.default"] = writer.write(factory)
        if base.__name__ == "deque" and (maxlen := bare.maxlen_of(value)) is not None:
            written["$type.maxlen"] = maxlen
        return {**written, **writer.state(shapes.attributes(value, slots))}

    return _guarded(build)


def _content_reader(base: Any) -> Plan:
    """Return a function that writes the content of a subclass as its builtin base, past methods of the subclass."""
    if issubclass(base, dict):
        # `OrderedDict.items` follows `move_to_end`; `dict.items` doesn't.
        return lambda writer, value: writer.mapping(dict(base.items(value)))
    if base in (str, int, float, complex, bytes, bytearray):
        plan = _BUILTIN[base]
        return lambda writer, value: plan(writer, _BARE[base](value))
    ordered = base not in (set, frozenset)

    def read(writer: ValueWriter, value: Any) -> Any:
        written = writer.items(base.__iter__(value))
        return written if ordered else _sorted(written)

    return read


_BARE: dict[Any, Callable[[Any], Any]] = {
    str: lambda value: "".join(str.__iter__(value)),
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex.__add__(value, 0j),
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: bytearray.copy,
}


def _namespace_plan(_: type, name: str) -> Plan:
    return _guarded(
        lambda writer, value: {"$type": name, **writer.state(dict(bare.dictionary_of(value) or {}))}
    )


_MAKERS: dict[str, Callable[[Any, str], Plan]] = {
    "exception": _exception_plan,
    "enum": _enum_plan,
    "pydantic": _pydantic_plan,
    "struct": _struct_plan,
    "record": _record_plan,
    "namedtuple": _namedtuple_plan,
    "sequence": _sequence_plan,
    "container": _container_plan,
    "namespace": _namespace_plan,
}
names.on_root_change(forget_plans)
