"""The code of a function out of its module's text, and what two codes must share to be the same program."""

from __future__ import annotations

import inspect
import warnings
from types import CodeType
from typing import Any

from autochron.errors import UsageError
from autochron.rules.nearest import hint


def compiled(source: str, path: str, qualname: str) -> CodeType:
    """Compile a module, and give the code of one of its functions: the last of that name, as it is bound.

    SyntaxError where the text is no Python; UsageError where the function isn't there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # where a warning is an error, a mutant that earns one would be no Python
        module = compile(source, path, "exec", dont_inherit=True)
    found = _functions(module)
    fitting = [code for code in found if code.co_qualname == qualname]
    if not fitting:
        raise UsageError(
            f"{path} has no function `{qualname}`{hint((code.co_qualname for code in found), qualname)}"
        )
    return max(fitting, key=lambda code: code.co_firstlineno)


def fingerprint(code: CodeType) -> tuple[Any, ...]:
    """Give all of a code, and of the codes inside, but where it stands: equal for the same program.

    Constants come with their types, so that 1, 1.0 and True differ.
    """
    return (
        code.co_code,
        code.co_exceptiontable,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_name,
        code.co_qualname,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        tuple(_constant(each) for each in code.co_consts),
    )


def _constant(value: object) -> tuple[Any, ...]:
    if isinstance(value, CodeType):
        return ("code", fingerprint(value))
    if isinstance(value, tuple):
        return ("tuple", tuple(_constant(each) for each in value))
    if isinstance(value, frozenset):
        return ("frozenset", frozenset(_constant(each) for each in value))
    return (type(value).__name__, repr(value))  # repr, for -0.0 is 0.0


def _functions(code: CodeType) -> list[CodeType]:
    """Give the code of every function in a code; those of classes and modules aren't optimised."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    named = [
        each for each in inside if each.co_flags & inspect.CO_OPTIMIZED and not each.co_name.startswith("<")
    ]
    return [*named, *(deeper for each in inside for deeper in _functions(each))]
