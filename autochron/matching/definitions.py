"""Find the functions in a module's code object, without importing or parsing anything."""

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
"""The kind of a function by its code, which does not say what it returns: a sync wrapper may return a coroutine."""

_FUNCTION = CO_OPTIMIZED | CO_NEWLOCALS
_HAS_ANNOTATION_SCOPES = sys.version_info >= (3, 12)
_HAS_FORMATS = sys.version_info >= (3, 14)
"""Whether annotation scopes are told apart by their only parameter."""


def definitions(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """Yield (qualified name, code) of every function in a code object, in order of definition.

    Lambdas, comprehensions, class bodies and annotation scopes are left out, but functions inside them are not.
    """
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if _is_function(constant, code):
                yield constant.co_qualname, constant
            yield from definitions(constant)


def lambdas(code: CodeType, names: Container[str]) -> Iterator[tuple[str, CodeType]]:
    """Yield (qualified name of the variable, code) of each lambda that is assigned to a variable with one of these names."""
    nested = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    if any(constant.co_name == "<lambda>" for constant in nested):
        yield from _assigned(code, names)
    for constant in nested:
        yield from lambdas(constant, names)


def _assigned(code: CodeType, names: Container[str]) -> Iterator[tuple[str, CodeType]]:
    bound_names = (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    if not any(name in names for name in bound_names):
        return
    import dis  # lazy: few rules name a lambda

    function: CodeType | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_CONST" and isinstance(instruction.argval, CodeType):
            function = instruction.argval if instruction.argval.co_name == "<lambda>" else None
        elif function is not None and instruction.opname in _STORING:
            if instruction.argval in names:
                yield _inside(code, instruction.argval), function
            function = None
        elif instruction.opname not in _MAKING:
            function = None


_MAKING = frozenset({"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "COPY", "CACHE"})
_STORING = frozenset({"STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF"})


def _inside(code: CodeType, name: str) -> str:
    """Return the qualified name of a variable in the code of a module, a class or a function."""
    if code.co_name == "<module>":
        return name
    separator = ".<locals>." if code.co_flags & _FUNCTION == _FUNCTION else "."
    return f"{code.co_qualname}{separator}{name}"


def shape_of(code: CodeType) -> Shape:
    """Return the kind of a function by its code."""
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
    """Return whether a code object has annotations, or the value of a `type` statement or the bound of a type parameter.

    Since 3.14 these are functions of the format in which they are asked for. Before, they look like functions without
    arguments. They differ in that their name is a constant of the parent, which is cheap to check first, and in that the
    parent puts the function into a tuple or passes it to an intrinsic.
    """
    if _HAS_FORMATS:
        expected = "format" if code.co_name == "__annotate__" else ".format"
        return code.co_posonlyargcount == code.co_argcount == 1 and code.co_varnames[0] == expected
    if code.co_argcount or code.co_kwonlyargcount or code.co_name not in parent.co_consts:
        return False
    import dis  # lazy: almost no module has such code

    instructions = [
        instruction
        for instruction in dis.get_instructions(parent)
        if instruction.opname != "SET_FUNCTION_ATTRIBUTE"
    ]
    for load, make, use in zip(instructions, instructions[1:], instructions[2:], strict=False):
        if load.argval is code and make.opname == "MAKE_FUNCTION":
            return use.opname in {"BUILD_TUPLE", "CALL_INTRINSIC_2"}
    return False
