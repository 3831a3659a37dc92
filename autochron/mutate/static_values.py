"""Look up what names, attributes and items in a function's source refer to, without running any code of the program.

A limit may be `config.LIMIT`, `settings.limits["refund"]` or `PAID[order]`. The first two are known from the module's
globals, and the third one while the function runs.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from types import MemberDescriptorType, ModuleType
from typing import Any

from autochron._runtime.bare import dictionary_of

_PLAIN_KEYS: tuple[type[Any], ...] = (str, int, bool, bytes, type(None))
"""Types of keys whose `__hash__` and `__eq__` are no code of the program."""


def references_in(nodes: Iterator[ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions that read an attribute or an item: of `a.b["c"]` the whole and its parts, `a` left out."""
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript):
            if isinstance(node.ctx, ast.Load):
                yield node
        elif isinstance(node, ast.Call) and _is_get(node):
            yield node


def look_up(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what an expression refers to.

    Attributes are read from the dictionaries and slots of modules, classes and objects, and items from plain
    dictionaries, lists and tuples, so that no code of the program runs. Modules of the standard library are left out.

    Args:
        node: a name, a constant, an attribute, an item, or a call of `get` of a dictionary.
        names: what the names refer to.

    Raises:
        LookupError: It is no such expression, or what it refers to is not there.
    """
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return names[name]
        case ast.Attribute(inner, name):
            return _attribute(look_up(inner, names), name)
        case ast.Subscript(inner, key):
            return _item(look_up(inner, names), look_up(key, names))
        case ast.Call(ast.Attribute(inner, "get"), [key, *_]) if _is_get(node):
            return _item(look_up(inner, names), look_up(key, names))
    raise LookupError


def _is_get(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "get" and bool(node.args)


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):
        values = dictionary_of(owner) or {}
        if owner is os or str(values.get("__name__")).partition(".")[0] in sys.stdlib_module_names:
            raise LookupError
        return values[name]
    if isinstance(owner, Enum) and name in {"value", "name"}:
        return _attribute(owner, f"_{name}_")
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        raise LookupError from None
    if isinstance(found, MemberDescriptorType) and not isinstance(owner, type):
        try:
            return found.__get__(owner)
        except AttributeError:
            raise LookupError from None
    return found


def _item(owner: Any, key: Any) -> Any:
    if type(owner) is dict and type(key) in _PLAIN_KEYS:
        return owner[key]
    if type(owner) in {list, tuple} and type(key) is int:
        return owner[key]
    raise LookupError
