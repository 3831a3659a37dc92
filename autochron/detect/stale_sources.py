"""Find the `[[source]]` tables of a project that name nothing, without an import of what they name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from typing import NamedTuple

from autochron.model import Rules, SourceRule
from autochron.project import read_source

_DYNAMIC = frozenset({"__getattr__", "__dir__"})
_PLAIN_BASES = frozenset({"object", "ABC", "Protocol", "Generic"})


def stale_sources(rules: Rules) -> list[str]:
    """Return one message for each `[[source]]` table that names nothing. No module is imported for it."""
    folders = [*filter(None, (rules.root, *rules.project)), *sys.path]
    return [
        f"{rule.place}: [[source]] is stale: {problem}; correct it or take it out (stale-source)"
        for rule in rules.sources
        for problem in [_problem(rule, folders)]
        if problem is not None
    ]


def _problem(rule: SourceRule, folders: list[str]) -> str | None:
    """Return what is wrong with the names of a table; None for nothing that can be seen."""
    for call in rule.calls:
        parts = call.removesuffix(".*").split(".")
        found = _module_of(parts, folders)
        if found is None:
            return f"there is no module `{parts[0]}`"
        if found.rest:
            problem = _missing(found)
            if problem is not None:
                return problem
    return None


class _FoundModule(NamedTuple):
    """The longest part of a dotted name that is a module."""

    name: str
    file: str | None
    rest: list[str]
    """The names behind it."""


def _module_of(parts: list[str], folders: Iterable[str]) -> _FoundModule | None:
    path: Iterable[str] | None = list(folders)
    file, count = None, 0
    for count, part in enumerate(parts):
        name = ".".join(parts[: count + 1])
        if not count and part in sys.builtin_module_names:
            return _FoundModule(part, None, parts[1:])
        spec = PathFinder.find_spec(name, list(path)) if path is not None else None
        if spec is None:
            break
        file, path = spec.origin, spec.submodule_search_locations
    else:
        count += 1
    return _FoundModule(".".join(parts[:count]), file, parts[count:]) if count else None


def _missing(found: _FoundModule) -> str | None:
    """Return a message if a module, or a class in it, has no such name, as far as its source tells."""
    source = read_source(found.file) if found.file is not None and found.file.endswith(".py") else None
    try:
        tree = ast.parse(source) if source is not None else None
    except (SyntaxError, ValueError, RecursionError):
        tree = None
    if tree is None:
        return None
    owner, body = found.name, tree.body
    for name in found.rest:
        bound = _bound(body)
        if bound is None:
            return None
        if name not in bound:
            return f"`{owner}` has no `{name}`"
        node = bound[name]
        if not isinstance(node, ast.ClassDef) or node.keywords or not all(map(_is_plain, node.bases)):
            return None
        owner, body = f"{owner}.{name}", node.body
    return None


def _bound(body: list[ast.stmt]) -> dict[str, ast.AST] | None:
    """Return the names that statements bind, each with its definition; None if others may be bound as well."""
    bound: dict[str, ast.AST] = {}
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    if name in _DYNAMIC:
                        return None
                    bound.setdefault(name, node)
                case ast.alias(name=name, asname=given):
                    if name == "*":
                        return None
                    bound.setdefault(given or name.partition(".")[0], node)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    bound.setdefault(name, node)
                case ast.Call(func=ast.Name(id="globals" | "setattr" | "vars")):
                    return None
    return bound


def _is_plain(base: ast.expr) -> bool:
    node = base.value if isinstance(base, ast.Subscript) else base
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) in _PLAIN_BASES
