"""What a generated test must mean, beside its text: the test is not written where the two differ.

The text is put together from words of a trace, which may be anyone's. Each word is escaped where it is put in (see
`autochron.escaping`). This holds even if one is not: the text is parsed, and its tree must be the one that is built here
without any text around it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from autochron.errors import UsageError

Argument: TypeAlias = str | bool | tuple[str, ...]


class Intended(Struct, frozen=True):
    """What a test says.

    Attributes:
        docstring: of the module.
        name: the function, without `test_`.
        arguments: of the marker, after the trace; a list of strings as a tuple.
        call: what the body does first: a method of the replay, or the message of `pytest.fail`.
        suspects: what `assert_not_reproduced` is given.
    """

    docstring: str
    name: str
    arguments: Mapping[str, Argument]
    call: tuple[str, str | None]
    suspects: tuple[str, ...]


def refuse_other(text: str, intended: Intended) -> None:
    """Compare a test with what it is to say.

    Raises:
        UsageError: it says something else. That is a fault of ours, and nothing is written.
    """
    try:
        found = ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise _other(f"is no Python ({error})") from error
    if found != ast.dump(_module(intended)):
        raise _other("would not do what it is made for")


def _other(what: str) -> UsageError:
    return UsageError(
        f"the test that was generated {what}, so nothing was written; a name in the trace is written wrongly,"
        " which is a fault of autochron: report it with the trace's names"
    )


def _module(intended: Intended) -> ast.Module:
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
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - as it is written above
    function.decorator_list = [decorator]
    function.body = [ast.Expr(first), ast.Expr(check)]
    body = [ast.Expr(ast.Constant(intended.docstring)), ast.Import([ast.alias("pytest")]), function]
    return ast.Module(body, [])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(function, list(arguments), [])


def _value(value: Argument) -> ast.expr:
    return ast.List(_strings(value), ast.Load()) if isinstance(value, tuple) else ast.Constant(value)


def _strings(values: Sequence[str]) -> list[ast.expr]:
    return [ast.Constant(each) for each in values]
