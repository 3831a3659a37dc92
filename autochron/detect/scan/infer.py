"""What the expressions of a module may be worth, read from its bindings.

Where a name is bound several times, what counts in the same function is the last binding that the flow must have come by,
and those after it that it may have; elsewhere what the scope is left with.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from typing import ClassVar

from autochron.detect.scan.abstract_values import (
    NUMBERS,
    UNKNOWN,
    Accessor,
    Held,
    Instance,
    Known,
    Made,
    Plain,
    Routine,
    Set,
    Text,
    Type,
    Unknown,
    Value,
)
from autochron.detect.scan.annotations import SETS, annotated
from autochron.detect.scan.flow import (
    FlowBinding,
    FlowScope,
    Function,
    ModuleFlow,
    Spot,
    in_force,
    is_of_class,
    is_static,
)
from autochron.detect.scan.libraries import RETURNS, SAME, SWITCHES
from autochron.detect.scan.library_results import SPECIALS

Values = tuple[Value, ...]
_BUILTINS = frozenset(dir(builtins))
_GIVES_SET = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
_PLAIN = {
    "list": "list", "sorted": "list", "tuple": "tuple", "dict": "dict", "len": "int", "int": "int", "float": "float",
    "sum": "float", "abs": "float", "round": "float", "ord": "int", "bool": "bool", "range": "range", "hash": "int",
    "id": "int", "isinstance": "bool", "enumerate": "iterator", "zip": "iterator", "map": "iterator",
    "filter": "iterator", "reversed": "iterator", "divmod": "tuple", "slice": "slice", "bytearray": "bytearray",
}  # fmt: skip
_TEXTS = frozenset({"str", "repr", "bytes", "chr", "format", "ascii", "hex", "bin", "oct", "input"})


class Evaluation:
    """The values of one module's expressions, each found once."""

    def __init__(self, flow: ModuleFlow) -> None:
        self.flow = flow
        self._memo: dict[int, Values] = {}
        self._open: set[int] = set()
        self._texts: dict[int, ast.expr | None] = {}
        """Annotations that are written as text, parsed, by their node."""
        self._names: dict[tuple[int, str], Values] = {}

    def values(self, node: ast.expr, spot: Spot) -> Values:
        """Return what an expression may be worth; nothing is unknown twice over."""
        key = id(node)
        known = self._memo.get(key)
        if known is not None:
            return known
        if key in self._open:
            return UNKNOWN
        self._open.add(key)
        try:
            reader = self._readers.get(type(node))
            found = reader(self, node, spot) if reader is not None else UNKNOWN
        finally:
            self._open.discard(key)
        found = _unique(found)
        self._memo[key] = found
        return found

    # --- names --------------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, spot: Spot) -> Values:
        return tuple(
            Known(value.name, node) if isinstance(value, Known) and value.at is None else value
            for value in self.named(node.id, spot)
        )

    def named(self, name: str, spot: Spot) -> Values:
        """Return what a name may stand for at a spot."""
        scope = spot.scope.find(name)
        if scope is not None:
            # Comprehensions run where they stand; a function runs at any time.
            is_same_flow = scope.body is spot.scope.body
            return self._bound(scope, name, spot if is_same_flow else None)
        builtin = (Known(f"builtins.{name}"),) if name in _BUILTINS else UNKNOWN
        return (*(Known(f"{module}.{name}") for module in spot.scope.stars_for(name)), *builtin)

    def _bound(self, scope: FlowScope, name: str, here: Spot | None) -> Values:
        bindings = in_force(scope.bindings[name], scope, here)
        if here is not None:
            return self._all(bindings)
        key = (id(scope), name)
        if key not in self._names:
            self._names[key] = UNKNOWN
            self._names[key] = self._all(bindings)
        return self._names[key]

    def _all(self, bindings: Iterable[FlowBinding]) -> Values:
        found = tuple(value for binding in bindings for value in self.of(binding))
        return _unique(found) or UNKNOWN

    def of(self, binding: FlowBinding) -> Values:
        """Return what a binding may give."""
        if binding.kind == "import":
            return (Known(SAME.get(binding.dotted, binding.dotted)),)
        node = binding.node
        if binding.kind == "definition":
            return self._defined(node)
        if binding.kind == "parameter":
            return self._parameter(binding)
        noted = self.annotated(binding.annotation, binding.spot) if binding.annotation is not None else ()
        if not isinstance(node, ast.expr):
            return noted or UNKNOWN
        if binding.kind == "value":
            own = self.values(node, binding.spot)
            return noted if noted and any(isinstance(value, Set) for value in noted) else own
        if binding.kind == "opened":
            return self.values(node, binding.spot)
        if binding.kind == "element":
            return self.elements(self.values(node, binding.spot))
        return UNKNOWN

    def _defined(self, node: ast.AST | None) -> Values:
        scope = self.flow.scopes[id(node)]
        if isinstance(node, ast.ClassDef):
            return (Type(scope),)
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - there are no other definitions
        return (Routine(node, scope),)

    def _parameter(self, binding: FlowBinding) -> Values:
        function, outer = binding.owner, binding.spot.scope
        assert function is not None  # noqa: S101 - a parameter has a function
        noted = self.annotated(binding.annotation, binding.spot) if binding.annotation is not None else ()
        if noted:
            return noted
        places = [*function.args.posonlyargs, *function.args.args]
        index = next((at for at, each in enumerate(places) if each.arg == binding.dotted), -1)
        is_method = outer.kind == "class" and not is_static(function)
        if is_method and index == 0:
            return (Type(outer),) if is_of_class(function) else (Instance(outer),)
        found: list[Value] = []
        if isinstance(binding.node, ast.expr):
            found += self.values(binding.node, binding.spot)
        found += self._given(function, outer, binding.dotted, index - is_method)
        return tuple(found) or UNKNOWN

    def _given(self, function: Function, outer: FlowScope, name: str, index: int) -> list[Value]:
        """Return what the calls of this module hand over as a parameter."""
        if isinstance(function, ast.Lambda):
            return []
        called = function.name
        if outer.kind == "class" and called == "__init__":
            called = outer.qualname.rpartition(".")[2]
        found: list[Value] = []
        for use in self.flow.sites.get(called, ()):
            call = use.node
            assert isinstance(call, ast.Call)  # noqa: S101 - the sites are calls
            arguments = [each.value for each in call.keywords if each.arg == name]
            if 0 <= index < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
                arguments.append(call.args[index])
            for argument in arguments:
                found += self.values(argument, use.spot)
        return found

    def annotated(self, annotation: ast.expr, spot: Spot) -> Values:
        """Return what an annotation says; nothing where it says nothing of use."""
        return annotated(self.values, annotation, spot, self._texts)

    # --- attributes and elements -------------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, spot: Spot) -> Values:
        return tuple(
            value for base in self.values(node.value, spot) for value in self.attribute(base, node.attr, node)
        )

    def attribute(self, base: Value, name: str, at: ast.expr | None) -> Values:
        """Return what an attribute of a value may be."""
        match base:
            case Known() | Made():
                dotted = f"{base.name}.{name}"
                if isinstance(base, Made) and dotted in RETURNS and RETURNS[dotted].startswith("."):
                    return (Made(RETURNS[dotted][1:]),)
                return (Known(SAME.get(dotted, dotted), at),)
            case Type() | Instance():
                return self.member(base.scope, name, at)
            case Held(type="namespace"):
                return self.elements((base,))
            case Held(type="dict") if name in ("values", "get", "pop", "setdefault"):
                return (base,)
            case _:
                return UNKNOWN

    def member(self, scope: FlowScope, name: str, at: ast.expr | None) -> Values:
        """Return what an attribute of a class of this module, or of its instance, may be."""
        own = [*scope.bindings.get(name, ()), *scope.attributes.get(name, ())]
        made = self._made_with(scope, name)
        if own or made:
            return _unique((*(self._all(own) if own else ()), *made))
        found: list[Value] = []
        for base in self.bases(scope):
            if isinstance(base, Type) and base.scope is not scope:
                found += self.member(base.scope, name, at)
            elif isinstance(base, Known) and base.name != "builtins.object":
                found += self.attribute(base, name, at)
        known = tuple(value for value in found if not isinstance(value, Unknown))
        return known or self._all(self.flow.assigned.get(name, ()))

    def _made_with(self, scope: FlowScope, name: str) -> Values:
        """Return what the calls of this module hand over for a field of a class without an `__init__`."""
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
        """Return the classes that a class of this module is made from."""
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
        """Evaluate what stands outside the flow: with all that its names are left with."""
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
        """Return what is in containers that are written out."""
        found = [
            value
            for held in values
            if isinstance(held, Held)
            for each in held.values
            for value in self.values(each, held.spot)
        ]
        return tuple(found) or UNKNOWN

    def _subscript(self, node: ast.Subscript, spot: Spot) -> Values:
        found: list[Value] = []
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        for held in self.values(node.value, spot):
            inner = self.elements((held,))
            if isinstance(held, Known) and isinstance(key, str):
                found += _of_table(held, key, node)
            elif isinstance(held, Held) and held.type == "defaultdict":
                found += [Set() for each in inner if isinstance(each, Known) and each.name in SETS]
            else:
                found += inner
        return tuple(found) or UNKNOWN

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, spot: Spot) -> Values:
        found: list[Value] = []
        if isinstance(node.func, ast.Attribute):
            found += self._method(node, node.func, spot)
        for called in () if found else self.values(node.func, spot):
            found += self.result(called, node, spot)
        return tuple(found) or UNKNOWN

    def _method(self, node: ast.Call, called: ast.Attribute, spot: Spot) -> Values:
        """Return the result of a method of a builtin type."""
        name, bases = called.attr, self.values(called.value, spot)
        if name in ("keys", "items") and not node.args:
            return () if any(isinstance(base, Known | Made) for base in bases) else (Plain("keys"),)
        if name in _GIVES_SET and any(isinstance(base, Set) for base in bases):
            stable = all(
                isinstance(each, Set) and each.is_stable
                for argument in (called.value, *node.args)
                for each in self.values(argument, spot)
            )
            return (Set(stable),)
        if any(isinstance(base, Held) and base.type == "dict" for base in bases):
            if name in ("get", "pop", "setdefault"):
                return self.elements(bases)
            if name == "values":
                return bases
        return ()

    def result(self, called: Value, node: ast.Call, spot: Spot) -> Values:
        """Return what a call of a value may give."""
        match called:
            case Type(scope=scope):
                return (Instance(scope),)
            case Routine():
                return self.returned(called)
            case Accessor(name=name, is_call=False) if node.args:
                bases = self.values(node.args[0], spot)
                return tuple(value for base in bases for value in self.attribute(base, name, node))
            case Known(name=name):
                return self._known_result(name, node, spot)
            case _:
                return UNKNOWN

    def returned(self, routine: Routine) -> Values:
        """Return what a function of this module returns."""
        node = routine.node
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            outer = routine.scope.outer or routine.scope
            noted = self.annotated(node.returns, Spot(outer, 0, outer.block))
            if noted:
                return noted
        found = [value for each, spot in routine.scope.returns for value in self.values(each, spot)]
        return tuple(found) or UNKNOWN

    def _known_result(self, name: str, node: ast.Call, spot: Spot) -> Values:
        if name in SETS:
            return (self._made_set(node, spot),)
        module, _, last = name.rpartition(".")
        if module in SETS and last in _GIVES_SET:
            return (Set(),)
        if module == "builtins":
            if last in _TEXTS:
                return (Text(),)
            if last in _PLAIN:
                return (Plain(_PLAIN[last]),)
        special = SPECIALS.get(name)
        if special is not None:
            return special(self, node, spot)
        if any(each.arg in SWITCHES for each in node.keywords):
            return UNKNOWN
        if name in RETURNS:
            return (Made(RETURNS[name].lstrip(".")),)
        return (Made(name),)

    def _made_set(self, node: ast.Call, spot: Spot) -> Set:
        if not node.args:
            return Set(is_empty=True)
        return Set(is_stable=self._is_stable(node.args[0], spot))

    def _is_stable(self, node: ast.expr, spot: Spot) -> bool:
        """Return whether what is gone through is all numbers."""
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
            return self._is_number(node.elt, spot)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return all(self._is_number(each, spot) for each in node.elts)
        return all(
            (isinstance(value, Plain) and value.type == "range")
            or (isinstance(value, Set) and value.is_stable)
            for value in self.values(node, spot)
        )

    def _is_number(self, node: ast.expr, spot: Spot) -> bool:
        if isinstance(node, ast.Starred):
            return self._is_stable(node.value, spot)
        if isinstance(node, ast.Tuple):
            return all(self._is_number(each, spot) for each in node.elts)
        return all(isinstance(value, Plain) and value.type in NUMBERS for value in self.values(node, spot))

    # --- the rest -----------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, spot: Spot) -> Values:
        value = node.value
        if isinstance(value, str):
            return (Text(value),)
        return (Text(),) if isinstance(value, bytes) else (Plain(type(value).__name__),)

    def _operation(self, node: ast.BinOp, spot: Spot) -> Values:
        left, right = self.values(node.left, spot), self.values(node.right, spot)
        if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.BitXor | ast.Sub):
            sets = [each for each in (*left, *right) if isinstance(each, Set)]
            keys = any(isinstance(each, Plain) and each.type == "keys" for each in (*left, *right))
            if sets or keys:
                return (
                    Set(is_stable=not keys and all(each.is_stable for each in (*sets,)) and len(sets) > 1),
                )
        if isinstance(node.op, ast.Div) and (made := [each for each in left if isinstance(each, Made)]):
            return (made[0],)
        if any(isinstance(each, Text) for each in (*left, *right)):
            return (Text(),)
        if all(isinstance(each, Plain) and each.type in NUMBERS for each in (*left, *right)):
            return (Plain("float"),)
        return UNKNOWN

    def _display(self, node: ast.Set, spot: Spot) -> Values:
        return (Set(is_stable=self._is_stable(node, spot)),)

    def _set_comprehension(self, node: ast.SetComp, spot: Spot) -> Values:
        return (Set(is_stable=self._is_stable(node, spot)),)

    def _list_comprehension(self, node: ast.ListComp, spot: Spot) -> Values:
        inner = self.flow.spots.get(id(node))
        return (Held((node.elt,), inner),) if inner is not None else UNKNOWN

    def _either(self, node: ast.IfExp | ast.BoolOp, spot: Spot) -> Values:
        parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        return tuple(value for part in parts for value in self.values(part, spot))

    def _inner(self, node: ast.Await | ast.NamedExpr | ast.Starred, spot: Spot) -> Values:
        return self.values(node.value, spot)

    def _sequence(self, node: ast.List | ast.Tuple, spot: Spot) -> Values:
        return (Held(tuple(node.elts), spot),)

    def _dict(self, node: ast.Dict, spot: Spot) -> Values:
        return (Held(tuple(node.values), spot, "dict"),)

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
        ast.JoinedStr: lambda *_: (Text(),),
        ast.BinOp: _operation,
        ast.Compare: lambda *_: (Plain("bool"),),
        ast.Set: _display,
        ast.SetComp: _set_comprehension,
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
        ast.Dict: _dict,
        ast.Lambda: _lambda,
    }


def _of_table(held: Known, key: str, node: ast.expr) -> Values:
    """Return what a table of modules or a module's own table holds."""
    if held.name == "sys.modules":
        return (Known(key),)
    return (
        (Known(f"{held.name.removesuffix('.__dict__')}.{key}", node),)
        if held.name.endswith("__dict__")
        else ()
    )


def _unique(values: Values) -> Values:
    return values if len(values) < 2 else tuple(dict.fromkeys(values))
