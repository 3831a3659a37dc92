"""Where the order of a set, or the place of an object in memory, reaches what a program does: from source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from autochron.detect.catalogue import COLLECTED
from autochron.detect.scan.abstract_values import (
    NUMBERS,
    Instance,
    Known,
    Made,
    Plain,
    Routine,
    Set,
    Text,
    Type,
    Unknown,
)
from autochron.detect.scan.flow import FlowScope, ModuleFlow, Spot, Use
from autochron.detect.scan.infer import Evaluation, Values
from autochron.detect.scan.libraries import ORDERED, ORDERED_METHODS, SHOWING
from autochron.model import Category

_KEYS = frozenset({"add", "discard", "remove", "get", "setdefault", "pop", "append"})
"""Methods to which an identity is a key and nothing more."""
_COUNTING_NAMES = "len list tuple set frozenset dict sorted sum min max iter enumerate map"
_COUNTING = frozenset(f"builtins.{name}" for name in _COUNTING_NAMES.split())
"""Builtins that count what is in a collection, or go through it."""
_WRITTEN = (
    *(
        ast.Constant,
        ast.JoinedStr,
        ast.List,
        ast.Tuple,
        ast.Dict,
        ast.ListComp,
        ast.DictComp,
        ast.GeneratorExp,
    ),
    *(ast.Lambda, ast.Compare),
)
"""What is no set, whatever is in it."""
_FIRST_OF = frozenset({"builtins.sorted", "builtins.min", "builtins.max"})
"""What keeps those in their order that a `key` says are alike."""
_PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})


Kind: TypeAlias = Literal["iterated", "set", "popped", "text", "id", "hash", "hashed"]
"""What such an expression is: a set that is gone through, or that is given to something which goes through it, or of which
something is popped; a value that becomes text; `id` or `hash` themselves; an object whose `__hash__` is called."""


class OrderSite(NamedTuple):
    """A place where such an order reaches the program."""

    line: int
    category: Category
    call: str
    spot: Spot
    node: ast.expr | None = None
    """The expression whose value decides; None where there is none that another value can be given for."""
    kind: Kind = "set"


class OrderSites:
    """The places of one module where such an order reaches the program."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation, *, is_wide: bool = False) -> None:
        """Take a module; `is_wide` asks for what may be such a place as far as is known, for someone who sees it run."""
        self._is_wide = is_wide
        self._flow = flow
        self._evaluation = evaluation

    def found(self) -> Iterator[OrderSite]:
        """Yield every such place."""
        for use in self._flow.iterated:
            if (
                not use.free
                and self._is_unordered(use.node, use.spot)
                and not self._loses_order(use.body, use.spot)
            ):
                yield OrderSite(use.node.lineno, "set-order", "set.__iter__", use.spot, use.node, "iterated")
            yield from self._counted(use.node, use.spot, use.node.lineno)
        for use in self._flow.shown:
            yield from self._shown(use.node, use.spot, use.node.lineno)
        for use in self._flow.calls:
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            yield from self._call(use, use.node)
        for use in self._flow.references:
            if use.position == "argument":
                yield from self._passed(use)

    def identities(self) -> Iterator[ast.expr]:
        """Yield what is `id`, also where it is a key and nothing more."""
        for use in (*self._flow.calls, *self._flow.references):
            node = use.node.func if isinstance(use.node, ast.Call) else use.node
            if isinstance(node, ast.Name) and not use.spot.scope.qualname.endswith("__deepcopy__"):
                values = self._evaluation.values(node, use.spot)
                if any(isinstance(value, Known) and value.name == "builtins.id" for value in values):
                    yield node

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, use: Use, node: ast.Call) -> Iterator[OrderSite]:
        called = node.func
        names = [
            value.name for value in self._evaluation.values(called, use.spot) if isinstance(value, Known)
        ]
        is_ordered = any(name in ORDERED or name.startswith("itertools.") for name in names)
        if isinstance(called, ast.Attribute):
            line = called.end_lineno or node.lineno
            yield from self._method(node, called, use.spot, line)
            is_ordered = is_ordered or (called.attr in ORDERED_METHODS and not names)
            is_ordered = is_ordered or (called.attr == "join" and len(node.args) == 1)
        elif self._is_wide and not _FIRST_OF.isdisjoint(names):
            line, is_ordered = node.lineno, any(each.arg == "key" for each in node.keywords)
        else:
            line = node.lineno
        if is_ordered and not use.free:
            for argument in node.args:
                if not isinstance(argument, ast.Starred) and self._is_unordered(argument, use.spot):
                    yield OrderSite(line, "set-order", "set.__iter__", use.spot, argument)
        for name in names:
            yield from self._builtin(name, use, node, line)

    def _method(self, node: ast.Call, called: ast.Attribute, spot: Spot, line: int) -> Iterator[OrderSite]:
        if called.attr == "pop" and not node.args and self._is_unordered(called.value, spot):
            yield OrderSite(line, "set-order", "set.pop", spot, called.value, "popped")
        if called.attr == "popitem":
            yield from self._counted(called.value, spot, line)
        if called.attr == "__hash__" and not node.args and not spot.scope.qualname.endswith("__hash__"):
            yield from self._hash(called.value, spot, line, called.value, "hashed")

    def _builtin(self, name: str, use: Use, node: ast.Call, line: int) -> Iterator[OrderSite]:
        if name in SHOWING:
            for argument in node.args[: None if name == "builtins.print" else 1]:
                yield from self._placed(argument, use.spot, line)
        elif name in _COUNTING and node.args:
            yield from self._counted(node.args[0], use.spot, line)
        elif name == "builtins.id":
            if not _is_key(use):
                yield OrderSite(line, "identity", "id", use.spot, node.func, "id")
        elif name == "builtins.hash" and node.args and not use.spot.scope.qualname.endswith("__hash__"):
            yield from self._hash(node.args[0], use.spot, line, node.func, "hash")

    def _counted(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Look for a collection of which the collector decides what is still in it."""
        for value in self._evaluation.values(node, spot):
            name = value.name if isinstance(value, Made) else ""
            for call in (name, name.rpartition(".")[0]):
                if call in COLLECTED:
                    yield OrderSite(line, "identity", call, spot)

    def _passed(self, use: Use) -> Iterator[OrderSite]:
        """Look at `id` and `hash` as callables that are handed on."""
        for value in self._evaluation.values(use.node, use.spot):
            if isinstance(value, Known) and value.name == "builtins.hash":
                yield OrderSite(use.node.lineno, "set-order", "hash", use.spot, use.node, "hash")

    def _hash(
        self, node: ast.expr, spot: Spot, line: int, hashing: ast.expr, kind: Kind
    ) -> Iterator[OrderSite]:
        if isinstance(node, ast.Tuple):
            found = [order for each in node.elts for order in self._hash(each, spot, line, hashing, kind)]
            yield from found[:1]
            return
        values = self._evaluation.values(node, spot)
        if any(isinstance(value, Text) for value in values):
            yield OrderSite(line, "set-order", "hash", spot, hashing, kind)
        elif any(self._is_placed(value) for value in values):
            yield OrderSite(line, "identity", "hash", spot, hashing, kind)
        elif any(
            isinstance(value, Unknown) or (isinstance(value, Set) and not value.is_stable) for value in values
        ) and not any(isinstance(value, Plain) and value.type in NUMBERS for value in values):
            yield OrderSite(line, "set-order", "hash", spot, hashing, kind)

    # --- text ---------------------------------------------------------------------------------------------------------

    def _shown(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        if self._is_unordered(node, spot):
            yield OrderSite(line, "set-order", "set.__repr__", spot, node)
        yield from self._placed(node, spot, line)

    def _placed(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Look for a value whose text is its address."""
        values = self._evaluation.values(node, spot)
        if any(self._is_placed(value) for value in values) or self._may_be_any(node):
            yield OrderSite(line, "identity", "object.__repr__", spot, node, "text")

    def _is_placed(self, value: object) -> bool:
        if isinstance(value, Made):
            return value.name == "builtins.object"
        if isinstance(value, Routine) or (isinstance(value, Plain) and value.type == "iterator"):
            return True
        return isinstance(value, Instance) and self._is_bare(value.scope, set())

    def _is_bare(self, scope: FlowScope, seen: set[int]) -> bool:
        """Return whether a class has nothing but what `object` gives: its text and hash are those of an address."""
        node = scope.node
        assert isinstance(node, ast.ClassDef)  # noqa: S101 - a class's scope has its node
        if node.decorator_list or node.keywords or id(scope) in seen:
            return False
        if any(
            name in scope.bindings for name in ("__repr__", "__str__", "__hash__", "__eq__", "__format__")
        ):
            return False
        seen.add(id(scope))
        return all(
            self._is_bare(base.scope, seen) if isinstance(base, Type) else _is_plain(base)
            for base in self._evaluation.bases(scope)
        )

    # --- loops --------------------------------------------------------------------------------------------------------

    def _loses_order(self, body: Sequence[ast.stmt], spot: Spot) -> bool:
        """Return whether what a loop does with each element comes to the same in any order."""
        return bool(body) and all(self._is_orderless(statement, spot) for statement in body)

    def _is_orderless(self, statement: ast.stmt, spot: Spot) -> bool:
        match statement:
            case ast.Pass() | ast.Continue() | ast.Assert() | ast.Raise() | ast.Delete():
                return True
            case ast.Return(value=value):
                return value is None or isinstance(value, ast.Constant)
            case ast.Expr():
                return _is_called_alike(statement)
            case ast.AugAssign(target=target, op=operator, value=value):
                is_merged = isinstance(operator, ast.BitOr | ast.BitAnd | ast.BitXor)
                return is_merged or _is_count(value) or self._is_number(target, spot)
            case ast.If(body=body, orelse=other):
                return all(self._is_orderless(each, spot) for each in (*body, *other))
            case _:
                return False

    def _is_number(self, target: ast.expr, spot: Spot) -> bool:
        """Return whether what is added up is a number."""
        if not isinstance(target, ast.Name):
            return False
        values = self._evaluation.named(target.id, spot)
        return all(isinstance(value, Plain) and value.type in NUMBERS for value in values)

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _is_unordered(self, node: ast.expr, spot: Spot) -> bool:
        if (
            isinstance(node, ast.Set)
            and len(node.elts) < 2
            and not any(isinstance(each, ast.Starred) for each in node.elts)
        ):
            return False
        return self._may_be_any(node) or _may_be_unordered(self._evaluation.values(node, spot))

    def _may_be_any(self, node: ast.expr) -> bool:
        """Return whether it is seen when it runs what an expression is."""
        return self._is_wide and not isinstance(node, _WRITTEN)


def _may_be_unordered(values: Values) -> bool:
    sets = [value for value in values if isinstance(value, Set) and not value.is_stable]
    if not sets:
        return False
    # `found = index.get(key) or set()` says nothing of what is in the index.
    return not (all(value.is_empty for value in sets) and any(isinstance(value, Unknown) for value in values))


def _is_plain(base: object) -> bool:
    return isinstance(base, Known) and base.name in _PLAIN_BASES


def _is_key(use: Use) -> bool:
    """Return whether an identity is only compared or looked up."""
    if use.position in ("operand", "subscript"):
        return True
    around = use.call.func if use.call is not None else None
    return isinstance(around, ast.Attribute) and around.attr in _KEYS


def _is_called_alike(statement: ast.Expr) -> bool:
    """Return whether a statement changes something in which order doesn't matter."""
    value = statement.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("add", "discard", "remove", "update", "pop")
    return isinstance(value, ast.Constant)


def _is_count(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("len", "int", "ord")
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)
