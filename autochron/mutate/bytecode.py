"""The code of a function out of its module's text, and what two codes must share to be the same program."""

from __future__ import annotations
import __future__

import ast
import inspect
import warnings
from types import CodeType
from typing import Any

from autochron.errors import UsageError
from autochron.rules.nearest import hint

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag


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


class FunctionPart:
    """The part of a module that one of its functions stands in: compiled by itself where only that has changed.

    A whole module takes ten times as long, in a fork of which each trial has to wait.
    """

    def __init__(self, source: str, path: str, qualname: str) -> None:
        """Find it; SyntaxError and UsageError as for `compiled`."""
        self._path, self._qualname = path, qualname
        self._code = compiled(source, path, qualname)
        lines = source.splitlines(keepends=True)
        found = [
            node
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == qualname
        ]
        first = last = 0
        if found:
            first = min(each.lineno for each in (found[-1], *found[-1].decorator_list)) - 1
            last = found[-1].end_lineno or 0
        self._before, self._after = "".join(lines[:first]), "".join(lines[last:])
        self._stands = bool(found) and "".join(lines) == source and self._is_the_same(source)

    def _is_the_same(self, source: str) -> bool:
        alone = self._alone(source)
        places = None if alone is None else (alone.co_firstlineno, list(alone.co_positions()))
        return (
            alone is not None
            and places == (self._code.co_firstlineno, list(self._code.co_positions()))
            and fingerprint(alone) == fingerprint(self._code)
        )

    def compiled(self, source: str) -> CodeType:
        """Return the function's code in a changed text of the module; raises as `compiled` does."""
        code = self._alone(source) if self._stands else None
        return compiled(source, self._path, self._qualname) if code is None else code

    def _alone(self, source: str) -> CodeType | None:
        """Compile the part; None where that would not be the whole truth."""
        before, after = self._before, self._after
        if (
            len(source) < len(before) + len(after)
            or not source.startswith(before)
            or not source.endswith(after)
        ):
            return None
        text = "\n" * before.count("\n") + source[len(before) : len(source) - len(after)]
        flags = self._code.co_flags & _FUTURES
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = compile(text, self._path, "exec", flags=flags, dont_inherit=True)
            except SyntaxError:  # said of the whole
                return None
        found = [each for each in module.co_consts if isinstance(each, CodeType)]
        fitting = [each for each in found if each.co_qualname == self._qualname]
        return fitting[-1] if fitting else None


def fingerprint(code: CodeType) -> tuple[Any, ...]:
    """Return all of a code, and of the codes inside, but where it stands: equal for the same program.

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
    """Return the code of every function in a code; those of classes and modules aren't optimised."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    named = [
        each for each in inside if each.co_flags & inspect.CO_OPTIMIZED and not each.co_name.startswith("<")
    ]
    return [*named, *(deeper for each in inside for deeper in _functions(each))]
