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


def is_sorted_by_template(flow: ModuleFlow, name: str) -> bool:
    """Return whether all templates of a module that use a variable sort it, or only count it."""
    used = re.compile(rf"{{[{{%][^}}]*?\b{re.escape(name)}\b(\s*\|\s*(?:sort|length|count)\b)?")
    uses = [match for text in flow.texts for match in used.finditer(text)]
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


def is_unsorted(keyword: ast.keyword) -> bool:
    """Return whether a keyword has keys and sets written in their own order."""
    return (
        keyword.arg == "sort_keys"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
    )
