"""Resolve the names of a module by its source: absolute and relative imports, definitions, and assigned aliases.

Not resolved: names that another module re-exports (`from shop import tool` is `shop.tool`, even if `shop` imports it from
`shop.registry`), and computed values.
"""

# ruff: noqa: N815 - `ast.NodeVisitor` names its methods after the nodes

from __future__ import annotations

import ast
from typing import Literal, NamedTuple, Self, TypeAlias

from msgspec import Struct

from autochron.scopes import (
    Capture,
    Kind,
    Scope,
    base_package,
    captured,
    defaults,
    imported,
    parameters,
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Origin: TypeAlias = Literal["import", "definition", "value", "free"]
_Expression: TypeAlias = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


class Meaning(Struct, frozen=True):
    """What a name may refer to."""

    name: str
    """A dotted name: `shop.registry.tool`."""
    origin: Origin
    """How it is bound: `import`, `definition` of this module, `value` that is computed, or `free` if it is not bound."""


class Alias(NamedTuple):
    """The binding of a name that is assigned an expression."""

    value: ast.expr
    scope: NameScope
    """The scope of the expression."""


class NameScope(Scope["Meaning | Alias"]):
    """A scope in which each name has the meanings of its bindings."""

    __slots__ = ("_resolving", "prefix")

    def __init__(
        self, prefix: str, kind: Kind, outer: Self | None = None, qualname: str = "<module>"
    ) -> None:
        super().__init__(kind, outer, qualname)
        self.prefix = prefix
        """The prefix of its definitions' dotted names."""
        self._resolving: set[str] = set()
        """Names that are being resolved, to end cycles such as `a = b; b = a`."""

    def bind_value(self, name: str) -> None:
        """Bind a name to a computed value."""
        self.bind(name, Meaning(f"{self.home(name).prefix}.{name}", "value"))

    def resolve(self, name: str) -> frozenset[Meaning]:
        """Return what a name may refer to. One that nothing binds may come from a star import, or be a builtin."""
        scope = self.find(name)
        if scope is not None:
            return scope.own(name)
        stars = (Meaning(f"{module}.{name}", "import") for module in self.stars_for(name))
        return frozenset({Meaning(name, "free"), *stars})

    def own(self, name: str) -> frozenset[Meaning]:
        """Return what a name that is bound in this scope may refer to."""
        value = Meaning(f"{self.prefix}.{name}", "value")
        bindings = self.bindings.get(name, ())
        meanings = {binding for binding in bindings if isinstance(binding, Meaning)}
        if name not in self._resolving:
            self._resolving.add(name)
            for binding in bindings:
                if isinstance(binding, Alias):
                    meanings |= binding.scope.dotted(binding.value) or {value}
            self._resolving.discard(name)
        return frozenset(meanings or {value})

    def dotted(self, expression: ast.expr) -> frozenset[Meaning]:
        """Return what a dotted name may refer to; an empty set for any other expression."""
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.insert(0, expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return frozenset()
        return frozenset(
            Meaning(".".join([meaning.name, *attributes]), meaning.origin)
            for meaning in self.resolve(expression.id)
        )


class Names(ast.NodeVisitor):
    """The scopes of a module, with the definitions and calls in each.

    Attributes:
        module: the module's own scope.
        functions: each function with the scope that it is defined in.
        calls: each call with the scope that it is made in.
        classes: each class with the scope that it is defined in.
    """

    def __init__(self, tree: ast.Module, module: str, *, is_package: bool) -> None:
        self.module = NameScope(module, "module")
        self.functions: list[tuple[Function, NameScope]] = []
        self.calls: list[tuple[ast.Call, NameScope]] = []
        self.classes: list[tuple[ast.ClassDef, NameScope]] = []
        self._package = module if is_package else module.rpartition(".")[0]
        self._scope = self.module
        for statement in tree.body:
            self.visit(statement)

    # --- nodes that open a scope -----------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: Function) -> None:
        """Visit a function: its decorators, defaults and annotations in the outer scope, its body in its own."""
        scope = self._scope
        scope.bind(node.name, Meaning(f"{scope.prefix}.{node.name}", "definition"))
        self.functions.append((node, scope))
        annotations = (parameter.annotation for parameter in parameters(node.args))
        for outside in (*node.decorator_list, *defaults(node.args), node.returns, *annotations):
            if outside is not None:
                self.visit(outside)
        self._inside(self._function(scope, node.name), node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit a lambda: its defaults in the outer scope, its body in its own."""
        for outside in defaults(node.args):
            self.visit(outside)
        self._inside(self._function(self._scope, "<lambda>"), node.args, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit a class: its decorators, bases and keywords in the outer scope, its body in its own."""
        scope = self._scope
        scope.bind(node.name, Meaning(f"{scope.prefix}.{node.name}", "definition"))
        self.classes.append((node, scope))
        for outside in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.visit(outside)
        qualname = scope.qualname_of(node.name)
        inner = NameScope(f"{scope.prefix}.{node.name}", "class", scope, qualname)
        self._inside(inner, None, node.body)

    def _comprehension(self, node: _Expression) -> None:
        # The first iterable is evaluated outside.
        self.visit(node.generators[0].iter)
        outer = self._scope
        self._scope = NameScope(f"{outer.prefix}.<locals>", "comprehension", outer, outer.qualname)
        for index, generator in enumerate(node.generators):
            if index:
                self.visit(generator.iter)
            self.visit(generator.target)
            for condition in generator.ifs:
                self.visit(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self._scope = outer

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _function(self, outer: NameScope, name: str) -> NameScope:
        return NameScope(f"{outer.prefix}.{name}.<locals>", "function", outer, outer.qualname_of(name))

    def _inside(
        self, scope: NameScope, arguments: ast.arguments | None, body: list[ast.stmt] | list[ast.expr]
    ) -> None:
        outer, self._scope = self._scope, scope
        for argument in () if arguments is None else parameters(arguments):
            scope.bind_value(argument.arg)
        for part in body:
            self.visit(part)
        self._scope = outer

    # --- nodes that bind names -------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        """Bind the names of an `import`."""
        for name, module in imported(node):
            self._scope.bind(name, Meaning(module, "import"))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind the names of a `from … import`."""
        origin = self._origin(node)
        for name, member in imported(node):
            if member == "*":
                self._scope.stars.append(origin)
            else:
                self._scope.bind(name, Meaning(f"{origin}.{member}" if origin else member, "import"))

    def _origin(self, node: ast.ImportFrom) -> str:
        """Return the absolute name of the module that a `from … import` reads."""
        if not node.level:
            return node.module or ""
        return ".".join([*base_package(node, self._package), *([node.module] if node.module else [])])

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind a target that is a name to the assigned expression, and names in other targets to values."""
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scope.bind(target.id, Alias(node.value, self._scope))
            else:
                self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Bind an annotated name, if it is assigned, as `visit_Assign` does."""
        self.visit(node.annotation)
        if node.value is None:
            return
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._scope.bind(node.target.id, Alias(node.value, self._scope))
        else:
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Bind the name of a `:=` in the scope around any comprehensions."""
        self.visit(node.value)
        self._scope.body.bind_value(node.target.id)

    def visit_Name(self, node: ast.Name) -> None:
        """Bind a name that is the target of a loop, `with`, `del` or unpacking."""
        if not isinstance(node.ctx, ast.Load):
            self._scope.bind_value(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Bind the name of the exception."""
        if node.name is not None:
            self._scope.bind_value(node.name)
        self.generic_visit(node)

    def _capture(self, node: Capture) -> None:
        name = captured(node)
        if name is not None:
            self._scope.bind_value(name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _capture

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        """Declare names as those of an outer scope, so that assignments here bind them there."""
        self._scope.declare(node)

    visit_Nonlocal = visit_Global

    # --- calls ------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        """Collect a call with its scope."""
        self.calls.append((node, self._scope))
        self.generic_visit(node)
