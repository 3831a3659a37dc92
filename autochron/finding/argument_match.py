"""Compare the arguments of a Python call with those of a tool call. No code of the program runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from autochron._runtime.bare import dictionary_of
from autochron._runtime.codeflags import parameter_names
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import getframe
from autochron.recording.requested_tools import RequestedCall
from autochron.weaving.gate import Point

_SCALARS = frozenset({str, int, float, bool, type(None)})

_MOST = 64
"""Arguments that are compared at most."""

_DEEPEST = 8


def takes_call(code: CodeType, variables: Mapping[str, Any], call: RequestedCall) -> bool:
    """Return whether a function that has just been called got the arguments of a tool call.

    Args:
        code: of the function.
        variables: of its frame.
        call: the tool call.
    """
    requested = call.decoded()
    values = _arguments(code, variables)
    if values is None or len(requested) > _MOST:
        return False
    if any(type(value) is str and value in {call.name, call.id} for value in values):
        return False  # a function that looks the tool up
    if requested and any(_is_same(_fields(value), requested) for value in values):
        return True
    left = [value for value in values if _is_plain(value)]
    for wanted in requested.values():
        place = next((index for index, value in enumerate(left) if _is_same(value, wanted)), None)
        if place is None:
            return False
        del left[place]
    return bool(requested) or not left  # what is left may be defaults


def has_parameters_of(code: CodeType, variables: Mapping[str, Any], call: RequestedCall) -> bool:
    """Return whether a running function has the arguments of a tool call as parameters of their names.

    Args:
        code: of the function. One with `**kwargs` passes on what it gets, and is none.
        variables: of its frame.
        call: the tool call.
    """
    requested = call.decoded()
    names, (variadic, keywords) = parameter_names(code)
    if not requested or variadic or keywords or not requested.keys() <= {*names}:
        return False
    values = [variables.get(name) for name in names]
    if any(type(value) is str and value in {call.name, call.id} for value in values):
        return False  # a function that looks the tool up
    return all(_is_same(variables.get(name), value) for name, value in requested.items())


def _arguments(code: CodeType, variables: Mapping[str, Any]) -> list[Any] | None:
    """Return the arguments without the receiver, those of `*args` and `**kwargs` one by one; None if there are too many."""
    names, (variadic, keywords) = parameter_names(code)
    count = code.co_argcount + code.co_kwonlyargcount
    own = [name for name in names[:count] if name not in {"self", "cls"}]
    values = [variables[name] for name in own if name in variables]
    more = variables.get(variadic) if variadic else ()
    named = variables.get(keywords) if keywords else {}
    values += more if type(more) is tuple else ()
    values += named.values() if type(named) is dict else ()
    return values if len(values) <= _MOST else None


def _fields(value: Any) -> Any:
    """Return the fields of an object that may stand for all arguments: a dictionary, a dataclass, a model."""
    return value if type(value) is dict else None if type(value) in _SCALARS else dictionary_of(value)


def _is_plain(value: Any, depth: int = 0) -> bool:
    if type(value) in _SCALARS:
        return True
    if depth > _DEEPEST:
        return False
    if type(value) is dict:
        return all(type(key) is str and _is_plain(item, depth + 1) for key, item in value.items())
    return type(value) in {list, tuple} and all(_is_plain(item, depth + 1) for item in value)


def _is_same(value: Any, wanted: Any) -> bool:
    """Return whether a value equals one of JSON."""
    if not _is_plain(value):
        return False
    if type(value) is bool or type(wanted) is bool or value is None or wanted is None:
        return value is wanted
    if type(value) is tuple:
        value = list(value)
    return bool(value == wanted)


def agreement(call: RequestedCall, point: Point, arguments: Sequence[Any]) -> int:
    """Count the arguments of a tool call that a call of a function has."""
    bound = dict(zip(point.parameters, arguments, strict=False))
    for value in list(bound.values()):
        if type(value) is dict:
            bound |= {key: item for key, item in value.items() if type(key) is str}
    return sum(name in bound and _is_same(bound[name], value) for name, value in call.decoded().items())


def is_named(point: Point, arguments: Sequence[Any], name: str) -> bool:
    """Return whether the receiver of a call, or a variable of the enclosing function, has the name of a tool."""
    if point.parameters[:1] == ("self",):
        attributes = dictionary_of(arguments[0]) or {}
        if any(type(value) is str and value == name for value in attributes.values()):
            return True
    frame: FrameType | None = getframe(1)
    while frame is not None and frame.f_code.co_filename != point.file:
        frame = frame.f_back
    if frame is None:
        return False
    variables = locals_of(frame)
    return any(
        type(value) is str and value == name
        for value in [variables.get(variable) for variable in frame.f_code.co_freevars]
    )
