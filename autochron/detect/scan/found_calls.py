"""The findings of one module: collected by line, category and call, and then told apart by where their values go."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from autochron.detect.catalogue import CLOCKS
from autochron.detect.scan.destination_search import is_order_lost, reached_from
from autochron.detect.scan.destinations import Destinations, ReachedPlace
from autochron.detect.scan.durations import durations
from autochron.detect.scan.flow import FlowScope, Spot, first_line_of, position_of
from autochron.detect.scan.harmless_uses import FOLLOWED, harmless
from autochron.detect.scan.tokens import TOKEN_CALLS, is_long
from autochron.detect.scan.value_uses import ValueUses
from autochron.model import Category, Tier

_EFFECTIVE: frozenset[Category] = frozenset({"files", "network", "subprocess", "ordering", "native"})
"""The categories of which a call does something even if its value is not used."""
_OUTSIDE: frozenset[Category] = frozenset({"network", "subprocess", "native"})
"""The categories of which a call may fail, or do anything outside the process, whatever is made of its value."""
_READ_LATER: frozenset[Category] = frozenset({"files", "network", "subprocess", "identity", "random", "env"})
"""The categories of which a call may open something that is read later."""
_CHANGING = frozenset(
    {"random.seed", "random.Random.seed", "random.shuffle", "numpy.random.seed", "numpy.random.shuffle"}
)
"""Sources that change something instead of returning a value."""

_ORDERS = frozenset(
    {
        "concurrent.futures.as_completed", "asyncio.as_completed", "multiprocessing.pool.Pool.imap_unordered",
        "concurrent.futures.wait", "asyncio.wait", "list.append",
    }
)  # fmt: skip
"""Sources of ordering whose elements are the same in any order."""

_Key = tuple[int, Category, str]


class ScannedPlace(Struct, frozen=True, gc=False, array_like=True):
    """One place of a finding. A line may have several, and each may be in another function."""

    tier: Tier
    via: str | None
    qualname: str
    within: tuple[tuple[str, int], ...]
    """The enclosing functions from the inside out: qualified name and first line, as code objects have them."""
    callee: tuple[int, int, int, int] | None = None
    """(line, end line, column, end column) of the callee of the call that reaches the source; None where no call of this
    place does, as for a callable that is passed on."""
    name: str | None = None
    """The dotted name of the callee's value, where that is the source itself; a partial, for example, has none."""


class ScannedCall(Struct, frozen=True, gc=False, array_like=True):
    """One finding in a source."""

    line: int
    category: Category
    call: str
    places: tuple[ScannedPlace, ...]
    """The places on the line, at least one."""
    is_harmless: bool = False
    """Whether its value only reaches what changes nothing: see `harmless_uses`."""
    reached: tuple[ReachedPlace, ...] = ()
    """What its value may reach: see `destination_search`."""
    reads: tuple[int, ...] = ()
    """The lines that read from what it has opened, other than its own, sorted."""


class FoundCalls:
    """The findings of one module.

    Attributes:
        lines: the line and category of each finding.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._places: dict[_Key, dict[ScannedPlace, None]] = {}
        self._starts: dict[_Key, list[ast.AST]] = defaultdict(list)
        self._orders: set[_Key] = set()
        self._partial: set[_Key] = set()
        self._opened: dict[int, set[_Key]] = defaultdict(set)
        """The findings of calls that may have opened something, by the id of the callee."""
        self._reads: dict[_Key, set[int]] = defaultdict(set)
        self._only_by_others: set[_Key] = set()
        """The findings of calls that only another module may have made."""

    def add(
        self,
        line: int,
        category: Category,
        call: str,
        via: str | None,
        spot: Spot,
        *,
        callee: ast.expr | None = None,
        callee_name: str | None = None,
        start: ast.AST | None = None,
        is_order: bool = False,
        within: ast.Call | None = None,
    ) -> None:
        """Add a place to the finding of a line, category and call.

        Args:
            line: the line.
            category: what it depends on.
            call: the source.
            via: the library call that reaches the source, if one does.
            spot: where it is.
            callee: the callee of the call that reaches the source, if a call of this place does.
            callee_name: the dotted name of the callee's value, where that is the source itself.
            start: the expression that has the value, if it is not the call.
            within: the call that keeps the value, if it is an argument of one.
            is_order: whether only the order of the expression's elements depends on the source.
        """
        enclosing, qualname = [], "<module>"
        scope: FlowScope | None = spot.scope
        while scope is not None:
            if qualname == "<module>" and scope.kind != "comprehension":
                qualname = scope.qualname
            if scope.kind == "function" and scope.node is not None:
                enclosing.append((scope.qualname, first_line_of(scope.node)))
            scope = scope.outer
        tier: Tier = "direct" if via is None else "library"
        position = None if callee is None else position_of(callee)
        place = ScannedPlace(tier, via, qualname, tuple(enclosing), position, callee_name)
        key = line, category, call
        # A dictionary, since a line may have thousands of places.
        self._places.setdefault(key, {})[place] = None
        opening = within.func if within is not None else callee
        if opening is not None and category in _READ_LATER:
            self._opened[id(opening)].add(key)
        first = start if start is not None else callee
        if first is not None:
            self._starts[key].append(first)
        if is_order or call in _ORDERS:
            self._orders.add(key)

    def take_line(self, line: int, call: str) -> None:
        """Drop the finding of a source on a line."""
        self._places.pop((line, "ordering", call), None)

    def set_by_others(self, line: int, category: Category, call: str) -> None:
        """Note that a source is called only if another module leaves out an argument, or passes another one."""
        self._only_by_others.add((line, category, call))

    def set_partial(self, line: int, category: Category, call: str) -> None:
        """Note that not only the order of a finding's elements depends on the source, but also which ones there are."""
        self._partial.add((line, category, call))

    def of_databases(self) -> Iterator[tuple[_Key, list[ast.AST]]]:
        """Yield the findings that a database may ask for later, each with its expressions."""
        for key, starts in self._starts.items():
            if key[1] in ("clock", "random", "uuid"):
                yield key, starts

    def add_reads(self, key: _Key, lines: Iterable[int]) -> None:
        """Add the lines that run what a finding was told for."""
        self._reads[key].update(lines)

    def add_read(self, call: ast.Call, line: int) -> None:
        """Add a line that reads from what a call has opened, if that call is in a finding."""
        for key in self._opened.get(id(call.func), ()):
            self._reads[key].add(line)

    def take_away(self, call: str) -> set[tuple[int, Category]]:
        """Drop the findings of a source, and return their lines and categories."""
        keys = [key for key in self._places if key[2] == call]
        for key in keys:
            del self._places[key]
        return {(line, category) for line, category, _ in keys}

    def has_call(self, call: str) -> bool:
        """Return whether there is a finding of a source."""
        return any(found == call for _, _, found in self._places)

    @property
    def has_opened(self) -> bool:
        """Whether a finding may have opened something that is read later."""
        return bool(self._opened)

    @property
    def lines(self) -> set[tuple[int, Category]]:
        """The line and category of each finding."""
        return {(line, category) for line, category, _ in self._places}

    def finished(self, *, with_destinations: bool = True) -> list[ScannedCall]:
        """Return the findings sorted by line, without durations that are only logged."""
        if not self._places:
            return []
        has_clocks = any(call in CLOCKS for _, _, call in self._places)
        may_be_harmless = any(category in FOLLOWED for _, category, _ in self._places)
        uses = ValueUses(self._tree)
        logged_only = durations(uses) if has_clocks else frozenset()
        without_effect = harmless(uses) if may_be_harmless else frozenset()
        module = uses.viewed_as(Destinations)
        if with_destinations:
            module.prepare()
        findings = []
        for key, places in self._places.items():
            if (key[0], key[2]) in logged_only:
                continue
            is_harmless = key[:2] in without_effect and not self._is_by_library(key)
            reached = self._reached(key, module) if with_destinations and not is_harmless else ()
            if with_destinations and not reached and not is_harmless:
                is_harmless = self._is_lost(key, module)
            reads = tuple(sorted(self._reads[key] - {key[0]}))
            findings.append(ScannedCall(*key, tuple(places), is_harmless, reached, reads))
        return sorted(findings, key=lambda finding: (finding.line, finding.category, finding.call))

    def _is_lost(self, key: _Key, module: Destinations) -> bool:
        """Return whether only an order depends on a source, and nothing is made of it."""
        if key not in self._orders or key in self._partial or module.reflects:
            return False
        starts = [start for start in self._starts.get(key, ()) if start in module.parents]
        return bool(starts) and len(starts) == len(self._starts[key]) and is_order_lost(module, starts)

    def _reached(self, key: _Key, module: Destinations) -> tuple[ReachedPlace, ...]:
        """Return what the value of a finding may reach."""
        line, category, call = key
        if call.endswith(".shuffle") and (shuffled := self._shuffled(key, module)):
            return reached_from(module, shuffled, "order")
        is_for_others = key in self._only_by_others or (
            call.startswith("sql.") and not module.runs_statements
        )
        if is_for_others and module.is_program:
            return (ReachedPlace("public", line, call, None, (line,)),)
        starts = []
        for node in self._starts.get(key, ()):
            parent = module.parents.get(node)
            starts.append(parent if isinstance(parent, ast.Call) and parent.func is node else node)
        known = [start for start in starts if start in module.parents]
        is_discarded = any(_is_discarded(module, start) for start in known)
        if any(place.via in ("click", "main") for place in self._places[key]):
            is_discarded = True  # what a command returns says nothing of the options that its function gets
        is_kept = call.startswith("sql.")  # by the database
        is_effect = category in _EFFECTIVE or call in _CHANGING or is_kept or self._is_by_library(key)
        reached: tuple[ReachedPlace, ...] = ()
        if starts and len(known) == len(starts) and not (is_discarded and is_effect):
            is_order = key in self._orders and key not in self._partial
            is_token = call in TOKEN_CALLS and not self._is_by_library(key) and all(map(is_long, known))
            reached = reached_from(module, known, "order" if is_order else "token" if is_token else "value")
            is_only_public = not any(one.kind != "public" for one in reached)
            if is_only_public and category == "files" and any(_is_tried(module, start) for start in known):
                return (ReachedPlace("branch", line, "", None, (line,)),)
            if module.reflects and is_only_public:
                return (ReachedPlace("elsewhere", line, call, None, (line,)),)
            if category not in _OUTSIDE or any(one.matters for one in reached):
                return reached
        return (ReachedPlace("elsewhere", line, call, None, (line,)),)

    def _shuffled(self, key: _Key, module: Destinations) -> list[ast.AST]:
        """Return what the calls of a finding shuffle; nothing where that is not written out for each."""
        found: list[ast.AST] = []
        for node in self._starts.get(key, ()):
            call = module.parents.get(node)
            if (
                not isinstance(call, ast.Call)
                or len(call.args) != 1
                or not isinstance(call.args[0], ast.Name)
            ):
                return []
            found += call.args
        return found

    def _is_by_library(self, key: _Key) -> bool:
        return any(place.via is not None for place in self._places[key])


def _is_discarded(module: Destinations, node: ast.AST) -> bool:
    """Return whether nothing is made of an expression, or of what it is awaited for."""
    parent = module.parents[node]
    return isinstance(module.parents[parent] if isinstance(parent, ast.Await) else parent, ast.Expr)


def _is_tried(module: Destinations, node: ast.AST) -> bool:
    """Return whether an exception of an expression is handled in its function."""
    child, parent = node, module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        if isinstance(parent, ast.Try) and child in parent.body and parent.handlers:
            return True
        child, parent = parent, module.parents.get(parent)
    return False
