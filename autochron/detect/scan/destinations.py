"""A module as `destination_search` follows values through it, and what they may reach."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.detect.scan.flow import last_name
from autochron.detect.scan.harmless_uses import HarmlessUses
from autochron.detect.scan.module_index import Function

Kind: TypeAlias = Literal["output", "branch", "call", "own", "error", "elsewhere", "public"]
"""What a value reaches: text that is printed or written, a condition, an argument of code outside the module or of its own
(which matters only where that is a boundary), an exception, or the rest of the project by a name that others may use. Of a
program, such a name is `public`: it matters only where another file imports the program."""
_DEPENDENT: frozenset[Kind] = frozenset({"own", "public"})
"""What matters only by what is outside the module."""


class ReachedPlace(Struct, frozen=True, gc=False, array_like=True):
    """One thing that a value may reach."""

    kind: Kind
    line: int
    name: str = ""
    """For `call` and `own`, the callee as it is written; for `elsewhere`, the name by which others get it."""
    callee: tuple[int, int, int, int] | None = None
    """For `call` and `own`, the position of the callee."""
    path: tuple[int, ...] = ()
    """The lines on the way, from the source's on."""

    @property
    def matters(self) -> bool:
        """Whether it matters whatever the rules and the other files are."""
        return self.kind not in _DEPENDENT


_ARITHMETIC = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod pow rpow "
    "ipow matmul rmatmul imatmul and rand iand or ror ior xor rxor ixor lshift rlshift ilshift rshift rrshift irshift eq ne "
    "lt le gt ge contains neg pos invert abs divmod rdivmod bool format"
)
_STORING = "setitem delitem getitem missing getattr getattribute setattr set get set_name"


def _special(names: str) -> frozenset[str]:
    return frozenset(f"__{name}__" for name in names.split())


OPERATORS = _special(_ARITHMETIC)
"""Methods that the interpreter calls for an operator."""
_SETTERS = _special(_STORING)
"""Methods that it calls for an item or an attribute."""
_RUNNERS = frozenset({"print", "run", "exit", "main"})
"""Last names of what programs call at the level of the module."""


_RUNNING = frozenset(
    {
        "execute",
        "executemany",
        "executescript",
        "scalar",
        "scalars",
        "stream",
        "exec",
        "flush",
        "commit",
        "begin",
        "query",
    }
)
"""Last names of calls that run statements of SQL."""
_CALLING_NOTHING = frozenset(
    {
        "object",
        "ABC",
        "Protocol",
        "Generic",
        "NamedTuple",
        "TypedDict",
        "Enum",
        "StrEnum",
        "IntEnum",
        "Exception",
        "BaseModel",
    }
)
"""Bases that call no method of a class by a name of its own."""
_RETURNING = frozenset({ast.Return, ast.Yield, ast.YieldFrom})


class Destinations(HarmlessUses):
    """What the calls of one module may reach."""

    _generators: set[int]
    """The ids of functions that yield."""
    _returned: dict[int, list[ast.expr]]
    """What each function returns or yields, by its id."""
    _calls_by_name: dict[str, list[ast.Call]]
    _classes: dict[str, list[ast.ClassDef]]
    _tried: set[int]
    """The lines of what is tried."""
    has_operators: bool
    """Whether a class of the module says what operators do."""
    has_setters: bool
    """Whether a class of the module says what storing under a key or in an attribute does."""
    is_program: bool
    """Whether the module runs as a program, so that others import it only if they say so."""
    _got: dict[str, list[ast.Call]]
    """The calls of `getattr` by the attribute that they name."""
    _reads_by_name: dict[str, list[ast.AST]]

    def prepare(self) -> None:
        """Index the calls and the classes of the module."""
        self._calls_by_name = defaultdict(list)
        for call in self.calls:
            self._calls_by_name[last_name(call.func)].append(call)
        self._reads_by_name = defaultdict(list)
        for (_, name), uses in self.uses.items():
            self._reads_by_name[name] += [use for use in uses if isinstance(use.ctx, ast.Load)]
        self.find_read_logs()
        self._read_statements()
        self.has_operators = not OPERATORS.isdisjoint(self.functions)
        self.has_setters = not _SETTERS.isdisjoint(self.functions)
        self.is_program = "__name__" in self.names or any(
            isinstance(self.parents[parent], ast.Module)
            for name in (*_RUNNERS, *self.functions)
            for call in self._calls_by_name.get(name, ())
            for parent in [self.parents[call]]
            if isinstance(parent, ast.Expr)
        )
        self._got = defaultdict(list)
        for call in self._calls_by_name.get("getattr", ()):
            if len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
                self._got[str(call.args[1].value)].append(call)

    def _read_statements(self) -> None:
        """Note what functions return, what is tried, and the classes."""
        self._classes = defaultdict(list)
        self._tried = set()
        self._generators = set()
        self._returned = defaultdict(list)
        for node in self.parents:
            kind = type(node)
            if kind in _RETURNING:
                function = id(self.function_around(node))
                if kind is not ast.Return:
                    self._generators.add(function)
                if kind is not ast.YieldFrom and node.value is not None:  # type: ignore[attr-defined]
                    self._returned[function].append(node.value)  # type: ignore[attr-defined]
            if kind is ast.Try or kind is ast.TryStar:
                body = node.body  # type: ignore[attr-defined]
                self._tried.update(range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1))
            elif kind is ast.withitem and "suppress" in ast.unparse(node)[:60]:
                around = self.parents[node]
                self._tried.update(range(around.lineno, around.end_lineno + 1))  # type: ignore[attr-defined]
            elif kind is ast.ClassDef:
                self._classes[node.name].append(node)  # type: ignore[attr-defined,arg-type]

    @property
    def runs_statements(self) -> bool:
        """Whether the module may have a database run a statement."""
        return not _RUNNING.isdisjoint(self._calls_by_name) or any(
            name.startswith(("read_sql", "create_engine", "connect")) for name in self._calls_by_name
        )

    def calls_of(self, name: str) -> list[ast.Call]:
        """Return the calls of the module whose callee has a last name."""
        return self._calls_by_name.get(name, [])

    def calls_of_function(self, function: Function) -> list[ast.Call]:
        """Return the calls of the module that may call a function; of an `__init__`, those of its class."""
        around = self.class_around(function)
        is_initialiser = around is not None and function.name == "__init__"
        return self.calls_of(around.name if around is not None and is_initialiser else function.name)

    @property
    def reads_logs(self) -> bool:
        """Whether the program may read or show what it logs."""
        return self._reads_logs

    def yields(self, function: Function) -> bool:
        """Return whether a function is a generator."""
        return id(function) in self._generators

    def returned_by(self, function: Function) -> list[ast.expr]:
        """Return what a function returns or yields."""
        return self._returned.get(id(function), [])

    def named(self, name: str) -> list[Function]:
        """Return the functions of the module with a name."""
        return [function for function, _ in self.functions.get(name, ())]

    def assigned_to(self, node: ast.Name | ast.Attribute) -> list[ast.AST]:
        """Return what is assigned to the variable of an expression, or is iterated or entered for it."""
        values: list[ast.AST] = []
        for use in self.uses.get(self.variable(node), ()):
            if not isinstance(use.ctx, ast.Store):
                continue
            target: ast.AST = use
            while isinstance(parent := self.parents[target], ast.Tuple | ast.List | ast.Starred):
                target = parent
            for field in ("value", "iter", "context_expr"):
                value = getattr(parent, field, None)
                if isinstance(value, ast.AST) and value is not target:
                    values.append(value)
        return values

    def is_tried(self, node: ast.AST) -> bool:
        """Return whether an exception of an expression is handled around it, or something else follows in any case."""
        return getattr(node, "lineno", 0) in self._tried

    def classes_of(self, name: str) -> list[ast.ClassDef]:
        """Return the classes of the module with a name."""
        return self._classes.get(name, [])

    def function_around(self, node: ast.AST) -> Function | ast.Lambda | None:
        """Return the function that an expression or a statement is in."""
        parent = self.parents.get(node)
        while parent is not None and not isinstance(parent, Function | ast.Lambda):
            parent = self.parents.get(parent)
        return parent

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class whose body a definition is in."""
        parent = self.parents.get(node)
        return parent if isinstance(parent, ast.ClassDef) else None

    def loads_of_attribute(self, name: str) -> list[ast.AST]:
        """Return where an attribute of a name is read."""
        reads = [use for use in self.uses.get((None, name), ()) if isinstance(use.ctx, ast.Load)]
        if name.startswith("__") and not name.endswith(
            "__"
        ):  # which has its class's name before it elsewhere
            reads += [use for found in self._mangled(name) for use in self.uses[None, found]]
        return [*reads, *self._got.get(name, ())]

    def _mangled(self, name: str) -> list[str]:
        return [
            found for scope, found in self.uses if scope is None and found != name and found.endswith(name)
        ]

    def reads_of(self, name: str) -> list[ast.AST]:
        """Return where anything of a name is read, in whatever scope or object."""
        return self._reads_by_name.get(name, [])

    def is_callee(self, use: ast.AST) -> bool:
        """Return whether an expression is what a call calls."""
        parent = self.parents.get(use)
        return isinstance(parent, ast.Call) and parent.func is use

    def loads_of(self, node: ast.Name) -> list[ast.AST]:
        """Return where the variable of a name is read."""
        return [use for use in self.uses.get(self.variable(node), ()) if isinstance(use.ctx, ast.Load)]

    def loads_of_parameter(self, function: Function, name: str) -> list[ast.AST]:
        """Return where a function reads a parameter."""
        for found, scope in self.functions.get(function.name, ()):
            if found is function:
                return [use for use in self.uses.get((scope, name), ()) if isinstance(use.ctx, ast.Load)]
        return []

    def is_list(self, node: ast.expr) -> bool:
        """Return whether a name is bound to lists alone, as far as the module tells."""
        values = self.assigned_to(node) if isinstance(node, ast.Name) else []
        return bool(values) and all(
            isinstance(value, ast.List | ast.ListComp)
            or (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Name)
                and value.func.id in ("list", "sorted")
            )
            for value in values
        )

    def overrides(self, function: Function) -> bool:
        """Return whether a function may be a method that a base of another module calls."""
        owner = self.class_around(function)
        return owner is not None and any(
            last_name(base) not in self._classes and last_name(base) not in _CALLING_NOTHING
            for base in (each.value if isinstance(each, ast.Subscript) else each for each in owner.bases)
        )

    def is_assigned(self, node: ast.Name) -> bool:
        """Return whether an assignment binds the variable of a name, so that it is not only a parameter."""
        return any(not isinstance(use.ctx, ast.Load) for use in self.uses.get(self.variable(node), ()))

    def is_in_class(self, node: ast.Name) -> bool:
        """Return whether a name belongs to the body of a class, so that it is an attribute."""
        scope = self.variable(node)[0]
        return scope is not None and scope.kind == "class"

    def is_global(self, node: ast.Name) -> bool:
        """Return whether a name belongs to the module."""
        scope = self.variable(node)[0]
        return scope is not None and scope.kind == "module"


def root_of(node: ast.AST) -> ast.AST:
    """Return the name or attribute that a chain of subscripts and calls starts from."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value  # such as `table.setdefault(key, []).append(value)`
        else:
            return node


def is_index(node: ast.expr) -> bool:
    """Return whether a subscript is a number, so that it asks for an element by its place."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def is_of_self(node: ast.Attribute) -> bool:
    """Return whether an attribute is one of the instance or the class whose code it is in."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
