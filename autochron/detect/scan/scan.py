"""The non-deterministic calls of a module, from its source.

Own analysis on `ast`: libcst's qualified names cost a hundred times as much, and say nothing of what a name was bound to
last, of sets, or of callables that are handed on. What isn't known is no finding: a scan that cries wolf is switched off.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct

from autochron.detect.catalogue import BY_NAME, CLOCKS, COLLECTED, Argument, Source
from autochron.detect.scan.abstract_values import Accessor, Bound, Held, Instance, Known, Routine, Type, Value
from autochron.detect.scan.durations import durations, line_of
from autochron.detect.scan.flow import FlowScope, ModuleFlow, Spot, Use
from autochron.detect.scan.flow_reader import read
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.libraries import (
    DEFERRING,
    ENVIRONMENT,
    FACTORIES,
    FIELDS,
    INDEXED,
    INERT,
    NOT_CALLING,
    READS,
    STORING,
    THROUGH,
    Through,
)
from autochron.detect.scan.set_order import OrderSites
from autochron.model import Category, Tier


class ScannedCall(Struct, frozen=True, gc=False, array_like=True):
    """One finding in a source."""

    line: int
    category: Category
    call: str
    tier: Tier
    via: str | None
    qualname: str
    is_call: bool
    """Whether the callable is called here by a name that an import gives it."""
    within: tuple[tuple[str, int], ...]
    """The functions around it from the inside out: qualified name and first line, as code objects have them."""


def scan(source: str | bytes, package: str = "") -> list[ScannedCall]:
    """Find the non-deterministic calls of a module, in order of lines.

    `package` is the one that relative imports start from. SyntaxError, ValueError or RecursionError where the source doesn't
    parse.
    """
    return _ModuleScan(read(ast.parse(source), package)).found()


class _ModuleScan:
    """One module."""

    def __init__(self, flow: ModuleFlow) -> None:
        self._flow = flow
        self._evaluation = Evaluation(flow)
        self._found: dict[tuple[int, Category, str], ScannedCall] = {}
        self._called: set[int] = set()
        """The ids of expressions that name a callable which is called somewhere else."""
        self._texts: list[ast.AST] = []
        self._kept: list[tuple[Use, ast.expr, Source | Through, str]] = []

    def found(self) -> list[ScannedCall]:
        for use in self._flow.calls:
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            for value in self._evaluation.values(use.node.func, use.spot):
                self._call(value, use.node, use.spot)
        for use in self._flow.references:
            self._reference(use)
        for use, node, source, name in self._kept:
            if id(node) not in self._called and not _is_class(name):
                self._note(node.lineno, source, name, use.spot)
        orders = OrderSites(self._flow, self._evaluation)
        for order in orders.found():
            self._add(order.line, order.category, order.call, "direct", None, order.spot)
        return sorted(self._telling(), key=lambda seen: (seen.line, seen.category, seen.call))

    def _telling(self) -> Iterable[ScannedCall]:
        """Leave out what only a log gets to see."""
        every = self._found.values()
        if not any(seen.call in CLOCKS for seen in every):
            return every
        silent = durations(self._flow.tree)
        return [seen for seen in every if (seen.line, seen.call) not in silent]

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, value: Value, node: ast.Call, spot: Spot, bound: tuple[ast.Call, ...] = ()) -> None:
        match value:
            case Known():
                self._known(value, node, spot, bound)
            case Bound():
                for inner in value.values:
                    self._call(inner, node, spot, (value.call, *bound))
            case Type():
                self._made(value.scope, node, spot)
            case Accessor(name=name, is_call=True) if node.args:
                for base in self._evaluation.values(node.args[0], spot):
                    for inner in self._evaluation.attribute(base, name, node):
                        self._call(inner, node, spot)
            case _:
                pass

    def _known(self, value: Known, node: ast.Call, spot: Spot, bound: tuple[ast.Call, ...]) -> None:
        if value.at is not None and value.at is not node.func:
            self._called.add(id(value.at))
        if value.name in ("builtins.eval", "builtins.exec"):
            self._text(node, spot)
        if value.name in ("builtins.id", "builtins.hash"):
            return  # what they are given decides; see `orders`
        source = source_of(value.name)
        if source is None or any(
            _is_determined(source, call, skip) for call, skip in _arguments(node, bound)
        ):
            return
        self._note(line_of(node), source, value.name, spot, is_call=value.at is node.func)

    def _text(self, node: ast.Call, spot: Spot) -> None:
        """Look at what is written out as text to be evaluated: its calls are made on the line that has it evaluated."""
        text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if not isinstance(text, str):
            return
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        self._texts.append(tree)  # nodes are known by their identity, so they have to live on
        for each in ast.walk(tree):
            if isinstance(each, ast.expr):
                each.lineno = each.end_lineno = node.lineno
            if isinstance(each, ast.Call):
                for value in self._evaluation.values(each.func, spot):
                    self._call(value, each, spot)

    def _made(self, scope: FlowScope, node: ast.Call, spot: Spot) -> None:
        """Look at what making an instance of a class of this module calls."""
        given = {each.arg for each in node.keywords}
        for field, factory in self._factories(scope):
            if field in given:
                continue
            for value in factory:
                if isinstance(value, Known) and (source := source_of(value.name)) is not None:
                    if value.at is not None:
                        self._called.add(id(value.at))
                    self._note(line_of(node), source, value.name, spot)
        if any(name in scope.bindings for name in ("__init__", "__new__", "random", "getrandbits", "seed")):
            return
        for base in self._evaluation.bases(scope):
            if isinstance(base, Type) and base.scope is not scope:
                self._made(base.scope, node, spot)
            elif isinstance(base, Known):
                source = BY_NAME.get(base.name)
                if source is not None and _is_class(base.name) and not _is_determined(source, node, 0):
                    self._note(line_of(node), source, base.name, spot)

    def _factories(self, scope: FlowScope) -> Iterator[tuple[str, tuple[Value, ...]]]:
        """Yield what makes the default of each field of a class, by the field's name."""
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                node = binding.node
                if binding.kind != "value" or not isinstance(node, ast.Call):
                    continue
                called = self._evaluation.values(node.func, binding.spot)
                if any(isinstance(value, Known) and value.name in FIELDS for value in called):
                    for keyword in node.keywords:
                        if keyword.arg in FACTORIES:
                            yield name, self._evaluation.values(keyword.value, binding.spot)

    # --- references ---------------------------------------------------------------------------------------------------

    def _reference(self, use: Use) -> None:
        if use.position in ("operand", "other"):
            return
        for value in self._evaluation.values(use.node, use.spot):
            if isinstance(value, Held) and use.position == "subscript" and value.type == "defaultdict":
                self._missing(value, use)
            if not isinstance(value, Known):
                continue
            if use.position == "subscript" and value.name in INDEXED:
                self._note(use.node.lineno, BY_NAME[INDEXED[value.name]], value.name, use.spot)
            elif value.name == ENVIRONMENT:
                self._environment(use, value)
            elif use.position == "argument":
                self._passed(use, value)
            elif use.position == "stored" and value.at is use.node:
                self._keep(use, value)

    def _missing(self, held: Held, use: Use) -> None:
        """Note what a defaultdict calls for a key that is missing."""
        for value in self._evaluation.elements((held,)):
            if isinstance(value, Known) and (source := source_of(value.name)) is not None:
                if value.at is not None:
                    self._called.add(id(value.at))
                self._note(use.node.lineno, source, value.name, use.spot)

    def _environment(self, use: Use, value: Known) -> None:
        source = BY_NAME[ENVIRONMENT]
        if use.position == "argument":
            if (
                self._is_inert(use, INERT)
                or self._is_own(use)
                or any(
                    keyword.arg == "env" and keyword.value is use.node
                    for keyword in (use.call.keywords if use.call else ())
                )
            ):
                return
        elif use.position == "stored":
            return
        self._note(use.node.lineno, source, value.name, use.spot)

    def _passed(self, use: Use, value: Known) -> None:
        """Look at a callable that is handed to a call."""
        source = source_of(value.name)
        if source is None or value.name == "builtins.hash" or self._is_inert(use, NOT_CALLING):
            return
        assert use.call is not None  # noqa: S101 - an argument has its call
        if self._is_own(use) or any(name in STORING for name in self._names(use)):
            if value.at is use.node:
                self._keep(use, value)
            return
        keyword = next((each.arg for each in use.call.keywords if each.value is use.node), None)
        if (_wants(source) or _is_class(value.name)) and not _is_called_bare(use.call, keyword):
            return
        if value.at is not None and (keyword not in FACTORIES or id(value.at) not in self._called):
            self._called.add(id(value.at))
            self._note(use.node.lineno, source, value.name, use.spot)

    def _keep(self, use: Use, value: Known) -> None:
        source = source_of(value.name)
        if source is not None and not _wants(source) and value.name not in ("builtins.id", "builtins.hash"):
            self._kept.append((use, use.node, source, value.name))

    def _names(self, use: Use) -> list[str]:
        """Name what the call is of that something is handed to."""
        called = self._evaluation.values(use.call.func, use.spot) if use.call is not None else ()
        return [value.name for value in called if isinstance(value, Known)]

    def _is_inert(self, use: Use, inert_names: tuple[str, ...]) -> bool:
        return any(
            name == inert or (inert.endswith(".") and name.startswith(inert))
            for name in self._names(use)
            for inert in inert_names
        )

    def _is_own(self, use: Use) -> bool:
        called = self._evaluation.values(use.call.func, use.spot) if use.call is not None else ()
        return any(isinstance(value, Routine | Type | Instance) for value in called)

    # --- findings -----------------------------------------------------------------------------------------------------

    def _note(
        self, line: int, source: Source | Through, name: str, spot: Spot, *, is_call: bool = False
    ) -> None:
        if isinstance(source, Through):
            self._add(line, source.category, source.call, "library", name, spot)
        else:
            self._add(line, source.category, source.call, "direct", None, spot, is_call=is_call)

    def _add(
        self,
        line: int,
        category: Category,
        call: str,
        tier: Tier,
        via: str | None,
        spot: Spot,
        *,
        is_call: bool = False,
    ) -> None:
        within, qualname = [], "<module>"
        scope: FlowScope | None = spot.scope
        while scope is not None:
            if qualname == "<module>" and scope.kind != "comprehension":
                qualname = scope.qualname
            if scope.kind == "function" and scope.node is not None:
                within.append((scope.qualname, _first_line(scope.node)))
            scope = scope.outer
        key = (line, category, call)
        if key not in self._found:
            self._found[key] = ScannedCall(line, category, call, tier, via, qualname, is_call, tuple(within))


def source_of(name: str) -> Source | Through | None:
    """Return what the catalogue says of a name that imports resolve to."""
    if name in COLLECTED:
        return None  # what is done with them decides; see `orders`
    bare = name.removeprefix("builtins.")
    found: Source | Through | None = BY_NAME.get(bare) or THROUGH.get(name)
    if found is not None and name != ENVIRONMENT:
        return found
    base, _, last = name.rpartition(".")
    if base == ENVIRONMENT and last in READS:
        return BY_NAME[ENVIRONMENT]
    return THROUGH.get(f"{base}.*") if base else None


def _arguments(node: ast.Call, bound: tuple[ast.Call, ...]) -> Iterator[tuple[ast.Call, int]]:
    """Yield the calls whose arguments reach a callable, and how many of each one's are not for it."""
    yield from ((call, 1) for call in bound)
    yield node, -sum(len(call.args) - 1 for call in bound)


def _is_determined(source: Source | Through, node: ast.Call, skip: int) -> bool:
    """Return whether a call's arguments make its value a determined one, or may."""
    if source.determined_by is not None and _argument(source.determined_by, node, skip) is not None:
        return True
    if isinstance(source, Through):
        return False
    first = _literal(_argument(Argument(0), node, skip))
    if source.words:
        return first not in source.words
    if first is not None and first in source.harmless:
        return True
    mode = _literal(_argument(source.mode, node, skip)) if source.mode is not None else None
    return isinstance(mode, str) and not set(mode) & {"r", "+"}


def _argument(argument: Argument, node: ast.Call, skip: int) -> ast.expr | None:
    """Return an argument that is given and not None; `*` and `**` may hold any."""
    for at, each in enumerate(node.args):
        if isinstance(each, ast.Starred):
            return each
        if at == argument.position + skip:
            return None if isinstance(each, ast.Constant) and each.value is None else each
    for keyword in node.keywords:
        if keyword.arg is None:
            return keyword.value
        if keyword.arg == argument.name:
            value = keyword.value
            return None if isinstance(value, ast.Constant) and value.value is None else value
    return None


def _wants(source: Source | Through) -> bool:
    """Return whether what a source is called with decides."""
    return source.determined_by is not None or (isinstance(source, Source) and bool(source.words))


def _literal(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _is_class(name: str) -> bool:
    """Return whether a name is a class's by the custom of writing."""
    last = name.rpartition(".")[2]
    return last[:1].isupper()


def _is_called_bare(call: ast.Call, keyword: str | None) -> bool:
    """Return whether what is handed to a call is called without arguments."""
    if keyword is not None:
        return keyword in FACTORIES or (keyword == "target" and not _has_keyword(call, ("args", "kwargs")))
    called = call.func
    last = (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )
    most = 2 if last in ("run_in_executor", "iter") else 1
    return last in DEFERRING and len(call.args) <= most


def _has_keyword(call: ast.Call, names: Iterable[str]) -> bool:
    return any(each.arg is not None and each.arg in names for each in call.keywords)


def _first_line(node: ast.AST) -> int:
    """Return `co_firstlineno`: that of the first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return (
        min([node.lineno, *(each.lineno for each in decorators)])
        if isinstance(node, ast.stmt | ast.expr)
        else 1
    )
