"""Find out whether the project's source mentions a function outside of its definition, so that its agent may call it."""

from __future__ import annotations

import ast
from collections.abc import Collection

from autochron.diagnostics.sources import ImportedSources, SourceFile, first_line

_NAMESPACES = frozenset({"globals", "locals", "vars", "__dict__"})
"""What has functions under the texts of their names, which need not be in the source."""

_SEARCHES = _NAMESPACES | {"getattr", "dir", "eval", "exec", "getmembers", "attrgetter"}
"""What may lead to a function that the source does not mention."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_mentioned(sources: ImportedSources, qualname: str, places: Collection[tuple[str, int]]) -> bool:
    """Return whether the project may call a function: it mentions it or its class, decorates it, or looks up its name.

    Args:
        sources: the files of the project.
        qualname: the function's qualified name.
        places: the path and the first line of each definition of it.

    Raises:
        UnreadableError: a file can't be read or parsed.
    """
    names = {part for part in qualname.split(".") if part != "<locals>"}
    return any(_mentions(source, names, places) for source in sources.naming(names | _SEARCHES))


def _mentions(source: SourceFile, names: Collection[str], places: Collection[tuple[str, int]]) -> bool:
    waiting: list[ast.AST] = [source.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DEFINITIONS) and (source.path, first_line(node)) in places:
            if node.decorator_list:
                return True
            continue  # a function that calls itself
        text = _looked_up(node)
        if text is not None and not _is_plain(text):
            waiting.append(text)  # a text that is made of the tool's name leads to another function
            continue
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if text is not None or name in names or name in _SEARCHES:
            return True
        waiting += ast.iter_child_nodes(node)
    return False


def _looked_up(node: ast.AST) -> ast.expr | None:
    """Return the text by which `getattr(x, name)`, `globals()[name]` or `globals().get(name)` finds something; else None."""
    if isinstance(node, ast.Subscript) and _is_namespace(node.value):
        return node.slice
    if isinstance(node, ast.Call) and node.args:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "getattr" and len(node.args) > 1:
            return node.args[1]
        if isinstance(function, ast.Attribute) and function.attr == "get" and _is_namespace(function.value):
            return node.args[0]
    return None


def _is_namespace(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return (isinstance(called, ast.Name) and called.id in _NAMESPACES) or (
        isinstance(node, ast.Attribute) and node.attr in _NAMESPACES
    )


def _is_plain(text: ast.expr) -> bool:
    """Return whether an expression only reads a text: `name`, `call.function.name`, `call["name"]`."""
    while isinstance(text, ast.Attribute | ast.Subscript):
        if isinstance(text, ast.Subscript) and not isinstance(text.slice, ast.Constant):
            return False
        text = text.value
    return isinstance(text, ast.Name | ast.Constant)
