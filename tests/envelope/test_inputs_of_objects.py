"""Inputs contain the state of objects without running code of the program, and every change of an object shows."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
import msgspec
import pydantic
import pytest

from autochron.envelope import screening
from autochron.envelope.canonical import canonical, snapshot
from autochron.envelope.type_trees import beyond_paths
from autochron.envelope.types import label
from autochron.recording.envelope_editor import by_type

_ran: list[str] = []


@dataclasses.dataclass
class Telling:
    a: int = 1

    def __getattribute__(self, name: str) -> Any:
        _ran.append(name)
        return object.__getattribute__(self, name)


class Loading:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return 0
        _ran.append(self.name)
        return instance.__dict__[self.name]

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


@dataclasses.dataclass
class Mapped:
    a: int = Loading()  # type: ignore[assignment]
    other: Any = None


class Order:
    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.lock = threading.Lock()
        self.next: Any = None

    @property
    def price(self) -> int:
        _ran.append("price")
        return self.amount

    @functools.cached_property
    def double(self) -> int:
        return self.amount * 2


class Money:
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


class Cart(pydantic.BaseModel):
    items: list[str] = []
    _log: list[str] = pydantic.PrivateAttr(default_factory=list)

    @functools.cached_property
    def count(self) -> int:
        return len(self.items)


def _of(value: Any) -> Any:
    return json.loads(canonical(("v",), (value,)))["v"]


@dataclasses.dataclass
class Holder:
    held: Any


@dataclasses.dataclass(slots=True)
class SlottedHolder:
    held: Any


@attrs.define
class AttrsHolder:
    held: Any


class StructHolder(msgspec.Struct):
    held: Any


FRAMES = {
    "itself": lambda v: v,
    "a list": lambda v: [v],
    "a tuple in a dict": lambda v: {"a": (v,)},
    "a model": lambda v: Cart.model_construct(items=[v]),
    "deques": lambda v: collections.deque([collections.deque([[v]])]),
    "a dataclass": lambda v: Holder([v]),
    "a dataclass with slots": lambda v: SlottedHolder(v),
    "an attrs class": lambda v: AttrsHolder(v),
    "a struct": lambda v: StructHolder(v),
    "records in records": lambda v: Holder(AttrsHolder(v)),
}


@pytest.fixture
def meet() -> Iterator[Callable[[bool], None]]:
    """Return a function that sets whether an unsafe class was met before."""
    met = screening.met_unsafe[0]
    yield partial(screening.met_unsafe.__setitem__, 0)
    screening.met_unsafe[0] = met


@pytest.mark.parametrize("met", [False, True], ids=["first met", "met before"])
@pytest.mark.parametrize("make", [Telling, lambda: Mapped(a=1)], ids=["Telling", "Mapped"])
@pytest.mark.parametrize("frame", FRAMES)
def test_no_code_of_a_dataclass_runs(make: Any, frame: Any, met: bool, meet: Any) -> None:
    meet(met)
    value = FRAMES[frame](make())
    _ran.clear()
    body = canonical(("v",), (value,))
    snapshot([value])
    assert _ran == []
    assert b'"a":1' in body


@pytest.mark.parametrize("holder", [Holder, SlottedHolder, AttrsHolder, StructHolder])
@pytest.mark.parametrize("size", [16, 300])
def test_once_a_class_is_unsafe_values_are_searched_in_full(holder: Any, size: int, meet: Any) -> None:
    meet(True)
    value: Any = Telling()
    for _ in range(6):
        value = [holder(None) for _ in range(size)] + [holder(value)]
    _ran.clear()
    snapshot([value])
    assert _ran == []


def test_records_in_a_cycle_are_searched_once(meet: Any) -> None:
    meet(True)
    first, second = Holder(None), Holder(None)
    first.held, second.held = [second, first], [first]
    screening.screen([first])
    second.held.append(Telling())
    with pytest.raises(screening.UnsafeError):
        screening.screen([first])


def test_cycles_of_mapped_dataclasses_end() -> None:
    first = Mapped(a=1)
    first.other = [Mapped(a=2, other=first)]
    assert _of(first) == {"a": 1, "other": [{"a": 2, "other": {"$cycle": 1}}]}


def test_an_object_of_the_program_is_written_as_its_attributes() -> None:
    _ran.clear()
    order = Order(5)
    assert _of(order) == {"amount": 5, "lock": {"$opaque": "_thread:lock"}, "next": None}
    assert _of([Money(2)]) == [{"value": 2}]
    before = canonical(("v",), (order,))
    assert order.double == 10
    assert canonical(("v",), (order,)) == before
    assert _ran == []
    order.next = order
    assert _of(order)["next"] == {"$cycle": 1}


def test_a_large_object_is_written_as_its_type() -> None:
    first = order = Order(0)
    for amount in range(200):
        order.next = Order(amount)
        order = order.next
    assert _of(first) == {"$opaque": label(Order)}


def test_an_object_of_a_library_is_written_as_its_type() -> None:
    class Mine(threading.Thread):
        pass

    assert _of(threading.Thread()) == {"$opaque": "threading:Thread"}
    assert "$opaque" in _of(Mine())


def test_changes_of_default_and_private_fields_of_a_model_are_detected() -> None:
    cart = Cart()
    before, state = canonical(("v",), (cart,)), snapshot([cart])
    assert cart.count == 0
    assert canonical(("v",), (cart,)) == before
    cart.items.append("tv")
    assert canonical(("v",), (cart,)) != before
    assert snapshot([cart]) != state
    cart.items.pop()
    cart._log.append("tv")
    assert canonical(("v",), (cart,)) != before


def test_arrays_and_tables_are_written_with_their_values() -> None:
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    array = numpy.array([1, 2])
    assert _of(array)["values"] == [1, 2]
    before = _of(array)
    array *= 2
    assert _of(array) != before
    frame = pandas.DataFrame({"a": [1], "b": ["x"]})
    before = _of(frame)
    assert _of(pandas.DataFrame({"a": [1], "b": ["x"]})) == before
    frame["c"] = 1
    assert _of(frame) != before
    assert "$opaque" in _of(pandas.DataFrame({"a": [Order(1)]}))


def test_parts_that_are_compared_by_type_only_are_reported_once_per_path() -> None:
    body = canonical(("a", "b"), ([threading.Lock(), threading.Lock()], {"x": {"y": itertools.count()}}))
    assert by_type(body) == ("(input).a.*: _thread:lock", "(input).b.x.y: itertools:count")
    assert by_type(b'{"a":1}') == ()


def test_a_ring_of_objects_in_a_list_is_compared():
    class Node:
        pass

    nodes = [Node() for _ in range(60)]
    for at, node in enumerate(nodes):
        node.next, node.before, node.far = nodes[at - 59], nodes[at - 1], nodes[(at * 7) % 60]
    body = canonical(("nodes",), (nodes,))
    assert beyond_paths(body) == ()
    nodes[30].far = nodes[31]
    assert canonical(("nodes",), (nodes,)) != body
