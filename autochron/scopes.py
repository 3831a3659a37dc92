"""Scopes of a module and the nodes of `ast` that bind names in them, by the rules of Python.

This module doesn't decide what a binding means. Each user has its own pass over the tree, because each keeps something else
of a node: `matching` dotted names, the scan of `detect` values and their order in the flow, and its durations the nodes
around an expression.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Generic, Literal, Self, TypeAlias, TypeVar

Kind: TypeAlias = Literal["module", "class", "function", "comprehension"]
Capture: TypeAlias = ast.MatchAs | ast.MatchStar | ast.MatchMapping
"""The patterns that may bind a name."""

_Binding = TypeVar("_Binding")


class Scope(Generic[_Binding]):
    """The names that one module, class, function or comprehension binds.

    Attributes:
        kind: what has the scope.
        outer: the scope around it; None for a module.
        qualname: the qualified name of the definition that it is in.
        module: the scope of its module.
        bindings: for each name the bindings, in the order in which they were added.
        declared: names that a statement declares to be those of another scope.
        stars: the modules of star imports.
    """

    __slots__ = ("bindings", "declared", "kind", "module", "outer", "qualname", "stars")

    def __init__(self, kind: Kind, outer: Self | None = None, qualname: str = "<module>") -> None:
        self.kind = kind
        self.outer = outer
        self.qualname = qualname
        self.module: Self = self if outer is None else outer.module
        self.bindings: dict[str, list[_Binding]] = {}
        self.declared: dict[str, Literal["global", "nonlocal"]] = {}
        self.stars: list[str] = []

    def qualname_of(self, name: str) -> str:
        """Return the qualified name of a definition in this scope."""
        if self.qualname == "<module>":
            return name
        return f"{self.qualname}.{name}" if self.kind == "class" else f"{self.qualname}.<locals>.{name}"

    @property
    def body(self) -> Self:
        """The nearest scope that is no comprehension's. A walrus binds its name there."""
        scope = self
        while scope.kind == "comprehension" and scope.outer is not None:
            scope = scope.outer
        return scope

    def declare(self, node: ast.Global | ast.Nonlocal) -> None:
        """Note the names of a `global` or `nonlocal` statement."""
        self.declared.update(
            dict.fromkeys(node.names, "global" if isinstance(node, ast.Global) else "nonlocal")
        )

    def bind(self, name: str, binding: _Binding) -> None:
        """Add a binding of a name, to the scope that `home` returns."""
        self.home(name).bindings.setdefault(name, []).append(binding)

    def home(self, name: str) -> Self:
        """Return the scope in which an assignment here binds a name.

        For `nonlocal` it depends on the bindings that were added so far.
        """
        declared = self.declared.get(name)
        if declared is None:
            return self
        functions = [scope for scope in self.reach(name) if scope.kind == "function"]
        if declared == "global" or not functions:
            return self.module
        return next((scope for scope in functions if name in scope.bindings), functions[0])

    def reach(self, name: str) -> Iterator[Self]:
        """Yield the scopes in which Python looks for a name that is used here, from the inside out.

        The names of a class body are visible in it, but not in the functions inside it.
        """
        scope: Self | None = self
        while scope is not None:
            declared = scope.declared.get(name)
            if declared == "global":
                yield self.module
                return
            if declared is None and (scope is self or scope.kind != "class"):
                yield scope
            scope = scope.outer

    def find(self, name: str) -> Self | None:
        """Return the scope that binds a name that is used here; None where none does."""
        # As `reach` does it, but without its generator: it is asked for each name.
        scope: Self | None = self
        while scope is not None:
            declared = scope.declared.get(name) if scope.declared else None
            if declared == "global":
                return self.module if name in self.module.bindings else None
            if declared is None and name in scope.bindings and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.outer
        return None

    def stars_for(self, name: str) -> list[str]:
        """Return the modules whose star imports may provide a name that no scope binds."""
        return [module for scope in self.reach(name) for module in scope.stars]


# --- what binds names --------------------------------------------------------------------------------------------------


def parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Yield all parameters, those of `*args` and `**kwargs` last."""
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)


def defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Yield the defaults of parameters. They are evaluated in the scope around the function."""
    yield from arguments.defaults
    yield from (default for default in arguments.kw_defaults if default is not None)


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, and what it refers to: a dotted module, or a name in the module of `from`."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, alias.name
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            top = alias.name.partition(".")[0]
            yield top, top


def base_package(node: ast.ImportFrom, package: str) -> list[str]:
    """Return the parts of the package that a relative import starts from; an empty list beyond the top-level package."""
    parts = package.split(".")
    return parts[: len(parts) - node.level + 1]


def captured(pattern: Capture) -> str | None:
    """Return the name that a pattern itself binds, without those of the patterns inside it."""
    return pattern.rest if isinstance(pattern, ast.MatchMapping) else pattern.name


def captured_names(pattern: ast.pattern) -> Iterator[str]:
    """Yield all names that a pattern binds."""
    for node in ast.walk(pattern):
        if isinstance(node, Capture) and (name := captured(node)) is not None:
            yield name
