"""Find the expressions of a project's source that have the values of sites, and with them the conditions of each site."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from autochron.detect.scan.flow import last_name
from autochron.detect.scan.module_index import line_of
from autochron.impact.branch_conditions import Condition, conditions_of
from autochron.impact.preloading import quiet_parse
from autochron.model import Category, Impact
from autochron.project import read_source

_COMPARED: frozenset[Category] = frozenset({"clock", "random", "uuid", "env", "host", "files", "subprocess"})
"""The categories of which other values can be sought by trying many."""

_CONTENTS: frozenset[Category] = frozenset({"files", "subprocess"})
"""The categories whose values are contents and answers, in which words may be looked for."""
_LOOKING = frozenset({"startswith", "endswith", "find", "index", "count", "split", "partition"})
_WORDS = 20
"""The most words of a module that are put into a content."""


def conditions_for(
    sites: Mapping[str, Impact], files: Iterable[str], name_of: Callable[[str], str]
) -> tuple[dict[str, list[Condition]], dict[str, tuple[str, ...]]]:
    """Return the conditions that single sites decide, and the words that their modules look for, by the key of the site.

    Args:
        sites: the sites by key.
        files: the paths of the project's modules.
        name_of: returns the name that sites have for a path.
    """
    by_file: dict[str, dict[str, Impact]] = defaultdict(dict)
    for key, site in sites.items():
        if site.category in _COMPARED and site.untried is None:
            by_file[site.site.file][key] = site
    found: dict[str, list[Condition]] = {}
    words: dict[str, tuple[str, ...]] = {}
    for path in dict.fromkeys(files):
        wanted = by_file.get(name_of(path))
        source = read_source(path) if wanted else None
        if not wanted or source is None:
            continue
        try:
            tree = quiet_parse(source)
            found |= conditions_of(tree, _expressions(tree, wanted))
            contents = [key for key, site in wanted.items() if site.category in _CONTENTS]
            words |= dict.fromkeys(contents, _words(tree) if contents else ())
        except (SyntaxError, ValueError, RecursionError):
            continue
    return found, words


def _words(tree: ast.Module) -> tuple[str, ...]:
    """Return the texts that a module compares something with, or looks for in something."""
    words: dict[str, None] = {}
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and last_name(node.func) in _LOOKING:
            parts = node.args
        words.update(
            (part.value, None)
            for part in parts
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
    return tuple(word for word in words if word.strip())[:_WORDS]


def _expressions(tree: ast.Module, sites: Mapping[str, Impact]) -> dict[int, str]:
    """Return the keys of sites by the id of the expression that has the value."""
    by_line: dict[int, list[ast.expr]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            by_line[line_of(node)].append(node)
        elif isinstance(node, ast.Subscript) and last_name(node.value) == "environ":
            by_line[node.lineno].append(node)
    found: dict[int, str] = {}
    for key, site in sites.items():
        nodes = by_line.get(site.site.line, [])
        last = site.call.rpartition(".")[2]
        named = [node for node in nodes if _name(node) == last or (last == "environ" and _reads(node))]
        for node in named or (nodes if len(nodes) == 1 else []):
            found.setdefault(id(node), key)
    return found


def _name(node: ast.expr) -> str:
    return last_name(node.func) if isinstance(node, ast.Call) else "environ"


def _reads(node: ast.expr) -> bool:
    """Return whether an expression reads a variable of the environment."""
    if not isinstance(node, ast.Call) or _name(node) == "getenv":
        return True
    return isinstance(node.func, ast.Attribute) and last_name(node.func.value) in ("environ", "environb")
