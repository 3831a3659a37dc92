"""Check that each new rule fits the functions that were marked and no others, by matching it against the new sources."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import structs

from autochron._runtime.unpatched import os
from autochron.adopt.import_names import suffixes
from autochron.adopt.modules import Definition
from autochron.adopt.reading import FunctionMark
from autochron.errors import AutochronError
from autochron.matching.matcher import Matcher
from autochron.model import Rules
from autochron.project import Project, python_files, read_source


def unfit(
    rules: Rules, marks: Sequence[FunctionMark], data: Mapping[str, bytes]
) -> Iterator[tuple[Definition, str]]:
    """Yield each marked function whose rule fits too little or too much, with the reason.

    Args:
        rules: the rules with the new tables.
        marks: the marks that the tables are of.
        data: new contents of files, by their real paths.
    """
    project = Project(rules.project or (rules.root,), rules.root)
    wanted = Counter(mark.definition for mark in marks)
    by_selector = {
        f"{name}:{each.qualname}": each
        for each in wanted
        for name in suffixes(each.path, os.path.abspath(rules.root))
    }
    matcher = Matcher(structs.replace(rules, auto=False, packs=()))
    fits: dict[Definition, Counter[str]] = {each: Counter() for each in wanted}
    places: dict[str, set[str]] = {}
    for path in (*(each.path for each in wanted), *python_files(project.paths)):
        places.setdefault(os.path.realpath(path), set()).add(os.path.abspath(path))
    for real, paths in places.items():
        names = [
            name
            for path in paths
            for name in (*project.names_of(path), *suffixes(path, os.path.abspath(rules.root)))
        ]
        for selector, qualname in _matches(matcher, project, min(paths), names, data.get(real)):
            definition = by_selector.get(selector)
            if definition is not None:
                fits[definition][f"{project.name(real)}:{qualname}"] += 1
    for definition, count in wanted.items():
        own = f"{project.name(definition.real)}:{definition.qualname}"
        others = [place for place in fits[definition] if place != own]
        if others:
            yield definition, f"its rule would fit {others[0]} as well, which is not marked"
        elif not fits[definition]:
            yield (
                definition,
                "its rule would fit nothing: the rules' `project` does not have this file, or another rule wins",
            )
        elif fits[definition][own] > count:
            yield (
                definition,
                f"{count} of the {fits[definition][own]} definitions of this name are marked, and a rule fits all",
            )


def _matches(
    matcher: Matcher, project: Project, path: str, names: Sequence[str], data: bytes | None
) -> Iterator[tuple[str, str]]:
    """Yield the selector and the qualified name of each match in a file, which may be imported by these names."""
    if not project.owns(path):
        return
    if not any(matcher.may_match(name, is_project=True) for name in names):
        return
    source = read_source(path) if data is None else data
    try:
        code = compile(source or b"", path, "exec", dont_inherit=True)
        found = matcher.find(names[0], code, source, is_project=True, aliases=names[1:])
    except (SyntaxError, ValueError, AutochronError):
        return
    seen: set[tuple[str, int]] = set()
    overloads = _overloads(source or b"") if b"overload" in (source or b"") else ()
    for match in found.matches:
        if (match.qualname, match.firstlineno) not in seen and match.firstlineno not in overloads:
            seen.add((match.qualname, match.firstlineno))
            yield str(match.rule.selector), match.qualname


def _overloads(source: bytes) -> set[int]:
    """Return the first lines of definitions for type checkers only, which are never called."""
    return {
        min(each.lineno for each in node.decorator_list)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(ast.unparse(each).rpartition(".")[2] == "overload" for each in node.decorator_list)
    }
