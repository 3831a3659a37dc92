"""Find where the order of a set, or the address of an object, reaches what a program does, from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from autochron.detect.scan.abstract_values import (
    NUMBERS,
    Container,
    Holding,
    Known,
    Plain,
    Produced,
    Routine,
    Set,
    Text,
    Unknown,
    Value,
)
from autochron.detect.scan.asked_sets import has_one_element, is_whole, listed_sets
from autochron.detect.scan.class_texts import ClassTexts, is_date, is_weak_table, weak_collections
from autochron.detect.scan.flow import (
    BY_NUMBER,
    ModuleFlow,
    Spot,
    Use,
    is_count,
    last_name,
    names_element,
    tells_apart,
)
from autochron.detect.scan.infer import Evaluation, Values
from autochron.detect.scan.libraries import (
    ENCODERS,
    ORDERED,
    ORDERED_METHODS,
    RENDERING_METHODS,
    REPR_CALLERS,
)
from autochron.detect.scan.orderless_loops import loses_order_in, tables_filled
from autochron.detect.scan.shown_sets import is_sorted_by_template, is_unsorted, places_that_show_choices
from autochron.detect.scan.worklists import is_closure
from autochron.model import Category

_KEYS = frozenset({"add", "discard", "remove", "get", "setdefault", "pop", "append"})
"""Methods that use an identity only as a key."""
_COUNTING_NAMES = "len list tuple set frozenset dict sorted sum min max iter enumerate map"
_COUNTING = frozenset(f"builtins.{name}" for name in _COUNTING_NAMES.split())
"""Builtins that count or iterate a collection's elements."""
_NEVER_SETS = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Lambda,
    ast.Compare,
)  # fmt: skip
"""Expressions that are no set, whatever is in them."""
_TELLING_APART = frozenset({"builtins.str", "builtins.repr", "builtins.ascii", "os.fspath"})
"""Keys of which two that differ have different values."""
_DUMPERS = frozenset(
    {"json.dumps", "json.dump", "orjson.dumps", "ujson.dumps", "simplejson.dumps", "msgpack.packb"}
)
_PRETTY = frozenset(
    {
        "pprint.pformat", "pprint.pprint", "pprint.pp", "pprint.saferepr", "reprlib.repr", "reprlib.Repr.repr",
        "rich.pretty.pretty_repr", "rich.pretty.pprint", "urllib.parse.urlencode", "csv.writer.writerow",
        "csv.writer.writerows", "csv.DictWriter.writerow",
    }
)  # fmt: skip
_SIGNATURES = frozenset({"inspect.signature", "pydoc.render_doc"})
_PASSING_ON = ("itertools.", "toolz.", "cytoolz.", "more_itertools.")
_SORTING = frozenset({"yaml.dump", "yaml.safe_dump", "yaml.dump_all", "yaml.safe_dump_all"})
"""Functions that sort sets, unless `sort_keys=False` is passed."""
_MAX_DEPTH = 3
"""How deep the values in a container are looked at."""
_STABLE_BY_KEY = frozenset(
    {
        "builtins.sorted",
        "builtins.min",
        "builtins.max",
        "heapq.nlargest",
        "heapq.nsmallest",
        "toolz.unique",
        "sortedcontainers.SortedKeyList",
        "sortedcontainers.SortedList",
    }
)
"""Builtins whose result depends on the order of elements with equal `key`."""


Kind: TypeAlias = Literal["iterated", "set", "popped", "text", "id", "hash", "hashed", "holding", "each"]
"""The role of the expression at such a place.

- `iterated`: a set that is iterated.
- `set`: a set that is passed to something which iterates it.
- `popped`: a set of which an element is popped.
- `text`: a value that is converted to text.
- `id`, `hash`: the function itself.
- `hashed`: an object whose `__hash__` is called.
- `each`: a container whose elements are converted to text; only for a caller that looks at values.
- `holding`: a value that is written with the sets that it holds; only for a caller that looks at values.
"""


class OrderSite(NamedTuple):
    """A place where the order of a set, or an address, reaches the program."""

    line: int
    category: Category
    call: str
    spot: Spot
    node: ast.expr | None = None
    """The expression whose value decides; None if there is no expression that can be replaced by another value."""
    kind: Kind = "set"


class OrderSites:
    """The places of one module where the order of a set, or an address, reaches the program."""

    def __init__(
        self, flow: ModuleFlow, evaluation: Evaluation, *, is_wide: bool = False, has_any_key: bool = False
    ) -> None:
        """Take a module.

        Args:
            flow: its bindings and uses.
            evaluation: its values.
            is_wide: whether expressions of unknown value count as well, for a caller that checks the values when they
                run.
            has_any_key: whether a sort by any key counts, also by one that tells all elements apart.
        """
        self._is_wide = is_wide
        self._has_any_key = has_any_key
        self._is_looking = is_wide and not has_any_key
        self._flow = flow
        self._evaluation = evaluation
        self._classes = ClassTexts(evaluation)

    def sites(self) -> Iterator[OrderSite]:
        """Yield every place where the order of a set, or an address, reaches the program."""
        for use in self._flow.iterated:
            if (
                not use.order_lost
                and self._is_unordered(use.node, use.spot)
                and not loses_order_in(self._evaluation, use, use.body)
            ):
                tables = [] if self._is_wide else tables_filled(self._evaluation, use)
                for decided in tables or [use.node]:
                    yield OrderSite(
                        use.node.lineno, "set-order", "set.__iter__", use.spot, decided, "iterated"
                    )
            yield from self._vanishing(use.node, use.spot, use.node.lineno)
        for use in self._flow.shown:
            yield from self._shown(use.node, use.spot, use.node.lineno)
        for use in self._flow.calls:
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            yield from self._call(use, use.node)
        for use in self._flow.references:
            if use.position == "argument":
                yield from self._passed(use)
        for place in places_that_show_choices(self._flow, self._is_unordered):
            yield OrderSite(place.node.lineno, "set-order", "set.__iter__", place.spot)
        for use, listed in listed_sets(self._flow, self._evaluation):
            yield OrderSite(use.node.lineno, "set-order", "set.__iter__", use.spot, listed)

    def identities(self) -> Iterator[ast.expr]:
        """Yield each expression that is the function `id`, also if the identity is only a key."""
        for use in (*self._flow.calls, *self._flow.references):
            node = use.node.func if isinstance(use.node, ast.Call) else use.node
            if isinstance(node, ast.Name) and not use.spot.scope.qualname.endswith("__deepcopy__"):
                values = self._evaluation.values(node, use.spot)
                if any(isinstance(value, Known) and value.name == "builtins.id" for value in values):
                    yield node

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, use: Use, node: ast.Call) -> Iterator[OrderSite]:
        """Yield the places at a call."""
        called = node.func
        names = [
            value.name for value in self._evaluation.values(called, use.spot) if isinstance(value, Known)
        ]
        is_ordered = any(name in ORDERED or name.startswith(_PASSING_ON) for name in names)
        if isinstance(called, ast.Attribute):
            line = called.end_lineno or node.lineno
            yield from self._method(node, called, use.spot, line)
            is_looked_up = called.attr in ("get", "pop") and use.position != "discarded"
            if is_looked_up and is_weak_table(self._evaluation.values(called.value, use.spot)):
                yield from self._vanishing(called.value, use.spot, line)
            is_builtin = all(name.startswith(("builtins.", "collections.deque")) for name in names)
            is_ordered = is_ordered or (called.attr in ORDERED_METHODS and is_builtin)
            if called.attr in RENDERING_METHODS and not any(name in ORDERED for name in names):
                named = [(keyword.arg, keyword.value) for keyword in node.keywords]
                for name, argument in (*((None, argument) for argument in node.args), *named):
                    if isinstance(argument, ast.Starred) or (
                        name and is_sorted_by_template(self._flow, name)
                    ):
                        continue
                    if self._is_unordered(argument, use.spot):
                        yield OrderSite(line, "set-order", "set.__iter__", use.spot, argument)
                    yield from self._address_text(argument, use.spot, line)
            is_ordered = is_ordered or (called.attr == "join" and len(node.args) == 1)
        else:
            line = node.lineno
        if not _STABLE_BY_KEY.isdisjoint(names):
            is_ordered = any(
                keyword.arg == "key" and (self._has_any_key or not self._tells_apart(keyword.value, use.spot))
                for keyword in node.keywords
            )
        is_lost = use.order_lost and last_name(called) not in BY_NUMBER
        if is_ordered and not is_lost:
            for argument in node.args:
                if not isinstance(argument, ast.Starred) and self._is_unordered(argument, use.spot):
                    yield OrderSite(line, "set-order", "set.__iter__", use.spot, argument)
        for name in names:
            yield from self._builtin(name, use, node, line)
        yield from self._summed(names, node, line)

    def _method(self, node: ast.Call, called: ast.Attribute, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield the places at a call of a method."""
        is_popped = called.attr == "pop" and not node.args and self._is_unordered(called.value, spot)
        if (
            is_popped
            and not has_one_element(called.value, spot)
            and not is_closure(self._evaluation, node, spot)
        ):
            yield OrderSite(line, "set-order", "set.pop", spot, called.value, "popped")
        if called.attr == "model_dump_json" or (called.attr == "json" and not node.args):
            yield from self._dumped_model(called.value, spot, line)
        if called.attr == "format" and any(
            isinstance(value, Text) for value in self._evaluation.values(called.value, spot)
        ):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from self._address_text(argument, spot, line)
        if called.attr in ("__repr__", "__str__") and isinstance(called.value, ast.Call):
            is_super = isinstance(called.value.func, ast.Name) and called.value.func.id == "super"
            if is_super and self._classes.has_plain_bases(spot.scope.body.outer):
                yield OrderSite(line, "identity", "object.__repr__", spot)
        if called.attr == "popitem":
            yield from self._vanishing(called.value, spot, line)
        if called.attr == "__hash__" and not node.args and not spot.scope.qualname.endswith("__hash__"):
            yield from self._hash(called.value, spot, line, called.value, "hashed")

    def _builtin(self, name: str, use: Use, node: ast.Call, line: int) -> Iterator[OrderSite]:
        """Yield the places at a call of a builtin, or of a function that makes text."""
        yield from self._made_text(name, node, use.spot, line)
        if name in _COUNTING and node.args:
            yield from self._vanishing(node.args[0], use.spot, line)
        elif name == "builtins.id":
            if not self._is_key(use):
                yield OrderSite(line, "identity", "id", use.spot, node.func, "id")
        elif name == "builtins.hash" and node.args and not use.spot.scope.qualname.endswith("__hash__"):
            yield from self._hash(node.args[0], use.spot, line, node.func, "hash")

    def _made_text(self, name: str, node: ast.Call, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield the places at a call of a function that makes text of its arguments, or of what they hold."""
        if name in REPR_CALLERS:
            yield from self._converted(node.args[: None if name == "builtins.print" else 1], spot, line)
        elif name == "builtins.map" and len(node.args) > 1:
            yield from self._mapped_to_text(node, spot, line)
        elif (
            name in ("inspect.signature", "pydoc.render_doc", "inspect.getfullargspec")
            and self._classes.has_object_as_default
        ):
            yield OrderSite(line, "identity", "object.__repr__", spot)
        elif not node.args:
            return
        elif name in _DUMPERS:
            yield from self._dumped(node, spot, line)
        elif name in _PRETTY:
            for part in self._parts(node.args[0], spot, _MAX_DEPTH):
                yield from self._address_text(part, spot, line)
            if self._is_looking:
                yield from self._encoded(node, spot, line)
        elif name in ENCODERS or (name in _SORTING and is_unsorted(node, name)):
            yield from self._encoded(node, spot, line)

    def _converted(self, arguments: list[ast.expr], spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield the places at the arguments of a call that converts each to text."""
        for argument in arguments:
            if not isinstance(argument, ast.Starred):
                yield from self._address_text(argument, spot, line)
                if any(map(self._classes.shows_set_within, self._evaluation.values(argument, spot))):
                    yield OrderSite(line, "set-order", "set.__repr__", spot)

    def _dumped(self, node: ast.Call, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield the places at a call that converts to text what JSON has no form for: `json.dumps(value, default=str)`."""
        names = {
            value.name
            for keyword in node.keywords
            if keyword.arg == "default"
            for value in self._evaluation.values(keyword.value, spot)
            if isinstance(value, Known)
        }
        if names & REPR_CALLERS:
            for part in self._parts(node.args[0], spot, _MAX_DEPTH):
                yield from self._shown(part, spot, line)
        elif names & {"builtins.list", "builtins.tuple"} or self._is_looking:
            yield from self._encoded(node, spot, line)

    def _encoded(self, node: ast.Call, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield the place if the first argument of a call holds a set of texts, and no option sorts it."""
        if any(keyword.arg == "order" for keyword in node.keywords):
            return
        if self._is_looking:
            yield OrderSite(line, "set-order", "set.__iter__", spot, node.args[0], "holding")
            return
        for part in self._parts(node.args[0], spot, _MAX_DEPTH):
            values = self._evaluation.values(part, spot)
            if self._is_unordered(part, spot) or any(map(self._holds_set, values)):
                yield OrderSite(line, "set-order", "set.__iter__", spot, part)
                return

    def _holds_set(self, value: Value) -> bool:
        """Return whether a value is a model, or a container by its annotation, that holds a set of texts."""
        if isinstance(value, Holding):
            return any(isinstance(held, Set) and not held.is_stable for held in value.values)
        return self._classes.holds_set(value)

    def _parts(self, node: ast.expr, spot: Spot, depth: int) -> Iterator[ast.expr]:
        """Yield an expression and what it holds, as far as that is written out."""
        yield node
        for value in self._evaluation.values(node, spot) if depth else ():
            if isinstance(value, Container):
                for element in value.values:
                    yield from self._parts(element, value.spot, depth - 1)

    def _tells_apart(self, key: ast.expr, spot: Spot) -> bool:
        """Return whether a key tells all elements of a set apart, so that equal keys decide nothing."""
        if isinstance(key, ast.Lambda) or tells_apart(key):
            return tells_apart(key)
        for value in self._evaluation.values(key, spot):
            if isinstance(value, Known) and value.name in _TELLING_APART:
                continue
            if isinstance(value, Routine) and not isinstance(value.node, ast.Lambda) and value.node.args.args:
                name = value.node.args.args[-1].arg
                if value.scope.returns and all(names_element(each, name) for each, _ in value.scope.returns):
                    continue
            return isinstance(value, Plain) and value.type == "NoneType"
        return True

    def _is_key(self, use: Use) -> bool:
        """Return whether an identity is only compared or looked up, also by the name that it is assigned to."""
        if _is_key(use):
            return True
        if use.position != "stored":
            return False
        scope = use.spot.scope.body
        names = [
            name
            for name, bindings in scope.bindings.items()
            for binding in bindings
            if binding.kind == "value"
            and (
                binding.node is use.node
                or (isinstance(binding.node, ast.Tuple) and use.node in binding.node.elts)
            )
        ]
        uses = [
            reference
            for reference in self._flow.references
            if isinstance(reference.node, ast.Name)
            and reference.node.id in names
            and reference.spot.scope.find(reference.node.id) is scope
        ]
        return bool(uses) and all(_is_key(reference) for reference in uses)

    def _summed(self, names: list[str], node: ast.Call, line: int) -> Iterator[OrderSite]:
        """Yield a place where floats are summed, one for each element of a set: the order decides how it is rounded."""
        spot = self._flow.spots.get(id(node.args[0])) if "builtins.sum" in names and node.args else None
        match node.args[:1]:
            case [
                ast.GeneratorExp(elt=each, generators=[first, *_])
                | ast.ListComp(elt=each, generators=[first, *_])
            ] if spot is not None:
                if self._is_unordered(first.iter, spot) and not is_whole(self._evaluation, each, spot):
                    yield OrderSite(line, "set-order", "set.__iter__", spot)

    def _vanishing(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield a place if a collection loses elements to the garbage collector."""
        for call in weak_collections(self._evaluation.values(node, spot)):
            yield OrderSite(line, "identity", call, spot)

    def _passed(self, use: Use) -> Iterator[OrderSite]:
        """Yield the places where `hash` is passed on as a callable."""
        for value in self._evaluation.values(use.node, use.spot):
            if isinstance(value, Known) and value.name == "builtins.hash":
                yield OrderSite(use.node.lineno, "set-order", "hash", use.spot, use.node, "hash")

    def _hash(
        self, node: ast.expr, spot: Spot, line: int, hashing: ast.expr, kind: Kind
    ) -> Iterator[OrderSite]:
        """Yield a place if the hash of a value differs between processes; `hashing` is the expression to replace."""
        if isinstance(node, ast.Tuple):
            orders = [
                order for element in node.elts for order in self._hash(element, spot, line, hashing, kind)
            ]
            yield from orders[:1]
            return
        values = self._evaluation.values(node, spot)
        if isinstance(node, ast.Call) and node.args and all(map(is_count, node.args)):
            return  # an object that is made of numbers only
        if self._is_looking:
            yield OrderSite(line, "set-order", "hash", spot, node, "hashed")
            return
        if any(
            isinstance(value, Text) or self._classes.hashes_text(value) or is_date(value) for value in values
        ):
            yield OrderSite(line, "set-order", "hash", spot, hashing, kind)
        elif any(self._classes.shows_address(value, "hash") for value in values):
            yield OrderSite(line, "identity", "hash", spot, hashing, kind)
        elif any(
            isinstance(value, Unknown) or (isinstance(value, Set) and not value.is_stable) for value in values
        ) and not any(isinstance(value, Plain) and value.type in NUMBERS for value in values):
            yield OrderSite(line, "set-order", "hash", spot, hashing, kind)

    # --- text ---------------------------------------------------------------------------------------------------------

    def _shown(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield the places at an expression that is converted to text."""
        if self._is_unordered(node, spot):
            yield OrderSite(line, "set-order", "set.__repr__", spot, node)
        elif any(map(self._classes.shows_set_within, self._evaluation.values(node, spot))):
            yield OrderSite(line, "set-order", "set.__repr__", spot)
        yield from self._address_text(node, spot, line)

    def _address_text(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield a place if the text of a value has its address."""
        values = self._evaluation.values(node, spot)
        if len(values) > 1:  # else it is the sentinel that is shown
            values = tuple(value for value in values if not self._is_sentinel(value))
        if any(self._classes.shows_address_within(value) for value in values) or self._is_open(node):
            yield OrderSite(line, "identity", "object.__repr__", spot, node, "text")

    def _is_sentinel(self, value: Value) -> bool:
        """Return whether a value is an `object()` in a module that compares such ones by identity."""
        is_object = isinstance(value, Produced) and value.name == "builtins.object"
        return is_object and self._flow.compares_identity

    def _mapped_to_text(self, node: ast.Call, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield a place if a call such as `map(str, tools)` makes text of objects with addresses."""
        called = self._evaluation.values(node.args[0], spot)
        if any(isinstance(value, Known) and value.name in REPR_CALLERS for value in called):
            held = self._evaluation.elements(self._evaluation.values(node.args[1], spot))
            if any(map(self._classes.shows_address_within, held)):
                yield OrderSite(line, "identity", "object.__repr__", spot)
            elif self._is_looking:
                yield OrderSite(line, "identity", "object.__repr__", spot, node.args[1], "each")

    def _dumped_model(self, node: ast.expr, spot: Spot, line: int) -> Iterator[OrderSite]:
        """Yield a place if a model with a set of texts is written as JSON."""
        if self._is_looking:
            yield OrderSite(line, "set-order", "set.__iter__", spot, node, "holding")
            return
        for value in self._evaluation.values(node, spot):
            if self._classes.holds_set(value):
                yield OrderSite(line, "set-order", "set.__iter__", spot)
                return

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _is_unordered(self, node: ast.expr, spot: Spot) -> bool:
        """Return whether an expression may be a set of several elements whose order differs between processes."""
        if (
            isinstance(node, ast.Set)
            and len(node.elts) < 2
            and not any(isinstance(element, ast.Starred) for element in node.elts)
        ):
            return False
        if self._is_open(node):
            return True
        return _may_be_unordered(self._evaluation.values(node, spot))

    def _is_open(self, node: ast.expr) -> bool:
        """Return whether the value of an expression is left to be seen when it runs (`is_wide`)."""
        return self._is_wide and not isinstance(node, _NEVER_SETS)


def _may_be_unordered(values: Values) -> bool:
    """Return whether one of the values is a set whose order differs between processes."""
    sets = [value for value in values if isinstance(value, Set) and not value.is_stable]
    if not sets:
        return False
    # `matches = index.get(key) or set()` says nothing of what is in the index.
    return not (all(value.is_empty for value in sets) and any(isinstance(value, Unknown) for value in values))


def _is_key(use: Use) -> bool:
    """Return whether an identity is only compared or looked up."""
    if use.position in ("operand", "subscript", "discarded"):
        return True
    callee = use.call.func if use.call is not None else None
    return isinstance(callee, ast.Attribute) and callee.attr in _KEYS
