"""Weave what is passed: the callables that a call of a woven definition gets as an argument."""

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
    """Weaves callables as they are passed, each in place; one that is woven already stays as it is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._woven: dict[tuple[str, int], tuple[CodeType, CodeType]] = {}
        """(rule, identity of a code object) to it and its woven form: closures are made over and over from one."""
        self._done: list[tuple[weakref.ref[FunctionType], CodeType, CodeType]] = []

    def weave(self, rule: BoundaryRule, value: Any, passer: Point) -> None:
        """Weave a callable by the rule that named the argument of a definition."""
        function = function_of(value)
        if function is None:
            what = f"{rule.selector} {rule.argument}"
            reason = f"{rule.place}: it was given a {type(value).__qualname__}, which has no code of its own"
            self._ledger.refuse(what, reason, "no-code")
            return
        old = function.__code__
        if is_woven(old):
            return  # by this rule when it was passed before, or by one of its own, which comes first
        known = self._woven.get((rule.id, id(old)))
        if known is None:
            own = structs.replace(rule, argument=None, when=())
            mark = mark_of((own,))
            mark.passer = passer
            if weave_function(function, mark, self._ledger) is None:
                return
            known = self._woven[rule.id, id(old)] = (old, function.__code__)
        else:
            function.__code__ = known[1]
        self._done.append((weakref.ref(function), *known))

    def undo(self) -> None:
        """Take the weaving off what is still there."""
        for reference, old, new in self._done:
            function = reference()
            if function is not None and function.__code__ is new:
                function.__code__ = old
        self._done.clear()
        self._woven.clear()


def function_of(value: Any) -> FunctionType | None:
    """Return the function that runs when a value is called: its own, what it binds, or its type's `__call__`."""
    while isinstance(value, functools.partial | MethodType):
        value = value.func if isinstance(value, functools.partial) else value.__func__
    if isinstance(value, FunctionType):
        return value
    call = getattr(type(value), "__call__", None)  # noqa: B004 - not whether, but which function it is
    return call if isinstance(call, FunctionType) else None
