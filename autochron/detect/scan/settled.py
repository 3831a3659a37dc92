"""Find the calls of sources whose values the program itself has settled: by a seed, by frozen time, by a mock.

Each is settled in a part of the module: a seed of a global generator after the call that seeds it, frozen time and mocks in
the block or the function that they are put around. What replaces something that may be another thing settles nothing, and
neither does a seed that may differ itself. Other modules are not looked at: they may call a function without its seed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from autochron.detect.scan.abstract_values import Container, Known, Produced, Routine, Text, Type, is_none
from autochron.detect.scan.flow import FlowScope, ModuleFlow, Spot, Use, is_property, last_name
from autochron.detect.scan.infer import Evaluation
from autochron.model import Category

_SEEDS: dict[str, str] = {
    "random.seed": "random.",
    "random.setstate": "random.",
    "numpy.random.seed": "numpy.random.",
    "torch.manual_seed": "torch.",
    "faker.Faker.seed": "faker.",
    "faker.Faker.seed_instance": "faker.",
    "faker.generator.random.seed": "faker.",
}
"""The calls that seed a global generator, each with the beginning of the names of its draws."""

_OWN_GENERATORS = (
    "random.Random", "random.SystemRandom", "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator",
    "numpy.random.SeedSequence", "numpy.random.PCG64", "numpy.random.MT19937", "numpy.random.Philox", "numpy.random.SFC64",
    "torch.seed",
)  # fmt: skip
"""What draws its own entropy, whatever the global generator is seeded with."""

_MOST_CALLERS = 6
"""How many calls are followed from a draw back to the function that seeds."""

_Patching: TypeAlias = ast.With | ast.AsyncWith | ast.FunctionDef | ast.AsyncFunctionDef
_MONKEYPATCHES = frozenset({"monkeypatch", "monkey_patch", "mp"})
"""Names that programs give to pytest's `monkeypatch`."""
_NOT_FROZEN = frozenset(
    f"time.{name}{unit}" for name in ("process_time", "thread_time") for unit in ("", "_ns")
)
"""Clocks that nothing freezes."""
_FREEZERS = frozenset(
    {"freezegun.freeze_time", "freezegun.api.freeze_time", "freezegun.freeze_time.freeze_time"}
)
_YEAR = re.compile(r"\d{4}-\d")
_CONCURRENT = (
    *(
        "Thread",
        "ThreadPoolExecutor",
        "ProcessPoolExecutor",
        "Pool",
        "ThreadPool",
        "to_thread",
        "run_in_executor",
    ),
    *("gather", "create_task", "TaskGroup", "ensure_future", "start_soon"),
)
"""Last names of callables by which draws of one generator come in another order each time."""
_NOT_CONSTANT = ("Mock", "MagicMock", "AsyncMock", "now", "time", "object", "set", "frozenset")
"""Last names of calls that make a value which differs in each run."""
_PATCHES = frozenset({"unittest.mock.patch", "mock.patch"})
_PATCHES_OF_TABLES = frozenset({"unittest.mock.patch.dict", "mock.patch.dict"})
_PATCHES_OF_OBJECTS = frozenset({"unittest.mock.patch.object", "mock.patch.object"})


class _Asked(NamedTuple):
    """A source that is called: its dotted name, its category, and the expression that is called."""

    name: str
    category: Category
    callee: ast.expr | None


class _Replaced(NamedTuple):
    """A part of a function in which something is replaced."""

    first: int
    last: int
    scope: FlowScope
    """The scope of the function's body."""
    name: str
    """The dotted name of what is replaced; empty for all clocks."""

    def settles(self, asked: _Asked) -> bool:
        """Return whether a source gets another value here."""
        if not self.name:
            return asked.category == "clock" and asked.name not in _NOT_FROZEN
        if self.name == "os.environ":
            return asked.category == "env"
        # `from time import time` has bound the real one before it is replaced.
        is_looked_up = isinstance(asked.callee, ast.Attribute) and asked.name.endswith(
            f".{asked.callee.attr}"
        )
        return is_looked_up and (asked.name == self.name or asked.name.startswith(f"{self.name}."))


class Settled:
    """The parts of a module in which sources are settled."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation) -> None:
        """Read the calls of a module."""
        self._flow = flow
        self._evaluation = evaluation
        self._seeds: dict[str, list[Spot]] = {}
        self._unseeded: set[str] = set()
        self._frozen: list[_Replaced] = []
        self._seeded_blocks: list[tuple[int, int, str]] = []
        """First line, last line, and the beginning of the names of the draws that are seeded there."""
        for name in {seed.rpartition(".")[2] for seed in _SEEDS}:
            for use in flow.sites.get(name, ()):
                self._read_seed(use)
        if self._seeds or self._evaluation_names_freezers():
            self._read_blocks()

    def is_settled(
        self, name: str, category: Category, line: int, spot: Spot, callee: ast.expr | None
    ) -> bool:
        """Return whether the value of a source is settled where it is called.

        Args:
            name: its dotted name.
            category: what it depends on.
            line: the line of the call.
            spot: where the call is.
            callee: what is called there; None where the source is passed on.
        """
        if category == "random" and self._is_seeded(name, line, spot):
            return True
        return self._is_frozen(_Asked(name, category, callee), line, spot, _MOST_CALLERS)

    def _is_frozen(self, asked: _Asked, line: int, spot: Spot, depth: int) -> bool:
        """Return whether a source is replaced at a line, or at each call that leads there."""
        if not self._frozen or any(_is_lazy(scope) for scope in _scopes_in_function(spot)):
            return False
        if any(
            each.first <= line <= each.last and each.scope is spot.scope.body and each.settles(asked)
            for each in self._frozen
        ):
            return True
        calls = self._calls_of(spot) if depth else []
        is_run_later = isinstance(spot.scope.body.node, ast.AsyncFunctionDef) and any(
            call.position == "stored" for call in calls
        )
        return (
            bool(calls)
            and not is_run_later
            and all(self._is_frozen(asked, call.node.lineno, call.spot, depth - 1) for call in calls)
        )

    def _calls_of(self, spot: Spot) -> list[Use]:
        """Return the calls in this module of the function that a spot is in, by its name, and where it is passed on."""
        body = spot.scope.body
        node, outer = body.node, body.outer
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return []
        if node.name in ("__init__", "__post_init__") and outer is not None:
            # The class is called; where it is handed over or derived from, anything may call it.
            name = outer.qualname.rpartition(".")[2]
            is_only_called = not any(last_name(use.node) == name for use in self._flow.references)
            return self._flow.sites.get(name, []) if is_only_called else []
        if is_property(node):
            reads = [
                use
                for use in self._flow.references
                if isinstance(use.node, ast.Attribute) and use.node.attr == node.name
            ]
            every = sum(
                isinstance(part, ast.Attribute) and part.attr == node.name
                for part in ast.walk(self._flow.tree)
            )
            return reads if len(reads) == every else []
        references = [
            use
            for use in self._flow.references
            if isinstance(use.node, ast.Name) and use.node.id == node.name  # such as `map(stamp, names)`
        ]
        return [*self._flow.sites.get(node.name, []), *references]

    # --- seeds --------------------------------------------------------------------------------------------------------

    def _read_seed(self, use: Use) -> None:
        call = use.node
        if not isinstance(call, ast.Call):
            return
        for value in self._evaluation.values(call.func, use.spot):
            prefix = _SEEDS.get(value.name) if isinstance(value, Known) else None
            if prefix is None:
                continue
            arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
            if value.name == "random.setstate":  # type: ignore[union-attr]
                arguments = self._seeds_of_state(arguments, use.spot)
                if not arguments:
                    continue
            if not arguments or any(_is_none(argument) for argument in arguments):
                self._unseeded.add(prefix)
            elif use.position == "discarded" and all(
                self._is_fixed(argument, use.spot) for argument in arguments
            ):
                self._seeds.setdefault(prefix, []).extend(self._seeding(use))

    def _seeds_of_state(self, arguments: list[ast.expr], spot: Spot) -> list[ast.expr]:
        """Return the seed of a state: `random.Random(7).getstate()`; nothing for any other state."""
        match arguments:
            case [ast.Call(func=ast.Attribute(value=ast.Call(func=made, args=seeds), attr="getstate"))]:
                names = {
                    value.name for value in self._evaluation.values(made, spot) if isinstance(value, Known)
                }
                return seeds if names == {"random.Random"} else []
        return []

    def _seeding(self, use: Use, depth: int = _MOST_CALLERS) -> Iterator[Spot]:
        """Yield the spot of a call that seeds, and those of the calls of a function that always makes it first of all."""
        spot = use.spot
        yield spot
        node = spot.scope.node
        if not depth or not isinstance(node, ast.FunctionDef) or spot.block is not spot.scope.block:
            return
        if any(isinstance(part, ast.Return) and part.lineno < use.node.lineno for part in ast.walk(node)):
            return
        for call in self._calls_of(spot):
            if call.position == "discarded":
                yield from self._seeding(call, depth - 1)

    def _is_fixed(self, node: ast.expr, spot: Spot, depth: int = 4) -> bool:
        """Return whether an expression has the same value in every run, as far as this module tells."""
        match node:
            case ast.Constant(value=value):
                return value is not None
            case ast.UnaryOp(operand=inner):
                return self._is_fixed(inner, spot, depth)
            case ast.BinOp(left=left, right=right):
                return self._is_fixed(left, spot, depth) and self._is_fixed(right, spot, depth)
            case ast.Name(id=name) if depth:
                scope = spot.scope.find(name)
                bindings = scope.bindings[name] if scope is not None else []
                return bool(bindings) and all(
                    not _is_none(binding.node) and not any(map(is_none, self._evaluation.named(name, spot)))
                    if binding.kind == "parameter"
                    else binding.kind == "value"
                    and isinstance(binding.node, ast.expr)
                    and self._is_fixed(binding.node, binding.spot, depth - 1)
                    for binding in bindings
                )
        return False

    def _is_seeded(self, name: str, line: int, spot: Spot) -> bool:
        if name.startswith(_OWN_GENERATORS) or any(each in self._flow.sites for each in _CONCURRENT):
            return False
        if any(
            name.startswith(prefix) and first <= line <= end for first, end, prefix in self._seeded_blocks
        ):
            return True
        return any(
            name.startswith(prefix)
            and prefix not in self._unseeded
            and any(self._is_before(seed, spot) for seed in seeds)
            for prefix, seeds in self._seeds.items()
        )

    def _is_before(self, seed: Spot, spot: Spot, depth: int = _MOST_CALLERS) -> bool:
        """Return whether a seed has been set at a spot: earlier in the function, or before each call that leads there."""
        body = spot.scope.body
        if seed.scope.body is body:
            return seed.order < spot.order and seed.block.is_around(spot.block)
        calls = self._calls_of(spot) if depth else []
        if seed.block is self._flow.module.block:  # while the module is imported
            return all(
                call.spot.scope.body is not seed.scope or call.spot.order > seed.order for call in calls
            )
        return bool(calls) and all(self._is_before(seed, call.spot, depth - 1) for call in calls)

    # --- frozen time and mocks ----------------------------------------------------------------------------------------

    def _evaluation_names_freezers(self) -> bool:
        """Return whether a module imports something that freezes time or replaces callables; most don't."""
        return any(
            binding.kind == "import"
            and binding.dotted.partition(".")[0]
            in ("freezegun", "time_machine", "unittest", "mock", "pytest")
            for bindings in self._flow.module.bindings.values()
            for binding in bindings
        )

    def _read_blocks(self) -> None:
        calls = {id(use.node): use for use in self._flow.calls}
        for node in ast.walk(self._flow.tree):
            if isinstance(node, ast.With | ast.AsyncWith):
                around = [item.context_expr for item in node.items]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                around = node.decorator_list
            else:
                continue
            self._read_patches_of_pytest(node, calls)
            for expression in around:
                use = calls.get(id(expression))
                if use is None:
                    continue
                first, end = node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno
                scope = use.spot.scope.body
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    scope = self._flow.scopes[id(node)]
                self._frozen += [_Replaced(first, end, scope, name) for name in self._replaced(use)]
                if isinstance(node, ast.With | ast.AsyncWith):
                    self._seeded_blocks += [(first, end, prefix) for prefix in self._seeded_by(use)]

    def _replaced(self, use: Use) -> Iterator[str]:
        """Yield the last names of the sources that a call replaces; an empty one for all clocks."""
        call = use.node
        assert isinstance(call, ast.Call)  # noqa: S101 - they are calls
        for value in self._evaluation.values(call.func, use.spot):
            name = value.name if isinstance(value, Known) else ""
            if name in _FREEZERS:
                ticking = {keyword.arg: keyword.value for keyword in call.keywords}
                is_still = "tick" not in ticking or _is_false(ticking["tick"])
                if is_still and "auto_tick_seconds" not in ticking and call.args and _has_date(call.args[0]):
                    yield ""
            elif name in _PATCHES and call.args and self._settles(call, 1, use.spot):
                yield from self._texts(call.args[0], use.spot)
            elif name in _PATCHES_OF_TABLES and call.args:
                # Without `clear` other variables are those of the machine.
                is_cleared = any(
                    keyword.arg == "clear" and ast.unparse(keyword.value) == "True"
                    for keyword in call.keywords
                )
                if is_cleared and "os.environ" in self._names(call.args[0], use.spot):
                    yield "os.environ"
            elif name in _PATCHES_OF_OBJECTS and len(call.args) > 1 and self._settles(call, 2, use.spot):
                yield from self._members(call.args[0], call.args[1], use.spot)

    def _settles(self, call: ast.Call, new: int, spot: Spot) -> bool:
        """Return whether a mock gives a value that is written out, or calls a function of this module, which is scanned."""
        if not _gives_constant(call, new):
            return False
        if len(call.args) > new and not isinstance(call.args[new], ast.Constant | ast.Lambda):
            values = self._evaluation.values(call.args[new], spot)
            return all(isinstance(value, Routine | Type | Produced | Container | Text) for value in values)
        return True

    def _names(self, node: ast.expr, spot: Spot) -> set[str]:
        """Return the dotted names of what an expression may be, also of one that is given as a text."""
        values = self._evaluation.values(node, spot)
        return {value.name for value in values if isinstance(value, Known)} | set(self._texts(node, spot))

    def _members(self, owner: ast.expr, attribute: ast.expr, spot: Spot) -> Iterator[str]:
        """Yield the dotted names of an attribute of what an expression may be."""
        for name in self._names(owner, spot):
            yield from (f"{name}.{text}" for text in self._texts(attribute, spot))

    def _read_patches_of_pytest(self, node: _Patching, calls: dict[int, Use]) -> None:
        """Read `monkeypatch.setattr(time, "time", …)` in a block or function: it holds to its end."""
        end = node.body[-1].end_lineno or node.body[-1].lineno
        for statement in node.body if "undo" not in self._flow.sites else ():
            use = calls.get(id(statement.value)) if isinstance(statement, ast.Expr) else None
            if use is None or not isinstance(use.node, ast.Call) or not self._is_monkeypatch(use.node.func):
                continue
            arguments = use.node.args
            if len(arguments) < 2 or not _returns_constant(arguments[-1]):
                continue
            replaced = (
                self._members(arguments[0], arguments[1], use.spot)
                if len(arguments) > 2
                else self._texts(arguments[0], use.spot)
            )
            scope = use.spot.scope.body
            self._frozen += [_Replaced(statement.lineno, end, scope, name) for name in replaced]

    @staticmethod
    def _is_monkeypatch(called: ast.expr) -> bool:
        """Return whether a callee is `monkeypatch.setattr`."""
        return (
            isinstance(called, ast.Attribute)
            and called.attr == "setattr"
            and last_name(called.value) in _MONKEYPATCHES
        )

    def _seeded_by(self, use: Use) -> Iterator[str]:
        """Yield what a context manager of this module seeds, by the beginning of the names of its draws."""
        call = use.node
        assert isinstance(call, ast.Call)  # noqa: S101 - they are calls
        for value in self._evaluation.values(call.func, use.spot):
            if isinstance(value, Routine):
                for prefix, seeds in self._seeds.items():
                    if any(seed.scope.body is value.scope for seed in seeds):
                        yield prefix

    def _texts(self, node: ast.expr, spot: Spot) -> Iterator[str]:
        for value in self._evaluation.values(node, spot):
            if isinstance(value, Text) and value.value:
                yield value.value


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _gives_constant(call: ast.Call, new: int) -> bool:
    """Return whether a mock calls nothing of what it replaces, and has a value that is written out in the module.

    Args:
        call: the call that replaces something.
        new: the position of what it is replaced by.
    """
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if set(given) - {"return_value", "side_effect", "autospec", "create", "spec", "new"}:
        return False
    effect = given.get("side_effect")
    if effect is not None and not isinstance(effect, ast.List | ast.Tuple | ast.Name):
        return False  # a function of others
    positional = call.args[new] if len(call.args) > new else None
    replacing = effect or given.get("return_value") or given.get("new") or positional
    return replacing is not None and not any(
        isinstance(part, ast.Set | ast.SetComp)
        or (isinstance(part, ast.Call) and last_name(part.func) in _NOT_CONSTANT)
        for part in ast.walk(replacing)
    )


def _returns_constant(node: ast.expr) -> bool:
    """Return whether an expression is a function that returns a value that is written out."""
    return isinstance(node, ast.Lambda) and isinstance(node.body, ast.Constant)


def _has_date(node: ast.expr) -> bool:
    """Return whether an expression is a date that is written out, with its year."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _YEAR.match(node.value) is not None
    return (
        isinstance(node, ast.Call)
        and len(node.args) >= 3
        and all(isinstance(argument, ast.Constant) for argument in node.args)
    )


def _is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _scopes_in_function(spot: Spot) -> Iterator[FlowScope]:
    """Yield the scopes from a spot up to that of the function's body."""
    scope: FlowScope | None = spot.scope
    while scope is not None:
        yield scope
        if scope.kind != "comprehension":
            return
        scope = scope.outer


def _is_lazy(scope: FlowScope) -> bool:
    """Return whether the code of a scope runs when its values are asked for: a generator."""
    node = scope.node
    if isinstance(node, ast.GeneratorExp):
        return True
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(part)
    return False
