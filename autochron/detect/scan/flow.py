"""What the names of a module are bound to, and where it uses them: nothing is judged yet.

`matching.scopes` forgets the order of bindings and what values are. Both decide here whether `names` is still a set and
whether `clock` is still `time.time`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self, TypeAlias

from autochron.scopes import Kind as ScopeKind
from autochron.scopes import Scope

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
Kind: TypeAlias = Literal[
    "import", "definition", "value", "element", "opened", "parameter", "unpacked", "other"
]
Position: TypeAlias = Literal[
    "argument", "stored", "operand", "base", "called", "subscript", "iterated", "spread", "other"
]
"""In what way an expression is used by what stands around it."""


class Block:
    """A run of statements that are executed one after another."""

    __slots__ = ("is_loop", "parent")

    def __init__(self, parent: Block | None, *, is_loop: bool = False) -> None:
        self.parent = parent
        self.is_loop = is_loop

    def is_around(self, other: Block | None) -> bool:
        """Return whether what is executed in another block has come by here."""
        while other is not None:
            if other is self:
                return True
            other = other.parent
        return False

    def shares_loop(self, other: Block) -> bool:
        """Return whether a loop is around both, so that what comes later came earlier as well."""
        block: Block | None = self
        while block is not None:
            if block.is_loop and block.is_around(other):
                return True
            block = block.parent
        return False


class Spot(NamedTuple):
    """Where in the program's flow something stands."""

    scope: FlowScope
    order: float
    block: Block


def qualname_of(spot: Spot) -> str:
    """Name the definition that a spot is in."""
    return spot.scope.body.qualname


class FlowBinding(NamedTuple):
    """One way in which a name gets a value."""

    kind: Kind
    spot: Spot
    node: ast.AST | None = None
    """The value, the definition, or what is iterated, opened or unpacked."""
    dotted: str = ""
    """What an import binds."""
    annotation: ast.expr | None = None
    owner: Function | None = None
    """The function whose parameter it is."""


class FlowScope(Scope["FlowBinding"]):
    """A scope whose bindings know when and with what value they are made."""

    __slots__ = ("attributes", "block", "node", "returns")

    def __init__(
        self, kind: ScopeKind, outer: Self | None, qualname: str, node: ast.AST | None = None
    ) -> None:
        super().__init__(kind, outer, qualname)
        self.node = node
        self.block = Block(None)
        self.returns: list[tuple[ast.expr, Spot]] = []
        self.attributes: dict[str, list[FlowBinding]] = {}
        """Of a class: what its methods assign to `self`."""


class Use(NamedTuple):
    """An expression that may matter, and what is around it."""

    node: ast.expr
    spot: Spot
    position: Position
    call: ast.Call | None = None
    """The call that it is an argument of."""
    free: bool = False
    """Whether the order of its elements is lost in what is around it."""
    body: Sequence[ast.stmt] = ()
    """What a loop does with each element."""


class ModuleFlow:
    """A module's scopes and uses.

    Attributes:
        tree: the module.
        calls: each call.
        references: names and attributes that are read, and not only to get at what they hold.
        iterated: what is gone through in order: by `for`, a comprehension, `*`, `yield from` and unpacking.
        shown: what becomes text: the fields of f-strings.
        sites: calls by the last name of what they call.
        scopes: the scope that a definition opens, by the id of its node.
        assigned: what is assigned to attributes of names, by the attribute.
        spots: what is inside a comprehension, by the id of its node.
    """

    def __init__(self, tree: ast.Module, package: str) -> None:
        self.tree = tree
        self.module = FlowScope("module", None, "<module>", tree)
        self.calls: list[Use] = []
        self.references: list[Use] = []
        self.iterated: list[Use] = []
        self.shown: list[Use] = []
        self.sites: dict[str, list[Use]] = {}
        self.scopes: dict[int, FlowScope] = {}
        self.spots: dict[int, Spot] = {}
        self.assigned: dict[str, list[FlowBinding]] = {}
        self.package = package


def in_force(bindings: list[FlowBinding], scope: FlowScope, here: Spot | None) -> list[FlowBinding]:
    """Return the bindings of one name that may count at a spot of the same scope, or where the scope has run."""
    block = scope.block if here is None else here.block
    kept: list[FlowBinding] = []
    for binding in bindings:
        if binding.spot.scope is not scope and binding.kind != "parameter":
            kept.append(binding)  # of another function, by `global`: any time
        elif here is not None and binding.spot.order > here.order and binding.kind != "parameter":
            if here.block.shares_loop(binding.spot.block):
                kept.append(binding)
        else:
            if binding.spot.block.is_around(block) and binding.spot.scope is scope:
                kept = [each for each in kept if each.spot.scope is not scope and each.kind != "parameter"]
            kept.append(binding)
    return kept or bindings


def _decorators(function: Function) -> set[str]:
    nodes = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def is_static(function: Function) -> bool:
    """Return whether a method gets no instance."""
    return isinstance(function, ast.Lambda) or "staticmethod" in _decorators(function)


def is_of_class(function: Function) -> bool:
    """Return whether a method gets its class."""
    named = not isinstance(function, ast.Lambda) and function.name in (
        "__new__",
        "__init_subclass__",
        "__class_getitem__",
    )
    return named or "classmethod" in _decorators(function)
