"""Which nodes of a module a study changes: a function's body, or what it uses that is made at import."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct
from parso.python.tree import ExprStmt
from parso.tree import BaseNode, NodeOrLeaf

from autochron.mutate.parsing import Definition, ParsedModule, whole
from autochron.mutate.sets import Places

_ARITHMETIC = frozenset({"arith_expr", "term", "power", "shift_expr", "expr", "xor_expr", "and_expr"})


class Region(Struct, frozen=True):
    """Nodes that are changed, and where they are counted from.

    Attributes:
        name: empty for the function, else the constant's.
        first: the number of the node from which places are counted, so that a change has the same id wherever it stands.
        nodes: what is changed.
        at_import: whether it runs when the module is imported.
    """

    name: str
    first: int
    nodes: tuple[NodeOrLeaf, ...]
    at_import: bool = False


def regions(
    parsed: ParsedModule, function: str, definition: Definition, places: Places, *, everything: bool
) -> list[Region]:
    """Return what is changed of a function.

    The body is without docstrings, annotations and the inside of f-strings; `everything` is with these but for annotations,
    and with the function's decorators and defaults.
    """
    node = parsed.function(definition)
    first = parsed.order[id(whole(node))]
    at_import = ".<locals>." not in function
    if places == "thresholds":
        defaults = tuple(_defaults(node, everything=False))
        return [*constants(parsed, function, definition), Region("", first, defaults, at_import)]
    if not everything:
        return [Region("", first, tuple(_inside(node.children[-1], everything=False)))]
    head = tuple(_head(node))
    taken = {id(each) for each in head}
    body = tuple(each for each in _inside(node.children[-1], everything=True) if id(each) not in taken)
    return [Region("", first, head, at_import), Region("", first, body)]


def is_noise(node: NodeOrLeaf, text: str) -> bool:
    """Return whether an operator takes a node for what it isn't.

    cosmic-ray takes each `*` for a multiplication, also that of `def f(a, *, b)` and `{**a}`, and in `except a.B` and
    `except (a.B, C)` a part of the name, or a dot, for the exception.
    """
    if node.type == "operator":
        return node.parent is None or node.parent.type not in _ARITHMETIC
    return node.type == "except_clause" and not text.isidentifier()


# --- The body ---


def _inside(node: NodeOrLeaf, *, everything: bool) -> Iterator[NodeOrLeaf]:
    """Walk a node, without what is left out."""
    if node.type == "fstring" and not everything:
        return
    yield node
    if not isinstance(node, BaseNode):
        return
    for child in node.children:
        if _is_annotation(child) or (not everything and _is_docstring(child)):
            continue
        yield from _inside(child, everything=everything)


def _is_annotation(node: NodeOrLeaf) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type in {"tfpdef", "annassign"}:
        return node is parent.children[-1 if parent.type == "tfpdef" else 1]
    return node.type == "type_params" or (parent.type == "funcdef" and _word_before(node) == "->")


def _word_before(node: NodeOrLeaf) -> str:
    before = node.get_previous_sibling()
    return before.get_code(include_prefix=False) if before is not None else ""


def _is_docstring(node: NodeOrLeaf) -> bool:
    """Return whether a node is the first statement of a function or a class, and a string."""
    if node.type not in {"string", "strings"}:
        return False
    statement = node.parent
    if statement is None or statement.type != "simple_stmt" or statement.children[0] is not node:
        return False
    block = statement.parent
    if block is not None and block.type == "suite":
        # The first child is the end of the line of the colon.
        return block.children[1] is statement and _is_definition(block.parent)
    return _is_definition(block)


def _is_definition(node: NodeOrLeaf | None) -> bool:
    return node is not None and node.type in {"funcdef", "classdef"}


# --- What runs before it ---


def _head(function: BaseNode) -> Iterator[NodeOrLeaf]:
    """Walk what is evaluated where a function is defined: its decorators, its defaults, and its docstring."""
    outermost = whole(function)
    if outermost.type == "decorated" and isinstance(outermost, BaseNode):
        yield from _inside(outermost.children[0], everything=True)
    yield from _defaults(function, everything=True)
    statement = function.children[-1]
    if isinstance(statement, BaseNode) and statement.type == "suite":
        statement = statement.children[1]
    if isinstance(statement, BaseNode) and _is_docstring(statement.children[0]):
        yield from _inside(statement.children[0], everything=True)


def _defaults(function: BaseNode, *, everything: bool) -> Iterator[NodeOrLeaf]:
    for parameters in function.children:
        if parameters.type == "parameters" and isinstance(parameters, BaseNode):
            for parameter in parameters.children:
                default = getattr(parameter, "default", None)
                if default is not None:
                    yield from _inside(default, everything=everything)


def constants(parsed: ParsedModule, function: str, definition: Definition) -> list[Region]:
    """Return the constants of the module, and of the function's class, that it uses, also for one another."""
    names, attributes = _used(definition)
    left = list(_assigned(parsed, function))
    chosen: list[tuple[str, ExprStmt]] = []
    fresh = left
    while fresh:
        fresh = [
            (scope, statement)
            for scope, statement in left
            if _names(statement) & (attributes if scope else names)
        ]
        left = [each for each in left if each not in fresh]
        chosen += fresh
        for _, statement in fresh:
            value = ast.parse(f"({_value(statement).get_code(include_prefix=False)}\n)", mode="eval")
            others = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
            names, attributes = names | others, attributes | others
    found: list[Region] = []
    counts: dict[str, int] = {}
    for scope, statement in sorted(chosen, key=lambda each: each[1].start_pos):
        name = f"{scope}{min(_names(statement))}"
        counts[name] = counts.get(name, 0) + 1
        made = _value(statement)
        nth = f"{name}#{counts[name]}" if counts[name] > 1 else name
        nodes = tuple(_inside(made, everything=False))
        found.append(Region(nth, parsed.order[id(made)], nodes, at_import=True))
    return found


def _names(statement: ExprStmt) -> set[str]:
    return {name.value for name in statement.get_defined_names()}


def _value(statement: ExprStmt) -> NodeOrLeaf:
    last: NodeOrLeaf = statement.children[-1]
    return last.children[-1] if isinstance(last, BaseNode) and last.type == "annassign" else last


def _used(definition: Definition) -> tuple[set[str], set[str]]:
    """Return the names that a function takes from the module, and the attributes that it asks for."""
    nodes = list(ast.walk(definition))
    loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stored |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored -= {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    return loaded - stored, {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _assigned(parsed: ParsedModule, function: str) -> Iterator[tuple[str, ExprStmt]]:
    """Yield the assignments outside of every function: the module's, and those of the classes that the function is in."""
    for node in parsed.nodes:
        if not isinstance(node, ExprStmt) or not _has_value(node):
            continue
        scopes: list[str] = []
        above: NodeOrLeaf | None = node
        while above is not None and above.type not in {"funcdef", "lambdef"}:
            if above.type == "classdef" and isinstance(above, BaseNode):
                scopes.insert(0, above.children[1].get_code(include_prefix=False))
            above = above.parent
        scope = "".join(f"{name}." for name in scopes)
        if above is None and function.startswith(scope):
            yield scope, node


def _has_value(statement: ExprStmt) -> bool:
    value = statement.children[-1]
    return not (isinstance(value, BaseNode) and value.type == "annassign" and len(value.children) == 2)
