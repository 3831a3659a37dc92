"""Search a value for the parts that lie on a cycle: Tarjan's strongly connected components, each part visited once."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterator
from gc import get_referents
from typing import Any

from autochron._runtime.bare import identity, of_error, slot
from autochron._runtime.frame_locals import locals_of
from autochron.envelope import function_memo, objects, shapes
from autochron.envelope.cycles import Cycles
from autochron.envelope.standard_types import ITERATORS

_ATOMS = frozenset({str, int, float, bool, type(None), bytes, bytearray, complex, type, range})
_SEQUENCES: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_WITH_ATTRIBUTES = frozenset({"pydantic", "record", "namespace", "namedtuple", "container", "exception"})
"""Kinds of values, see `shapes`, whose attributes are read."""

_SUSPENDED = frozenset({types.GeneratorType, types.AsyncGeneratorType, types.CoroutineType})
_of_partial = [vars(functools.partial)[name].__get__ for name in ("func", "args", "keywords")]
"""Return what a partial holds, also where a subclass of the program has properties of these names."""


def find_cycles(value: Any, *, of_outcome: bool = False) -> Cycles:
    """Return the parts of a value that lie on a cycle.

    No code of the program runs. Parts that are never read, such as the attributes of a library's objects, don't count.

    Args:
        value: any value. It must not change meanwhile.
        of_outcome: whether the value is written as an outcome. Equal inputs may differ in what only outcomes have, such
            as the values of cached properties.
    """
    search = _Search(of_outcome=of_outcome)
    parts = frozenset(search.run(value))
    classes = {type(part) for part in search.kept if identity(part) in parts} if parts else ()
    return Cycles(parts, search.links, classes)


class _Search:
    """One search.

    Attributes:
        of_outcome: as in `find_cycles`.
        links: how often a part was met.
        order: how many parts were met before each part, by its identity.
        lowest: the least `order` that is known to be reached from a part and to lead to it.
        pending: the parts whose component is not complete, in the order in which they were met.
        kept: all parts that were met. No other object may get the identity of one of them.
        cyclic: the result.
    """

    def __init__(self, *, of_outcome: bool) -> None:
        self.of_outcome = of_outcome
        self.links = 0
        self.order: dict[int, int] = {}
        self.lowest: dict[int, int] = {}
        self.pending: list[int] = []
        self.kept: list[Any] = []
        self.cyclic: set[int] = set()

    def run(self, value: Any) -> set[int]:
        """Return the identities of the parts that lie on a cycle."""
        path: list[tuple[int, Iterator[Any]]] = [(-1, iter((value,)))]
        while path:
            holder, parts = path[-1]
            for part in parts:
                if type(part) in _ATOMS:
                    continue
                self.links += 1
                key = identity(part)
                if key not in self.order:
                    path.append((key, iter(_parts_of(self._meet(part, key), of_outcome=self.of_outcome))))
                    break
                if key in self.lowest:
                    self.lowest[holder] = min(self.lowest[holder], self.order[key])
                    if key == holder:
                        self.cyclic.add(key)
            else:
                path.pop()
                if path:
                    self._leave(holder, path[-1][0])
        return self.cyclic

    def _meet(self, part: Any, key: int) -> Any:
        self.order[key] = self.lowest[key] = len(self.order)
        self.pending.append(key)
        self.kept.append(part)
        return part

    def _leave(self, key: int, holder: int) -> None:
        """Complete a part's component if the part is the first of it, or tell its holder what it reaches."""
        if self.lowest[key] < self.order[key]:
            self.lowest[holder] = min(self.lowest[holder], self.lowest[key])
            return
        start = len(self.pending) - 1
        while self.pending[start] != key:
            start -= 1
        component = self.pending[start:]
        del self.pending[start:]
        for member in component:
            del self.lowest[member]
        if len(component) > 1:
            self.cyclic.update(component)


def _parts_of(value: Any, *, of_outcome: bool) -> list[Any]:
    """List the parts of a value that an input or an outcome is written from."""
    kind = type(value)
    if kind is list or kind is tuple:
        return list(value)
    if kind is dict:
        return [*value, *value.values()]
    if kind is types.FunctionType:
        return _parts_of_function(value, of_outcome=of_outcome)
    if kind is types.MethodType:
        return [value.__self__, value.__func__]
    if issubclass(kind, functools.partial):
        function, arguments, keywords = (read(value) for read in _of_partial)
        return [function, *arguments, *keywords.values()]
    if kind is types.MappingProxyType and not of_outcome:
        return get_referents(value)
    if kind in _SUSPENDED and not of_outcome:
        return _locals_of(value)
    if kind in ITERATORS and not of_outcome:
        return [*value.__reduce__()[1:]]
    if kind is types.BuiltinFunctionType and not of_outcome:
        return [value.__self__]
    parts = _items_of(value, kind)
    if issubclass(kind, BaseException):
        parts += (*of_error(value, "args"), of_error(value, "__cause__"))
        if of_outcome:
            parts.append(of_error(value, "__context__"))
    return parts + _fields_of(value, kind, frozenset() if of_outcome else _left_out(kind))


def _locals_of(suspended: Any) -> list[Any]:
    """List the local variables of a generator or a coroutine of the user's own."""
    for name in ("gi_frame", "ag_frame", "cr_frame"):
        frame = getattr(suspended, name, None)
        if frame is not None and objects.is_own_file(frame.f_code.co_filename):
            return list(locals_of(frame).values())
    return []


def _left_out(kind: type) -> frozenset[str]:
    """Return the names of the attributes that an input does not have."""
    if issubclass(kind, BaseException):
        return frozenset()
    return objects.derived(kind) | {"_sa_instance_state"} if shapes.is_record(kind) else objects.derived(kind)


def _items_of(value: Any, kind: type) -> list[Any]:
    parts: list[Any] = []
    if issubclass(kind, dict):
        parts += (part for pair in list(dict.items(value)) for part in pair)
    for base in _SEQUENCES:
        if issubclass(kind, base):
            parts += base.__iter__(value)
    return parts


def _fields_of(value: Any, kind: type, left_out: frozenset[str]) -> list[Any]:
    shape = shapes.kind_of(kind)
    if shape == "struct":
        return [slot(value, name) for name in shapes.struct_fields(kind)]
    parts: list[Any] = []
    if shape == "pydantic":
        for name in ("__pydantic_extra__", "__pydantic_private__"):
            parts += (slot(value, name) or {}).values()
    if shape in _WITH_ATTRIBUTES or objects.is_own(kind):
        own = shapes.attributes(value, shapes.slots_of(kind))
        parts += (item for name, item in own.items() if name not in left_out)
    return parts


def _parts_of_function(function: types.FunctionType, *, of_outcome: bool) -> list[Any]:
    if not objects.is_own_file(function.__code__.co_filename):
        return []
    return [
        *function_memo.cells_of(function).values(),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *(item for name, item in vars(function).items() if of_outcome or name[:2] != "__"),
    ]
