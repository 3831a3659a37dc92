"""The plain data that stands in an input for a value that JSON has no form for, chosen by the value's class."""

from __future__ import annotations

import sys
import types
from collections import deque
from typing import Any

import msgspec

from autochron._runtime.bare import dictionary_of, mapping_of, of_error, slot, text
from autochron._runtime.class_table import ClassTable, lasts
from autochron.envelope import arrays, bodies, newer_types, objects, protobuf, shapes
from autochron.envelope import types as names
from autochron.envelope.cycles import Cycles

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_SENTINELS = frozenset({"NotGiven", "Omit", "Unset", "UnsetType"})
_FORMS: ClassTable[Any] = ClassTable()
"""Makes the form of an instance, by class."""


def plain_form(value: Any) -> Any:
    """Return plain data for a value. It may hold other values, which then have a form of their own."""
    return _FORMS.find(type(value), _form_of)(value)


def walked_form(value: Any, cycles: Cycles | None, *, marks: bool) -> Any:
    """Return plain data as `plain_form` does.

    Args:
        value: the value.
        cycles, marks: as in `objects.show`.
    """
    form = _FORMS.find(type(value), _form_of)
    return objects.show(value, cycles, marks=marks) if form is objects.show else form(value)


def opaque_form(value: Any) -> Any:
    """Return the form of a value of which only the type is written."""
    return {"$opaque": names.label(type(value))}


def _model(value: Any) -> Any:
    """Return a model's fields, set or not, and its private attributes, without sentinels for "not given"."""
    own, left_out = dictionary_of(value) or {}, objects.derived(type(value))
    fields = {
        key: item
        for key, item in own.items()
        if key not in left_out and text(type(item), "__name__") not in _SENTINELS
    }
    for extra in (slot(value, "__pydantic_extra__"), slot(value, "__pydantic_private__")):
        if extra:
            fields.update(extra)
    return fields


def _reference(value: Any) -> Any:
    return {"$ref": names.label(value) if issubclass(type(value), type) else names.label_function(value)}


def _error(value: BaseException) -> Any:
    return {"$error": names.label(type(value)), "args": list(of_error(value, "args"))}


def _request(value: Any) -> Any:
    content = getattr(value, "_content", b"")
    stored = msgspec.Raw(bodies.store_body(content, value.headers.get("content-type", "")))
    return {"method": value.method, "url": str(value.url), "content": stored}


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
    (deque, lambda value: list(deque.__iter__(value))),
)


def _form_of(cls: type) -> Any:
    """Choose how the instances of a class are shown; called once for a class."""
    if issubclass(cls, type) or issubclass(cls, _FUNCTIONS):
        return _reference
    if issubclass(cls, BaseException):
        return _error
    kind = shapes.kind_of(cls)
    if kind == "http":
        return _HTTP[shapes.http_class(cls)]
    simple = {
        "pydantic": _model,
        "namespace": lambda value: dict(dictionary_of(value) or {}),
        "enum": _enum,
        "message": protobuf.tagged,
    }.get(kind)
    if simple is not None:
        return simple
    if kind == "record":
        if not lasts(cls):  # the slots hold the class, and would keep it alive
            return lambda value: shapes.attributes(value, shapes.slots_of(type(value)))
        slots = shapes.slots_of(cls)
        return lambda value: shapes.attributes(value, slots)
    table = arrays.shape_of(cls)
    if table is not None:
        return table
    for base, shape in _BASES:
        if issubclass(cls, base):
            return shape
    return _library_form(cls)


def _library_form(cls: type) -> Any:
    if cls is range or cls is slice:
        return lambda value: [value.start, value.stop, value.step]
    if cls is types.MappingProxyType:
        return mapping_of
    if cls is newer_types.FROZEN_DICT:
        return dict
    if cls is newer_types.TEMPLATE:
        return list
    if cls is newer_types.INTERPOLATION:
        return newer_types.interpolation_of
    if cls is types.ModuleType:
        return lambda value: {"$module": str(value.__name__)}
    for module, name, shape in (
        ("pathlib", "PurePath", str),
        ("functools", "partial", _partial),
        ("fractions", "Fraction", str),
        ("datetime", "tzinfo", str),
    ):
        base = getattr(sys.modules.get(module), name, None)
        if (
            isinstance(base, type)
            and issubclass(cls, base)
            and text(cls, "__module__").partition(".")[0] in (module, "zoneinfo")
        ):
            return shape
    return objects.show if objects.is_own(cls) else opaque_form
