"""Follow the statements of an extractor on symbols."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from autochron.adopt.symbols import (
    ABSENT,
    UNKNOWN,
    ArgumentPart,
    Computed,
    InputNames,
    Kept,
    KnownValue,
    Listed,
    Mapped,
    Parameter,
    Raises,
    Symbol,
    UnsayableError,
    computed_from,
    is_empty,
    path_below,
)

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_PURE: Final = frozenset({
    "abs", "bool", "float", "frozenset", "hash", "hex", "int", "len", "list", "max", "min", "range", "repr", "reversed",
    "round", "set", "sorted", "str", "sum", "tuple",
})  # fmt: skip
"""Builtins that compute a value from their arguments alone."""

_TYPES: Final = frozenset(["dict", "list", "tuple", "set", "str", "int", "float", "bool", "bytes"])
_MAPPINGS: Final = {"dict", "Dict", "Mapping", "MutableMapping", "TypedDict"}


class Run:
    """One run of an extractor on symbols."""

    def __init__(self, parameters: Sequence[Parameter], names: InputNames, depth: int = 0) -> None:
        self._annotations = {parameter.name: parameter.annotation for parameter in parameters}
        self._parameters = parameters
        self._names = names
        self._locals: dict[str, Symbol] = {}
        self._depth = depth

    def call(
        self, function: ast.FunctionDef | ast.Lambda, args: list[Symbol], kwargs: dict[str, Symbol]
    ) -> Symbol:
        """Return what a function returns for these arguments."""
        self._bind(function, args, kwargs)
        if isinstance(function, ast.Lambda):
            return self._value(function.body)
        result = self._block(function.body)
        return ABSENT if result is None else result

    def _bind(
        self, function: ast.FunctionDef | ast.Lambda, args: list[Symbol], kwargs: dict[str, Symbol]
    ) -> None:
        """Bind the arguments to the parameters as Python does."""
        signature = function.args
        positional = [*signature.posonlyargs, *signature.args]
        rest = dict(kwargs)
        defaults = dict(zip([each.arg for each in positional][::-1], signature.defaults[::-1], strict=False))
        defaults |= {
            each.arg: default
            for each, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
            if default is not None
        }
        for parameter, value in zip(positional, args, strict=False):
            self._locals[parameter.arg] = value
        for parameter in (*positional[len(args) :], *signature.kwonlyargs):
            if parameter.arg in rest:
                self._locals[parameter.arg] = rest.pop(parameter.arg)
            elif parameter.arg in defaults:
                self._locals[parameter.arg] = self._value(defaults[parameter.arg])
            else:
                raise Raises
        extra = args[len(positional) :]
        if signature.vararg is not None:
            self._locals[signature.vararg.arg] = Listed(list(extra))
        elif extra:
            raise Raises
        variadic = [ArgumentPart(each.name) for each in self._parameters if each.kind == "**"]
        if signature.kwarg is not None:
            self._locals[signature.kwarg.arg] = Mapped(rest, list(variadic) if not self._depth else [])
        elif rest:
            raise Raises

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> Symbol | None:
        """Follow statements; return the value of the `return` that they come to, or None."""
        for statement in statements:
            result = self._statement(statement)
            if result is not None:
                return result
        return None

    def _statement(self, statement: ast.stmt) -> Symbol | None:
        match statement:
            case ast.Return(value):
                return ABSENT if value is None else self._value(value)
            case ast.If(test, body, orelse):
                return self._block(body if self._truth(test) else orelse)
            case ast.Assign(targets, value):
                result = self._value(value)
                for target in targets:
                    self._assign(target, result)
            case ast.AnnAssign(target, _, value):
                if value is not None:
                    self._assign(target, self._value(value))
            case ast.Expr(value):
                self._value(value)
            case ast.ImportFrom() | ast.Import() | ast.Pass():
                pass  # what an import binds is among the module's names
            case ast.Raise():
                raise Raises
            case _:
                raise UnsayableError(statement, "it has a statement that isn't followed")
        return None

    def _assign(self, target: ast.expr, value: Symbol) -> None:
        match target:
            case ast.Name(name):
                self._locals[name] = value
            case ast.Subscript(container, ast.Constant(str(key))):
                owner = self._value(container)
                if not isinstance(owner, Mapped):
                    raise UnsayableError(target, "it changes a value that it did not make")
                owner.items[key] = value
            case ast.Tuple(targets) | ast.List(targets) if isinstance(value, Listed):
                if len(targets) != len(value.items) or any(isinstance(each, ast.Starred) for each in targets):
                    raise UnsayableError(target, "it has an assignment that isn't followed")
                for inner, item in zip(targets, value.items, strict=True):
                    self._assign(inner, item)
            case _:
                raise UnsayableError(target, "it has an assignment that isn't followed")

    # Conditions

    def _truth(self, node: ast.expr) -> bool:
        """Return whether a condition holds; it must not depend on the value of an argument."""
        match node:
            case ast.BoolOp(ast.And(), values):
                return all(self._truth(value) for value in values)
            case ast.BoolOp(ast.Or(), values):
                return any(self._truth(value) for value in values)
            case ast.UnaryOp(ast.Not(), operand):
                return not self._truth(operand)
        value = self._value(node)
        match value:
            case KnownValue(known):
                return bool(known)
            case Listed(items):
                return bool(items)
            case Mapped(items, spread) if items or not spread:
                return bool(items)
        raise UnsayableError(node, f"what it keeps depends on the value of `{ast.unparse(node)}`")

    def _is_instance(self, node: ast.Call) -> Symbol:
        """Return the result of `isinstance`, which the annotations of the marked function decide."""
        value, kind = self._value(node.args[0]), node.args[1]
        names = {
            ast.unparse(each).rpartition(".")[2]
            for each in (kind.elts if isinstance(kind, ast.Tuple) else (kind,))
        }
        match value:
            case ArgumentPart(path) if annotation := self._annotations.get(path, ""):
                is_mapping = annotation in _MAPPINGS
                if annotation in names or (is_mapping and names & {"Mapping", "MutableMapping"}):
                    return KnownValue(value=True)
                if annotation in _TYPES and names <= _TYPES:
                    return KnownValue(value=annotation == "bool" and "int" in names)
            case KnownValue(known):
                return KnownValue(value=bool(names & {base.__name__ for base in type(known).__mro__}))
            case Mapped():
                return KnownValue(value=bool(names & {"dict", "Mapping", "MutableMapping"}))
        shown = ast.unparse(node)
        raise UnsayableError(node, f"what it keeps depends on `{shown}`, which no annotation decides")

    # Expressions

    def _value(self, node: ast.expr) -> Symbol:  # noqa: C901 - one case for each expression
        match node:
            case ast.Constant(value):
                return KnownValue(value)
            case ast.Name(name):
                return self._name(node, name)
            case ast.Dict(keys, values):
                return self._dict(keys, values)
            case ast.List(items) | ast.Tuple(items):
                return self._sequence(items)
            case ast.Subscript(container, key):
                return self._item(node, self._value(container), self._value(key), None)
            case ast.Attribute(owner, name):
                return self._attribute(node, owner, name)
            case ast.IfExp(test, body, orelse):
                return self._value(body if self._truth(test) else orelse)
            case ast.BoolOp() | ast.UnaryOp(ast.Not(), _):
                return self._boolean(node)
            case ast.Compare(left, [comparison], [right]):
                return self._comparison(node, comparison, self._value(left), self._value(right))
            case ast.BinOp(left, _, right):
                return computed_from(node, self._value(left), self._value(right))
            case ast.UnaryOp(_, operand):
                return computed_from(node, self._value(operand))
            case ast.JoinedStr(parts):
                values = [each.value for each in parts if isinstance(each, ast.FormattedValue)]
                return computed_from(node, *map(self._value, values))
            case ast.ListComp(element, [ast.comprehension(ast.Name(name), source, [], 0)]):
                return self._comprehension(node, element, name, source)
            case ast.Call():
                return self._call(node)
        raise UnsayableError(node, f"it has `{ast.unparse(node)}`, which isn't followed")

    def _name(self, node: ast.AST, name: str) -> Symbol:
        if name in self._locals:
            return self._locals[name]
        if name in self._names.constants:
            value = self._names.constants[name]
            return Computed() if value is UNKNOWN else KnownValue(value)
        raise UnsayableError(node, f"it uses `{name}`, which is no constant of its module")

    def _attribute(self, node: ast.expr, owner: ast.expr, name: str) -> Symbol:
        value = self._value(owner)
        if isinstance(value, ArgumentPart):
            return ArgumentPart(path_below(node, value.path, name))
        if isinstance(value, Computed):
            return value
        raise UnsayableError(node, f"it has `{ast.unparse(node)}`, which isn't followed")

    def _boolean(self, node: ast.expr) -> Symbol:
        """Return the value of `and`, `or` and `not`; `x or []` of an argument is the argument."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            first, second = map(self._value, node.values)
            if isinstance(first, ArgumentPart) and is_empty(second):
                return first
            if not isinstance(first, ArgumentPart | Computed):
                return first if self._truth(node.values[0]) else second
        return KnownValue(self._truth(node))

    def _dict(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Symbol:
        result = Mapped()
        for key, value in zip(keys, values, strict=True):
            if key is None:
                self._merge(value, result, self._value(value))
                continue
            known = self._value(key)
            if not isinstance(known, KnownValue):
                raise UnsayableError(key, f"it has the key `{ast.unparse(key)}`, which is no constant")
            result.items[str(known.value)] = self._value(value)
        return result

    def _merge(self, node: ast.AST, result: Mapped, value: Symbol) -> None:
        match value:
            case Mapped(items, spread):
                result.items.update(items)
                result.spread.extend(spread)
            case ArgumentPart() | Computed():
                result.spread.append(value)
            case _:
                raise UnsayableError(node, "it merges a value that is no dictionary")

    def _sequence(self, items: Sequence[ast.expr]) -> Symbol:
        result: list[Symbol] = []
        for item in items:
            if isinstance(item, ast.Starred):
                value = self._value(item.value)
                result.extend(value.items if isinstance(value, Listed) else [value])
            else:
                result.append(self._value(item))
        return Listed(result)

    def _item(self, node: ast.AST, value: Symbol, key: Symbol, default: Symbol | None) -> Symbol:
        """Return `value[key]`, or the default where a known container has no such key."""
        if isinstance(value, Computed):
            return computed_from(node, value, key)
        if not isinstance(key, KnownValue):
            raise UnsayableError(node, "it looks a part up under a key that isn't constant")
        match value:
            case ArgumentPart(path):
                return ArgumentPart(path_below(node, path, str(key.value)))
            case Listed(items) if isinstance(key.value, int):
                if -len(items) <= key.value < len(items):
                    return items[key.value]
                raise Raises
            case Mapped(items, spread):
                if key.value in items:
                    return items[key.value]
                if spread:
                    return self._item(node, spread[-1], key, default)
                if default is None:
                    raise Raises
                return default
        raise UnsayableError(node, "it looks a part up in a value that isn't followed")

    def _comparison(self, node: ast.AST, comparison: ast.cmpop, left: Symbol, right: Symbol) -> Symbol:
        match left, right:
            case KnownValue(key), Mapped(items, spread) if isinstance(comparison, ast.In | ast.NotIn):
                if key in items or not spread:
                    return KnownValue((key in items) is isinstance(comparison, ast.In))
            case KnownValue(first), KnownValue(second) if type(comparison) in _COMPARISONS:
                return KnownValue(_COMPARISONS[type(comparison)](first, second))
        return computed_from(node, left, right)

    def _comprehension(self, node: ast.AST, element: ast.expr, name: str, source: ast.expr) -> Symbol:
        """Return what a list of parts of each element of an argument keeps: the paths with `*`."""
        values = self._value(source)
        if not isinstance(values, ArgumentPart):
            return computed_from(node, values)
        before = self._locals.get(name)
        self._locals[name] = ArgumentPart(f"{values.path}.*")
        try:
            return Listed([self._value(element)])
        finally:
            if before is not None:
                self._locals[name] = before

    # Calls

    def _call(self, node: ast.Call) -> Symbol:
        name = ast.unparse(node.func)
        if name in self._names.inputs:
            return self._input(node)
        if name in self._names.records and not node.args and all(each.arg for each in node.keywords):
            return Mapped({str(each.arg): self._value(each.value) for each in node.keywords})
        if isinstance(node.func, ast.Attribute) and name not in self._names.constants:
            return self._method(node, self._value(node.func.value), node.func.attr)
        if name in self._locals:
            raise UnsayableError(node, f"it calls `{name}`, which isn't followed")
        if name in self._names.functions:
            return self._call_function(node, self._names.functions[name])
        match name, node.args:
            case "isinstance", [_, _]:
                return self._is_instance(node)
            case "len", [only] if isinstance(value := self._value(only), Listed):
                return KnownValue(len(value.items))
            case "dict", [] if not any(keyword.arg is None for keyword in node.keywords):
                return Mapped({str(each.arg): self._value(each.value) for each in node.keywords})
            case "dict", [only] if not node.keywords:
                result = Mapped()
                self._merge(node, result, self._value(only))
                return result
            case (("list" | "tuple"), [only]) if isinstance(
                value := self._value(only), Listed | ArgumentPart
            ):
                return Listed(list(value.items)) if isinstance(value, Listed) else value
            case _ if name in _PURE and not node.keywords:
                return computed_from(node, *map(self._value, node.args))
        raise UnsayableError(node, f"it calls `{name}`, which isn't followed")

    def _call_function(self, node: ast.Call, function: ast.FunctionDef) -> Symbol:
        """Return what another function of the module returns."""
        if self._depth > 3 or function.decorator_list:
            raise UnsayableError(node, f"it calls `{function.name}`, which isn't followed")
        args = self._sequence(node.args)
        if not isinstance(args, Listed) or any(
            isinstance(each, ast.Starred) and not isinstance(self._value(each.value), Listed)
            for each in node.args
        ):
            raise UnsayableError(node, "it passes arguments that aren't followed")
        kwargs = Mapped()
        for keyword in node.keywords:
            if keyword.arg is None:
                self._merge(node, kwargs, self._value(keyword.value))
            else:
                kwargs.items[keyword.arg] = self._value(keyword.value)
        if kwargs.spread:
            raise UnsayableError(node, "it passes arguments that aren't followed")
        return Run(self._parameters, self._names, self._depth + 1).call(function, args.items, kwargs.items)

    def _input(self, node: ast.Call) -> Symbol:
        fields = {keyword.arg: keyword.value for keyword in node.keywords}
        if node.args or not fields.keys() <= {"arguments", "messages"}:
            raise UnsayableError(node, "its `Input(...)` has more than `arguments` and `messages`")
        found = {str(name): self._value(value) for name, value in fields.items()}
        return Kept(found.get("arguments", Mapped()), found.get("messages", Listed([])))

    def _method(self, node: ast.Call, owner: Symbol, name: str) -> Symbol:
        arguments = [self._value(each) for each in node.args]
        match owner, name, arguments:
            case ((ArgumentPart() | Mapped() | Computed()), "get", [key, *rest]):
                return self._item(node, owner, key, rest[0] if rest else ABSENT)
            case Mapped(items, spread), "setdefault", [KnownValue(str(key)), default]:
                if key not in items:
                    items[key] = default
                    if spread:  # the key may be among the items of the argument, which is kept
                        return computed_from(node, default, *spread)
                return items[key]
            case Mapped(), "update", [other]:
                self._merge(node, owner, other)
                return ABSENT
            case Mapped(), "update", []:
                owner.items.update({str(each.arg): self._value(each.value) for each in node.keywords})
                return ABSENT
            case Mapped(items, []), "pop", [KnownValue(str(key)), *rest]:
                return items.pop(key, rest[0] if rest else ABSENT)
            case Mapped(items, spread), ("copy" | "model_dump"), []:
                return Mapped(dict(items), list(spread))
            case ArgumentPart(), ("copy" | "model_dump"), []:
                return owner
            case Listed(items), "append", [item]:
                items.append(item)
                return ABSENT
        raise UnsayableError(node, f"it calls `{ast.unparse(node.func)}`, which isn't followed")
