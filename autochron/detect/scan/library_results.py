"""Evaluate the calls of library functions whose result depends on their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Protocol, TypeAlias

from autochron.detect.scan.abstract_values import (
    NUMBERS,
    UNKNOWN,
    Accessor,
    Container,
    Holding,
    Instance,
    Known,
    PartialCall,
    Plain,
    Produced,
    Routine,
    Set,
    Text,
    Value,
)
from autochron.detect.scan.annotations import SETS
from autochron.detect.scan.flow import FlowBinding, ModuleFlow, Spot, last_name
from autochron.detect.scan.libraries import (
    FIELDS,
    OPENING,
    RETURNING_SETS,
    RETURNS,
    SETTLING_FIRST,
    SETTLING_OPTIONS,
    TRANSPORT_OPTIONS,
)

Values: TypeAlias = tuple[Value, ...]


PLAIN_BUILTINS = {
    "list": "list", "sorted": "list", "tuple": "tuple", "dict": "dict", "len": "int", "int": "int", "float": "float",
    "sum": "float", "abs": "float", "round": "float", "ord": "int", "bool": "bool", "range": "range", "hash": "int",
    "id": "int", "isinstance": "bool", "enumerate": "iterator", "zip": "iterator", "map": "iterator",
    "filter": "iterator", "reversed": "iterator", "divmod": "tuple", "slice": "slice", "bytearray": "bytearray",
}  # fmt: skip
"""Builtins, with the type of their result."""
TEXT_BUILTINS = frozenset({"str", "repr", "bytes", "chr", "format", "ascii", "hex", "bin", "oct", "input"})
"""Builtins that return text."""


SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
"""Methods of sets that return a set."""


class Evaluator(Protocol):
    """Evaluates expressions and attributes of a module."""

    flow: ModuleFlow

    def values(self, node: ast.expr, spot: Spot) -> Values: ...

    def attribute(self, base: Value, name: str, node: ast.expr | None) -> Values: ...

    def elements(self, values: Values) -> Values: ...

    def annotated(self, annotation: ast.expr, spot: Spot) -> Values: ...

    def binding_values(self, binding: FlowBinding) -> Values: ...


def _partial(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    return (PartialCall(evaluation.values(node.args[0], spot), node),) if node.args else UNKNOWN


def _first(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    """Return the value of the first argument."""
    return evaluation.values(node.args[0], spot) if node.args else UNKNOWN


def _accessor(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    """Return the accessors of an `attrgetter` or a `methodcaller` whose name is written out."""
    names = [
        value.value for value in _first(evaluation, node, spot) if isinstance(value, Text) and value.value
    ]
    is_call = any(
        isinstance(value, Known) and value.name == "operator.methodcaller"
        for value in evaluation.values(node.func, spot)
    )
    return tuple(Accessor(name, is_call) for name in names) or UNKNOWN


def _namespace(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    return (Container(tuple(keyword.value for keyword in node.keywords), spot, "namespace"),)


def _vars(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    values = _first(evaluation, node, spot)
    tables = tuple(Known(f"{value.name}.__dict__") for value in values if isinstance(value, Known))
    fields = tuple(
        field
        for value in values
        if isinstance(value, Instance)
        for name in (*value.scope.bindings, *value.scope.attributes)
        for field in evaluation.attribute(value, name, None)
        if not isinstance(field, Routine)
    )
    return (*tables, Holding(unique(fields))) if fields else tables


def _default_dict(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    return (Container(tuple(node.args[:1]), spot, "defaultdict"),)


def _getattr(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    """Return the attributes whose names are written out."""
    if len(node.args) < 2:
        return UNKNOWN
    names = [
        value.value
        for value in evaluation.values(node.args[1], spot)
        if isinstance(value, Text) and value.value
    ]
    bases = evaluation.values(node.args[0], spot)
    return (
        tuple(value for base in bases for name in names for value in evaluation.attribute(base, name, node))
        or UNKNOWN
    )


def _module(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    """Return the modules whose names are written out."""
    names = [
        value.value for value in _first(evaluation, node, spot) if isinstance(value, Text) and value.value
    ]
    return tuple(Known(name) for name in names) or UNKNOWN


def _field(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    """Return what the default factory of a field makes, if something is read from it later."""
    for keyword in node.keywords:
        if keyword.arg in ("default_factory", "factory"):
            made = evaluation.values(keyword.value, spot)
            return (
                tuple(
                    Produced(value.name, node)
                    for value in made
                    if isinstance(value, Known) and value.name in OPENING
                )
                or UNKNOWN
            )
    return UNKNOWN


SPECIALS: dict[str, Callable[[Evaluator, ast.Call, Spot], Values]] = {
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "builtins.staticmethod": _first,
    "builtins.classmethod": _first,
    "contextlib.closing": _first,
    **dict.fromkeys(
        (
            "contextlib.ExitStack.enter_context",
            "contextlib.AsyncExitStack.enter_async_context",
            "csv.reader",
            "csv.DictReader",
            "io.TextIOWrapper",
            "io.BufferedReader",
            "builtins.iter",
            "itertools.islice",
            "numpy.random.Generator",
            "os.fdopen",
            "sqlalchemy.orm.Session",
            "sqlalchemy.orm.sessionmaker",
            "sqlalchemy.ext.asyncio.AsyncSession",
            "sqlalchemy.ext.asyncio.async_sessionmaker",
        ),
        _first,
    ),
    **dict.fromkeys(FIELDS, _field),
    "collections.defaultdict": _default_dict,
    "operator.methodcaller": _accessor,
    "operator.attrgetter": _accessor,
    "types.SimpleNamespace": _namespace,
    "builtins.vars": _vars,
    "builtins.getattr": _getattr,
    "importlib.import_module": _module,
    "builtins.__import__": _module,
}
"""By dotted name, what evaluates a call: it takes the evaluator, the call and its spot."""


def only_text(values: Values) -> str | None:
    """Return the text that is the only value; None where there is another value, or the text is not written out."""
    return values[0].value if len(values) == 1 and isinstance(values[0], Text) else None


def sum_of_texts(left: Values, right: Values) -> str | None:
    """Return the text that two make together; None where one of them is not known."""
    first, second = only_text(left), only_text(right)
    return None if first is None or second is None else first + second


def settled_result(evaluation: Evaluator, name: str, node: ast.Call, spot: Spot) -> Values | None:
    """Return the result of a constructor whose arguments say what it would ask for otherwise; None for any other call."""
    given = {
        keyword.arg: keyword.value
        for keyword in node.keywords
        if not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
    }
    if name == "rich.console.Console" and "width" in given:
        return (Produced("rich.console.FixedConsole"),)
    if name in SETTLING_FIRST:
        clocks = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "timefunc")]
        known = [isinstance(value, Known) for clock in clocks for value in evaluation.values(clock, spot)]
        return UNKNOWN if clocks and not any(known) else None  # the real clock is passed, too
    settling = [given[option] for option in SETTLING_OPTIONS.get(name, TRANSPORT_OPTIONS) if option in given]
    return UNKNOWN if settling and not any(map(_settles_nothing, settling)) else None


def _settles_nothing(option: ast.expr) -> bool:
    """Return whether an option says again what a constructor does without it."""
    if isinstance(option, ast.Call):
        return last_name(option.func) in ("HTTPTransport", "AsyncHTTPTransport")
    if last_name(option).endswith("Formatter"):
        return True  # a class that asks for the width
    return ast.unparse(option) == "os.environ"


def function_of_c(prototype: str, node: ast.Call) -> Values:
    """Return the function that a prototype makes of a name and a library: `PROTOTYPE(("getpid", libc))`."""
    match node.args[:1]:
        case [ast.Tuple(elts=[ast.Constant(value=str(name)), _])] if prototype.startswith("ctypes."):
            return (Known(f"ctypes.CDLL.{name}"),)
    return UNKNOWN


def constructed_set(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Set:
    """Return the set that a call of `set` or `frozenset` makes."""
    if not node.args:
        return Set(is_empty=True)
    return Set(is_stable=is_stable(evaluation, node.args[0], spot))


def listed_objects(evaluation: Evaluator, node: ast.Call, spot: Spot) -> Values:
    """Return what a new list holds of the objects that it is made of."""
    held = evaluation.elements(evaluation.values(node.args[0], spot))
    objects = tuple(value for value in held if isinstance(value, Instance | Routine))
    return (Holding(objects),) if objects else ()


def joined(evaluation: Evaluator, node: ast.JoinedStr, spot: Spot) -> Text:
    """Return the text of an f-string, with its value where that is written out."""
    parts = []
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(part, ast.FormattedValue) and (part.format_spec is not None or part.conversion != -1):
            return Text()
        text = only_text(evaluation.values(inner, spot))
        if text is None:
            return Text()
        parts.append(text)
    return Text("".join(parts))


def operation(evaluation: Evaluator, node: ast.BinOp, spot: Spot) -> Values:
    """Return the values of an operation with two operands."""
    left, right = evaluation.values(node.left, spot), evaluation.values(node.right, spot)
    both = (*left, *right)
    if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.BitXor | ast.Sub):
        sets = [value for value in both if isinstance(value, Set)]
        has_keys = any(isinstance(value, Plain) and value.type == "keys" for value in both)
        if sets or has_keys:
            return (Set(not has_keys and _is_stable_result(node.op, left, right)),)
    if isinstance(node.op, ast.Div):
        produced = [value for value in left if isinstance(value, Produced)]
        if produced:
            return (produced[0],)
    if any(isinstance(value, Text) for value in both):
        return (Text(sum_of_texts(left, right) if isinstance(node.op, ast.Add) else None),)
    if all(isinstance(value, Plain) and value.type in NUMBERS for value in both):
        return (Plain("float"),)
    if isinstance(node.op, ast.FloorDiv | ast.Sub | ast.Div | ast.Pow) and _is_written_number(node):
        return (Plain("float"),)  # of a number: nothing else can be divided by one
    return UNKNOWN


def _is_stable_result(operator: ast.operator, left: Values, right: Values) -> bool:
    """Return whether the result of an operation with sets has only numbers as its elements."""
    left_stable, right_stable = (
        bool(values) and all(isinstance(value, Set) and value.is_stable for value in values)
        for values in (left, right)
    )
    if isinstance(operator, ast.BitAnd):
        return left_stable or right_stable
    return left_stable if isinstance(operator, ast.Sub) else left_stable and right_stable


def _is_written_number(node: ast.BinOp) -> bool:
    return isinstance(node.right, ast.Constant) and type(node.right.value) in (int, float)


def of_table(table: Known, key: str, node: ast.expr) -> Values:
    """Return what `sys.modules` or a module's `__dict__` has under a key."""
    if table.name == "sys.modules":
        return (Known(key),)
    return (
        (Known(f"{table.name.removesuffix('.__dict__')}.{key}", node),)
        if table.name.endswith("__dict__")
        else ()
    )


def unique(values: Values) -> Values:
    """Return values without repetitions."""
    return values if len(values) < 2 else tuple(dict.fromkeys(values))


def is_stable(evaluation: Evaluator, node: ast.expr, spot: Spot) -> bool:
    """Return whether an iterable has only numbers as its elements."""
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        return is_number(evaluation, node.elt, evaluation.flow.spots.get(id(node), spot))
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(is_number(evaluation, element, spot) for element in node.elts)
    return all(
        (isinstance(value, Plain) and value.type == "range")
        or (isinstance(value, Set) and value.is_stable)
        or (isinstance(value, Holding) and all(map(_is_number, value.values)))
        for value in evaluation.values(node, spot)
    )


def _is_number(value: Value) -> bool:
    return isinstance(value, Plain) and value.type in NUMBERS


def is_number(evaluation: Evaluator, node: ast.expr, spot: Spot) -> bool:
    """Return whether an expression is a number, or a tuple of numbers."""
    if isinstance(node, ast.Starred):
        return is_stable(evaluation, node.value, spot)
    if isinstance(node, ast.Tuple):
        return all(is_number(evaluation, element, spot) for element in node.elts)
    return all(isinstance(value, Plain) and value.type in NUMBERS for value in evaluation.values(node, spot))


def known_result(
    evaluation: Evaluator, name: str, node: ast.Call, spot: Spot, opening: frozenset[str]
) -> Values:
    """Return the result of calling a class or function that is known by its dotted name."""
    module, _, last = name.rpartition(".")
    if name in RETURNING_SETS or (module in SETS and last in SET_METHODS):
        return (Set(),)
    if name in SETS:
        return (constructed_set(evaluation, node, spot),)
    if module == "builtins":
        if last in TEXT_BUILTINS:
            return (Text(),)
        if last in PLAIN_BUILTINS:
            held = (
                listed_objects(evaluation, node, spot)
                if last in ("sorted", "list", "tuple") and node.args
                else ()
            )
            return (Plain(PLAIN_BUILTINS[last]), *held)
    special = SPECIALS.get(name)
    if special is not None:
        return special(evaluation, node, spot)
    settled = settled_result(evaluation, name, node, spot)
    if settled is not None:
        return settled
    return (Produced(RETURNS.get(name, name).lstrip("."), node if name in opening else None),)
