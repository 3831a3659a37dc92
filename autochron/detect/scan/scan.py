"""Find the non-deterministic calls of a module in its source.

The analysis is our own, on `ast`. The qualified names of libcst take a hundred times as long, and don't say which value
a name has at last, what is a set, or which callables are passed on. Whatever is not known gives no finding: users
switch off a scan that reports too much.
"""

from __future__ import annotations

import ast

from autochron.detect.catalogue import BY_NAME, Source
from autochron.detect.scan.abstract_values import (
    Accessor,
    Container,
    Instance,
    Known,
    PartialCall,
    Produced,
    Routine,
    Type,
    Value,
)
from autochron.detect.scan.asked_attributes import asked_by_attribute
from autochron.detect.scan.call_arguments import (
    depends_on_arguments,
    is_called_bare,
    lines_that_run,
    may_reach,
    reaching,
    waits_for_all,
)
from autochron.detect.scan.completion_order import CompletionOrder
from autochron.detect.scan.determined_calls import may_be_determined
from autochron.detect.scan.flow import ModuleFlow, Spot, Use
from autochron.detect.scan.flow_reader import read
from autochron.detect.scan.found_calls import FoundCalls, ScannedCall
from autochron.detect.scan.handles import Handles
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.instantiations import is_always_given, is_left_out, sources_of_instance
from autochron.detect.scan.libraries import (
    ENVIRONMENT,
    FACTORIES,
    INDEXED,
    INERT,
    NOT_CALLING,
    STORING,
    UNORDERED,
)
from autochron.detect.scan.library_call import LibraryCall
from autochron.detect.scan.log_records import logged_fields
from autochron.detect.scan.module_index import line_of
from autochron.detect.scan.named_methods import NamedMethods
from autochron.detect.scan.orderless_loops import loses_order, tables_filled
from autochron.detect.scan.orderless_threads import OrderlessThreads, joined_at_once
from autochron.detect.scan.own_text import reads_own_text, starts_from_own_file
from autochron.detect.scan.passed_arguments import is_default_unused
from autochron.detect.scan.set_order import OrderSites
from autochron.detect.scan.settled import Settled
from autochron.detect.scan.source_lookup import SourceLookup, is_class
from autochron.detect.scan.statement_runs import StatementRuns
from autochron.detect.scan.time_limits import limited_places
from autochron.model import Category

_RUNNING_LATER = frozenset({"Column", "mapped_column", "select", "order_by", "text"})
"""Last names of calls by which SQLAlchemy is told what is asked for later."""
_ONLY_WAITING = (".Event.wait", ".Condition.wait", ".Condition.wait_for", "Selector.select")
"""How the names of calls end that only wait where nothing is made of their result."""
_LIBRARIES_IN_C = ("ctypes.CDLL.", "ctypes.pythonapi.")
"""How the names of functions of a C library begin."""


_KNOWN = SourceLookup()


def scan(source: str | bytes, package: str = "", lookup: SourceLookup = _KNOWN) -> list[ScannedCall]:
    """Find the non-deterministic calls of a module.

    Args:
        source: the source of the module.
        package: the package that relative imports start from.
        lookup: the sources that are known.

    Returns:
        The calls, sorted by line.

    Raises:
        SyntaxError: the source doesn't parse.
        ValueError: the source has null bytes.
        RecursionError: the source is nested too deeply.
    """
    flow = read(ast.parse(source), package)
    try:
        return _ModuleScan(flow, lookup).run().finished()
    finally:
        flow.close()


def excused(
    source: str | bytes, package: str = "", lookup: SourceLookup = _KNOWN
) -> frozenset[tuple[int, Category]]:
    """Return the lines whose calls of sources of a category are determined: by a seed, a mock, the program's own text.

    A watch sees only that they are called. It takes and raises the same as `scan`.
    """
    module = _ModuleScan(read(ast.parse(source), package), lookup)
    found = {(call.line, call.category) for call in module.run().finished(with_destinations=False)}
    return frozenset(module.excused - found)


class _ModuleScan:
    """The scan of one module."""

    def __init__(self, flow: ModuleFlow, lookup: SourceLookup) -> None:
        self._flow = flow
        self._lookup = lookup
        self._evaluation = Evaluation(flow, lookup.opening)
        self._orders = OrderSites(flow, self._evaluation)
        self._settled = Settled(flow, self._evaluation)
        self._found = FoundCalls(flow.tree)
        self.excused: set[tuple[int, Category]] = set()
        """Lines with a source whose value is determined there after all, and its category."""
        self._called: set[int] = set()
        """The ids of expressions that name a callable and pass it to the place that calls it."""
        self._named = NamedMethods(flow, self._evaluation, self._found)
        self._calls_of_c = False
        """Whether functions of a C library are seen to be called."""
        self._evaluated_trees: list[ast.AST] = []
        self._stored: list[tuple[Use, ast.expr, Source | LibraryCall, str]] = []
        """Uses that store a source for later, which count if nothing here is seen to call it."""

    def run(self) -> FoundCalls:
        """Return the findings."""
        for use in self._flow.calls:
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            for value in self._evaluation.values(use.node.func, use.spot):
                if isinstance(value, Known) and value.name in UNORDERED:
                    self._unordered(value, use)
                else:
                    self._call(value, use.node, use.spot, is_used=use.position != "discarded")
            self._named.add(use, use.node)
        for use in self._flow.references:
            self._reference(use)
        self._add_asked_attributes()
        for use, node, source, name in self._stored:
            if id(node) not in self._called and not is_class(name):
                self._note(node.lineno, source, name, use.spot, start=node)
        if self._calls_of_c:  # then these tell, and not the loading of the library
            loaded = self._found.take_away("ctypes.CDLL")
            if not any(category == "native" for _, category in self._found.lines):
                self.excused |= loaded  # all of the calls are determined; a run sees only the loading
        self._add_what_is_read_later()
        self._add_races()
        for order in self._orders.sites():
            # Of `id` and `hash`, the expression is the callee; of the others, a value that the call gets.
            callee = order.node if order.kind in ("id", "hash") else None
            self._found.add(
                order.line,
                order.category,
                order.call,
                None,
                order.spot,
                callee=callee,
                start=order.node,
                is_order=order.kind in ("iterated", "set"),
            )
        return self._found

    def _add_asked_attributes(self) -> None:
        """Add the attributes of libraries' objects that ask for something when they are read."""
        for attribute, spot in self._flow.asking:
            asked = asked_by_attribute(self._evaluation, attribute, spot)
            if asked is not None:
                self._note(attribute.lineno, asked, attribute.attr, spot, start=attribute)

    def _add_what_is_read_later(self) -> None:
        """Add the lines that read what was opened or run what was told, and those that log."""
        if self._found.has_opened:
            for call, line in Handles(self._flow, self._evaluation).reads():
                self._found.add_read(call, line)
        if not _RUNNING_LATER.isdisjoint(self._flow.sites):
            runs = StatementRuns(self._flow)
            for key, nodes in self._found.of_databases():
                self._found.add_reads(key, runs.lines(nodes))
        for field in logged_fields(self._flow, self._evaluation):
            self._found.add(
                field.node.lineno, field.category, field.call, "logging", field.spot, callee=field.node.func
            )

    def _add_races(self) -> None:
        """Add what depends on which of several comes first, and drop a thread that nothing runs beside."""
        racing = CompletionOrder(self._flow, self._evaluation)
        has_threads = self._found.has_call("threading.Thread.start")
        is_orderless = has_threads and OrderlessThreads(racing).are_all()
        for place in (*(() if is_orderless else racing.places()), *limited_places(self._flow)):
            self._found.add(place.line, "ordering", place.call, None, place.spot, start=place.node)
            self._found.add_reads((place.line, "ordering", place.call), racing.reads_of(place))
        if has_threads:
            for line in joined_at_once(self._flow):
                self._found.take_line(line, "threading.Thread.start")
                self.excused.add((line, "ordering"))
            if is_orderless:
                self.excused |= self._found.take_away("threading.Thread.start")

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(
        self,
        value: Value,
        node: ast.Call,
        spot: Spot,
        bound: tuple[ast.Call, ...] = (),
        *,
        is_used: bool = True,
    ) -> None:
        """Add what a call of a value is a finding of.

        Args:
            value: what is called.
            node: the call.
            spot: where it is.
            bound: the partials between, the inner ones first.
            is_used: whether something is made of the result.
        """
        match value:
            case Known():
                if is_used or not self._is_for_effect(value.name, node):
                    self._call_known(value, node, spot, bound)
            case PartialCall():
                for inner in value.values:
                    self._call(inner, node, spot, (value.call, *bound))
            case Type():
                for found in sources_of_instance(self._evaluation, self._lookup, value.scope, node):
                    self._called.add(id(found.named_by))
                    if is_left_out(self._flow, found):
                        self._found.set_by_others(line_of(node), found.source.category, found.source.call)
                    self._note(line_of(node), found.source, found.name, spot, node.func, within=found.field)
            case Produced(name=name) if (source := self._lookup.find(f"{name}.__call__")) is not None:
                self._note(line_of(node), source, f"{name}.__call__", spot, node.func)
            case Accessor(name=name, is_call=True) if node.args:
                for base in self._evaluation.values(node.args[0], spot):
                    for inner in self._evaluation.attribute(base, name, node):
                        self._call(inner, node, spot)
            case _:
                pass

    def _unordered(self, value: Known, use: Use) -> None:
        """Add a call whose results come in any order, unless the code around it makes nothing of that."""
        assert isinstance(use.node, ast.Call)  # noqa: S101 - calls are
        # The first error that comes is the one that is handled.
        is_tried = bool(self._flow.tries)
        if not is_tried and loses_order(self._evaluation, use):
            self.excused.add((line_of(use.node), "ordering"))
        elif not is_tried and (tables := tables_filled(self._evaluation, use)):
            for table in tables:
                self._found.add(
                    line_of(use.node),
                    "ordering",
                    value.name,
                    None,
                    use.spot,
                    callee=use.node.func,
                    start=table,
                )
        else:
            self._call(value, use.node, use.spot, is_used=use.position != "discarded")

    def _is_for_effect(self, name: str, node: ast.Call) -> bool:
        """Return whether a call whose result is dropped only waits for all there is, or only writes."""
        if name in ("concurrent.futures.wait", "asyncio.wait") and waits_for_all(node):
            self.excused.add((line_of(node), "ordering"))
            return True
        if name == "os.environ.setdefault":
            self.excused.add((line_of(node), "env"))
            return True
        return name.endswith(_ONLY_WAITING)

    def _call_known(self, value: Known, node: ast.Call, spot: Spot, bound: tuple[ast.Call, ...]) -> None:
        """Add a call of a source, unless its arguments determine the value."""
        if value.node is not None and value.node is not node.func:
            self._called.add(id(value.node))
        if value.name in ("builtins.eval", "builtins.exec"):
            self._evaluate_text(node, spot)
        if value.name in ("builtins.id", "builtins.hash"):
            return  # their argument decides: see `set_order`
        if value.name.startswith(_LIBRARIES_IN_C):
            self._call_of_c(value.name.rpartition(".")[2], node, spot)
            return
        source = self._lookup.find(value.name)
        if source is None or (isinstance(source, LibraryCall) and not may_reach(source, self._flow)):
            return
        if any(
            may_be_determined(self._evaluation, source, call, skip, spot)
            for call, skip in reaching(node, bound)
        ):
            if isinstance(source, LibraryCall):  # a source itself is not called by such a call
                self.excused.add((line_of(node), source.category))
            return
        if self._is_of_own(source, node, spot):
            self.excused.add((line_of(node), source.category))
            return
        if source.category == "files" and reads_own_text(self._evaluation, node, spot, is_by_default=True):
            self._found.set_by_others(line_of(node), source.category, source.call)
        if is_default_unused(self._flow, value.node):
            self._found.set_by_others(line_of(node), source.category, source.call)
        if source.call.endswith(".wait") and not waits_for_all(node):
            self._found.set_partial(line_of(node), source.category, source.call)
        is_itself = value in self._evaluation.values(node.func, spot)
        self._note(line_of(node), source, value.name, spot, node.func, value.name if is_itself else None)

    def _is_of_own(self, source: Source | LibraryCall, node: ast.Call, spot: Spot) -> bool:
        """Return whether a call asks for the program's own text or place."""
        if isinstance(source, LibraryCall) and starts_from_own_file(self._evaluation, node, spot):
            return True
        return source.category == "files" and reads_own_text(self._evaluation, node, spot)

    def _call_of_c(self, function: str, node: ast.Call, spot: Spot) -> None:
        """Add a call of a function of a C library, whatever its name promises."""
        self._calls_of_c = True
        if not function.startswith("_"):
            self._found.add(line_of(node), "native", f"ctypes.{function}", None, spot, callee=node.func)

    def _evaluate_text(self, node: ast.Call, spot: Spot) -> None:
        """Scan text that is evaluated by `eval` or `exec`. Its calls count at the line that evaluates it."""
        text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if not isinstance(text, str):
            return
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        self._evaluated_trees.append(tree)  # values are cached by the id of nodes, which have to live
        for part in ast.walk(tree):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node.func)
            if isinstance(part, ast.Call):
                for value in self._evaluation.values(part.func, spot):
                    self._call(value, part, spot)

    # --- references ---------------------------------------------------------------------------------------------------

    def _reference(self, use: Use) -> None:
        """Add what a use other than a call is a finding of."""
        if use.position in ("operand", "other"):
            return
        for value in self._evaluation.values(use.node, use.spot):
            if isinstance(value, Container) and use.position == "subscript" and value.type == "defaultdict":
                self._fill_missing_key(value, use)
            if isinstance(value, Produced) and use.position == "subscript":
                self._look_up(value, use)
            if not isinstance(value, Known):
                continue
            if use.position == "subscript" and value.name in INDEXED:
                indexed = BY_NAME[INDEXED[value.name]]
                self._note(use.node.lineno, indexed, value.name, use.spot, start=use.node)
            elif value.name == ENVIRONMENT:
                self._read_environment(use, value)
            elif use.position == "argument":
                self._pass_callable(use, value)
            elif use.position == "stored" and value.node is use.node:
                self._store_callable(use, value)

    def _look_up(self, table: Produced, use: Use) -> None:
        """Add the source that a library's object asks where a key is looked up in it, as caches with a limit do."""
        name = f"{table.name}.__getitem__"
        source = self._lookup.find(name)
        if source is not None:
            self._note(use.node.lineno, source, name, use.spot, start=use.node)

    def _fill_missing_key(self, mapping: Container, use: Use) -> None:
        """Add the source that a defaultdict calls for a missing key."""
        for value in self._evaluation.elements((mapping,)):
            if isinstance(value, Known) and (source := self._lookup.find(value.name)) is not None:
                if value.node is not None:
                    self._called.add(id(value.node))
                self._note(use.node.lineno, source, value.name, use.spot, start=use.node)

    def _read_environment(self, use: Use, value: Known) -> None:
        """Add a use of the environment, unless it is only stored or passed on unread."""
        source = BY_NAME[ENVIRONMENT]
        if self._is_set_before(use):
            self.excused.add((use.node.lineno, "env"))
            return
        if use.position == "argument":
            if (
                self._is_inert(use, INERT)
                or self._calls_own_code(use)
                or any(
                    keyword.arg == "env" and keyword.value is use.node
                    for keyword in (use.call.keywords if use.call else ())
                )
            ):
                return
        elif use.position == "stored":
            return
        self._note(use.node.lineno, source, value.name, use.spot, start=use.node, within=use.call)

    def _is_set_before(self, use: Use) -> bool:
        """Return whether the module itself has set the variable of the environment that is read."""
        key = self._flow.keys.get(id(use.node))
        return isinstance(key, ast.Constant) and ("environ", key.value) in self._flow.constant_keys

    def _pass_callable(self, use: Use, value: Known) -> None:
        """Add a source that is passed to a call which calls it."""
        source = self._lookup.find(value.name)
        if source is None or value.name == "builtins.hash" or self._is_inert(use, NOT_CALLING):
            return
        assert use.call is not None  # noqa: S101 - an argument has its call
        if self._calls_own_code(use) or any(name in STORING for name in self._callee_names(use)):
            if value.node is use.node:
                self._store_callable(use, value)
            return
        keyword = next((given.arg for given in use.call.keywords if given.value is use.node), None)
        if (depends_on_arguments(source) or is_class(value.name)) and not is_called_bare(use.call, keyword):
            return
        if value.node is not None and (keyword not in FACTORIES or id(value.node) not in self._called):
            self._called.add(id(value.node))
            if keyword in FACTORIES and is_always_given(self._flow, use):
                self._found.set_by_others(use.node.lineno, source.category, source.call)
            self._note(use.node.lineno, source, value.name, use.spot, start=use.node)
            lines = lines_that_run(self._flow, use.call, keyword)
            self._found.add_reads((use.node.lineno, source.category, source.call), lines)

    def _store_callable(self, use: Use, value: Known) -> None:
        """Remember a source that is stored, unless its arguments would decide."""
        source = self._lookup.find(value.name)
        if (
            source is not None
            and not depends_on_arguments(source)
            and value.name not in ("builtins.id", "builtins.hash")
        ):
            self._stored.append((use, use.node, source, value.name))

    def _callee_names(self, use: Use) -> list[str]:
        """Return the dotted names of the callee that something is passed to."""
        called = self._evaluation.values(use.call.func, use.spot) if use.call is not None else ()
        return [value.name for value in called if isinstance(value, Known)]

    def _is_inert(self, use: Use, inert_names: tuple[str, ...]) -> bool:
        """Return whether the callee is one of these names; a name that ends with a dot stands for all that begin so."""
        return any(
            name == inert or (inert.endswith(".") and name.startswith(inert))
            for name in self._callee_names(use)
            for inert in inert_names
        )

    def _calls_own_code(self, use: Use) -> bool:
        """Return whether the callee is a function or class of this module, which is scanned itself."""
        called = self._evaluation.values(use.call.func, use.spot) if use.call is not None else ()
        return any(isinstance(value, Routine | Type | Instance) for value in called)

    # --- findings -----------------------------------------------------------------------------------------------------

    def _note(
        self,
        line: int,
        source: Source | LibraryCall,
        name: str,
        spot: Spot,
        callee: ast.expr | None = None,
        callee_name: str | None = None,
        *,
        start: ast.AST | None = None,
        within: ast.Call | None = None,
    ) -> None:
        """Add a finding of a source, or of a library call as one of the tier `library`.

        Args:
            line: the line.
            source: the source, or the library call that reaches it.
            name: the dotted name that the source was found by.
            spot: where it is.
            callee: the callee of the call that reaches the source, if a call of this place does.
            callee_name: the dotted name of the callee's value, where that is the source itself.
            start: the expression that has the value, if it is not the call.
            within: the call that keeps the value, if it is an argument of one.
        """
        if self._settled.is_settled(name, source.category, line, spot, callee):
            self.excused.add((line, source.category))
            return
        via = name if isinstance(source, LibraryCall) else None
        self._found.add(
            line,
            source.category,
            source.call,
            via,
            spot,
            callee=callee,
            callee_name=callee_name,
            start=start,
            within=within,
        )
