"""Weave callables that are passed to a woven definition as an argument."""

from __future__ import annotations

import functools
import weakref
from types import CodeType, FunctionType, MethodType
from typing import Any

from msgspec import structs

from autochron.instrument.mark import mark_of
from autochron.model import BoundaryRule
from autochron.weaving.gate import Point
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import is_woven, weave_function


class PassedCallables:
    """Weaves callables in place when they are passed. One that is woven already stays as it is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._woven: dict[tuple[str, int], tuple[CodeType, CodeType]] = {}
        """By rule and identity of a code object: the code, and its woven form. Many closures may have the same code."""
        self._done: weakref.WeakKeyDictionary[FunctionType, tuple[CodeType, CodeType]] = (
            weakref.WeakKeyDictionary()
        )
        """The functions that are woven, with both codes. A service may pass a closure of its own for each request."""

    def weave(self, rule: BoundaryRule, value: Any, passer: Point) -> None:
        """Weave a callable.

        Args:
            rule: the rule that names the argument.
            value: the argument.
            passer: the definition that it is passed to.
        """
        function = function_of(value)
        if function is None:
            subject = f"{rule.selector} {rule.argument}"
            reason = f"{rule.place}: it was given a {type(value).__qualname__}, which has no code of its own"
            self._ledger.refuse(subject, reason, "no-code")
            return
        old = function.__code__
        if is_woven(old):
            return  # by this rule when it was passed before, or by a rule for itself, which has precedence
        codes = self._woven.get((rule.id, id(old)))
        if codes is None:
            own = structs.replace(rule, argument=None, when=())
            mark = mark_of((own,))
            mark.passer = passer
            if weave_function(function, mark, self._ledger) is None:
                return
            codes = self._woven[rule.id, id(old)] = (old, function.__code__)
        else:
            function.__code__ = codes[1]
        self._done[function] = codes

    def undo(self) -> None:
        """Remove the weaving from functions that still exist."""
        for function, (old, new) in list(self._done.items()):
            if function.__code__ is new:
                function.__code__ = old
        self._done.clear()
        self._woven.clear()


def function_of(value: Any) -> FunctionType | None:
    """Return the function that runs when a value is called; None if it has no code of its own.

    That is the value itself, the function that it binds, or its type's `__call__`.
    """
    while isinstance(value, functools.partial | MethodType):
        value = value.func if isinstance(value, functools.partial) else value.__func__
    if isinstance(value, FunctionType):
        return value
    call = getattr(type(value), "__call__", None)  # noqa: B004 - the function is needed, and not only whether there is one
    return call if isinstance(call, FunctionType) else None
