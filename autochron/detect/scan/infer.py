"""Evaluate the expressions of a module: find the values that each may have, from the module's bindings.

A name may be bound several times. At a use in the same function, the last binding that the flow must have passed
counts, and all later ones that it may have passed. At a use elsewhere, all bindings count that the scope may end with.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from typing import ClassVar

from autochron.detect.scan.abstract_values import (
    UNKNOWN,
    Accessor,
    Container,
    Holding,
    Instance,
    Known,
    Plain,
    Produced,
    Routine,
    Set,
    Text,
    Type,
    Unknown,
    Value,
    handles_in,
    makes_set,
    tells_of_sets,
    values_of_and,
)
from autochron.detect.scan.annotations import annotated
from autochron.detect.scan.flow import (
    FlowBinding,
    FlowScope,
    ModuleFlow,
    Spot,
    in_force,
    is_generator,
    is_manager,
    is_of_class,
    is_property,
    is_static,
    last_name,
)
from autochron.detect.scan.held_values import (
    appended_to,
    gets_numbers,
    is_told_more_by_calls,
    raised_values,
    rest_values,
    stored_under_keys,
)
from autochron.detect.scan.libraries import (
    ALIASES,
    OPENING,
    RETURNS,
    SAME_HANDLE,
    SETS_OF_TEXTS,
)
from autochron.detect.scan.library_results import (
    SET_METHODS,
    function_of_c,
    is_stable,
    joined,
    known_result,
    of_table,
    operation,
    unique,
)
from autochron.detect.scan.passed_arguments import passed_arguments

Values = tuple[Value, ...]
_BUILTINS = frozenset(dir(builtins))


class Evaluation:
    """The values of one module's expressions, each evaluated once."""

    def __init__(self, flow: ModuleFlow, opening: frozenset[str] = OPENING) -> None:
        """Take the bindings and uses of a module, and the calls whose result is read later."""
        self.flow = flow
        self._opening = opening
        self._memo: dict[int, Values] = {}
        self._in_progress: set[int] = set()
        self._parsed_annotations: dict[int, ast.expr | None] = {}
        """The parsed annotations of strings, by the id of their node."""
        self._names: dict[tuple[int, str], Values] = {}

    def values(self, node: ast.expr, spot: Spot) -> Values:
        """Return the values that an expression may have at a spot.

        An expression that depends on itself is unknown there.
        """
        key = id(node)
        cached = self._memo.get(key)
        if cached is not None:
            return cached
        if key in self._in_progress:
            return UNKNOWN
        self._in_progress.add(key)
        try:
            reader = self._readers.get(node.__class__)
            result = reader(self, node, spot) if reader is not None else UNKNOWN
        finally:
            self._in_progress.discard(key)
        if len(result) > 1:
            result = unique(result)
        self._memo[key] = result
        return result

    # --- names --------------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, spot: Spot) -> Values:
        values = self.named(node.id, spot)
        for value in values:
            if type(value) is Set and value.is_empty and gets_numbers(self, node.id, spot):
                return (Set(is_stable=True),)
            if type(value) is Known and value.node is None:
                return tuple(
                    Known(value.name, node) if type(value) is Known and value.node is None else value
                    for value in values
                )
        return values

    def named(self, name: str, spot: Spot) -> Values:
        """Return the values that a name may have at a spot."""
        scope = spot.scope.find(name)
        if scope is not None:
            # A comprehension runs in place, but a function runs at any time.
            is_same_flow = scope.body is spot.scope.body
            return self._values_of_name(scope, name, spot if is_same_flow else None)
        builtin = (Known(f"builtins.{name}"),) if name in _BUILTINS else UNKNOWN
        return (*(Known(f"{module}.{name}") for module in spot.scope.stars_for(name)), *builtin)

    def _values_of_name(self, scope: FlowScope, name: str, spot: Spot | None) -> Values:
        """Return the values of a name of a scope at a spot, or after the scope has run if `spot` is None."""
        bindings = scope.bindings[name]
        if spot is not None and len(bindings) > 1:
            return self._values_of_all(in_force(bindings, scope, spot))
        key = (id(scope), name)
        values = self._names.get(key)
        if values is None:
            self._names[key] = UNKNOWN
            values = self._names[key] = self._values_of_all(in_force(bindings, scope, None))
        return values

    def _values_of_all(self, bindings: Iterable[FlowBinding]) -> Values:
        values: list[Value] = []
        for binding in bindings:
            values += self.binding_values(binding)
        return unique(tuple(values)) or UNKNOWN

    def binding_values(self, binding: FlowBinding) -> Values:
        """Return the values that a binding may assign."""
        if binding.kind == "import":
            return (Known(ALIASES.get(binding.dotted, binding.dotted)),)
        node = binding.node
        if binding.kind == "definition":
            return self._defined(node)
        if binding.kind == "parameter":
            return self._parameter(binding)
        if binding.kind == "rest":
            return rest_values(self, binding)
        declared = self.annotated(binding.annotation, binding.spot) if binding.annotation is not None else ()
        if not isinstance(node, ast.expr):
            return declared or UNKNOWN
        if binding.kind == "value":
            assigned = self.values(node, binding.spot)
            return declared if any(map(tells_of_sets, declared)) else assigned
        if binding.kind == "opened":
            return self._entered(self.values(node, binding.spot))
        if binding.kind == "element":
            return unique((*self.elements(self.values(node, binding.spot)), *appended_to(self, node)))
        if binding.kind == "caught":
            return raised_values(self, node, binding.spot)
        is_unpacked = binding.kind == "unpacked"
        return (handles_in(self.values(node, binding.spot)) if is_unpacked else ()) or UNKNOWN

    def _entered(self, managers: Values) -> Values:
        """Return what `with` binds: what `__enter__` returns, where the class is of this module; else the object itself."""
        entered: list[Value] = []
        for manager in managers:
            names = ("__enter__", "__aenter__") if isinstance(manager, Instance) else ()
            members = [member for name in names for member in self.attribute(manager, name, None)]
            routines = [member for member in members if isinstance(member, Routine)]
            entered += [value for routine in routines for value in self.returned(routine)] or [manager]
        return tuple(entered)

    def _defined(self, node: ast.AST | None) -> Values:
        scope = self.flow.scopes[id(node)]
        if isinstance(node, ast.ClassDef):
            return (Type(scope),)
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - there are no other definitions
        return (Routine(node, scope),)

    def _parameter(self, binding: FlowBinding) -> Values:
        """Return the values of a parameter: those of its annotation, else of its default and of the passed arguments."""
        function, outer = binding.owner, binding.spot.scope
        assert function is not None  # noqa: S101 - a parameter has a function
        declared = self.annotated(binding.annotation, binding.spot) if binding.annotation is not None else ()
        if declared and not any(map(is_told_more_by_calls, declared)):
            return declared
        positional = [*function.args.posonlyargs, *function.args.args]
        index = next(
            (position for position, parameter in enumerate(positional) if parameter.arg == binding.dotted), -1
        )
        is_method = outer.kind == "class" and not is_static(function)
        if is_method and index == 0:
            return (Type(outer),) if is_of_class(function) else (Instance(outer),)
        values: list[Value] = []
        if isinstance(binding.node, ast.expr):
            values += self.values(binding.node, binding.spot)
        for passed, spot in passed_arguments(self.flow, function, outer, binding.dotted, index - is_method):
            values += self.values(passed, spot)
        return (*declared, *values) or UNKNOWN

    def annotated(self, annotation: ast.expr, spot: Spot) -> Values:
        """Return the values that an annotation allows; nothing if it says nothing of use."""
        return annotated(self.values, annotation, spot, self._parsed_annotations)

    # --- attributes and elements -------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, spot: Spot) -> Values:
        bases = self.values(node.value, spot)
        if bases is UNKNOWN and node.attr != "__abstractmethods__":
            return UNKNOWN
        values: list[Value] = []
        for base in bases:
            values += self.attribute(base, node.attr, node)
        return tuple(values)

    def attribute(self, base: Value, name: str, node: ast.expr | None) -> Values:
        """Return the values that an attribute of a value may have; `node` is the expression that reads it."""
        match base:
            case _ if name == "__abstractmethods__":
                return (Set(),)
            case Known() | Produced():
                dotted = f"{base.name}.{name}"
                if dotted in SETS_OF_TEXTS:
                    return (Set(),)
                if isinstance(base, Produced) and base.opened is not None and name in SAME_HANDLE:
                    return (base,)
                if isinstance(base, Produced) and dotted in RETURNS and RETURNS[dotted].startswith("."):
                    return (Produced(RETURNS[dotted][1:]),)
                return (Known(ALIASES.get(dotted, dotted), node),)
            case Instance():
                return self._read_member(self.member(base.scope, name, node))
            case Type():
                return self.member(base.scope, name, node)
            case Container(type="namespace"):
                return self.elements((base,))
            case Container(type="dict") | Holding() if name in ("values", "get", "pop", "setdefault"):
                return (base,)
            case _:
                return UNKNOWN

    def _read_member(self, values: Values) -> Values:
        """Return the values of an attribute of an instance: of a property, what it returns."""
        return tuple(
            result
            for value in values
            for result in (
                self.returned(value) if isinstance(value, Routine) and is_property(value.node) else [value]
            )
        )

    def member(self, scope: FlowScope, name: str, node: ast.expr | None) -> Values:
        """Return the values that an attribute of a class of this module, or of its instances, may have."""
        bindings = [*scope.bindings.get(name, ()), *scope.attributes.get(name, ())]
        passed = self._field_values(scope, name)
        if bindings or passed:
            return unique((*(self._values_of_all(bindings) if bindings else ()), *passed))
        inherited: list[Value] = []
        for base in self.bases(scope):
            if isinstance(base, Type) and base.scope is not scope:
                inherited += self.member(base.scope, name, node)
            elif isinstance(base, Known) and base.name != "builtins.object":
                inherited += self.attribute(base, name, node)
        known_values = tuple(value for value in inherited if not isinstance(value, Unknown))
        return known_values or self._values_of_all(self.flow.assigned.get(name, ()))

    def _field_values(self, scope: FlowScope, name: str) -> Values:
        """Return the values that calls in this module pass for a field of a class that has no `__init__`."""
        if "__init__" in scope.bindings:
            return ()
        return tuple(
            value
            for use in self.flow.sites.get(scope.qualname.rpartition(".")[2], ())
            if isinstance(use.node, ast.Call)
            for keyword in use.node.keywords
            if keyword.arg == name
            for value in self.values(keyword.value, use.spot)
        )

    def bases(self, scope: FlowScope) -> Values:
        """Return the base classes of a class of this module."""
        node = scope.node
        assert isinstance(node, ast.ClassDef)  # noqa: S101 - a class's scope has its node
        spot = Spot(scope.outer or scope, node.lineno, scope.block)
        return tuple(
            value
            for base in node.bases
            for name in [base.value if isinstance(base, ast.Subscript) else base]
            for value in self._final(name, spot)
        )

    def _final(self, node: ast.expr, spot: Spot) -> Values:
        """Evaluate an expression outside the flow: with all values that its names end with."""
        if isinstance(node, ast.Name):
            inner = FlowScope("function", spot.scope, "")
            return self.named(node.id, Spot(inner, 0, inner.block))
        if isinstance(node, ast.Attribute):
            return tuple(
                value
                for base in self._final(node.value, spot)
                for value in self.attribute(base, node.attr, node)
            )
        return UNKNOWN

    def elements(self, values: Values) -> Values:
        """Return the values of the elements of containers that are written out."""
        elements: list[Value] = []
        for container in values:
            match container:
                case Container(values=written, type=kind):
                    found = [value for each in written for value in self.values(each, container.spot)]
                    is_made = kind == "defaultdict"  # of what its factory makes
                    elements += (Set() if is_made and makes_set(value) else value for value in found)
                case Holding(values=held):
                    elements += held
                case Plain(type="range"):
                    elements.append(Plain("int"))
        return tuple(elements) or UNKNOWN

    def _subscript(self, node: ast.Subscript, spot: Spot) -> Values:
        values: list[Value] = []
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        bases = self.values(node.value, spot)
        if any(isinstance(base, Container) and base.type == "dict" for base in bases):
            values += stored_under_keys(self, last_name(node.value))
        for base in bases:
            elements = self.elements((base,))
            if isinstance(base, Known) and isinstance(key, str):
                values += of_table(base, key, node)
            elif isinstance(base, Container) and base.type == "defaultdict":
                values += [element for element in elements if isinstance(element, Set)]
            else:
                values += elements
        return tuple(values) or UNKNOWN

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, spot: Spot) -> Values:
        results: list[Value] = []
        if isinstance(node.func, ast.Attribute):
            results += self._method(node, node.func, spot)
            if node.func.attr in SAME_HANDLE:
                results += handles_in(self.values(node.func.value, spot))
        for called in () if results else self.values(node.func, spot):
            results += self.result(called, node, spot)
        return tuple(results) or UNKNOWN

    def _method(self, node: ast.Call, called: ast.Attribute, spot: Spot) -> Values:
        """Return the results of a method of a builtin type; nothing for other calls."""
        name, bases = called.attr, self.values(called.value, spot)
        if name in ("keys", "items") and not node.args:
            return () if any(isinstance(base, Known | Produced) for base in bases) else (Plain("keys"),)
        if name in SET_METHODS and any(isinstance(base, Set) for base in bases):
            is_stable = all(
                isinstance(value, Set) and value.is_stable
                for argument in (called.value, *node.args)
                for value in self.values(argument, spot)
            )
            return (Set(is_stable),)
        if any(
            isinstance(base, Holding)
            or (
                isinstance(base, Container)
                and (base.type == "dict" or (base.type == "defaultdict" and name == "values"))
            )
            for base in bases
        ):
            if name in ("get", "pop", "setdefault"):
                return (*stored_under_keys(self, last_name(called.value)), *self.elements(bases))
            if name == "values":
                return bases
        return ()

    def result(self, called: Value, node: ast.Call, spot: Spot) -> Values:
        """Return the values that a call of a value may return."""
        match called:
            case Type(scope=scope):
                return (Instance(scope),)
            case Routine():
                return self.returned(called)
            case Accessor(name=name, is_call=False) if node.args:
                bases = self.values(node.args[0], spot)
                return tuple(value for base in bases for value in self.attribute(base, name, node))
            case Known(name=name):
                return known_result(self, name, node, spot, self._opening)
            case Produced(name=name, opened=opened):
                return function_of_c(name, node) if opened is None else (called,)
        return UNKNOWN

    def returned(self, routine: Routine) -> Values:
        """Return the values that a function of this module may return."""
        node = routine.node
        if is_generator(self.flow, node):
            return (Plain("iterator"),)
        if is_manager(node):
            return (
                tuple(value for each, spot in routine.scope.yields for value in self.values(each, spot))
                or UNKNOWN
            )
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            outer = routine.scope.outer or routine.scope
            declared = self.annotated(node.returns, Spot(outer, 0, outer.block))
            if declared:
                return declared
        return (
            tuple(each for node, spot in routine.scope.returns for each in self.values(node, spot)) or UNKNOWN
        )

    # --- the rest -----------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, spot: Spot) -> Values:
        value = node.value
        if isinstance(value, str):
            return (Text(value),)
        return (Text(),) if isinstance(value, bytes) else (Plain(type(value).__name__),)

    def _display(self, node: ast.Set | ast.SetComp, spot: Spot) -> Values:
        return (Set(is_stable=is_stable(self, node, spot)),)

    def _list_comprehension(self, node: ast.ListComp, spot: Spot) -> Values:
        inner = self.flow.spots.get(id(node))
        return (Container((node.elt,), inner),) if inner is not None else UNKNOWN

    def _either(self, node: ast.IfExp | ast.BoolOp, spot: Spot) -> Values:
        parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        values = tuple(value for part in parts for value in self.values(part, spot))
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            values = values_of_and(values, self.values(parts[-1], spot))
        return values

    def _inner(self, node: ast.Await | ast.NamedExpr | ast.Starred, spot: Spot) -> Values:
        return self.values(node.value, spot)

    def _sequence(self, node: ast.List | ast.Tuple, spot: Spot) -> Values:
        return (Container(tuple(node.elts), spot),)

    def _lambda(self, node: ast.Lambda, spot: Spot) -> Values:
        scope = self.flow.scopes.get(id(node))
        return (Routine(node, scope),) if scope is not None else UNKNOWN

    # --- which method reads what -----------------------------------------------------------------------------------

    _readers: ClassVar[dict[type, Callable[..., Values]]] = {
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Call: _call,
        ast.Constant: _constant,
        ast.JoinedStr: lambda self, node, spot: (joined(self, node, spot),),
        ast.BinOp: operation,
        ast.Compare: lambda *_: (Plain("bool"),),
        ast.Set: _display,
        ast.SetComp: _display,
        ast.ListComp: _list_comprehension,
        ast.DictComp: lambda *_: (Plain("dict"),),
        ast.GeneratorExp: lambda *_: (Plain("iterator"),),
        ast.IfExp: _either,
        ast.BoolOp: _either,
        ast.Await: _inner,
        ast.NamedExpr: _inner,
        ast.Starred: _inner,
        ast.List: _sequence,
        ast.Tuple: _sequence,
        ast.Dict: lambda _self, node, spot: (Container(tuple(node.values), spot, "dict"),),
        ast.Lambda: _lambda,
    }
