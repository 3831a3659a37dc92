"""Exceptions as data: type, arguments, what C keeps, attributes, notes, causes, groups and traceback."""

from __future__ import annotations

import builtins
import types
from typing import Any

from autochron.envelope import shapes, tracebacks
from autochron.envelope.tags import opaque_paths
from autochron.errors import CodecError

_MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)
# Kept elsewhere, or made again by raising.
_APART = {"args", "__traceback__", "__context__", "__cause__", "__dict__", "__suppress_context__"}
# Any object at all, there for suggestions only ("did you mean"): kept where it can be rebuilt, else left out.
_OPTIONAL = {"obj"}


def builtin_base(cls: type) -> type:
    """Give the nearest builtin exception that a class extends."""
    for base in cls.__mro__:
        if base.__module__ == "builtins" and vars(builtins).get(base.__name__) is base:
            found: type = base
            return found
    return BaseException


def _members(base: type) -> dict[str, Any]:
    """Give the descriptors of what C keeps for a builtin exception."""
    found: dict[str, Any] = {}
    for ancestor in reversed(base.__mro__):
        if ancestor not in (object, BaseException):
            found.update((k, v) for k, v in vars(ancestor).items() if type(v) in _MEMBERS and k not in _APART)
    return found


def describe(name: str, error: BaseException, writer: Any) -> dict[str, Any]:
    """Write an exception as a tagged object."""
    written: dict[str, Any] = {"$error": name, **_describe_arguments(error, writer)}
    own = shapes.attributes(error, shapes.slots_of(type(error)))
    if own:
        written["attributes"] = writer.mapping(own)
    kept = _describe_members(error, writer)
    if kept:
        written["members"] = kept
    cause, context = error.__cause__, error.__context__
    if cause is not None:
        written["cause"] = writer.write(cause)
    if context is not None:
        written["context"] = "cause" if context is cause else writer.write(context)
    if error.__suppress_context__:
        written["suppress"] = True
    if writer.below is not None:
        frames = tracebacks.describe(error.__traceback__, writer.below)
        if frames:
            written["traceback"] = frames
    return written


def _describe_arguments(error: BaseException, writer: Any) -> dict[str, Any]:
    """Write the arguments; those of a group name its exceptions once."""
    if not isinstance(error, BaseExceptionGroup):
        return {"args": writer.items(error.args)}
    written = {"message": writer.write(error.message), "group": writer.items(error.exceptions)}
    arguments = error.args
    if len(arguments) == 2 and arguments[0] == error.message and isinstance(arguments[1], (list, tuple)):
        same = len(arguments[1]) == len(error.exceptions) and all(
            mine is theirs for mine, theirs in zip(arguments[1], error.exceptions, strict=True)
        )
        if same:
            return {**written, "sequence": type(arguments[1]).__name__}
    return {**written, "args": writer.items(arguments)}


def _describe_members(error: BaseException, writer: Any) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, member in _members(builtin_base(type(error))).items():
        if isinstance(error, BaseExceptionGroup):
            break
        try:
            value = member.__get__(error)
        except (AttributeError, TypeError):  # not set
            continue
        if value is None:
            continue
        written = writer.write(value)
        if name in _OPTIONAL and any(opaque_paths(written)):
            continue
        kept[name] = written
    return kept


def rebuild(cls: type, node: dict[str, Any], read: Any) -> BaseException:
    """Make the exception again without running its `__init__`."""
    if not issubclass(cls, BaseException):
        raise CodecError(f"{node['$error']} is no exception, so it can't be raised again")
    error = _bare(cls, node, read)
    members = _members(builtin_base(cls))
    for name, value in node.get("members", {}).items():
        if name in members:
            members[name].__set__(error, read(value))
    shapes.set_attributes(error, read(node.get("attributes", {})))
    if "cause" in node:
        error.__cause__ = read(node["cause"])
    if "context" in node:
        error.__context__ = error.__cause__ if node["context"] == "cause" else read(node["context"])
    error.__suppress_context__ = bool(node.get("suppress"))
    frames = node.get("traceback")
    return tracebacks.with_traceback_frames(error, frames) if frames else error


def _bare(cls: type, node: dict[str, Any], read: Any) -> BaseException:
    base: Any = builtin_base(cls)
    if "group" in node:
        items = [read(item) for item in node["group"]]
        sequence = tuple(items) if node.get("sequence") == "tuple" else items
        group: BaseException = base.__new__(cls, read(node["message"]), sequence)
        if "args" in node:
            group.args = tuple(read(item) for item in node["args"])
        return group
    arguments = tuple(read(item) for item in node.get("args", ()))
    error: BaseException = base.__new__(cls)
    error.args = arguments
    return error
