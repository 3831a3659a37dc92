"""The bindings of a module's names and the uses of its expressions, in the order of the flow. Nothing is judged here.

`matching.scopes` drops the order of bindings and the values. The scan needs both: they decide whether `names` is still
a set at some point, and whether `clock` is still `time.time`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self, TypeAlias

from autochron.scopes import Kind as ScopeKind
from autochron.scopes import Scope

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
Kind: TypeAlias = Literal[
    "import", "definition", "value", "element", "opened", "parameter", "rest", "unpacked", "caught", "other"
]
Position: TypeAlias = Literal[
    "argument",
    "stored",
    "operand",
    "base",
    "called",
    "subscript",
    "iterated",
    "spread",
    "other",
    "discarded",
    "arithmetic",
]
"""How the surrounding code uses an expression; `discarded` if it does not."""


INSENSITIVE = frozenset({"sorted", "sum", "min", "max", "any", "all", "len", "set", "frozenset", "bool"})
"""Builtins whose result doesn't depend on the order of their argument's elements."""
SET_METHODS = frozenset(
    {
        "update", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
        "isdisjoint", "intersection_update", "difference_update", "symmetric_difference_update", "fsum", "unique",
    }
)  # fmt: skip
"""Methods of sets, and functions of modules, whose result doesn't depend on the order of their arguments' elements."""
PASSING = frozenset({"list", "tuple", "map", "filter", "iter", "chain", "reversed"})
"""Callables whose result has all elements of their argument, in its order."""
BY_NUMBER = frozenset(
    {
        "islice",
        "zip",
        "enumerate",
        "zip_longest",
        "pairwise",
        "batched",
        "accumulate",
        "takewhile",
        "dropwhile",
        "next",
    }
)
"""Functions that make other elements of another order."""
_CHANGING_NAMES = (
    "print next input write writelines append appendleft extend insert pop popitem popleft remove setdefault add shuffle "
    "random randint randrange choice choices sample uniform gauss getrandbits integers normal __next__ send put get_nowait"
)
_CHANGING_SOMETHING = frozenset(_CHANGING_NAMES.split())
"""Last names of callables that change something with each call, or count."""


class Block:
    """A sequence of statements that run one after another."""

    __slots__ = ("is_loop", "parent")

    def __init__(self, parent: Block | None, *, is_loop: bool = False) -> None:
        self.parent = parent
        self.is_loop = is_loop

    def is_around(self, other: Block | None) -> bool:
        """Return whether this block is the other one or encloses it, so that its earlier statements have run there."""
        while other is not None:
            if other is self:
                return True
            other = other.parent
        return False

    def shares_loop(self, other: Block) -> bool:
        """Return whether a loop encloses both blocks, so that a later statement has run in an earlier turn."""
        block: Block | None = self
        while block is not None:
            if block.is_loop and block.is_around(other):
                return True
            block = block.parent
        return False


class Spot(NamedTuple):
    """A position in the program's flow."""

    scope: FlowScope
    order: float
    block: Block


def qualname_of(spot: Spot) -> str:
    """Return the qualified name of the definition that a spot is in."""
    return spot.scope.body.qualname


class FlowBinding(NamedTuple):
    """One way in which a name gets a value."""

    kind: Kind
    spot: Spot
    node: ast.AST | None = None
    """The value, the definition, or the expression that is iterated, opened or unpacked."""
    dotted: str = ""
    """The dotted name that an import binds; for a parameter, its name."""
    annotation: ast.expr | None = None
    owner: Function | None = None
    """The function, for a parameter; `rest` is one that takes all further arguments."""


class FlowScope(Scope["FlowBinding"]):
    """A scope whose bindings have their position in the flow and their value."""

    __slots__ = ("attributes", "block", "node", "returns", "yields")

    def __init__(
        self, kind: ScopeKind, outer: Self | None, qualname: str, node: ast.AST | None = None
    ) -> None:
        super().__init__(kind, outer, qualname)
        self.node = node
        self.block = Block(None)
        self.returns: list[tuple[ast.expr, Spot]] = []
        self.yields: list[tuple[ast.expr, Spot]] = []
        self.attributes: dict[str, list[FlowBinding]] = {}
        """For a class: the attributes of `self` that its methods assign."""


class Use(NamedTuple):
    """An expression that may matter, and how the surrounding code uses it."""

    node: ast.expr
    spot: Spot
    position: Position
    call: ast.Call | None = None
    """The call that it is an argument of, if it is one."""
    order_lost: bool = False
    """Whether the surrounding code makes nothing of the order of its elements."""
    body: Sequence[ast.stmt] = ()
    """The body of the loop over it, if there is one."""


class ModuleFlow:
    """A module's scopes and uses.

    Attributes:
        tree: the module.
        module: the module's scope.
        package: the package that relative imports start from.
        keywords: the keywords that calls pass.
        texts: the texts that are written out.
        generators: the ids of functions that yield.
        tries: the `try` statements.
        compares_identity: whether something is compared by `is` with a name.
        calls: each call.
        references: names and attributes whose value is used, other than to call it or to reach an attribute of it.
        iterated: what is iterated in order: by `for`, a comprehension, `*`, `yield from` or unpacking.
        shown: what is converted to text: the fields of f-strings and of `%`.
        sites: calls, by the last name of the callee.
        scopes: the scope that a definition opens, by the id of its node.
        assigned: the bindings of attributes, by the attribute.
        keys: the key of each subscript that is read, by the id of its container.
        constant_keys: the containers, by their last name, and the written-out keys under which the module itself stores.
        items: what is stored under keys of containers, by the last name of the container.
        attributes: the names of attributes that are read.
        defaults: the parameter that has an expression as its default, by the expression's id.
        asking: the attributes of `ATTRIBUTES` that are read.
        spots: the spot inside a comprehension, by the id of its node.
    """

    def __init__(self, tree: ast.Module, package: str) -> None:
        self.tree = tree
        self.module = FlowScope("module", None, "<module>", tree)
        self.calls: list[Use] = []
        self.references: list[Use] = []
        self.iterated: list[Use] = []
        self.shown: list[Use] = []
        self.sites: dict[str, list[Use]] = {}
        self.scopes: dict[int, FlowScope] = {}
        self.spots: dict[int, Spot] = {}
        self.defaults: dict[int, FlowBinding] = {}
        self.asking: list[tuple[ast.Attribute, Spot]] = []
        self.assigned: dict[str, list[FlowBinding]] = {}
        self.package = package
        self.keywords: set[str] = set()
        self.compares_identity = False
        self.texts: set[str] = set()
        self.generators: set[int] = set()
        self.tries: list[ast.Try] = []
        self.keys: dict[int, ast.expr] = {}
        self.constant_keys: set[tuple[str, object]] = set()
        self.items: dict[str, list[tuple[ast.expr, Spot]]] = {}
        self.attributes: set[str] = set()

    def close(self) -> None:
        """Drop what the scopes hold, which is in cycles with them: then the tree is freed without the garbage collector."""
        for scope in (
            self.module,
            *self.scopes.values(),
            *(spot.scope for spot in self.spots.values()),
        ):
            for held in (scope.bindings, scope.attributes, scope.returns, scope.yields):
                held.clear()
            scope.node = None

    def bind_attribute(self, scope: FlowScope, name: str, attribute: str, binding: FlowBinding) -> None:
        """Note the binding of an attribute, also with the class if a method binds it on its first parameter."""
        self.assigned.setdefault(attribute, []).append(binding)
        function = scope.body
        owner, node = function.outer, function.node
        if (
            owner is None
            or owner.kind != "class"
            or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            return
        arguments = [*node.args.posonlyargs, *node.args.args]
        if arguments and arguments[0].arg == name:
            owner.attributes.setdefault(attribute, []).append(binding)

    def store(self, name: str, key: ast.expr, value: ast.expr, spot: Spot) -> None:
        """Note that something is stored under a key of a container, by the container's last name."""
        self.items.setdefault(name, []).append((value, spot))
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant) and spot.scope is self.module:
            self.constant_keys.add((name, key.value))


def in_force(bindings: list[FlowBinding], scope: FlowScope, spot: Spot | None) -> list[FlowBinding]:
    """Return the bindings of a name that may hold at a spot of the same scope.

    Args:
        bindings: all bindings of the name.
        scope: the scope that the name belongs to.
        spot: the spot; None for a time after the scope has run.
    """
    block = scope.block if spot is None else spot.block
    current: list[FlowBinding] = []
    for binding in bindings:
        if binding.spot.scope is not scope and binding.kind != "parameter":
            current.append(binding)  # a function binds it by `global`: at any time
        elif spot is not None and binding.spot.order > spot.order and binding.kind != "parameter":
            if spot.block.shares_loop(binding.spot.block):
                current.append(binding)
        else:
            if binding.spot.block.is_around(block) and binding.spot.scope is scope:
                current = [
                    earlier
                    for earlier in current
                    if earlier.spot.scope is not scope and earlier.kind != "parameter"
                ]
            current.append(binding)
    return current or bindings


def _decorators(function: Function) -> set[str]:
    """Return the plain names among the decorators of a function."""
    nodes = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def is_static(function: Function) -> bool:
    """Return whether a method takes no instance."""
    return isinstance(function, ast.Lambda) or "staticmethod" in _decorators(function)


def is_of_class(function: Function) -> bool:
    """Return whether a method takes its class."""
    has_implicit_class = not isinstance(function, ast.Lambda) and function.name in (
        "__new__",
        "__init_subclass__",
        "__class_getitem__",
    )
    return has_implicit_class or "classmethod" in _decorators(function)


def last_name(node: ast.expr) -> str:
    """Return the last name of a dotted expression; an empty text for any other."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_manager(function: Function) -> bool:
    """Return whether a function is made a context manager, so that `with` binds what it yields."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return any(last_name(decorator) in ("contextmanager", "asynccontextmanager") for decorator in decorators)


def is_made_command(function: Function) -> bool:
    """Return whether a decorator makes a function a command, as click does: a call passes words for it to parse."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return any(
        last_name(each.func if isinstance(each, ast.Call) else each) == "command" for each in decorators
    )


def is_property(function: Function) -> bool:
    """Return whether reading an attribute of an instance calls a function of its class."""
    if isinstance(function, ast.Lambda):
        return False
    for decorator in function.decorator_list:
        named = decorator.func if isinstance(decorator, ast.Call) else decorator
        last = last_name(named)
        if last.endswith("property") or last in ("computed_field", "setter", "getter"):
            return True
    return False


def position_of(node: ast.expr) -> tuple[int, int, int, int]:
    """Return the position of an expression as call sites have it."""
    line, column = node.end_lineno, node.end_col_offset
    assert line is not None  # noqa: S101 - the parser sets it
    assert column is not None  # noqa: S101
    return node.lineno, line, node.col_offset, column


def first_line_of(node: ast.AST) -> int:
    """Return the `co_firstlineno` of a definition: the line of its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return (
        min([node.lineno, *(decorator.lineno for decorator in decorators)])
        if isinstance(node, ast.stmt | ast.expr)
        else 1
    )


_NAMING = frozenset({"id", "uuid", "pk", "name", "slug", "sku", "email", "url"})
"""Attributes and keys by which records are told apart."""


def tells_apart(key: ast.expr) -> bool:
    """Return whether a key, as far as its form tells, is another one for each element."""
    if isinstance(key, ast.Lambda):
        parameters = key.args.args
        return len(parameters) == 1 and names_element(key.body, parameters[0].arg)
    if isinstance(key, ast.Name):
        return key.id in ("str", "repr")
    return isinstance(key, ast.Attribute) and key.attr == "index"


def names_element(node: ast.expr, name: str) -> bool:
    """Return whether a key is the element itself, its text or what names it, or holds one of these in a tuple."""
    match node:
        case ast.Name(id=found):
            return found == name
        case ast.Tuple(elts=parts):
            return any(names_element(part, name) for part in parts)
        case ast.Call(func=ast.Name(id="str" | "repr" | "Path"), args=[inner]):
            return names_element(inner, name)
        case ast.Attribute(value=ast.Name(id=found), attr=attribute):
            return found == name and attribute in _NAMING
        case ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=key)):
            return found == name and key in _NAMING
        case ast.Call(func=ast.Attribute(attr="index"), args=[inner]):
            return names_element(inner, name)
        case ast.Subscript(
            value=inner,
            slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(operand=ast.Constant(value=1))),
        ):
            return names_element(inner, name)  # the text backwards
        case ast.Call(func=ast.Attribute(value=inner, attr="as_posix" | "__str__" | "__repr__"), args=[]):
            return names_element(inner, name)
    return False


def parts_of_elements(node: ast.AST | None, count: int) -> list[tuple[Kind, ast.expr | None]]:
    """Return how each part of the elements of an iterable gets its value, where its form tells: by kind and expression.

    Args:
        node: what is iterated, such as `enumerate(tools)`, `zip(names, sets)` or `sets.items()`.
        count: the number of parts.
    """
    while isinstance(node, ast.Call) and last_name(node.func) in ("sorted", "list", "reversed", "tuple"):
        node = node.args[0] if node.args else None
    match node:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if count == 2:
            return [("value", ast.copy_location(ast.Constant(0), node)), ("element", inner)]
        case ast.Call(func=ast.Name(id="zip"), args=several) if count == len(several):
            return [("other" if isinstance(each, ast.Starred) else "element", each) for each in several]
        case ast.Call(func=ast.Attribute(value=mapping, attr="items"), args=[]) if count == 2:
            values = ast.copy_location(ast.Attribute(mapping, "values", ast.Load()), node)
            return [("other", None), ("element", ast.copy_location(ast.Call(values, [], []), node))]
    return []


def is_generator(flow: ModuleFlow, function: Function) -> bool:
    """Return whether a function yields, and no decorator makes something else of it."""
    is_plain = isinstance(function, ast.FunctionDef) and not function.decorator_list
    return is_plain and id(function) in flow.generators


def is_bound_to_set(scope: FlowScope, node: ast.expr) -> bool:
    """Return whether an expression is a name that is bound to new sets only, as far as a module was read."""
    owner = scope.find(node.id) if isinstance(node, ast.Name) else None
    bindings = owner.bindings[node.id] if owner is not None and isinstance(node, ast.Name) else []
    return bool(bindings) and all(
        isinstance(binding.node, ast.Set | ast.SetComp)
        or (isinstance(binding.node, ast.Call) and last_name(binding.node.func) in ("set", "frozenset"))
        for binding in bindings
    )


def shows_evaluation(node: ast.AST) -> bool:
    """Return whether an expression changes something, so that the order shows in which it is evaluated for its elements."""
    return any(
        isinstance(part, ast.NamedExpr)
        or (isinstance(part, ast.Call) and last_name(part.func) in _CHANGING_SOMETHING)
        for part in ast.walk(node)
    )


def loses_order_of_arguments(node: ast.Call, scope: FlowScope, *, order_lost: bool) -> bool:
    """Return whether a call makes nothing of the order of its arguments' elements.

    Args:
        node: the call.
        scope: the scope that it is in, as far as it was read.
        order_lost: whether the code around the call makes nothing of the order of its result's elements.
    """
    last = last_name(node.func)
    if isinstance(node.func, ast.Attribute):
        is_lost = last in SET_METHODS | {"startswith", "endswith"} and (
            last != "update" or is_bound_to_set(scope, node.func.value)
        )
    else:
        keys = [keyword.value for keyword in node.keywords if keyword.arg == "key"]
        is_lost = last in INSENSITIVE and all(map(tells_apart, keys))
    return is_lost or (order_lost and last in PASSING)


def is_in_loop(spot: Spot) -> bool:
    """Return whether a spot is in a loop or a comprehension of its function."""
    if spot.scope.kind == "comprehension":
        return True
    block: Block | None = spot.block
    while block is not None:
        if block.is_loop:
            return True
        block = block.parent
    return False


def is_count(value: ast.expr) -> bool:
    """Return whether an expression is a number by its form."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("len", "int", "ord")
    return isinstance(value, ast.Constant) and isinstance(value.value, int)
