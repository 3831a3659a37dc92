"""Weave functions of found tools in place, in a program that is running."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType

from autochron._runtime.live_objects import exact_instances_of
from autochron.instrument.mark import mark_of
from autochron.model import BoundaryRule
from autochron.weaving.gate import Point
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import weave_function

_LOCALS = ".<locals>."


class FoundFunctions:
    """The functions of found tools. What a function makes later has its woven code, too.

    Attributes:
        dropped: the tools of which a function crossed and was not taken for the tool. The tool may have run all the same.
        outputs: the tools that are no function, but a class of data that the model fills in.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._points: dict[tuple[str, str, int], Point] = {}
        """By file, qualified name and first line."""
        self._undo: list[Callable[[], None]] = []
        self.dropped: set[str] = set()
        self.outputs: set[str] = set()

    @property
    def has_rules(self) -> bool:
        """Whether any function is woven."""
        return bool(self._points)

    def weave(self, function: FunctionType, rule: BoundaryRule) -> None:
        """Weave a function for a tool, and all functions with the same code.

        Args:
            function: the function. If it is woven for another tool, it gets this rule as well.
            rule: the rule of the tool.
        """
        code = function.__code__
        for point in points_of(code):
            if all(known.id != rule.id for known in point.rules):
                point.rules = (*point.rules, rule)
                point.compiled = None
            return
        undo = weave_function(function, mark_of((rule,)), self._ledger)
        if undo is None:
            return
        self._undo.append(undo)
        place = (code.co_filename, code.co_qualname, code.co_firstlineno)
        self._points[place] = points_of(function.__code__)[0]
        if _LOCALS in code.co_qualname:
            self._weave_others(code, function.__code__)

    def _weave_others(self, code: CodeType, woven: CodeType) -> None:
        """Replace the code of a nested function in its other instances, and in the functions that make more of them."""
        for other in exact_instances_of(FunctionType):
            if other.__code__.co_filename != code.co_filename:
                continue
            new = _replaced(other.__code__, code, woven)
            if new is not other.__code__:
                old = other.__code__
                other.__code__ = new
                self._undo.append(_undo_of(other, old, new))

    def undo(self) -> None:
        """Restore the functions' own code."""
        while self._undo:
            self._undo.pop()()
        self._points.clear()


def points_of(code: CodeType) -> list[Point]:
    """Return the points that a code object crosses itself."""
    return [constant for constant in code.co_consts if type(constant) is Point]


def _replaced(code: CodeType, old: CodeType, new: CodeType) -> CodeType:
    """Return a code object in which `old` is replaced by `new`, at any depth; the same object if it does not hold it."""
    if code is old:
        return new
    if code.co_filename != old.co_filename:
        return code
    constants = tuple(
        [
            _replaced(constant, old, new) if type(constant) is CodeType else constant
            for constant in code.co_consts
        ]
    )
    if all(map(_is_same, constants, code.co_consts)):
        return code
    return code.replace(co_consts=constants)


def _is_same(first: object, second: object) -> bool:
    return first is second


def _undo_of(function: FunctionType, old: CodeType, new: CodeType) -> Callable[[], None]:
    def undo() -> None:
        if function.__code__ is new:
            function.__code__ = old

    return undo
