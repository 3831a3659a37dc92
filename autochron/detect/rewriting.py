"""Rewrite a module so that values which depend on a set's order or on an address pass through a function.

Each such expression becomes `__autochron_instead__(key, kind, expression)`. The inserted nodes have an empty column span, so
that the program's own nodes keep their positions: lines, tracebacks, and the call sites that rules name by position.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from types import CodeType
from typing import NamedTuple

from autochron.detect.scan.flow_reader import read
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.set_order import Kind, OrderSite, OrderSites

NAME = "__autochron_instead__"
"""The function that values pass through. A builtin is visible in each scope, and this name isn't mangled in a class."""

ANYWHERE = "id"
"""The shared key of each `id` that is no site of its own, because it is used as a key only. It must agree with the others."""


class RewrittenModule(NamedTuple):
    """The syntax tree of a module in which the expressions at `sites` are wrapped."""

    tree: ast.Module
    sites: Mapping[str, OrderSite]
    """The wrapped sites by key."""

    def compiled(self, file: str) -> CodeType:
        """Compile the tree as the code of a file.

        Raises:
            SyntaxError, ValueError, RecursionError: the tree can't be compiled.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has warned of this source before
            return compile(self.tree, file, "exec", dont_inherit=True)


def rewrite(
    source: bytes, package: str, key: Callable[[OrderSite], str], *, only_seen: bool = False
) -> RewrittenModule:
    """Wrap the expressions of a module that depend on a set's order or on an address.

    Args:
        source: the module's text, in the encoding that it declares.
        package: the package that relative imports start from.
        key: returns the key of a site.
        only_seen: whether the values are only looked at. Then `id` and `hash` stay, and so do sets that a total key sorts.

    Raises:
        SyntaxError, ValueError: the source doesn't parse.
        RecursionError: the source is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    program = read(tree, package)
    orders = OrderSites(program, Evaluation(program), is_wide=True, has_any_key=not only_seen)
    wraps: dict[int, dict[str, Kind]] = {}
    sites: dict[str, OrderSite] = {}
    for order in orders.sites():
        if only_seen and order.kind in ("id", "hash"):
            continue
        if order.node is not None and not isinstance(order.node, ast.Starred):
            sites.setdefault(key(order), order)
            wraps.setdefault(id(order.node), {})[key(order)] = order.kind
    for node in () if only_seen else orders.identities():
        wraps.setdefault(id(node), {ANYWHERE: "id"})
    _Wrapper(wraps).visit(tree)
    return RewrittenModule(tree, sites)


class _Wrapper(ast.NodeTransformer):
    def __init__(self, wraps: dict[int, dict[str, Kind]]) -> None:
        self._wraps = wraps

    def visit(self, node: ast.AST) -> ast.AST:
        wraps = self._wraps.get(id(node), {})
        changed: ast.AST = self.generic_visit(node)
        for key, kind in wraps.items():
            changed = _wrapped(changed, key, kind)
        return changed


def _wrapped(node: ast.AST, key: str, kind: Kind) -> ast.Call:
    assert isinstance(node, ast.expr)  # noqa: S101 - orders are of expressions
    constants = [ast.Constant(key), ast.Constant(kind)]
    name = ast.Name(NAME, ast.Load())
    call = ast.Call(func=name, args=[*constants, node], keywords=[])
    for part in (call, name, *constants):
        part.lineno, part.col_offset = node.lineno, node.col_offset
        part.end_lineno, part.end_col_offset = node.lineno, node.col_offset
    return call
