"""Follow the values of expressions through a module: to names, attributes, arithmetic, formatting and containers.

The order of statements is ignored, and each name in a scope is one variable. What is not understood is an escape: a value
that is compared, returned, printed or passed to another function. `harmless_uses` knows more of what is no escape.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from autochron.detect.scan.flow import last_name
from autochron.detect.scan.module_index import LOGGING, ModuleIndex, Variable

_PASSING = frozenset(
    {
        "abs", "dict", "divmod", "float", "format", "int", "len", "list", "max", "min", "repr",
        "round", "set", "sorted", "str", "sum", "timedelta", "tuple"
    }
)  # fmt: skip
"""Functions that only compute a result from their arguments."""
_PART_NAMES = frozenset(
    {
        "total_seconds", "seconds", "microseconds", "days", "timestamp", "isoformat", "strftime", "replace",
        "astimezone", "get", "pop"
    }
)  # fmt: skip
"""Attributes and methods that read a part of a date, of a difference of dates, or of a container of these."""
FILLING_METHODS = frozenset(
    {"append", "add", "update", "setdefault", "extend", "insert", "appendleft", "clear"}
)
_CONTAINER_TYPES = frozenset({"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"})
_REFLECTING_ON_OBJECTS = frozenset({"__dict__", "attrgetter", "asdict", "astuple", "getattr"})
"""Names by which an attribute is reached without its name."""
_COMPOSED = (
    ast.FormattedValue, ast.JoinedStr, ast.Starred, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp
)  # fmt: skip
"""Expressions that hold the values of their parts."""


class ValueFlow(NamedTuple):
    """A value at an expression; `spans` says whether it is a difference of readings already."""

    node: ast.AST
    spans: bool


class Escape(Exception):  # noqa: N818 - it is no error
    """The value reaches something that is not known to be harmless."""


class ValueUses(ModuleIndex):
    """Where the values of one module go."""

    def is_reading(self, node: ast.expr) -> bool:
        """Return whether an operand contains the reading of a clock, or a variable that holds one."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.clocks(part):
                return True
            if isinstance(part, ast.Name | ast.Attribute) and self.holds_reading(self.variable(part)):
                return True
        return False

    def holds_reading(self, variable: Variable) -> bool:
        """Return whether a variable, or a part of its value, is assigned the reading of a clock."""
        if variable not in self._holds:
            self._holds[variable] = any(
                isinstance(part, ast.Call) and self.clocks(part)
                for use in self.uses.get(variable, ())
                for part in self._assigned(use)
            )
        return self._holds[variable]

    def _assigned(self, use: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
        """Yield all nodes of the value that is assigned to a variable here; none if this is no assignment."""
        target: ast.AST = use
        while isinstance(parent := self.parents[target], ast.Subscript | ast.Tuple):
            target = parent
        is_stored = isinstance(getattr(target, "ctx", None), ast.Store)
        value = getattr(parent, "value", None) if is_stored else None
        return ast.walk(value) if isinstance(value, ast.AST) else iter(())

    # --- where a value goes -------------------------------------------------------------------------------------------

    def onward(self, flow: ValueFlow) -> list[ValueFlow]:
        """Return the expressions that get a value next; none where it ends. Raise Escape if something else gets it."""
        node, spans = flow
        parent = self.parents[node]
        match parent:
            case ast.Expr():
                return []
            case ast.BinOp(left=left, op=operator, right=right):
                if isinstance(operator, ast.Sub) and not spans:
                    if not self.is_reading(right if left is node else left):
                        raise Escape
                    spans = True
                return [ValueFlow(parent, spans)]
            case ast.IfExp(test=test) if test is not node:
                return [ValueFlow(parent, spans)]
            case ast.keyword():
                call = self.parents[parent]
                return self.through_call(call, spans=spans) if isinstance(call, ast.Call) else self._escape()
            case ast.Call(func=called):
                return (
                    [ValueFlow(parent, spans)] if called is node else self.through_call(parent, spans=spans)
                )
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                return []  # a reading is never None, so no clock decides
            case ast.Subscript(value=value, ctx=context) if value is node:
                return [ValueFlow(parent, spans)] if isinstance(context, ast.Load) else []
            case ast.Attribute(attr=name):
                return self.part(parent, name, spans=spans)
        return self._assigned_to(parent, node, spans=spans)

    @staticmethod
    def _escape() -> list[ValueFlow]:
        raise Escape

    def _assigned_to(self, parent: ast.AST, node: ast.AST, *, spans: bool) -> list[ValueFlow]:
        """Return where a value goes that is assigned, or that is a part of a composed expression."""
        match parent:
            case ast.Tuple() if (target := self.paired(parent, node)) is not None:
                return self.stored(target, spans=spans)
            case ast.NamedExpr(target=target):
                return [ValueFlow(parent, spans), *self.stored(target, spans=spans)]
            case ast.Assign(targets=targets):
                return [onward for target in targets for onward in self.stored(target, spans=spans)]
            case ast.AnnAssign(target=target):
                return self.stored(target, spans=spans)
            case ast.AugAssign(target=target) if spans:
                return self.stored(target, spans=spans)
            case _ if isinstance(parent, _COMPOSED):
                return [ValueFlow(parent, spans)]
        raise Escape

    def paired(self, values: ast.Tuple, node: ast.AST) -> ast.expr | None:
        """Return the target of one of several values that are assigned at once; None if it has none of its own."""
        assigned = self.parents[values]
        if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1:
            return None
        target = assigned.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(values.elts):
            return None
        return next(target for target, value in zip(target.elts, values.elts, strict=True) if value is node)

    def stored(self, target: ast.expr | None, *, spans: bool) -> list[ValueFlow]:
        """Return where the variable is read that gets a value, or that holds the container which gets it."""
        match target:
            case ast.Name():
                variable = self.variable(target)
                if self.variable(target)[0].kind == "class":  # type: ignore[union-attr]
                    raise Escape
            case ast.Attribute():
                variable = self.variable(target)
                self._expect_own(target.attr)
            case ast.Subscript(value=ast.Name() | ast.Attribute() as base):
                variable = self.filled(base)
            case _:
                raise Escape
        return [ValueFlow(use, spans) for use in self.uses[variable] if isinstance(use.ctx, ast.Load)]

    def _expect_own(self, attribute: str) -> None:
        """Raise Escape if an attribute may be read in another way than by its name."""
        if attribute in self._declared or any(
            name in self.names or (None, name) in self.uses for name in _REFLECTING_ON_OBJECTS
        ):
            raise Escape

    def filled(self, base: ast.Name | ast.Attribute) -> Variable:
        """Return the variable of a container that gets a value. Raise Escape unless the container is created here."""
        variable = self.variable(base)
        if isinstance(base, ast.Attribute):
            self._expect_own(base.attr)
        stores = [use for use in self.uses[variable] if isinstance(use.ctx, ast.Store)]
        if variable in self.unknown or not stores:
            raise Escape
        for use in stores:
            parent = self.parents[use]
            value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
            if not isinstance(value, ast.Dict | ast.List | ast.Set) and not (
                isinstance(value, ast.Call) and last_name(value.func) in _CONTAINER_TYPES
            ):
                raise Escape
        return variable

    def through_call(self, call: ast.Call, *, spans: bool) -> list[ValueFlow]:
        """Return where an argument of a call goes."""
        called = call.func
        if isinstance(called, ast.Attribute):
            if called.attr in LOGGING and self.is_logger(called.value):
                return []
            if called.attr == "format" and isinstance(called.value, ast.Constant | ast.JoinedStr):
                return [ValueFlow(call, spans)]
            if called.attr in FILLING_METHODS and isinstance(called.value, ast.Name | ast.Attribute):
                variable = self.filled(called.value)
                return [ValueFlow(use, spans) for use in self.uses[variable] if isinstance(use.ctx, ast.Load)]
        dotted = self.dotted_name(called)
        if dotted in _PASSING or dotted == "datetime.timedelta" or dotted.startswith("statistics."):
            return [ValueFlow(call, spans)]
        raise Escape

    def part(self, node: ast.Attribute, name: str, *, spans: bool) -> list[ValueFlow]:
        """Return where a part of a value goes that is read from it by an attribute."""
        parent = self.parents[node]
        if name in _PART_NAMES:
            return [ValueFlow(node, spans)]
        if (
            name in FILLING_METHODS
            and isinstance(parent, ast.Call)
            and isinstance(self.parents[parent], ast.Expr)
        ):
            return []
        raise Escape
