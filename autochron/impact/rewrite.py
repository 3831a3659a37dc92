"""A module whose unordered and placed values pass through a function: the same source, compiled in another way.

Each expression whose value has the order of a set, or the place of an object in memory, becomes
`__autochron_instead__(key, kind, expression)`. What is put in stands at no columns of its own, so that the program's keep
theirs: lines, tracebacks, and the call sites that rules name by position.
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
"""The builtin that they pass through: of builtins, so that it is there in each scope, and in a class isn't mangled."""

ANYWHERE = "id"
"""The key of each `id` that is no site of its own, for it is a key and nothing more: it has to agree with the others."""


class Instead(NamedTuple):
    """A module in which these expressions are wrapped."""

    tree: ast.Module
    sites: Mapping[str, OrderSite]
    """By key."""

    def compiled(self, file: str) -> CodeType:
        """Compile it as the code of a file."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say of the source was said before
            return compile(self.tree, file, "exec", dont_inherit=True)


def instead(source: bytes, package: str, key: Callable[[OrderSite], str]) -> Instead:
    """Wrap the expressions of a module; `key` names a site.

    SyntaxError, ValueError or RecursionError where the source doesn't parse, or is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    program = read(tree, package)
    orders = OrderSites(program, Evaluation(program), is_wide=True)
    wraps: dict[int, dict[str, Kind]] = {}
    sites: dict[str, OrderSite] = {}
    for order in orders.found():
        if order.node is not None and not isinstance(order.node, ast.Starred):
            sites.setdefault(key(order), order)
            wraps.setdefault(id(order.node), {})[key(order)] = order.kind
    for node in orders.identities():
        wraps.setdefault(id(node), {ANYWHERE: "id"})
    _Wrapping(wraps).visit(tree)
    return Instead(tree, sites)


class _Wrapping(ast.NodeTransformer):
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
    words = [ast.Constant(key), ast.Constant(kind)]
    name = ast.Name(NAME, ast.Load())
    call = ast.Call(func=name, args=[*words, node], keywords=[])
    for each in (call, name, *words):
        each.lineno, each.col_offset = node.lineno, node.col_offset
        each.end_lineno, each.end_col_offset = node.lineno, node.col_offset
    return call
