"""What the names of a module stand for, read from its source with `ast`: imports, relative ones and aliases too.

Not resolved: names that another module hands on (`from shop import tool` where `shop` imports it from `shop.registry` is
`shop.tool`), and what is computed.
"""

# ruff: noqa: N815 - `ast.NodeVisitor` names its methods after the nodes

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Origin: TypeAlias = Literal["import", "definition", "value", "free"]
_Expression: TypeAlias = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


class Meaning(Struct, frozen=True):
    """What a name may stand for."""

    name: str
    """Dotted: `shop.registry.tool`."""
    origin: Origin
    """How it is known: by an import, as a definition of this module, as a value that something computes, or not at all."""


class Scope:
    """The names that one module, class, function or comprehension binds."""

    __slots__ = (
        "_following", "aliases", "bound", "elsewhere", "is_class", "outer", "prefix", "qualname", "stars",
        "transparent",
    )  # fmt: skip

    def __init__(
        self,
        prefix: str,
        outer: Scope | None,
        *,
        qualname: str = "<module>",
        is_class: bool = False,
        transparent: bool = False,
    ) -> None:
        self.prefix = prefix
        """What the names of its definitions begin with."""
        self.outer = outer
        self.qualname = qualname
        """Of the definition that it is in."""
        self.is_class = is_class
        self.transparent = transparent
        """Whether it is a comprehension's: a walrus in it binds outside."""
        self.bound: dict[str, set[Meaning]] = {}
        self.stars: list[str] = []
        self.elsewhere: dict[str, Scope] = {}
        """Where names belong that are declared `global` or `nonlocal`."""
        self.aliases: dict[str, list[tuple[ast.expr, Scope]]] = {}
        """What names were assigned, and where."""
        self._following: set[str] = set()

    def qualname_of(self, name: str) -> str:
        """Return the qualified name of a definition in it."""
        if self.qualname == "<module>":
            return name
        return f"{self.qualname}.{name}" if self.is_class else f"{self.qualname}.<locals>.{name}"

    def bind(self, name: str, meaning: str, origin: Origin) -> None:
        """Let a name stand for something, beside what it stands for already."""
        home = self.elsewhere.get(name, self)
        home.bound.setdefault(name, set()).add(Meaning(meaning, origin))

    def bind_alias(self, name: str, value: ast.expr) -> None:
        """Let a name stand for what a dotted name stands for."""
        home = self.elsewhere.get(name, self)
        home.aliases.setdefault(name, []).append((value, self))

    def bind_value(self, name: str) -> None:
        """Let a name stand for something that is computed."""
        self.bind(name, f"{self.elsewhere.get(name, self).prefix}.{name}", "value")

    def resolve(self, name: str) -> frozenset[Meaning]:
        """Return what a name may stand for; one that nothing binds may come from a star import, or be a builtin."""
        start = self.elsewhere.get(name, self)
        scope: Scope | None = start
        stars: list[str] = []
        while scope is not None:
            # A class body's names are seen in it, and not in the functions inside it.
            if (scope is start or not scope.is_class) and (name in scope.bound or name in scope.aliases):
                return scope.own(name)
            stars += scope.stars
            scope = scope.outer
        return frozenset(
            {Meaning(name, "free"), *(Meaning(f"{module}.{name}", "import") for module in stars)}
        )

    def own(self, name: str) -> frozenset[Meaning]:
        """Return what a name that is bound here may stand for."""
        found = set(self.bound.get(name, ()))
        if name in self.aliases and name not in self._following:
            self._following.add(name)
            for value, scope in self.aliases[name]:
                found |= scope.dotted(value) or {Meaning(f"{self.prefix}.{name}", "value")}
            self._following.discard(name)
        return frozenset(found or {Meaning(f"{self.prefix}.{name}", "value")})

    def dotted(self, expression: ast.expr) -> frozenset[Meaning]:
        """Return what a dotted name may stand for; nothing for another expression."""
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.insert(0, expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return frozenset()
        return frozenset(
            Meaning(".".join([each.name, *attributes]), each.origin) for each in self.resolve(expression.id)
        )


class Names(ast.NodeVisitor):
    """The scopes of a module, with the definitions and calls that stand in each.

    Attributes:
        module: the module's own scope.
        functions: each function with the scope that it is defined in.
        calls: each call with the scope that it is made in.
        classes: each class with the scope that it is defined in.
    """

    def __init__(self, tree: ast.Module, module: str, *, is_package: bool) -> None:
        self.module = Scope(module, None)
        self.functions: list[tuple[Function, Scope]] = []
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.classes: list[tuple[ast.ClassDef, Scope]] = []
        self._package = module if is_package else module.rpartition(".")[0]
        self._scope = self.module
        for statement in tree.body:
            self.visit(statement)

    # --- what opens a scope -----------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: Function) -> None:
        """Go into a function; its decorators, defaults and annotations belong outside."""
        scope = self._scope
        scope.bind(node.name, f"{scope.prefix}.{node.name}", "definition")
        self.functions.append((node, scope))
        for outside in (*node.decorator_list, *_defaults(node.args), node.returns, *_annotations(node.args)):
            if outside is not None:
                self.visit(outside)
        self._inside(self._function(scope, node.name), node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Go into a lambda."""
        for outside in _defaults(node.args):
            if outside is not None:
                self.visit(outside)
        self._inside(self._function(self._scope, "<lambda>"), node.args, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Go into a class."""
        scope = self._scope
        scope.bind(node.name, f"{scope.prefix}.{node.name}", "definition")
        self.classes.append((node, scope))
        for outside in (*node.decorator_list, *node.bases, *(each.value for each in node.keywords)):
            self.visit(outside)
        qualname = scope.qualname_of(node.name)
        inner = Scope(f"{scope.prefix}.{node.name}", scope, qualname=qualname, is_class=True)
        self._inside(inner, None, node.body)

    def _comprehension(self, node: _Expression) -> None:
        # The first iterable is evaluated outside.
        self.visit(node.generators[0].iter)
        outer = self._scope
        self._scope = Scope(f"{outer.prefix}.<locals>", outer, qualname=outer.qualname, transparent=True)
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

    def _function(self, outer: Scope, name: str) -> Scope:
        return Scope(f"{outer.prefix}.{name}.<locals>", outer, qualname=outer.qualname_of(name))

    def _inside(
        self, scope: Scope, arguments: ast.arguments | None, body: list[ast.stmt] | list[ast.expr]
    ) -> None:
        outer, self._scope = self._scope, scope
        for argument in () if arguments is None else _arguments(arguments):
            scope.bind_value(argument.arg)
        for part in body:
            self.visit(part)
        self._scope = outer

    # --- what binds names -------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        """Bind what `import` binds."""
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._scope.bind(alias.asname or top, alias.name if alias.asname else top, "import")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind what `from … import` binds."""
        origin = self._origin(node)
        for alias in node.names:
            if alias.name == "*":
                self._scope.stars.append(origin)
            else:
                name = f"{origin}.{alias.name}" if origin else alias.name
                self._scope.bind(alias.asname or alias.name, name, "import")

    def _origin(self, node: ast.ImportFrom) -> str:
        """Return the absolute module that `from … import` reads."""
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind names: to what a dotted name on the right stands for, else to a value."""
        self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scope.bind_alias(target.id, node.value)
            else:
                self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Bind a name as an assignment does."""
        self.visit(node.annotation)
        if node.value is None:
            return
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._scope.bind_alias(node.target.id, node.value)
        else:
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Bind outside of the comprehensions that it stands in."""
        self.visit(node.value)
        scope = self._scope
        while scope.transparent and scope.outer is not None:
            scope = scope.outer
        scope.bind_value(node.target.id)

    def visit_Name(self, node: ast.Name) -> None:
        """Bind the targets of loops, `with`, `del` and unpacking."""
        if not isinstance(node.ctx, ast.Load):
            self._scope.bind_value(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Bind the error."""
        if node.name is not None:
            self._scope.bind_value(node.name)
        self.generic_visit(node)

    def _capture(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self._scope.bind_value(node.name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = _capture

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """Bind the rest."""
        if node.rest is not None:
            self._scope.bind_value(node.rest)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        """Let names be those of an outer scope: what is assigned here is what they stand for there."""
        outer = self.module if isinstance(node, ast.Global) else self._scope.outer
        if outer is not None and outer is not self._scope:
            self._scope.elsewhere.update(dict.fromkeys(node.names, outer))

    visit_Nonlocal = visit_Global

    # --- what is looked for ------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        """Note a call."""
        self.calls.append((node, self._scope))
        self.generic_visit(node)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (each for each in (arguments.vararg, arguments.kwarg) if each is not None)


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr | None]:
    yield from arguments.defaults
    yield from arguments.kw_defaults


def _annotations(arguments: ast.arguments) -> Iterator[ast.expr | None]:
    return (each.annotation for each in _arguments(arguments))
