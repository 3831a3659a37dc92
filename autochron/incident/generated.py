"""A check of the generated test: its text must parse to the syntax tree that it is meant to have.

The text is a template filled with words of a trace, and a trace may come from anybody. Each word is escaped as it is filled
in (see `autochron.escaping`). This check still holds if an escape is missing: the text is parsed, and the tree must equal one
that is built here from the same values without any text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from autochron.errors import UsageError

Argument: TypeAlias = str | bool | tuple[str, ...]


class IntendedTest(Struct, frozen=True):
    """The intended meaning of a generated test.

    Attributes:
        docstring: the module's docstring.
        name: the function's name without `test_`.
        arguments: the marker's keyword arguments; a list of strings is a tuple.
        call: the first call of the body: a method of the replay and None, or a function of pytest and its message.
        suspects: the arguments of `assert_not_reproduced`.
    """

    docstring: str
    name: str
    arguments: Mapping[str, Argument]
    call: tuple[str, str | None]
    suspects: tuple[str, ...]


def refuse_unintended(text: str, intended: IntendedTest) -> None:
    """Raise unless a test's text means what is intended.

    Raises:
        UsageError: it doesn't. That is a defect of autochron, and nothing is written.
    """
    try:
        tree = ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _generation_error(f"is no Python ({error})") from error
    if tree != ast.dump(_module(intended)):
        raise _generation_error("would not do what it is made for")


def _generation_error(problem: str) -> UsageError:
    return UsageError(
        f"the test that was generated {problem}, so nothing was written; a name in the trace is written wrongly,"
        " which is a fault of autochron: report it with the trace's names"
    )


def _module(intended: IntendedTest) -> ast.Module:
    method, message = intended.call
    first = (
        _call(ast.Attribute(_name("replay"), method, ast.Load()))
        if message is None
        else _call(ast.Attribute(_name("pytest"), method, ast.Load()), ast.Constant(message))
    )
    check = _call(
        ast.Attribute(_name("replay"), "assert_not_reproduced", ast.Load()),
        *map(ast.Constant, intended.suspects),
    )
    mark = ast.Attribute(ast.Attribute(_name("pytest"), "mark", ast.Load()), "autochron", ast.Load())
    decorator = _call(mark, ast.Constant("trace.jsonl"))
    decorator.keywords = [ast.keyword(key, _value(value)) for key, value in intended.arguments.items()]
    function = ast.parse(f"def test_{intended.name}(replay): pass").body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - the source above is a function
    function.decorator_list = [decorator]
    function.body = [ast.Expr(first), ast.Expr(check)]
    imported = ast.parse("import pytest").body[
        0
    ]  # from 3.15 on it has a field more, which is not what it is by default
    body = [ast.Expr(ast.Constant(intended.docstring)), imported, function]
    return ast.Module(body, [])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(function, list(arguments), [])


def _value(value: Argument) -> ast.expr:
    return ast.List(_strings(value), ast.Load()) if isinstance(value, tuple) else ast.Constant(value)


def _strings(values: Sequence[str]) -> list[ast.expr]:
    return [ast.Constant(text) for text in values]
