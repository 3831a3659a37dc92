"""The nodes of a module that a study changes: a function's body, or the constants and defaults that it uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct
from parso.python.tree import ExprStmt
from parso.tree import BaseNode, NodeOrLeaf

from autochron.mutate.definitions import Definition
from autochron.mutate.parsing import ParsedModule, with_decorators
from autochron.mutate.sets import Places

_ARITHMETIC = frozenset({"arith_expr", "term", "power", "shift_expr", "expr", "xor_expr", "and_expr"})


class Region(Struct, frozen=True):
    """Nodes that are changed together.

    Attributes:
        name: empty for the function itself, else the name of a constant.
        first: the number of the node from which places are counted, so that a change keeps its id when code before the
            region changes.
        nodes: the nodes.
        at_import: whether they run when the module is imported.
    """

    name: str
    first: int
    nodes: tuple[NodeOrLeaf, ...]
    at_import: bool = False


def regions(
    parsed: ParsedModule, function: str, definition: Definition, places: Places, *, everything: bool
) -> list[Region]:
    """Return the regions to change for a function.

    Args:
        parsed: the module.
        function: the qualified name of the function.
        definition: its definition.
        places: what is changed: the body, or the constants and defaults that the function uses.
        everything: whether decorators, defaults, docstrings and f-strings are changed as well; annotations never are.
    """
    node = parsed.function(definition)
    first = parsed.order[id(with_decorators(node))]
    at_import = ".<locals>." not in function
    if places == "thresholds":
        defaults = tuple(_defaults(node, everything=False))
        return [*constant_regions(parsed, function, definition), Region("", first, defaults, at_import)]
    if not everything:
        return [Region("", first, tuple(_walk(node.children[-1], everything=False)))]
    definition_nodes = tuple(_definition_nodes(node))
    taken_ids = {id(inner) for inner in definition_nodes}
    body = tuple(inner for inner in _walk(node.children[-1], everything=True) if id(inner) not in taken_ids)
    return [Region("", first, definition_nodes, at_import), Region("", first, body)]


def is_noise(node: NodeOrLeaf, text: str) -> bool:
    """Return whether an operator misunderstands a node.

    cosmic-ray takes each `*` for a multiplication, even in `def f(a, *, b)` and `{**a}`. In `except a.B` and `except
    (a.B, C)` it takes a part of the name, or the dot, for the exception.

    Args:
        node: the node.
        text: the code that would be replaced.
    """
    if node.type == "operator":
        return node.parent is None or node.parent.type not in _ARITHMETIC
    return node.type == "except_clause" and not text.isidentifier()


# --- The body ---


def _walk(node: NodeOrLeaf, *, everything: bool) -> Iterator[NodeOrLeaf]:
    """Yield a node and those below it, without annotations; without `everything` also without docstrings and f-strings."""
    if node.type == "fstring" and not everything:
        return
    yield node
    if not isinstance(node, BaseNode):
        return
    for child in node.children:
        if _is_annotation(child) or (not everything and _is_docstring(child)):
            continue
        yield from _walk(child, everything=everything)


def _is_annotation(node: NodeOrLeaf) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type in {"tfpdef", "annassign"}:
        return node is parent.children[-1 if parent.type == "tfpdef" else 1]
    return node.type == "type_params" or (parent.type == "funcdef" and _previous_word(node) == "->")


def _previous_word(node: NodeOrLeaf) -> str:
    before = node.get_previous_sibling()
    return before.get_code(include_prefix=False) if before is not None else ""


def _is_docstring(node: NodeOrLeaf) -> bool:
    """Return whether a node is a string and the first statement of a function or a class."""
    if node.type not in {"string", "strings"}:
        return False
    statement = node.parent
    if statement is None or statement.type != "simple_stmt" or statement.children[0] is not node:
        return False
    block = statement.parent
    if block is not None and block.type == "suite":
        # The first child is the line break after the colon.
        return block.children[1] is statement and _is_definition(block.parent)
    return _is_definition(block)


def _is_definition(node: NodeOrLeaf | None) -> bool:
    return node is not None and node.type in {"funcdef", "classdef"}


# --- What runs at import ---


def _definition_nodes(function: BaseNode) -> Iterator[NodeOrLeaf]:
    """Yield the nodes of a function's decorators, defaults and docstring."""
    outermost = with_decorators(function)
    if outermost.type == "decorated" and isinstance(outermost, BaseNode):
        yield from _walk(outermost.children[0], everything=True)
    yield from _defaults(function, everything=True)
    statement = function.children[-1]
    if isinstance(statement, BaseNode) and statement.type == "suite":
        statement = statement.children[1]
    if isinstance(statement, BaseNode) and _is_docstring(statement.children[0]):
        yield from _walk(statement.children[0], everything=True)


def _defaults(function: BaseNode, *, everything: bool) -> Iterator[NodeOrLeaf]:
    for parameters in function.children:
        if parameters.type == "parameters" and isinstance(parameters, BaseNode):
            for parameter in parameters.children:
                default = getattr(parameter, "default", None)
                if default is not None:
                    yield from _walk(default, everything=everything)


def constant_regions(parsed: ParsedModule, function: str, definition: Definition) -> list[Region]:
    """Return the constants that a function uses, each as a region: of the module, and of the classes that it is in.

    Constants that other constants in use are made from are among them.

    Args:
        parsed: the module.
        function: the qualified name of the function.
        definition: its definition.
    """
    names, attributes = _used_names(definition)
    remaining = list(_assignments(parsed, function))
    used: list[tuple[str, ExprStmt]] = []
    new = remaining
    while new:
        new = [
            (scope, statement)
            for scope, statement in remaining
            if _names(statement) & (attributes if scope else names)
        ]
        remaining = [assignment for assignment in remaining if assignment not in new]
        used += new
        for _, statement in new:
            value = ast.parse(f"({_value(statement).get_code(include_prefix=False)}\n)", mode="eval")
            further_names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
            names, attributes = names | further_names, attributes | further_names
    found_regions: list[Region] = []
    counts: dict[str, int] = {}
    for scope, statement in sorted(used, key=lambda assignment: assignment[1].start_pos):
        name = f"{scope}{min(_names(statement))}"
        counts[name] = counts.get(name, 0) + 1
        value_node = _value(statement)
        region_name = f"{name}#{counts[name]}" if counts[name] > 1 else name
        nodes = tuple(_walk(value_node, everything=False))
        found_regions.append(Region(region_name, parsed.order[id(value_node)], nodes, at_import=True))
    return found_regions


def _names(statement: ExprStmt) -> set[str]:
    return {name.value for name in statement.get_defined_names()}


def _value(statement: ExprStmt) -> NodeOrLeaf:
    last: NodeOrLeaf = statement.children[-1]
    return last.children[-1] if isinstance(last, BaseNode) and last.type == "annassign" else last


def _used_names(definition: Definition) -> tuple[set[str], set[str]]:
    """Return the names that a function reads from outside, and the attributes that it reads."""
    nodes = list(ast.walk(definition))
    loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stored |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored -= {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    return loaded - stored, {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _assignments(parsed: ParsedModule, function: str) -> Iterator[tuple[str, ExprStmt]]:
    """Yield the assignments of the module and of the classes that the function is in, with their scope."""
    for node in parsed.nodes:
        if not isinstance(node, ExprStmt) or not _has_value(node):
            continue
        scopes: list[str] = []
        ancestor: NodeOrLeaf | None = node
        while ancestor is not None and ancestor.type not in {"funcdef", "lambdef"}:
            if ancestor.type == "classdef" and isinstance(ancestor, BaseNode):
                scopes.insert(0, ancestor.children[1].get_code(include_prefix=False))
            ancestor = ancestor.parent
        scope = "".join(f"{name}." for name in scopes)
        if ancestor is None and function.startswith(scope):
            yield scope, node


def _has_value(statement: ExprStmt) -> bool:
    value = statement.children[-1]
    return not (isinstance(value, BaseNode) and value.type == "annassign" and len(value.children) == 2)
