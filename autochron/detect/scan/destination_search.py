"""Follow what a call of a source may reach in its module: a branch, the output, a call of code outside, an error.

This is the other half of `harmless_uses`: that one takes nothing for harmless that it does not understand, and this one takes
a value to go wherever it may. What reaches nothing here is ranked behind what does. The order of statements is ignored,
attributes of one name are one variable, and a method is known by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autochron.detect.scan.call_effects import (
    COUNTING,
    KEEPING_ORDER,
    KEYED,
    NOT_ASKING,
    ORDERLESS,
    effect_of,
    filled_by,
    filled_in_order,
    handed_on,
    is_transparent,
    own_functions,
    parameters_given,
    sorts_keys,
    sums_counts,
)
from autochron.detect.scan.destination_state import TOKEN_MODES, Mode, mode_of_table
from autochron.detect.scan.destinations import Destinations, ReachedPlace, is_index
from autochron.detect.scan.dictionary_fields import FieldSearch
from autochron.detect.scan.flow import is_property, last_name, shows_evaluation, tells_apart
from autochron.detect.scan.module_index import LOGGING, Function
from autochron.detect.scan.value_uses import FILLING_METHODS

_MOST = 800
"""The most expressions that are followed from one call. Beyond, the value may reach anything."""
_ENOUGH = 150
"""After how many expressions the search ends if the value has reached something: what is nearer was found before."""
_LONGEST = 80
"""The most characters of a callee that are kept."""

_DUMPING = frozenset(
    {"model_dump", "model_dump_json", "json", "dict", "to_dict", "asdict", "astuple", "__dict__", "_asdict"}
)
"""Names by which the attributes of an object are read at once."""


def reached_from(
    module: Destinations, starts: Iterable[ast.AST], mode: Mode = "value"
) -> tuple[ReachedPlace, ...]:
    """Return what the values of expressions may reach, the nearest first: each kind once, and `call` for each callee.

    Args:
        module: the module that they are in.
        starts: the expressions.
        mode: what of them depends on the source.
    """
    return _DestinationSearch(module, starts, mode).run()


def is_order_lost(module: Destinations, starts: Iterable[ast.AST]) -> bool:
    """Return whether the order of the elements of expressions reaches nothing, and no name by which others may ask for it."""
    search = _DestinationSearch(module, starts, "order")
    return not search.run() and not search.is_left_to_others


class _DestinationSearch(FieldSearch):
    """One search, breadth first, so that the shortest way to each thing is found."""

    def run(self) -> tuple[ReachedPlace, ...]:
        pending, seen = self._pending, self._seen
        most = _ENOUGH
        while pending and len(seen) < most:
            node, self.mode, self._path = pending.popleft()
            self._onward(node)
            if len(seen) >= most == _ENOUGH and not self._has_reached():
                most = _MOST
        if pending and not self._has_reached():
            self._path = ()
            self._reach("elsewhere", next(iter(self._seen))[0])
        return tuple(self._found.values())

    def _has_reached(self) -> bool:
        """Return whether something was reached that matters whatever the rules are."""
        return any(place.matters for place in self._found.values())

    # --- one step -----------------------------------------------------------------------------------------------------

    def _onward(self, node: ast.AST) -> None:
        parent = self.module.parents.get(node)
        if self.mode in TOKEN_MODES and parent is not None and self.follow_token(parent, node):
            return
        if self.follows_field and parent is not None and self.follow_field(parent, node):
            return
        handler = self._handlers.get(type(parent))
        if parent is not None and handler is not None:
            handler(self, parent, node)

    def _operand(self, parent: ast.AST, node: ast.AST) -> None:
        """Follow an operation, which a class of the module may say what it does."""
        if self.module.has_operators:
            self._reach("elsewhere", node, "an operator")
        self.push(parent)

    def _alternative(self, parent: ast.AST, node: ast.AST) -> None:
        """Follow `and` and `or`, of which all operands but the last decide whether the next one runs."""
        assert isinstance(parent, ast.BoolOp)  # noqa: S101 - see `_handlers`
        if node is not parent.values[-1] and not self._is_order:
            self._reach("branch", node)
        self.push(parent)

    def _head(self, parent: ast.AST, node: ast.AST) -> None:
        """Note a decorator or a base."""
        assert isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)  # noqa: S101 - see `_handlers`
        if node not in parent.body:
            self._reach("elsewhere", node, parent.name)

    def _pass(self, parent: ast.AST, node: ast.AST) -> None:
        """Follow the parent, whose value is made of the node's."""
        self.push(parent)

    def _show(self, parent: ast.AST, node: ast.AST) -> None:
        """Follow the parent, which is the node's text and has the order of its elements."""
        self.push(parent, "value")

    def _test(self, parent: ast.AST, node: ast.AST) -> None:
        """Note a statement that tests the node."""
        assert isinstance(parent, ast.If | ast.While)  # noqa: S101 - see `_handlers`
        if self._is_order:
            return  # whether something is empty
        if parent.test is node and not self.module.only_waits([*parent.body, *parent.orelse]):
            self._reach("branch", parent.test)

    def _decide(self, parent: ast.AST, node: ast.AST) -> None:
        """Note a statement that does nothing else but test the node."""
        if not self._is_order or not isinstance(parent, ast.Assert):
            self._reach("branch", node)

    def _conditional(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.IfExp)  # noqa: S101 - see `_handlers`
        if parent.test is node:
            if not self._is_order:
                self._reach("branch", node)
        else:
            self.push(parent)

    def _compare(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Compare)  # noqa: S101 - see `_handlers`
        operator = parent.ops[-1]
        is_searched = (
            isinstance(operator, ast.In | ast.NotIn) and parent.left is not node
        )  # codespell:ignore notin
        is_asked = is_searched or isinstance(operator, ast.Is | ast.IsNot)
        if self.mode == "value" or (self.mode != "object" and not is_asked):
            self.mode = "value"
            self._operand(parent, node)

    def _comprehension(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.comprehension)  # noqa: S101 - see `_handlers`
        whole = self.module.parents.get(parent)
        if parent.iter is not node:
            self._reach("branch", node)
            return
        if not self._is_order:
            self.bind(parent.target)
        if whole is not None and self._is_order and shows_evaluation(whole):
            self._reach("output", whole)
            self.push(whole, "value")
        elif whole is not None and not isinstance(whole, ast.SetComp):
            self.push(whole, mode_of_table(whole, parent) if self._is_order else None)

    def _loop(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.For | ast.AsyncFor)  # noqa: S101 - see `_handlers`
        if parent.iter is node:
            filled = list(filled_in_order(parent)) if self._is_order else []
            if filled and all(map(self.module.is_list, filled)) and not self.is_bound_after(parent):
                for container in filled:
                    self.push_container(container, "order")
                return
            if self.mode == "value":
                self._reach("branch", node)  # how often it runs
            self.bind(parent.target, "value" if (self._is_order or self.mode == "key") else None)
            if self._is_order:
                self.number(parent.body)

    def _with(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.withitem)  # noqa: S101 - see `_handlers`
        if parent.optional_vars is not None and parent.context_expr is node:
            self.bind(parent.optional_vars)

    def _assign(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign)  # noqa: S101 - see `_handlers`
        if parent.value is not node:
            return
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        if self.module.has_setters and not isinstance(targets[0], ast.Name | ast.Tuple):
            self._reach("elsewhere", node, "an operator")
        if self.module.has_operators and isinstance(parent, ast.AugAssign):
            self._reach("elsewhere", node, "an operator")
        for target in targets:
            self.bind(target)
            if isinstance(parent, ast.AugAssign):
                self.push_container(target, "value")  # it may be changed in place

    def _walrus(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.NamedExpr)  # noqa: S101 - see `_handlers`
        self.bind(parent.target)
        self.push(parent)

    def _tuple(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Tuple)  # noqa: S101 - see `_handlers`
        target = self.module.paired(parent, node)
        if target is not None:
            self.bind(target)
        else:
            self.push(parent)

    def _set(self, parent: ast.AST, node: ast.AST) -> None:
        if not self._is_order:
            self.push(parent)

    def _dict(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Dict)  # noqa: S101 - see `_handlers`
        if node in parent.keys:
            self.push(parent, "key")
        elif self.mode != "value" or not self.begin_field(parent, node):
            self.push(parent)

    def _dict_comprehension(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.DictComp)  # noqa: S101 - see `_handlers`
        self.push(parent, "key" if node is parent.key else None)

    def _subscript(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Subscript)  # noqa: S101 - see `_handlers`
        if not isinstance(parent.ctx, ast.Load):
            if parent.slice is node:
                # What is taken out is missed by its value.
                self.push_container(parent.value, "value" if isinstance(parent.ctx, ast.Del) else "key")
            return
        if self.mode == "object":
            if parent.value is node:
                self.push(parent)  # one of the objects that a container has
            return
        if (self._is_order or self.mode == "key") and parent.value is node:
            if self.mode == "order" or isinstance(parent.slice, ast.Slice) or is_index(parent.slice):
                self.push(parent, "value")
            return
        self.push(parent, "value" if parent.slice is node else None)

    def _attribute(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Attribute)  # noqa: S101 - see `_handlers`
        if not isinstance(parent.ctx, ast.Load):
            if self.mode == "value":
                self._reach("elsewhere", parent, parent.attr)  # whose attribute is set
            return
        if self.mode == "object":
            if parent.attr in _DUMPING:
                self.push(parent, "value")
            return
        call = self.module.parents.get(parent)
        is_called = isinstance(call, ast.Call) and call.func is parent
        if (
            (self._is_order or self.mode == "key")
            and is_called
            and parent.attr in KEYED | {"count", "union", "issubset"}
        ):
            if self.mode == "order" and parent.attr == "pop" and all(map(is_index, call.args)):  # type: ignore[union-attr]
                self.push(parent, "value")  # the last one of a list, or the one at a place
            return
        is_returned = parent.attr == "setdefault" and not isinstance(self.module.parents.get(call), ast.Expr)  # type: ignore[arg-type]
        if is_called and parent.attr in FILLING_METHODS and not is_returned:
            if isinstance(node, ast.Subscript | ast.Attribute):
                self.push_container(node, "value")  # which of several is filled
            elif isinstance(node, ast.Call) and self.mode == "value":
                self._reach("elsewhere", node, parent.attr)
            return
        if (
            is_called
            and isinstance(self.module.parents.get(call), ast.Expr)  # type: ignore[arg-type]
            and parent.attr in LOGGING
        ):
            return  # a logger that has the value as its context
        self.push(parent)

    def _call(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.Call)  # noqa: S101 - see `_handlers`
        if parent.func is not node:
            self._argument(parent, node, None)
            return
        self.push(parent)
        if not isinstance(node, ast.Attribute):
            self._reach("branch", node)  # which function is called
        if isinstance(self.module.parents.get(parent), ast.Expr):
            # A method whose result is dropped, such as `generator.shuffle(names)`, changes its arguments.
            for argument in parent.args:
                self.push_container(argument, "value")

    def _keyword(self, parent: ast.AST, node: ast.AST) -> None:
        assert isinstance(parent, ast.keyword)  # noqa: S101 - see `_handlers`
        call = self.module.parents.get(parent)
        if isinstance(call, ast.Call):
            self._argument(call, node, parent.arg)

    def _default(self, parent: ast.AST, node: ast.AST) -> None:
        """Follow the parameter that has the node as its default."""
        assert isinstance(parent, ast.arguments)  # noqa: S101 - see `_handlers`
        function = self.module.parents.get(parent)
        positional = [*parent.posonlyargs, *parent.args]
        pairs = [
            *zip(positional[len(positional) - len(parent.defaults) :], parent.defaults, strict=True),
            *zip(parent.kwonlyargs, parent.kw_defaults, strict=True),
        ]
        for parameter, default in pairs:
            if default is node and isinstance(function, Function):
                self.push_all(self.module.loads_of_parameter(function, parameter.arg))
            elif default is node and isinstance(function, ast.Lambda):
                self._reach("elsewhere", node, parameter.arg)

    def _return(self, parent: ast.AST, node: ast.AST) -> None:
        """Follow the calls of the function that returns or yields the node."""
        module = self.module
        if isinstance(parent, ast.Yield | ast.YieldFrom):
            self.push(parent)  # what is sent back
        function = module.function_around(parent)
        if function is None:
            return
        if isinstance(function, ast.Lambda):
            self.push(function)
            return
        name = function.name
        if not is_transparent(function):
            self._reach("call", function, "a decorator")
        if isinstance(parent, ast.Return) and module.yields(function):
            self._reach("elsewhere", parent, name)  # as the value of StopIteration
        around = module.function_around(function)
        if is_property(function):
            self.push_all(module.loads_of_attribute(name), "value" if self.mode == "object" else None)
            if not name.startswith("_"):
                self._reach_public(function, name)
            return
        if name.startswith("__") and name.endswith("__"):
            self._special(function, name)
            return
        uses = [use for use in module.reads_of(name) if not module.is_callee(use)]
        calls = module.calls_of(name)
        self.push_all(calls)
        self.push_all(uses)
        self.is_left_to_others |= name.startswith("_")
        if around is None and not name.startswith("_"):
            if (calls or uses) and not module.overrides(function):
                self._reach_public(function, name)
            else:
                self._reach("elsewhere", function, name)  # whoever got the object calls it

    def _special(self, function: Function, name: str) -> None:
        """Follow what a special method returns."""
        owner = self.module.class_around(function)
        if name in ("__enter__", "__aenter__") and owner is not None:
            self.push_all(self.module.calls_of(owner.name))
        elif name not in ("__init__", "__del__", "__post_init__"):
            self._reach("elsewhere", function, name)

    def _raise(self, parent: ast.AST, node: ast.AST) -> None:
        self._reach("error", parent)

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _argument(self, call: ast.Call, node: ast.AST, keyword: str | None) -> None:
        """Follow an argument of a call; `keyword` is its name, if it is passed by one."""
        module = self.module
        handed = handed_on(call)
        if handed is not None and node in handed.args and (own := own_functions(module, handed)):
            self._give(own, handed, node, None)
            return
        match effect_of(module, call):
            case "none":
                return
            case "output":
                self._reach("output", call)
            case "fills":
                self._fill(call, node)
            case "own":
                last = last_name(call.func)
                self._reach("own", call, self._name_of(call.func), call.func)
                if any(not is_transparent(function) for function in own_functions(module, call)):
                    self._reach("elsewhere", call, last)
                self._give(own_functions(module, call), call, node, keyword)
                for found in module.classes_of(last):
                    self.fill_field(found, call, node, keyword)
            case "computes":
                self._through(call, last_name(call.func))
                self._change(call, node)
            case "unknown":
                last = last_name(call.func)
                if self._is_order and (last in KEYED | ORDERLESS or last == "shuffle"):
                    return
                self._reach("call", call, self._name_of(call.func), call.func)
                self.push(call, "value")
                self._change(call, node)

    def _give(
        self, functions: Iterable[Function], call: ast.Call, node: ast.AST, keyword: str | None
    ) -> None:
        """Follow an argument of a call into functions of the module."""
        for function in functions:
            for name in parameters_given(function, call, node, keyword):
                self.push_all(self.module.loads_of_parameter(function, name))

    def _fill(self, call: ast.Call, node: ast.AST) -> None:
        """Follow the container that a call puts the value into."""
        filled = filled_by(self.module, call)
        if filled is None:
            self._reach("call", call, self._name_of(call.func), call.func)
        elif filled is not node:
            self.push_container(filled, self.mode)

    def _change(self, call: ast.Call, node: ast.AST) -> None:
        """Follow what a call may change: the other arguments where its result is dropped, and what `map` fills."""
        is_dropped = isinstance(self.module.parents.get(call), ast.Expr)
        for argument in call.args:
            if is_dropped and argument is not node:
                self.push_container(argument, "value")
            if isinstance(argument, ast.Attribute) and argument.attr in FILLING_METHODS:
                self.push_container(argument.value, self.mode)

    def _name_of(self, callee: ast.expr) -> str:
        """Return the dotted name of a callee, or its source."""
        return (self.module.dotted_name(callee) or ast.unparse(callee))[:_LONGEST]

    def _through(self, call: ast.Call, last: str) -> None:
        """Follow the result of a function that only computes."""
        if self.mode == "keys" and sorts_keys(call):
            return
        if self._is_order:
            if last == "Counter":
                self.push(call, "keys")
            elif last == "dict" or (last == "sum" and not sums_counts(call)):
                self.push(
                    call, "value"
                )  # of equal keys the last one stays, and sums are rounded in their order
            elif any(word.arg == "key" and not tells_apart(word.value) for word in call.keywords):
                self.push(call, "order" if last == "sorted" else "value")  # equal keys stay in their order
            elif last not in ORDERLESS:
                self.push(call, "order" if last in KEEPING_ORDER else "value")
        elif self.mode == "key":
            if last not in COUNTING or last == "len":  # two keys may be equal
                self.push(call, "value")
        elif self.mode == "value" or last not in NOT_ASKING:
            self.push(call, "value")

    _handlers = {  # noqa: RUF012 - it is never changed
        **dict.fromkeys(
            (
                ast.UnaryOp, ast.List, ast.Starred, ast.Await, ast.Slice, ast.ListComp,
                ast.GeneratorExp, ast.Lambda,
            ),
            _pass,
        ),
        **dict.fromkeys((ast.JoinedStr, ast.FormattedValue), _show),
        ast.BinOp: _operand,
        ast.BoolOp: _alternative,
        ast.FunctionDef: _head,
        ast.AsyncFunctionDef: _head,
        ast.ClassDef: _head,
        ast.Set: _set,
        ast.SetComp: _set,
        ast.Dict: _dict,
        ast.DictComp: _dict_comprehension,
        ast.If: _test,
        ast.While: _test,
        ast.Assert: _decide,
        ast.IfExp: _conditional,
        ast.Compare: _compare,
        ast.comprehension: _comprehension,
        ast.For: _loop,
        ast.AsyncFor: _loop,
        ast.withitem: _with,
        ast.Assign: _assign,
        ast.AnnAssign: _assign,
        ast.AugAssign: _assign,
        ast.NamedExpr: _walrus,
        ast.Match: _decide,
        ast.match_case: _decide,
        ast.Tuple: _tuple,
        ast.Subscript: _subscript,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.keyword: _keyword,
        ast.arguments: _default,
        ast.Return: _return,
        ast.Yield: _return,
        ast.YieldFrom: _return,
        ast.Raise: _raise,
    }  # fmt: skip
