"""Find out of which library a client is that was wrapped."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import Assignment

from autochron.adopt.lookup import Modules, assigned_value
from autochron.adopt.modules import Module, dotted_name, root_of

_SDKS = ("openai", "anthropic")


def pack_of(
    module: Module, modules: Modules, node: cst.BaseExpression, statement: cst.CSTNode | None
) -> str | None:
    """Return the pack of the library whose client an expression is; None where the source doesn't tell.

    Args:
        module: the module of the expression.
        modules: the project's modules.
        node: the expression.
        statement: a statement that rebinds the client, which tells nothing.
    """
    if isinstance(node, cst.Call):
        top = modules.library_name(module, node.func).partition(".")[0]
        return top if top in _SDKS else None
    if isinstance(node, cst.Attribute):
        values = [value for value in _assigned_to(module, dotted_name(node)) if value is not None]
        packs = {
            pack_of(module, modules, value, statement) for value in values if isinstance(value, cst.Call)
        }
        packs.discard(None)
        return packs.pop() if len(packs) == 1 else None
    if not isinstance(node, cst.Name):
        return None
    packs = set()
    for binding in module.bindings(node):
        if not isinstance(binding, Assignment) or module.small_statement(binding.node) is statement:
            continue
        value = assigned_value(module, binding)
        annotation = binding.node.annotation if isinstance(binding.node, cst.Param) else None
        if annotation is not None:
            top = modules.library_name(module, annotation.annotation).partition(".")[0]
            packs.add(top if top in _SDKS else None)
        else:
            packs.add(pack_of(module, modules, value, statement) if isinstance(value, cst.Call) else None)
    return packs.pop() if len(packs) == 1 else None


def _assigned_to(module: Module, dotted: str) -> Iterator[cst.BaseExpression | None]:
    """Yield what is assigned to a dotted name such as `self.client`."""
    for access in module.accesses:
        node = module.whole_name(root_of(access.node))[0]
        target = module.parent(node)
        if dotted and dotted_name(node) == dotted and isinstance(target, cst.AssignTarget):
            assign = module.parent(target)
            yield assign.value if isinstance(assign, cst.Assign) else None
