"""The types of an input's values, and the state that JSON has no place for.

The canonical form writes values as JSON, as people would: a `Decimal` as text, a tuple as a list, a closure by its
name. The rest stands beside it, under `$types`: a tree with the keys of the input, in which each value that is no plain
JSON has its type. So values of different types never compare equal. An input of plain JSON has no such tree.

A leaf is a type. A node with more to say is an object, in which `$is` is the type. Every other key that begins with `$`
is state: `$state` (attributes), `$cells` (of a closure), `$defaults`, `$self` (of a bound method), `$rest` (a digest of
a value that is too deep or too large to be written), `$beyond` (the value is too large to be compared), `$unread` (the
value is compared by its name only). A key of the program's own that begins with `$` has one more `$`.
"""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from math import isfinite
from typing import Any, Final, TypeAlias

import msgspec

from autochron._runtime import bare
from autochron._runtime.bare import identity
from autochron._runtime.class_table import ClassTable
from autochron.envelope import arrays, function_memo, objects, shapes, standard_types
from autochron.envelope import types as names
from autochron.envelope.budget import MOST_VISITS, multiplies
from autochron.envelope.cycle_search import find_cycles
from autochron.envelope.cycles import CycleError, Cycles, reference
from autochron.envelope.plain_json import MAX_DEPTH, MAX_NODES, PLAIN_TYPES
from autochron.envelope.state_writer import MakeStateWriter, StateWriter
from autochron.envelope.type_labels import SCALARS, VALUES, label
from autochron.envelope.type_trees import BEYOND, Tree
from autochron.envelope.value_digest import TooLargeError, digest_and_cost, digest_of
from autochron.model import InputForm

MAX_STATE: Final = 20_000
"""Values that are read of one piece of state, such as the contents of a closure."""

_MOST_LEVELS_OF_STATE = 25
"""Levels of state on a cycle that are written. Ten frames each, so that no text depends on the stack of the caller."""

_SMALL_STATE = 500
"""Values of a piece of state that is written out. Of a larger one a digest is written."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def types_of(bound: dict[str, Any], state_walk: MakeStateWriter, form: InputForm) -> bytes:
    """Return the tree of bound arguments as JSON; empty where all of them are plain.

    Args:
        bound: the arguments by parameter.
        state_walk: returns what writes the state of an argument.
        form: the form of the input.
    """
    marks = form < InputForm.NUMBERED
    tree: dict[str, Any] = {}
    for name, value in bound.items():
        try:
            tree |= _Walk(state_walk(None, marks=marks), MOST_VISITS, marks=marks).members([(name, value)], 0)
        except (CycleError, TooLargeError):
            tree |= _members_of_large(name, value, state_walk, marks=marks)
    return _encode(tree) if tree else b""


def _members_of_large(name: str, value: Any, state_walk: MakeStateWriter, *, marks: bool) -> dict[str, Any]:
    cycles = None if marks else find_cycles(value)
    try:
        if cycles is not None and cycles.parts:
            walk = _Walk(state_walk(cycles.fresh(), marks=True), MAX_NODES, cycles, marks=True)
            return walk.members([(name, value)], 0)
        if not multiplies(value):
            return _Walk(state_walk(None, marks=True), MAX_NODES, marks=True).members([(name, value)], 0)
    except TooLargeError:
        pass
    return {name: {BEYOND: True}}


def _is_written_as_it_is(value: Any) -> bool:
    """Return whether the encoder writes a value exactly as the canonical form has it."""
    kind = type(value)
    return bool((kind is str and value.isascii()) or (kind is int and -(2**63) <= value < 2**64))


class _Walk:
    """One walk through the arguments of a call.

    Attributes:
        walk: returns any value as plain JSON data.
        max_nodes: how many parts may be read; beyond that `TooLargeError` is raised.
        nodes: how many parts were read.
        cycles: the parts that lie on a cycle, if they were searched. Each has its tree where it occurs first.
        digested: the same parts. Each is read for the first digest that it is a part of.
        marks: whether the canonical form marks a part that contains itself and has no number.
        left: how many parts may still be read for digests.
        open: the identities of the containers around the current value.
        inside_own: whether the current value is in an object of the user's own.
        inside_state: whether the current value is in state, or in a set: the canonical form does not have it there.
        of_state: the parts on cycles whose trees are written there.
    """

    __slots__ = (
        "cycles",
        "digested",
        "inside_own",
        "inside_state",
        "left",
        "marks",
        "max_nodes",
        "nodes",
        "of_state",
        "open",
        "walk",
    )

    def __init__(
        self, walk: StateWriter, max_nodes: int, cycles: Cycles | None = None, *, marks: bool
    ) -> None:
        self.walk = walk
        self.max_nodes = max_nodes
        self.cycles = cycles
        self.digested = None if cycles is None else cycles.fresh()
        self.marks = marks
        self.nodes = 0
        self.left = 2 * MAX_NODES
        self.open: set[int] = set()
        self.inside_own = self.inside_state = False
        self.of_state: set[int] = set()

    def members(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        """Return the trees of a container's members by key, without those that are plain."""
        trees: dict[str, Any] = {}
        if self.cycles is not None:  # an order that equal values share
            items = sorted(items, key=lambda item: bare.key_text(item[0]))
        for key, value in items:  # the loop over most of an input, so plain values are passed over first
            if type(value) in PLAIN_TYPES and (type(value) is not str or value.isascii()):
                self.nodes += 1
                continue
            tree = self.tree(value, depth)
            if tree is not None:
                name = key if type(key) is str else bare.key_text(key)
                if not name.isascii():
                    name = name.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is no JSON
                trees[f"${name}" if name[:1] == "$" else name] = tree
        return trees

    def tree(self, value: Any, depth: int) -> Tree | None:
        """Return the tree of a value; None where it is plain."""
        kind = type(value)
        self.nodes += 1
        scalar = SCALARS.get(kind)
        if scalar is not None:
            return scalar(value)
        if self.nodes > self.max_nodes:
            raise TooLargeError
        key = identity(value)
        if self.cycles is not None and (number := self.cycles.number_of(key)) is not None:
            # The canonical form has a number for a part that it has already.
            return reference(number) if self.inside_state or key in self.of_state else None
        if self.inside_state:
            self.of_state.add(key)
        if key in self.open:
            if self.marks:
                return None  # the canonical form marks the cycle
            raise CycleError
        if depth >= MAX_DEPTH:
            return self.rest(value)
        self.open.add(key)
        if self.cycles is not None:
            self.walk.depth = len(self.open)
        try:
            return self._container(value, kind, depth + 1)
        finally:
            self.open.discard(key)
            if self.cycles is not None:
                self.walk.depth = len(self.open)

    def _container(self, value: Any, kind: type, depth: int) -> Tree | None:
        if kind is list:
            return self.items(value, depth) or None
        if kind is dict:
            return self.mapping(value, depth) or None
        if kind is tuple:
            return _node("tuple", self.items(value, depth))
        if kind is set or kind is frozenset:
            return _node(kind.__name__, self._set(value, depth))
        return self._other(value, kind, depth)

    # --- builtin containers

    def items(self, value: Any, depth: int) -> dict[str, Any]:
        trees = self.members(enumerate(value), depth)
        if len(trees) == len(value) > 1:
            first = next(iter(trees.values()))
            if all(tree == first for tree in trees.values()):
                return {"*": first}
        return trees

    def mapping(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        pairs = list(dict.items(value))
        if all(type(key) is str for key, _ in pairs):
            trees = self.members(pairs, depth)
            return {"$is": "dict", **trees} if any(key[:1] == "$" for key, _ in pairs) else trees
        # The canonical form writes some keys as text: `1` and `"1"` would be one.
        keys = [(key if type(key) is str else self._key_text(key), key, item) for key, item in pairs]
        if self.cycles is not None:  # an order that equal values share
            keys.sort(key=lambda entry: (entry[0], type(entry[1]) is str))
        trees = {
            "$is": "dict",
            "$keys": sorted([text, self.tree(key, depth)] for text, key, _ in keys if type(key) is not str),
        }
        if len({bare.key_text(key) if issubclass(type(key), str) else text for text, key, _ in keys}) < len(
            keys
        ):
            trees["$values"] = sorted([self._key_text(key), self.walk(item)] for _, key, item in keys)
        return trees | self.members(((text, item) for text, _, item in keys), depth)

    def _key_text(self, key: Any) -> str:
        """Return the canonical form of a key. No other part refers to it."""
        if _is_written_as_it_is(key) or (type(key) is tuple and all(map(_is_written_as_it_is, key))):
            return _encode(key).decode()
        with ExitStack() as stack:
            if self.walk.cycles is not None:
                stack.enter_context(self.walk.cycles.apart())
            return _encode(self.walk(key)).decode()

    def _set(self, value: Any, depth: int) -> dict[str, Any]:
        typed = [pair for item in value if (pair := self._item(item, depth)) is not None]
        return {"$items": sorted(typed, key=_encode)} if typed else {}

    def _item(self, item: Any, depth: int) -> list[Any] | None:
        """Return an item of a set and its tree; None where it is plain. No other part refers to it."""
        with ExitStack() as stack:
            for cycles in (self.cycles, self.digested, self.walk.cycles):
                if cycles is not None:
                    stack.enter_context(cycles.apart())
            tree = self.state_tree(item, depth)
            return None if tree is None else [self.walk(item), tree]

    # --- all else

    def _other(self, value: Any, kind: type, depth: int) -> Tree | None:
        return _ways.find(kind, _way_of)(self, value, kind, depth)

    def fields(self, value: Any, kind: type, shape: str, depth: int) -> dict[str, Any]:
        if shape == "namedtuple":
            trees = self.members(enumerate(tuple.__iter__(value)), depth)
            return trees | self._state(shapes.attributes(value, shapes.slots_of(kind)), depth)
        if shape == "struct":
            return self.members(
                ((name, bare.slot(value, name)) for name in shapes.struct_fields(kind)), depth
            )
        if shape == "pydantic":
            extra = bare.slot(value, "__pydantic_extra__") or {}
            private = bare.slot(value, "__pydantic_private__") or {}
            own: dict[str, Any] = {**(bare.dictionary_of(value) or {}), **extra, **private}
            return self.members(_without(own, objects.derived(kind)), depth)
        if shape == "namespace":
            return self.members((bare.dictionary_of(value) or {}).items(), depth)
        own = dict(_without(shapes.attributes(value, shapes.slots_of(kind)), objects.derived(kind)))
        own.pop("_sa_instance_state", None)
        hidden = {name: own.pop(name) for name in list(own) if name[:1] == "_"}
        return self.members(own.items(), depth) | self._state(hidden, depth)

    def subclass(self, value: Any, kind: type, depth: int) -> dict[str, Any]:
        base: Any = shapes.container_base(kind)
        trees: dict[str, Any] = {}
        if issubclass(kind, dict):
            trees = self.mapping(dict(dict.items(value)), depth)
        elif issubclass(kind, (list, tuple, deque)):
            trees = self.items(list(base.__iter__(value)), depth)
        elif issubclass(kind, (set, frozenset)):
            trees = self._set(list(base.__iter__(value)), depth)
        elif issubclass(kind, float) and not isfinite(value):
            trees = {"$value": float.__repr__(value)}
        if base is defaultdict and (factory := bare.factory_of(value)) is not None:
            trees["$factory"] = names.label_function(factory)
        elif base is deque and (maxlen := bare.maxlen_of(value)) is not None:
            trees["$maxlen"] = maxlen
        elif base is OrderedDict:
            trees["$order"] = [self.walk(key) for key in OrderedDict.keys(value)]
        own = shapes.attributes(value, shapes.slots_of(kind))
        return trees | self._state(dict(_without(own, objects.derived(kind))), depth)

    def exception(self, value: BaseException, depth: int) -> dict[str, Any]:
        state = dict(bare.dictionary_of(value) or {})
        for name in _OF_ERRORS:
            item = bare.slot(value, name) if issubclass(type(value), _BUILTIN_ERRORS) else None
            if item is not None:
                state[name] = item
        cause = bare.of_error(value, "__cause__")
        if cause is not None:
            state["__cause__"] = cause
        trees = self.members([("args", list(bare.of_error(value, "args")))], depth)
        if issubclass(type(value), BaseExceptionGroup):
            state["exceptions"] = list(bare.slot(value, "exceptions"))
        return trees | self._state(state, depth)

    def own(self, value: Any, kind: type, depth: int) -> Tree:
        """Return the tree of a plain object of the user's own; only a digest where it is too large to be written."""
        outermost = not self.inside_own
        cycles = None if self.cycles is None else self.cycles.fresh()
        if outermost and objects.show(value, cycles, marks=self.marks) == {"$opaque": names.label(kind)}:
            rest = self.rest(value)
            return {"$is": label(kind), **(rest if isinstance(rest, dict) else {})}
        self.inside_own = True
        try:
            own = _without(shapes.attributes(value, shapes.slots_of(kind)), objects.derived(kind))
            return _node(label(kind), self.members(own, depth))
        finally:
            self.inside_own = not outermost

    def function(self, value: Any, depth: int) -> Tree | None:
        """Return the state of a function: its closure, its defaults, and the object that it is bound to."""
        if type(value) is types.MethodType:
            inner = (
                self.function(value.__func__, depth) if type(value.__func__) is types.FunctionType else None
            )
            receiver = self.state_value(value.__self__, depth)
            return {"$is": "method", "$self": receiver, **(inner if isinstance(inner, dict) else {})}
        if not _is_own_code(value):
            return {"$unread": names.label_function(value)} if value.__closure__ else None
        cells = function_memo.cells_of(value)
        memo = function_memo.known(value, cells)
        if memo is not None:
            return memo.tree
        tree = self._function(value, cells, depth)
        function_memo.keep(value, cells, tree)
        return tree

    def _function(self, value: types.FunctionType, cells: dict[str, Any], depth: int) -> Tree | None:
        parts: dict[str, Any] = {}
        if cells:
            parts["$cells"] = self.state_values(cells, depth)
        defaults = dict(enumerate(value.__defaults__ or ())) | (value.__kwdefaults__ or {})
        if defaults:
            parts["$defaults"] = self.state_values({str(key): item for key, item in defaults.items()}, depth)
        state = {key: item for key, item in vars(value).items() if not _is_of_the_interpreter(key)}
        return parts | self._state(state, depth) or None

    # --- state

    def rest(self, value: Any, max_values: int = MAX_NODES) -> Tree:
        """Return a digest for a value that is not written.

        All digests of one argument may read as many parts as a single one: each object of a ring leads to all the
        others.
        """
        digest = self._digest(value, min(max_values, MOST_VISITS))
        if digest is None and max_values > MOST_VISITS and self.left > 0:
            self.left -= MOST_VISITS  # `multiplies` reads about as many parts
            if not multiplies(value):
                digest = self._digest(value, max_values)
        return {BEYOND: True} if digest is None else {"$rest": digest}

    def _digest(self, value: Any, max_values: int) -> str | None:
        if self.left <= 0:
            return None
        digest, cost = digest_and_cost(value, min(max_values, self.left), self.digested, marks=self.marks)
        self.left -= cost
        return digest

    def state_value(self, value: Any, depth: int) -> Any:
        if type(value) in SCALARS:
            tree = self.tree(value, depth)
            return [self.walk(value), tree] if tree is not None else [self.walk(value)]
        cycles = None if self.cycles is None else self.cycles.fresh()
        is_deep = cycles is not None and len(self.open) > _MOST_LEVELS_OF_STATE
        # What lies on a cycle is written once, so it may be of any size.
        on_cycle = cycles is not None and identity(value) in cycles.parts and not is_deep
        if is_deep or (not on_cycle and digest_of(value, _SMALL_STATE, cycles, marks=self.marks) is None):
            return self.rest(value, MAX_STATE)  # a digest distinguishes it, and its content is not shown
        tree = self.state_tree(value, depth)
        return [self.walk(value), tree] if tree is not None else [self.walk(value)]

    def state_tree(self, value: Any, depth: int) -> Tree | None:
        """Return the tree of a value that the canonical form does not have at this place."""
        outermost = not self.inside_state
        self.inside_state = True
        try:
            return self.tree(value, depth)
        finally:
            self.inside_state = not outermost

    def state_values(self, state: dict[str, Any], depth: int) -> dict[str, Any]:
        items = sorted(((bare.key_text(key), item) for key, item in state.items()), key=lambda pair: pair[0])
        return {name: self.state_value(item, depth) for name, item in items}

    def _state(self, state: dict[str, Any], depth: int) -> dict[str, Any]:
        return {"$state": self.state_values(state, depth)} if state else {}


# --- how instances of a class are read -----------------------------------------------------------------------------


def _node(name: str, parts: dict[str, Any]) -> Tree:
    return {"$is": name, **parts} if parts else name


def _without(state: dict[Any, Any], left_out: frozenset[str]) -> Iterator[tuple[Any, Any]]:
    return ((key, item) for key, item in state.items() if key not in left_out)


_OF_ERRORS = ("filename", "filename2", "errno", "name", "path", "code", "value", "lineno", "offset", "text")
_BUILTIN_ERRORS = (OSError, ImportError, SystemExit, StopIteration, SyntaxError, NameError, AttributeError)


def _is_own_code(function: types.FunctionType) -> bool:
    return objects.is_own_file(function.__code__.co_filename)


_Way: TypeAlias = "Callable[[_Walk, Any, type, int], Tree | None]"
"""Returns the tree of an instance: from the walk, the instance, its class, its depth. It must not hold the class."""


def _way_of(kind: type) -> _Way:
    """Choose how the trees of a class's instances are made; called once for a class."""
    reader = standard_types.READERS.get(kind)
    if reader is not None:
        return _node_of(reader)
    module = bare.text(kind, "__module__")
    if module in VALUES:
        type_of = VALUES[module]
        return lambda _walk, value, _kind, _depth: type_of(value)
    shape = shapes.kind_of(kind)
    if shape == "enum":
        return _enum
    if shape == "exception":
        return _node_of(_Walk.exception)
    if shape in ("pydantic", "struct", "record", "namespace", "namedtuple"):
        return lambda walk, value, kind, depth: _node(label(kind), walk.fields(value, kind, shape, depth))
    if shape == "container":
        return lambda walk, value, kind, depth: _node(label(kind), walk.subclass(value, kind, depth))
    if issubclass(kind, type) or shape == "http":
        return _nothing
    if objects.is_own(kind):
        return _Walk.own
    if arrays.shape_of(kind) is not None:
        return lambda _walk, _value, kind, _depth: label(kind)
    return _way_of_library(kind)


def _way_of_library(kind: type) -> _Way:
    if issubclass(kind, (types.FunctionType, types.MethodType)):
        return lambda walk, value, _kind, depth: walk.function(value, depth)
    for base, read in standard_types.BASES:
        if issubclass(kind, base):
            return _node_of(read)
    for module, name, reader in standard_types.LAZY:
        known = getattr(sys.modules.get(module), name, None)
        if isinstance(known, type) and issubclass(kind, known):
            return _node_of(reader)
    return _nothing  # the canonical form has its type


def _node_of(read: Callable[[_Walk, Any, int], dict[str, Any]]) -> _Way:
    return lambda walk, value, kind, depth: _node(label(kind), read(walk, value, depth))


def _enum(_walk: _Walk, value: Any, kind: type, _depth: int) -> Tree:
    return f"{label(kind)}.{value._name_ if value._name_ is not None else value._value_}"


def _nothing(_walk: _Walk, _value: Any, _kind: type, _depth: int) -> None:
    return None


_ways: ClassTable[_Way] = ClassTable()
names.on_root_change(_ways.forget)


def _is_of_the_interpreter(name: str) -> bool:
    return name[:2] == "__" or name.startswith("_autochron")
