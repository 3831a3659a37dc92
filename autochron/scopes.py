"""Scopes of a module and what binds names in them, by the rules of Python, from the nodes of `ast`.

What a binding means is not decided here. Each user has its own pass, because it keeps something else of a node: `matching`
the dotted names, the scan of `detect` the order in the flow and the values, its durations what stands around an expression.
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
    """The names that one module, class, function or comprehension binds."""

    __slots__ = ("bindings", "declared", "kind", "module", "outer", "qualname", "stars")

    def __init__(self, kind: Kind, outer: Self | None = None, qualname: str = "<module>") -> None:
        """Take a scope's kind, the scope around it, and the qualified name of the definition that it is in."""
        self.kind = kind
        self.outer = outer
        self.qualname = qualname
        self.module: Self = self if outer is None else outer.module
        self.bindings: dict[str, list[_Binding]] = {}
        self.declared: dict[str, Literal["global", "nonlocal"]] = {}
        """Names that a statement declares to be those of another scope."""
        self.stars: list[str] = []
        """The modules of star imports."""

    def qualname_of(self, name: str) -> str:
        """Return the qualified name of a definition in it."""
        if self.qualname == "<module>":
            return name
        return f"{self.qualname}.{name}" if self.kind == "class" else f"{self.qualname}.<locals>.{name}"

    @property
    def body(self) -> Self:
        """The scope that a walrus binds in: the nearest that is no comprehension's."""
        scope = self
        while scope.kind == "comprehension" and scope.outer is not None:
            scope = scope.outer
        return scope

    def declare(self, node: ast.Global | ast.Nonlocal) -> None:
        """Take in what `global` or `nonlocal` declares."""
        self.declared.update(
            dict.fromkeys(node.names, "global" if isinstance(node, ast.Global) else "nonlocal")
        )

    def bind(self, name: str, binding: _Binding) -> None:
        """Add a binding of a name, in the scope that the name belongs to."""
        self.home(name).bindings.setdefault(name, []).append(binding)

    def home(self, name: str) -> Self:
        """Return the scope that an assignment to a name binds in: for `nonlocal`, by the bindings up to now."""
        declared = self.declared.get(name)
        if declared is None:
            return self
        functions = [scope for scope in self.reach(name) if scope.kind == "function"]
        if declared == "global" or not functions:
            return self.module
        return next((scope for scope in functions if name in scope.bindings), functions[0])

    def reach(self, name: str) -> Iterator[Self]:
        """Yield the scopes in which Python looks for a name that is used here, from the inside out.

        A class body's names are seen in it, and not in the functions inside it.
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
        """Return the scope whose bindings a name that is used here has; None where no scope binds it."""
        return next((scope for scope in self.reach(name) if name in scope.bindings), None)

    def stars_for(self, name: str) -> list[str]:
        """Return the modules whose star imports may give a name that no scope binds."""
        return [module for scope in self.reach(name) for module in scope.stars]


# --- what binds names --------------------------------------------------------------------------------------------------


def parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Yield all parameters: those by position, by name, and the rest of both."""
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (each for each in (arguments.vararg, arguments.kwarg) if each is not None)


def defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Yield the defaults of parameters, which belong to the scope outside."""
    yield from arguments.defaults
    yield from (each for each in arguments.kw_defaults if each is not None)


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with what it stands for: a module, or a name in the module of `from`."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, alias.name
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            top = alias.name.partition(".")[0]
            yield top, top


def base_package(node: ast.ImportFrom, package: str) -> list[str]:
    """Return the segments of the package that a relative import starts from; none beyond the top."""
    parts = package.split(".")
    return parts[: len(parts) - node.level + 1]


def captured(pattern: Capture) -> str | None:
    """Return the name that a pattern binds by itself, without those inside it."""
    return pattern.rest if isinstance(pattern, ast.MatchMapping) else pattern.name


def captured_names(pattern: ast.pattern) -> Iterator[str]:
    """Yield all names that a pattern binds."""
    for each in ast.walk(pattern):
        if isinstance(each, Capture) and (name := captured(each)) is not None:
            yield name
