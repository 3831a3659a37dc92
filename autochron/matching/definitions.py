"""Functions in a module's code object, without importing or parsing anything."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator
from types import CodeType
from typing import Literal, TypeAlias

from autochron._runtime.codeflags import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
)

Shape: TypeAlias = Literal["function", "generator", "coroutine", "async_generator"]
"""What a function is by its code. Not what it returns: a sync wrapper may return a coroutine."""

_FUNCTION = CO_OPTIMIZED | CO_NEWLOCALS
_HAS_ANNOTATION_SCOPES = sys.version_info >= (3, 12)


def definitions(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """Yield (qualified name, code) of every function below a code object, in order of definition.

    Not of lambdas, comprehensions, class bodies and annotation scopes; but of what these hold.
    """
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if _is_function(constant, code):
                yield constant.co_qualname, constant
            yield from definitions(constant)


def lambdas(code: CodeType, names: Container[str]) -> Iterator[tuple[str, CodeType]]:
    """Yield (qualified name, code) of each lambda that is assigned to one of some names, by the name that it has there."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    if any(each.co_name == "<lambda>" for each in inner):
        yield from _assigned(code, names)
    for each in inner:
        yield from lambdas(each, names)


def _assigned(code: CodeType, names: Container[str]) -> Iterator[tuple[str, CodeType]]:
    held = (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    if not any(name in names for name in held):
        return
    import dis  # lazy: few rules name what a lambda is assigned to

    made: CodeType | None = None
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_CONST" and isinstance(step.argval, CodeType):
            made = step.argval if step.argval.co_name == "<lambda>" else None
        elif made is not None and step.opname in _STORING:
            if step.argval in names:
                yield _inside(code, step.argval), made
            made = None
        elif step.opname not in _MAKING:
            made = None


_MAKING = frozenset({"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "COPY", "CACHE"})
_STORING = frozenset({"STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF"})


def _inside(code: CodeType, name: str) -> str:
    """Return the qualified name of what a module, a class or a function binds to a name."""
    if code.co_name == "<module>":
        return name
    between = ".<locals>." if code.co_flags & _FUNCTION == _FUNCTION else "."
    return f"{code.co_qualname}{between}{name}"


def shape_of(code: CodeType) -> Shape:
    """Return what kind of function a code object makes."""
    if code.co_flags & CO_COROUTINE:
        return "coroutine"
    if code.co_flags & CO_ASYNC_GENERATOR:
        return "async_generator"
    return "generator" if code.co_flags & CO_GENERATOR else "function"


def _is_function(code: CodeType, parent: CodeType) -> bool:
    if code.co_flags & _FUNCTION != _FUNCTION or code.co_name.startswith("<"):
        return False
    return not (_HAS_ANNOTATION_SCOPES and _is_annotation_scope(code, parent))


def _is_annotation_scope(code: CodeType, parent: CodeType) -> bool:
    """Return whether a code object is the value of a `type` statement or the bound of a type parameter (3.12).

    These look like functions without arguments. What gives them away is that the name is a constant of the
    parent, which is cheap to see, and that the made function goes into a tuple or an
    intrinsic, which is then looked for.
    """
    if code.co_argcount or code.co_kwonlyargcount or code.co_name not in parent.co_consts:
        return False
    import dis  # lazy: almost no module gets here

    steps = [step for step in dis.get_instructions(parent) if step.opname != "SET_FUNCTION_ATTRIBUTE"]
    for load, make, use in zip(steps, steps[1:], steps[2:], strict=False):
        if load.argval is code and make.opname == "MAKE_FUNCTION":
            return use.opname in {"BUILD_TUPLE", "CALL_INTRINSIC_2"}
    return False
