"""Find the attributes of libraries' objects that ask for something when they are read, such as a console's width."""

from __future__ import annotations

import ast

from autochron.detect.scan.abstract_values import Instance, Known, Produced, Type
from autochron.detect.scan.flow import Spot
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.libraries import ATTRIBUTES
from autochron.detect.scan.library_call import LibraryCall


def asked_by_attribute(evaluation: Evaluation, node: ast.Attribute, spot: Spot) -> LibraryCall | None:
    """Return what reading an attribute of `ATTRIBUTES` asks for; None if it is one of another object."""
    found = ATTRIBUTES[node.attr]
    if node.attr == "data" and not (isinstance(node.value, ast.Attribute) and node.value.attr == "ctypes"):
        return None
    if any(isinstance(value, Instance | Type) for value in evaluation.values(node.value, spot)):
        return None  # an attribute of the module's own
    if found.only_of and not _is_part_of(evaluation, node.value, spot, found.only_of):
        return None
    return LibraryCall(found.category, found.call)


def _is_part_of(evaluation: Evaluation, node: ast.expr, spot: Spot, names: tuple[str, ...]) -> bool:
    """Return whether an expression is an object of which the name begins so, or is reached from one."""
    while True:
        for value in evaluation.values(node, spot):
            if isinstance(value, Known | Produced) and value.name.startswith(names):
                return True
        inner = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        if not isinstance(inner, ast.expr):
            return False
        node = inner
