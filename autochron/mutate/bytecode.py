"""The code of a function, compiled from its module's text, and the fingerprint by which equal programs are found."""

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
    """Compile a module, and return the code of one of its functions: the last of that name, as the name is bound.

    Args:
        source: the text of the module.
        path: its path, which tracebacks show.
        qualname: the qualified name of the function.

    Raises:
        SyntaxError: the text is not valid Python.
        UsageError: the module has no such function.
    """
    with warnings.catch_warnings():
        # Where warnings are errors, a mutant with a warning would not compile.
        warnings.simplefilter("ignore")
        module = compile(source, path, "exec", dont_inherit=True)
    codes = _functions(module)
    matching = [code for code in codes if code.co_qualname == qualname]
    if not matching:
        raise UsageError(
            f"{path} has no function `{qualname}`{hint((code.co_qualname for code in codes), qualname)}"
        )
    return max(matching, key=lambda code: code.co_firstlineno)


class FunctionPart:
    """The part of a module that has one function, which is compiled by itself where nothing else has changed.

    Compiling the whole module takes ten times as long, and each trial waits for it.
    """

    def __init__(self, source: str, path: str, qualname: str) -> None:
        """Find the part of the function.

        Args:
            source: the text of the module.
            path: its path.
            qualname: the qualified name of the function.

        Raises:
            SyntaxError: as `compiled`.
            UsageError: as `compiled`.
        """
        self._path, self._qualname = path, qualname
        self._code = compiled(source, path, qualname)
        lines = source.splitlines(keepends=True)
        definitions = [
            node
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == qualname
        ]
        first = last = 0
        if definitions:
            first = min(node.lineno for node in (definitions[-1], *definitions[-1].decorator_list)) - 1
            last = definitions[-1].end_lineno or 0
        self._before, self._after = "".join(lines[:first]), "".join(lines[last:])
        self._is_separable = bool(definitions) and "".join(lines) == source and self._compiles_alike(source)

    def _compiles_alike(self, source: str) -> bool:
        """Return whether the part compiles to the same code by itself as in the module."""
        code = self._compile_part(source)
        positions = None if code is None else (code.co_firstlineno, list(code.co_positions()))
        return (
            code is not None
            and positions == (self._code.co_firstlineno, list(self._code.co_positions()))
            and fingerprint(code) == fingerprint(self._code)
        )

    def compiled(self, source: str) -> CodeType:
        """Return the code of the function in a changed text of the module; raises as the function `compiled`."""
        code = self._compile_part(source) if self._is_separable else None
        return compiled(source, self._path, self._qualname) if code is None else code

    def _compile_part(self, source: str) -> CodeType | None:
        """Return the function's code, compiled by itself; None where the text is changed elsewhere or invalid."""
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
            except SyntaxError:  # the error is reported when the whole module is compiled
                return None
        codes = [code for code in module.co_consts if isinstance(code, CodeType)]
        matching = [code for code in codes if code.co_qualname == self._qualname]
        return matching[-1] if matching else None


def fingerprint(code: CodeType) -> tuple[Any, ...]:
    """Return all of a code object but its place in the source, and likewise of the codes inside.

    Fingerprints are equal for equal programs. Constants come with their types, so that 1, 1.0 and True differ.
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
        tuple(_constant(constant) for constant in code.co_consts),
    )


def _constant(value: object) -> tuple[Any, ...]:
    if isinstance(value, CodeType):
        return ("code", fingerprint(value))
    if isinstance(value, tuple):
        return ("tuple", tuple(_constant(member) for member in value))
    if isinstance(value, frozenset):
        return ("frozenset", frozenset(_constant(member) for member in value))
    return (type(value).__name__, repr(value))  # `repr`, because -0.0 == 0.0


def _functions(code: CodeType) -> list[CodeType]:
    """Return the codes of all functions in a code; modules and classes are told apart by the flag CO_OPTIMIZED."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    named = [
        inner_code
        for inner_code in inner
        if inner_code.co_flags & inspect.CO_OPTIMIZED and not inner_code.co_name.startswith("<")
    ]
    return [*named, *(deeper for inner_code in inner for deeper in _functions(inner_code))]
