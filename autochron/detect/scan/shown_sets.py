"""Find where templates and parsers of arguments show the sets that they were given before."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from autochron.detect.scan.flow import ModuleFlow, Spot, Use

_SHOWING_CHOICES = (
    "parse_args",
    "parse_known_args",
    "format_usage",
    "format_help",
    "print_help",
    "print_usage",
)
"""Methods of parsers of arguments whose text, or whose error, names the choices."""
_BLOCK = re.compile(r"{[{%].*?[%}]}", re.DOTALL)
"""An expression or a statement of a template."""


def is_sorted_by_template(flow: ModuleFlow, name: str) -> bool:
    """Return whether all templates of a module that use a variable sort it, or only count it."""
    used = re.compile(rf"\b{re.escape(name)}\b(\s*\|\s*(?:sort(?!\s*\()|length\b|count\b))?")
    uses = [
        match for text in flow.texts for block in _BLOCK.finditer(text) for match in used.finditer(block[0])
    ]
    return bool(uses) and all(match[1] for match in uses)


def places_that_show_choices(
    flow: ModuleFlow, is_unordered: Callable[[ast.expr, Spot], bool]
) -> Iterator[Use]:
    """Yield where a parser of arguments shows choices that are a set.

    Args:
        flow: the module.
        is_unordered: returns whether an expression is a set whose order differs.
    """
    given = any(
        keyword.arg == "choices" and is_unordered(keyword.value, use.spot)
        for use in flow.sites.get("add_argument", ())
        if isinstance(use.node, ast.Call)
        for keyword in use.node.keywords
    )
    for shown in _SHOWING_CHOICES if given else ():
        yield from flow.sites.get(shown, ())


def is_unsorted(node: ast.Call, name: str) -> bool:
    """Return whether a call of a function of PyYAML may write sets in their own order.

    The ones that are not safe write a frozenset as a call with a list, which nothing sorts.
    """
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    sorting = given.get("sort_keys", ast.Constant(True))
    is_sorted = isinstance(sorting, ast.Constant) and sorting.value is True
    is_safe = ".safe_" in name or ast.unparse(given.get("Dumper", sorting)).endswith("SafeDumper")
    return not is_sorted or not is_safe or None in given
