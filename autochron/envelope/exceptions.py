"""Exceptions as data: type, arguments, state kept in C, attributes, notes, causes, groups and traceback."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any, cast

from autochron._runtime import bare
from autochron.envelope import admission, shapes, tracebacks
from autochron.envelope.tags import opaque_paths
from autochron.errors import CodecError

_MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)
# Attributes that are written elsewhere, or that are set again when the exception is raised.
_APART = {"args", "__traceback__", "__context__", "__cause__", "__dict__", "__suppress_context__"}
# Attributes that may be any object, and serve suggestions only ("did you mean"): left out where they can't be rebuilt.
_OPTIONAL = {"obj"}


def builtin_base(cls: type) -> type:
    """Return the nearest builtin exception class that a class extends."""
    for base in bare.bases_of(cls):
        if bare.text(base, "__module__") == "builtins" and vars(builtins).get(base.__name__) is base:
            return cast("type", base)
    return BaseException


def _members(base: type) -> dict[str, Any]:
    """Return the descriptors of the state that C keeps for a builtin exception, by name."""
    members: dict[str, Any] = {}
    for ancestor in reversed(bare.bases_of(base)):
        if ancestor is not object and ancestor is not BaseException:
            members.update(
                (name, member)
                for name, member in vars(ancestor).items()
                if type(member) in _MEMBERS and name not in _APART
            )
    return members


def describe(name: str, error: BaseException, writer: Any) -> dict[str, Any]:
    """Write an exception as a tagged object.

    Args:
        name: the name of its class.
        error: the exception.
        writer: the `ValueWriter` that writes what it holds.
    """
    written: dict[str, Any] = {"$error": name, **_describe_arguments(error, writer)}
    own = shapes.attributes(error, shapes.slots_of(type(error)))
    if own:
        written["attributes"] = writer.mapping(own)
    members = _describe_members(error, writer)
    if members:
        written["members"] = members
    cause, context = bare.of_error(error, "__cause__"), bare.of_error(error, "__context__")
    if cause is not None:
        written["cause"] = writer.write(cause)
    if context is not None:
        written["context"] = "cause" if context is cause else writer.write(context)
    if bare.of_error(error, "__suppress_context__"):
        written["suppress"] = True
    if writer.below is not None:
        frames = tracebacks.describe(bare.of_error(error, "__traceback__"), writer.below)
        if frames:
            written["traceback"] = frames
    return written


def _describe_arguments(error: BaseException, writer: Any) -> dict[str, Any]:
    """Write the arguments. Those of a group name its exceptions only once."""
    if _is_validation(type(error)):
        lines = _validation_lines(error)
        _validation(type(error), error.title, lines)  # type: ignore[attr-defined]  # raises if it can't be rebuilt
        return {"title": writer.write(error.title), "lines": writer.write(lines)}  # type: ignore[attr-defined]
    arguments = bare.of_error(error, "args")
    if not issubclass(type(error), BaseExceptionGroup):
        return {"args": writer.items(arguments)}
    message, members = bare.slot(error, "message"), bare.slot(error, "exceptions")
    written = {"message": writer.write(message), "group": writer.items(members)}
    if len(arguments) == 2 and arguments[0] == message and type(arguments[1]) in (list, tuple):
        is_same = len(arguments[1]) == len(members) and all(
            argument is member for argument, member in zip(arguments[1], members, strict=True)
        )
        if is_same:
            return {**written, "sequence": type(arguments[1]).__name__}
    return {**written, "args": writer.items(arguments)}


def _describe_members(error: BaseException, writer: Any) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, member in _members(builtin_base(type(error))).items():
        if issubclass(type(error), BaseExceptionGroup):
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
        members[name] = written
    return members


def can_be_made(cls: type[BaseException]) -> bool:
    """Return whether an instance can be made without its `__init__`: not if a library's C code keeps state in it."""
    if issubclass(cls, BaseExceptionGroup) or _is_validation(cls):
        return True
    base: Any = builtin_base(cls)
    try:
        base.__new__(cls)
    except Exception:
        return False
    return True


def _is_validation(cls: type) -> bool:
    """Return whether a class is pydantic's own ValidationError."""
    return vars(sys.modules.get("pydantic_core", types)).get("ValidationError") is cls


def _validation_lines(error: Any) -> list[dict[str, Any]]:
    """List the errors as `from_exception_data` takes them, with the messages of types that are not pydantic's own."""
    entries = vars(sys.modules["pydantic_core._pydantic_core"])["list_all_errors"]()
    names = {entry["type"] for entry in entries}
    return [
        {key: line[key] for key in ("type", "loc", "input", "ctx") if key in line}
        | ({} if line["type"] in names else {"msg": line["msg"]})
        for line in error.errors(include_url=False)
    ]


def _validation(cls: Any, title: str, lines: list[dict[str, Any]]) -> BaseException:
    custom = vars(sys.modules["pydantic_core"])["PydanticCustomError"]
    error: BaseException = cls.from_exception_data(
        title,
        [
            {
                **{key: item for key, item in line.items() if key != "msg"},
                **({"type": custom(line["type"], line["msg"], line.get("ctx"))} if "msg" in line else {}),
            }
            for line in lines
        ],
    )
    return error


def rebuild(cls: type, node: dict[str, Any], read: Any) -> BaseException:
    """Make an exception again without running its `__init__`.

    Args:
        cls: its class.
        node: the tagged object.
        read: returns the value of a tree.

    Raises:
        CodecError: the class is no exception, or an attribute would hide what the class defines.
    """
    if not issubclass(cls, BaseException):
        raise CodecError(f"{node['$error']} is no exception, so it can't be raised again")
    error = _bare(cls, node, read)
    members = _members(builtin_base(cls))
    for name, value in node.get("members", {}).items():
        if name in members:
            members[name].__set__(error, read(value))
    attributes = read(node.get("attributes", {}))
    admission.refuse_shadowing(cls, attributes)
    shapes.set_attributes(error, attributes)
    if "cause" in node:
        error.__cause__ = read(node["cause"])
    if "context" in node:
        error.__context__ = error.__cause__ if node["context"] == "cause" else read(node["context"])
    error.__suppress_context__ = bool(node.get("suppress"))
    frames = node.get("traceback")
    return tracebacks.with_traceback_frames(error, frames) if frames else error


def _bare(cls: type, node: dict[str, Any], read: Any) -> BaseException:
    base: Any = builtin_base(cls)
    if "lines" in node and _is_validation(cls):
        return _validation(cls, read(node["title"]), read(node["lines"]))
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
