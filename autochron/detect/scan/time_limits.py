"""Find the time limits whose end a module handles, so that which of two comes first decides what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autochron.detect.scan.completion_order import RacingPlace
from autochron.detect.scan.flow import ModuleFlow, last_name

_CUTTING = frozenset({"move_on_after", "move_on_at"})
"""Last names of context managers that end a block at their limit without an exception."""
_ALWAYS_LIMITED = frozenset({"wait_for", "timeout", "timeout_at", "fail_after"})
"""Last names of callables that are only called for their limit."""
_LIMITED = _ALWAYS_LIMITED | {"result", "get", "acquire", "exception"}
"""Last names of callables that raise if something takes too long."""
_ERRORS = frozenset({"TimeoutError", "Empty", "TimeoutExpired"})
_WAITING = _CUTTING | {"suppress", "wait", "sleep", "wait_for", "Lock", "Event"}
"""Last names of callables that do nothing but wait."""
_CALL = "asyncio.wait_for"


def limited_places(flow: ModuleFlow) -> Iterator[RacingPlace]:
    """Yield the calls of a module with a time limit whose end is handled."""
    if any(last in flow.sites for last in _LIMITED):
        yield from _handled_places(flow)
    for last in _CUTTING:
        for use in flow.sites.get(last, ()):
            if _does_more_than_wait(_block_of(flow.tree, use.node)):
                yield RacingPlace(use.node.lineno, _CALL, use.spot, use.node)


def _handled_places(flow: ModuleFlow) -> Iterator[RacingPlace]:
    handled = _handled(flow)
    for last in _LIMITED if handled else ():
        for use in flow.sites.get(last, ()):
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            is_branch = handled.get(id(use.node))
            if is_branch is None or not _has_limit(use.node, last):
                continue
            is_cut = last == "wait_for" and _does_more_than_wait(*use.node.args[:1])
            if is_branch or is_cut or use.position != "discarded":
                yield RacingPlace(use.node.lineno, _CALL, use.spot, use.node)


def _handled(flow: ModuleFlow) -> dict[int, bool]:
    """Return the ids of the nodes whose limit is handled, and whether something is done then."""
    names = _ERRORS | {
        name
        for name, bindings in flow.module.bindings.items()
        for binding in bindings
        if binding.kind == "import" and binding.dotted.rpartition(".")[2] in _ERRORS
    }
    has_limits = any(last in flow.sites for last in _ALWAYS_LIMITED)
    handled: dict[int, bool] = {}
    for node in flow.tries:
        for handler in node.handlers:
            if _catches(handler, names):
                parts = [part for statement in node.body for part in ast.walk(statement)]
            elif has_limits and _catches_all(handler):
                parts = [
                    part
                    for statement in node.body
                    for part in ast.walk(statement)
                    if isinstance(part, ast.Call) and last_name(part.func) in _ALWAYS_LIMITED
                ]
            else:
                continue
            is_branch = not all(isinstance(part, ast.Pass | ast.Continue) for part in handler.body)
            for part in parts:
                handled[id(part)] = handled.get(id(part), False) or is_branch
    for use in flow.sites.get("suppress", ()):
        if isinstance(use.node, ast.Call) and any(last_name(each) in names for each in use.node.args):
            handled.update((id(part), False) for part in ast.walk(_block_of(flow.tree, use.node)))
    return handled


def _block_of(tree: ast.Module, node: ast.AST) -> ast.AST:
    """Return the `with` statement that an expression is entered by; the expression if there is none."""
    for found in ast.walk(tree):
        if isinstance(found, ast.With | ast.AsyncWith) and any(
            item.context_expr is node for item in found.items
        ):
            return found
    return node


def _catches(handler: ast.ExceptHandler, names: frozenset[str]) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is not None and last_name(kind) in names for kind in kinds)


def _catches_all(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or last_name(handler.type) in ("Exception", "BaseException")


def _does_more_than_wait(*nodes: ast.AST) -> bool:
    """Return whether code does anything else than to wait for an event or the next moment."""
    return any(
        isinstance(node, ast.Name | ast.Attribute)  # a coroutine that was made before
        or any(isinstance(part, ast.Call) and last_name(part.func) not in _WAITING for part in ast.walk(node))
        for node in nodes
    )


def _has_limit(call: ast.Call, last: str) -> bool:
    """Return whether a call passes a time limit."""
    if last in _ALWAYS_LIMITED or any(keyword.arg == "timeout" for keyword in call.keywords):
        return True
    match call.args:
        case [ast.Constant(value=bool()), _]:  # `block` comes before `timeout`
            return last in ("get", "acquire")
        case [ast.Constant(value=float())]:  # the result of a pool
            return last == "get"
    return last == "result" and bool(call.args)
