"""Read a module's tree in one pass, and note what it binds and uses."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from autochron.detect.scan.annotations import is_plain_annotation
from autochron.detect.scan.flow import (
    Block,
    Comprehension,
    FlowBinding,
    FlowScope,
    Function,
    Kind,
    ModuleFlow,
    Position,
    Spot,
    Use,
    last_name,
    loses_order_of_arguments,
    parts_of_elements,
    shows_evaluation,
)
from autochron.detect.scan.libraries import ATTRIBUTES
from autochron.scopes import base_package, captured_names, defaults, imported

_TRANSPARENT = frozenset({ast.IfExp, ast.BoolOp, ast.Await, ast.Tuple, ast.List})
"""Expressions that pass their parts on as values."""


def read(tree: ast.Module, package: str) -> ModuleFlow:
    """Read what a module of a package binds and uses."""
    flow = ModuleFlow(tree, package)
    FlowReader(flow).body(tree.body)
    return flow


class FlowReader:
    """The pass over one module. Each method reads one kind of node, in the current scope and block."""

    def __init__(self, flow: ModuleFlow) -> None:
        self._flow = flow
        self._scope = flow.module
        self._block = flow.module.block
        self._order = 0.0
        self._spot = Spot(self._scope, self._order, self._block)
        """The current spot. `_move` makes it anew, since many expressions share one."""

    # --- statements ---------------------------------------------------------------------------------------------------

    def body(self, statements: Iterable[ast.stmt], *, block: Block | None = None) -> None:
        """Read statements, in a block of their own if one is passed."""
        before = self._block
        self._block = block or before
        for statement in statements:
            self._order += 1
            self._spot = Spot(self._scope, self._order, self._block)
            handler = self._statements.get(statement.__class__)
            (handler or FlowReader._parts)(self, statement)
        self._move(self._scope, before)

    def _move(self, scope: FlowScope, block: Block) -> None:
        """Go to a scope and a block."""
        self._scope, self._block = scope, block
        self._spot = Spot(scope, self._order, block)

    def _spot_after(self) -> Spot:
        return Spot(self._scope, self._order + 0.5, self._block)

    def _inner(self, *, is_loop: bool = False) -> Block:
        return Block(self._block, is_loop=is_loop)

    def _parts(self, node: ast.AST) -> None:
        """Read the parts of a node that has no method of its own."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                is_discarded = isinstance(node, ast.Expr) and isinstance(child, ast.Call | ast.Await)
                position: Position = "operand" if isinstance(node, ast.Expr | ast.Assert) else "other"
                self.expression(child, "discarded" if is_discarded else position)
            elif isinstance(child, ast.stmt):
                self.body([child])
            else:
                self._parts(child)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, "operand")
        self._defaults(node.args)
        self._scope.bind(node.name, FlowBinding("definition", self._spot_after(), node))
        self._enter(node, node.name, node.args, node.body)

    def _defaults(self, arguments: ast.arguments) -> None:
        for default in defaults(arguments):
            self.expression(default, "stored")

    def _enter(
        self, node: Function, name: str, arguments: ast.arguments, body: Sequence[ast.stmt] | ast.expr
    ) -> None:
        """Read a function's parameters and body in a scope of its own."""
        scope = FlowScope("function", self._scope, self._scope.qualname_of(name), node)
        self._flow.scopes[id(node)] = scope
        outer, before = self._spot, self._block
        self._move(scope, scope.block)
        self._parameters(node, arguments, outer)
        if isinstance(body, ast.expr):
            scope.returns.append((body, self._spot))
            self.expression(body, "other")
        else:
            self.body(body)
        self._move(outer.scope, before)

    def _parameters(self, node: Function, arguments: ast.arguments, outer: Spot) -> None:
        """Bind a function's parameters, with their defaults and annotations."""
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if parameter.annotation is not None:
                self._annotation(parameter.annotation)
        positional = [*arguments.posonlyargs, *arguments.args]
        missing = len(positional) - len(arguments.defaults)
        defaults = [*([None] * missing), *arguments.defaults, *arguments.kw_defaults]
        for argument, default in zip([*positional, *arguments.kwonlyargs], defaults, strict=True):
            binding = FlowBinding("parameter", outer, default, argument.arg, argument.annotation, node)
            self._scope.bind(argument.arg, binding)
            if default is not None:
                self._flow.defaults[id(default)] = binding
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                binding = FlowBinding("rest", outer, None, rest.arg, rest.annotation, node)
                self._scope.bind(rest.arg, binding)

    def _annotation(self, node: ast.expr) -> None:
        """Read an annotation that calls something, as `Annotated[str, Field(default_factory=new_id)]` does."""
        if not is_plain_annotation(node):
            self.expression(node, "operand")

    def _class(self, node: ast.ClassDef) -> None:
        for outside in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.expression(outside, "operand")
        self._scope.bind(node.name, FlowBinding("definition", self._spot_after(), node))
        scope = FlowScope("class", self._scope, self._scope.qualname_of(node.name), node)
        self._flow.scopes[id(node)] = scope
        before = self._scope
        self._move(scope, self._block)
        self.body(node.body, block=scope.block)
        self._move(before, self._block)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._scope.returns.append((node.value, self._spot))
            self.expression(node.value, "stored")

    def _import(self, node: ast.Import) -> None:
        for name, dotted in imported(node):
            self._scope.bind(name, FlowBinding("import", self._spot_after(), None, dotted))

    def _import_from(self, node: ast.ImportFrom) -> None:
        origin = node.module or ""
        if node.level:
            parts = base_package(node, self._flow.package)
            # If the package is unknown, the name has a leading dot: a module of the project is never taken for a
            # library.
            origin = ".".join([*(parts or [""]), *([origin] if origin else [])])
        for name, member in imported(node):
            if member == "*":
                self._scope.stars.append(origin)
            else:
                dotted = f"{origin}.{member}"
                self._scope.bind(name, FlowBinding("import", self._spot_after(), None, dotted))

    def _assign(self, node: ast.Assign) -> None:
        is_slice = any(isinstance(getattr(target, "slice", None), ast.Slice) for target in node.targets)
        self.expression(node.value, "iterated" if is_slice else "stored")
        for target in node.targets:
            self._target(target, "value", node.value)

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self.expression(node.value, "stored")
        if node.value is not None or self._scope.kind == "class":
            self._target(node.target, "value", node.value, node.annotation)

    def _aug_assign(self, node: ast.AugAssign) -> None:
        is_extended = isinstance(node.op, ast.Add) and not isinstance(node.value, ast.Constant)
        self.expression(node.value, "iterated" if is_extended else "operand")
        if not isinstance(node.target, ast.Name):
            self.expression(node.target, "other")

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.expression(node.iter, "iterated", body=node.body)
        block = self._inner(is_loop=True)
        before = self._block
        self._move(self._scope, block)
        self._target(node.target, "element", node.iter)
        self._move(self._scope, before)
        self.body(node.body, block=block)
        self.body(node.orelse, block=self._inner())

    def _while(self, node: ast.While) -> None:
        block = self._inner(is_loop=True)
        self.expression(node.test, "operand")
        self.body(node.body, block=block)
        self.body(node.orelse, block=self._inner())

    def _if(self, node: ast.If) -> None:
        # A chain of `elif` is nested and may be long: a loop, since recursion has a limit.
        rest: list[ast.stmt] = [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            branch = rest[0]
            self.expression(branch.test, "operand")
            self.body(branch.body, block=self._inner())
            rest = branch.orelse
        self.body(rest, block=self._inner())

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.expression(item.context_expr, "other")
            if item.optional_vars is not None:
                self._target(item.optional_vars, "opened", item.context_expr)
        self.body(node.body)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        if isinstance(node, ast.Try):
            self._flow.tries.append(node)
        self.body(node.body, block=self._inner())
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, "operand")
            if handler.name is not None:
                self._scope.bind(handler.name, FlowBinding("caught", self._spot, handler.type))
            self.body(handler.body, block=self._inner())
        self.body(node.orelse, block=self._inner())
        self.body(node.finalbody)

    def _match(self, node: ast.Match) -> None:
        self.expression(node.subject, "subscript")
        for case in node.cases:
            for name in captured_names(case.pattern):
                self._scope.bind(name, FlowBinding("other", self._spot))
            if case.guard is not None:
                self.expression(case.guard, "operand")
            self.body(case.body, block=self._inner())

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self.expression(target.slice, "other")

    # --- targets ------------------------------------------------------------------------------------------------------

    def _target(
        self, target: ast.expr, kind: Kind, value: ast.expr | None, annotation: ast.expr | None = None
    ) -> None:
        """Bind the targets of an assignment, a loop or a `with`, of the kind that says how they get their value."""
        match target:
            case ast.Name(id=name):
                spot = self._spot_after() if kind in ("value", "unpacked") else self._spot
                self._scope.bind(name, FlowBinding(kind, spot, value, "", annotation))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                self._flow.bind_attribute(
                    self._scope, name, attribute, FlowBinding(kind, self._spot, value, "", annotation)
                )
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, kind, value)
            case ast.Starred(value=inner):
                self._target(inner, "other", None)
            case ast.Subscript(value=base, slice=key):
                self.expression(base, "base")
                self.expression(key, "operand")
                if kind == "value" and value is not None:
                    self._flow.store(last_name(base), key, value, self._spot)
            case _:
                self.expression(target, "other")

    def _unpack(self, targets: list[ast.expr], kind: Kind, value: ast.expr | None) -> None:
        """Bind several targets: one by one to a tuple of the same length, else by iterating the value."""
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if kind == "value" and len(values) == len(targets):
            for target, element in zip(targets, values, strict=True):
                self._target(target, "value", element)
            return
        is_single = len(targets) == 1 and not isinstance(targets[0], ast.Starred)
        if kind == "value" and value is not None and not is_single:  # one element has only one order
            self._flow.iterated.append(Use(value, self._spot, "iterated"))
        parts = parts_of_elements(value, len(targets)) if kind == "element" else []
        for index, target in enumerate(targets):
            if index < len(parts):
                self._target(target, *parts[index])
            else:
                result = value if kind == "value" and isinstance(value, ast.Call | ast.Await) else None
                self._target(target, "other" if result is None else "unpacked", result)

    # --- expressions --------------------------------------------------------------------------------------------------

    def expression(
        self,
        node: ast.expr,
        position: Position,
        *,
        call: ast.Call | None = None,
        order_lost: bool = False,
        body: Sequence[ast.stmt] = (),
    ) -> None:
        """Read an expression and its parts.

        Args:
            node: the expression.
            position: how the surrounding code uses it.
            call: the call that it is an argument of.
            order_lost: whether the surrounding code makes nothing of the order of its elements.
            body: the body of the loop over it.
        """
        if position in ("iterated", "spread"):
            self._flow.iterated.append(Use(node, self._spot, position, call, order_lost, body))
        kind = node.__class__
        if kind is ast.Name or kind is ast.Attribute:
            if position not in ("base", "called"):
                self._flow.references.append(Use(node, self._spot, position, call, order_lost))
            if kind is ast.Attribute:
                self._flow.attributes.add(node.attr)  # type: ignore[attr-defined]
                if node.attr in ATTRIBUTES:  # type: ignore[attr-defined]
                    self._flow.asking.append((node, self._spot))  # type: ignore[arg-type]
                self.expression(node.value, "base")  # type: ignore[attr-defined]
            return
        if kind is ast.Constant:
            if node.value.__class__ is str:  # type: ignore[attr-defined]
                self._flow.texts.add(node.value)  # type: ignore[attr-defined]
            return
        if kind is ast.Call:
            self._call(node, position, call, order_lost=order_lost, body=body)  # type: ignore[arg-type]
            return
        handler = self._expressions.get(kind)
        if handler is None:
            self._operands(node, position, call)
        else:
            handler(self, node, position, order_lost=order_lost)

    def _operands(self, node: ast.expr, position: Position, call: ast.Call | None) -> None:
        """Read the parts of an expression that has no method of its own."""
        kind = node.__class__
        if kind not in _TRANSPARENT:
            position, call = "operand" if kind is ast.UnaryOp else "other", None
        elif position in ("iterated", "spread"):
            position = "stored"
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child, position, call=call)

    def _call(
        self,
        node: ast.Call,
        position: Position,
        outer_call: ast.Call | None,
        *,
        order_lost: bool,
        body: Sequence[ast.stmt],
    ) -> None:
        """Read a call: its callee, and its arguments, whose order it may lose."""
        flow, called = self._flow, node.func
        use = Use(node, self._spot, position, outer_call, order_lost, body)
        flow.calls.append(use)
        last = last_name(called)
        flow.sites.setdefault(last, []).append(use)
        self.expression(called, "called")
        inner_order_lost = loses_order_of_arguments(node, self._scope, order_lost=order_lost)
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                self.expression(argument.value, "spread", call=node, order_lost=inner_order_lost)
            else:
                self.expression(argument, "argument", call=node, order_lost=inner_order_lost)
        for keyword in node.keywords:
            self.expression(keyword.value, "argument" if keyword.arg else "spread", call=node)
            if keyword.arg:
                flow.keywords.add(keyword.arg)

    def _lambda(self, node: ast.Lambda, position: Position, *, order_lost: bool) -> None:
        self._defaults(node.args)
        self._enter(node, "<lambda>", node.args, node.body)

    def _comprehension(self, node: Comprehension, position: Position, *, order_lost: bool) -> None:
        """Read a comprehension in a scope of its own; the first iterable is read in the scope around it."""
        loses_order = isinstance(node, ast.SetComp) or (order_lost and not isinstance(node, ast.DictComp))
        loses_order = loses_order and not shows_evaluation(node)
        outer = self._scope
        inner = FlowScope("comprehension", outer, outer.qualname, node)
        self._flow.spots[id(node)] = Spot(inner, self._order, self._block)
        for index, generator in enumerate(node.generators):
            self.expression(generator.iter, "iterated", order_lost=loses_order)
            if not index:
                self._move(inner, self._block)
            self._target(generator.target, "element", generator.iter)
            for condition in generator.ifs:
                self.expression(condition, "operand")
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.expression(part, "other")
        self._move(outer, self._block)

    def _named(self, node: ast.NamedExpr, position: Position, *, order_lost: bool) -> None:
        self.expression(node.value, "stored")
        self._scope.body.bind(node.target.id, FlowBinding("value", self._spot, node.value))

    def _joined(self, node: ast.JoinedStr, position: Position, *, order_lost: bool) -> None:
        """Read an f-string, whose fields are converted to text."""
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                self.expression(part, "other")
            else:
                self._flow.shown.append(Use(part.value, self._spot, "other"))
                self.expression(part.value, "other")
                if isinstance(part.format_spec, ast.JoinedStr):
                    self._joined(part.format_spec, "other", order_lost=False)

    def _yield(self, node: ast.Yield | ast.YieldFrom, position: Position, *, order_lost: bool) -> None:
        self._flow.generators.add(id(self._scope.body.node))
        if node.value is not None:
            self._scope.body.yields.append((node.value, self._spot))
            self.expression(node.value, "iterated" if isinstance(node, ast.YieldFrom) else position)

    def _compare(self, node: ast.Compare, position: Position, *, order_lost: bool) -> None:
        is_ordered = any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops)
        compared: Position = "arithmetic" if is_ordered else "operand"
        self.expression(node.left, compared)
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.Is | ast.IsNot) and isinstance(operand, ast.Name | ast.Attribute):
                self._flow.compares_identity = True
            is_container = isinstance(operator, ast.In | ast.NotIn)  # codespell:ignore notin
            self.expression(operand, "subscript" if is_container else compared)

    def _subscript(self, node: ast.Subscript, position: Position, *, order_lost: bool) -> None:
        self._flow.keys[id(node.value)] = node.slice
        self.expression(node.value, "subscript" if isinstance(node.ctx, ast.Load) else "base")
        self.expression(node.slice, "operand")

    def _operation(self, node: ast.BinOp, position: Position, *, order_lost: bool) -> None:
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
            fields = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            self._flow.shown += [Use(field, self._spot, "other") for field in fields]
        self.expression(node.left, "arithmetic")
        self.expression(node.right, "arithmetic")

    def _starred(self, node: ast.Starred, position: Position, *, order_lost: bool) -> None:
        self.expression(node.value, "spread", order_lost=order_lost)

    def _display(self, node: ast.Set, position: Position, *, order_lost: bool) -> None:
        for element in node.elts:
            self.expression(element, "stored", order_lost=True)

    def _dict(self, node: ast.Dict, position: Position, *, order_lost: bool) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.expression(value, "spread", order_lost=False)
            else:
                self.expression(key, "other")
                self.expression(value, "stored")

    # --- which method reads what -----------------------------------------------------------------------------------

    _statements: ClassVar[dict[type, Callable[..., None]]] = {
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
        ast.Return: _return,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Assign: _assign,
        ast.AnnAssign: _ann_assign,
        ast.AugAssign: _aug_assign,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.If: _if,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.Match: _match,
        ast.Global: lambda self, node: self._scope.declare(node),
        ast.Nonlocal: lambda self, node: self._scope.declare(node),
        ast.Delete: _delete,
    }
    _expressions: ClassVar[dict[type, Callable[..., None]]] = {
        ast.BinOp: _operation,
        ast.Lambda: _lambda,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.DictComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.NamedExpr: _named,
        ast.JoinedStr: _joined,
        ast.YieldFrom: _yield,
        ast.Compare: _compare,
        ast.Subscript: _subscript,
        ast.Starred: _starred,
        ast.Set: _display,
        ast.Dict: _dict,
        ast.Yield: _yield,
    }
