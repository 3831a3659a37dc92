"""Graphs of objects in calls: the outcome is that of the unwoven call, and the cost of recording them has a bound.

Cost is the number of Python and C calls, so that the machine's load does not matter.
"""

import asyncio
import collections
import cProfile
import dataclasses
import sys
import tracemalloc
import types
from typing import Any

import attrs
import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import autochron
from autochron.envelope import canonical, codec

# --- kinds of nodes: make(number) returns a node, and a function that sets what the node refers to


@dataclasses.dataclass(eq=False)
class Record:
    number: int
    links: Any = None


@dataclasses.dataclass(eq=False, slots=True)
class Slotted:
    number: int
    links: Any = None


@attrs.define(eq=False)
class Attrs:
    number: int
    links: Any = None


@dataclasses.dataclass(eq=False)
class Tagged:
    """Most of its parts lead to no other node."""

    number: int
    tags: list = dataclasses.field(default_factory=lambda: [[] for _ in range(12)])
    links: Any = None


class Model(pydantic.BaseModel):
    number: int
    links: Any = None


class Plain:
    def __init__(self, number):
        self.number, self.links = number, None


class Dictionary(dict):
    pass


class Error(Exception):
    def __init__(self, number):
        super().__init__(number)
        self.links = None


def by_key(make):
    def node(number):
        container = make()
        container["number"] = number
        return container, lambda links: container.__setitem__("links", links)

    return node


def by_item(make):
    def node(number):
        container = make([number])
        return container, container.append

    return node


def by_attribute(make):
    def node(number):
        instance = make(number=number, links=None) if make in {Model, types.SimpleNamespace} else make(number)
        return instance, lambda links: setattr(instance, "links", links)

    return node


KINDS = {
    "list": by_item(list),
    "deque": by_item(collections.deque),
    "dict": by_key(dict),
    "defaultdict": by_key(lambda: collections.defaultdict(list)),
    "subclass": by_key(Dictionary),
    "dataclass": by_attribute(Record),
    "slots": by_attribute(Slotted),
    "attrs": by_attribute(Attrs),
    "tagged": by_attribute(Tagged),
    "pydantic": by_attribute(Model),
    "namespace": by_attribute(types.SimpleNamespace),
    "object": by_attribute(Plain),
    "exception": by_attribute(Error),
}


# --- shapes of graphs: for each of `size` nodes, the nodes that it refers to; the graph begins at node 0

ONCE = {
    "chain": lambda size: [[at + 1] if at + 1 < size else [] for at in range(size)],
    "ring": lambda size: [[(at + 1) % size] for at in range(size)],
    "both ways": lambda size: [[at - 1, (at + 1) % size] for at in range(size)],
    "wide": lambda size: [list(range(1, size)), *([] for _ in range(1, size))],
    "tree": lambda size: [
        [below for below in (2 * at + 1, 2 * at + 2) if below < size] for at in range(size)
    ],
    "hub": lambda size: [list(range(1, size)), *([0] for _ in range(1, size))],
}
"""Shapes with about as many paths as nodes."""

SHARED = {
    "diamonds": lambda size: [
        [below for below in (at + 1, at + 2, at + 3) if below < size] for at in range(size)
    ],
    "clique": lambda size: [list(range(min(size, 12))) if at < 12 else [] for at in range(size)],
}
"""Shapes with exponentially many paths."""


def graph(kind, shape, size):
    """Return the first node of a graph, and all its nodes."""
    nodes = [KINDS[kind](number) for number in range(size)]
    for (_, set_links), links in zip(nodes, shape(size), strict=True):
        if links:
            set_links(nodes[links[0]][0] if len(links) == 1 else [nodes[number][0] for number in links])
    return nodes[0][0], [node for node, _ in nodes]


def links_of(nodes):
    """Return the numbers of the nodes that each node refers to, found by identity."""
    names = {id(node): number for number, node in enumerate(nodes)}

    def links(node):
        if isinstance(node, dict):
            target = node.get("links")
        elif isinstance(node, (list, collections.deque)):
            target = node[1] if len(node) > 1 else None
        else:
            target = node.links
        several = type(target) is list and id(target) not in names
        return [names.get(id(member)) for member in target] if several else names.get(id(target))

    return [links(node) for node in nodes]


# --- shapes of calls


@autochron.boundary("take", kind="tool")
def take(*values, **named):
    return None


@autochron.boundary("give", kind="tool")
def give(make):
    return make()


@autochron.boundary("fail", kind="tool")
def fail(make):
    raise ValueError(make())


@autochron.boundary("items", kind="tool")
def items(make):
    yield make()


@autochron.boundary("later", kind="tool")
async def later(value):
    return value


class Desk:
    def __init__(self, value):
        self.value = value

    @autochron.boundary("work", kind="tool")
    def work(self):
        return self.value


def failing(value):
    try:
        fail(lambda: value)
    except ValueError as error:
        return error.args[0]


def taken(*values, **named):
    assert take(*values, **named) is None
    return (*values, *named.values())[-1]


CALLS = {
    "argument": taken,
    "by name": lambda value: taken(value=value),
    "several": lambda value: taken(1, "two", value),
    "inside": lambda value: taken([value])[0],
    "twice": lambda value: taken(value, value),
    "returned": lambda value: give(lambda: value),
    "raised": failing,
    "yielded": lambda value: next(items(lambda: value)),
    "awaited": lambda value: asyncio.run(later(value)),
    "self": lambda value: Desk(value).work(),
}

MOST = {"diamonds": 7_500_000, "clique": 150_000}
"""The most Python and C calls for one crossing, by shape: parts that lie on a cycle are written once."""

CONSTANTS = collections.defaultdict(lambda: 75_000, exception=750_000)
"""Calls that parts below the depth limit may cost once. Exceptions cost more: each is encoded with those inside it."""


def calls_of(function):
    """Return the result of a function, and the number of calls that it makes.

    Not counted by `sys.setprofile`: near the limit of recursion a function in Python fails, and is then called no more.
    """
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        result = function()
    finally:
        profiler.disable()
    return result, sum(entry.callcount for entry in profiler.getstats())


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    file = tmp_path_factory.mktemp("rules") / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    with autochron.record("run", rules=str(file)) as recording:
        yield recording


def cost(kind, shape, size, call):
    """Return the number of calls that recording a call with a graph takes; check that the graph is unchanged."""
    value, nodes = graph(kind, shape, size)
    before = links_of(nodes)
    call(value)  # fills the caches for classes
    returned, count = calls_of(lambda: call(value))
    assert id(returned) == id(
        value
    )  # not `is`: on a failure pytest would print both, with exponentially many paths
    assert links_of(nodes) == before
    return count


kinds, calls = st.sampled_from(list(KINDS)), st.sampled_from(list(CALLS))


@settings(max_examples=60, deadline=None)
@given(kind=kinds, shape=st.sampled_from(list(ONCE)), call=calls, size=st.integers(8, 100), orm=st.booleans())
@example(kind="deque", shape="chain", call="twice", size=86, orm=True)
def test_twice_the_nodes_cost_little_more_than_twice(recording, kind, shape, call, size, orm):
    with pytest.MonkeyPatch.context() as patch:
        if orm:  # then values are screened in full depth, as after the first object whose class msgspec may not read
            patch.setitem(sys.modules, "sqlalchemy.orm", types.ModuleType("sqlalchemy.orm"))
        once, twice = (cost(kind, ONCE[shape], nodes, CALLS[call]) for nodes in (size, 2 * size))
    assert twice <= 2.3 * once + CONSTANTS[kind]


@pytest.mark.thorough
@pytest.mark.parametrize("call", ["argument", "returned", "raised"])
@pytest.mark.parametrize("size", [18, 40])
@pytest.mark.parametrize("shape", SHARED)
@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_of_a_graph_with_exponentially_many_paths_has_a_bound(recording, kind, shape, size, call):
    assert cost(kind, SHARED[shape], size, CALLS[call]) <= MOST[shape]


def test_what_else_the_nodes_of_a_clique_hold_hides_no_paths():
    """With nine nodes the texts had 20 and 54 MB; with ten they took all memory."""
    value, _ = graph("tagged", SHARED["clique"], 9)
    assert len(canonical.canonical(("value",), (value,))) < 3_000
    encoded = codec.encode(value)
    assert len(encoded.body) < 10_000
    assert {part.rpartition(":")[2] for part in encoded.opaque} == {"Tagged"}


@pytest.mark.parametrize("kind", ["dataclass", "attrs", "list", "dict"])
def test_a_large_value_that_contains_itself_is_written_once(recording, kind):
    """Not at each level of a recursion without an end: 800 KB took 600 MB."""
    (parent, hold), (child, hold_up) = KINDS[kind](list(range(1_000_000, 1_050_000))), KINDS[kind](1)
    hold(child)
    hold_up(parent)
    taken(1)
    tracemalloc.start()
    try:
        taken(parent)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40_000_000
