"""Find the functions of a LangGraph graph that `instrument` marks: its nodes, and what chooses its routes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import Assignment

from autochron.adopt.lookup import Modules, assigned_value
from autochron.adopt.modules import Module, root_of


class GraphError(ValueError):
    """A graph's functions are not known from the source.

    Attributes:
        line: the line of the part that isn't known.
        reason: a sentence without a stop.
    """

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class NodeFunction:
    """A function of a graph, and the name of its crossings."""

    name: str
    module: Module
    qualname: str
    is_router: bool = False


def graph_nodes(
    module: Module, modules: Modules, graph: cst.BaseExpression, mark: cst.Call
) -> list[NodeFunction]:
    """Return the functions of a graph that is built in the same scope, by its `add_node` and `add_conditional_edges`.

    Raises:
        GraphError: a function or a name is not known from the source.
    """
    builder = _builder(module, graph, mark)
    found: list[NodeFunction] = []
    for call in _calls_on(module, builder):
        assert isinstance(call.func, cst.Attribute)  # noqa: S101 - of the search
        if any(
            isinstance(each, cst.For | cst.While | cst.BaseComp) for each in _inside_function(module, call)
        ):
            raise GraphError(
                "the graph gets its nodes in a loop, so they are not known from the source", module.line(call)
            )
        if call.func.attr.value == "add_node":
            found.append(_node(module, modules, call))
        elif call.func.attr.value == "add_conditional_edges":
            found.append(_route(module, modules, call))
        elif call.func.attr.value == "add_sequence":
            raise GraphError("the nodes of `add_sequence` are not read; write `add_node`", module.line(call))
    if not any(not node.is_router for node in found):
        raise GraphError(
            "the graph gets its nodes elsewhere, so they are not known from this file", module.line(mark)
        )
    return found


def node_functions(module: Module, modules: Modules, nodes: cst.BaseExpression) -> list[NodeFunction]:
    """Return the functions of a dictionary of nodes, which is written out or assigned once.

    Raises:
        GraphError: a function or a name is not known from the source.
    """
    line = module.line(nodes)
    if isinstance(nodes, cst.Name):
        bindings = module.bindings(nodes)
        if len(bindings) == 1 and isinstance(bindings[0], Assignment):
            nodes = assigned_value(module, bindings[0]) or nodes
    if not isinstance(nodes, cst.Dict):
        raise GraphError(
            f"the nodes are `{module.code(nodes)}`, and no dictionary that the source shows", line
        )
    found = []
    for element in nodes.elements:
        name = modules.text(module, element.key) if isinstance(element, cst.DictElement) else None
        if name is None:
            raise GraphError(f"the name of a node is not known: `{module.code(element)}`", line)
        found.append(NodeFunction(name, *_function(module, modules, element.value)))
    return found


def _builder(module: Module, graph: cst.BaseExpression, mark: cst.Call) -> cst.Name:
    """Return the name of the graph's builder: that of the graph itself, or that on which `compile` was called."""
    for _ in range(4):
        if (
            isinstance(graph, cst.Call)
            and isinstance(graph.func, cst.Attribute)
            and graph.func.attr.value == "compile"
        ):
            graph = graph.func.value
        if not isinstance(graph, cst.Name):
            break
        bindings = [
            each
            for each in module.bindings(graph)
            if isinstance(each, Assignment) and mark not in _under(module, each)
        ]
        value = assigned_value(module, bindings[0]) if len(bindings) == 1 else None
        if value is None:
            break
        if not (isinstance(value, cst.Call) and module.code(value.func).endswith(".compile")):
            return graph
        graph = value
    raise GraphError(
        f"how the graph `{module.code(graph)}` is built is not known from this file", module.line(mark)
    )


def _under(module: Module, binding: Assignment) -> list[cst.CSTNode]:
    """Return the value of an assignment, in a list, as the mark may be that."""
    value = assigned_value(module, binding)
    return [] if value is None else [value]


def _calls_on(module: Module, builder: cst.Name) -> Iterator[cst.Call]:
    """Yield the calls of methods on a name, also those that are chained, in order of the source."""
    wanted = {id(each) for each in module.bindings(builder)}
    for access in module.accesses:
        node = root_of(access.node)
        if not isinstance(node, cst.Name) or not wanted & {id(each) for each in module.bindings(node)}:
            continue
        yield from _chained(module, node)
    for value in (
        assigned_value(module, each) for each in module.bindings(builder) if isinstance(each, Assignment)
    ):
        inner = value
        while isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute):
            yield inner
            inner = inner.func.value


def _chained(module: Module, node: cst.CSTNode) -> Iterator[cst.Call]:
    attribute = module.parent(node)
    while isinstance(attribute, cst.Attribute) and attribute.value is node:
        call = module.parent(attribute)
        if not isinstance(call, cst.Call) or call.func is not attribute:
            return
        yield call
        node, attribute = call, module.parent(call)


def _inside_function(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for ancestor in module.ancestors(node):
        if isinstance(ancestor, cst.FunctionDef):
            return
        yield ancestor


def _argument(call: cst.Call, number: int, name: str) -> cst.BaseExpression | None:
    for index, argument in enumerate(call.args):
        if argument.star:
            return None
        if (argument.keyword is None and index == number) or (
            argument.keyword is not None and argument.keyword.value == name
        ):
            return argument.value
    return None


def _node(module: Module, modules: Modules, call: cst.Call) -> NodeFunction:
    first, action = _argument(call, 0, "node"), _argument(call, 1, "action")
    if first is None:
        raise GraphError("a node of the graph is not known from the source", module.line(call))
    name = modules.text(module, first)
    if action is None and name is None:
        where, qualname = _function(module, modules, first)
        return NodeFunction(qualname.rpartition(".")[2], where, qualname)
    if action is None or name is None:
        raise GraphError(f"the name of a node is not known: `{module.code(first)}`", module.line(call))
    return NodeFunction(name, *_function(module, modules, action))


def _route(module: Module, modules: Modules, call: cst.Call) -> NodeFunction:
    source, path = _argument(call, 0, "source"), _argument(call, 1, "path")
    name = None if source is None else modules.text(module, source)
    if name is None and source is not None and module.code(source).rpartition(".")[2] == "START":
        name = "__start__"
    if name is None or path is None:
        raise GraphError("the source of a conditional edge is not known", module.line(call))
    where, qualname = _function(module, modules, path)
    return NodeFunction(f"{name}:{qualname.rpartition('.')[2]}", where, qualname, is_router=True)


def _function(module: Module, modules: Modules, node: cst.BaseExpression) -> tuple[Module, str]:
    found = modules.function(module, node)
    if found is None or not isinstance(found[1], cst.FunctionDef):
        raise GraphError(
            f"`{module.code(node)}` is no function that the source of this project defines", module.line(node)
        )
    return found[0], found[2]
