"""Inputs that contain themselves: equal graphs have equal texts, different ones have different texts, and both are short."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import random
import types
from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.envelope import codec
from autochron.envelope.canonical import canonical
from autochron.envelope.cycle_search import find_cycles
from autochron.envelope.cyclic_classes import contains_itself
from autochron.envelope.type_labels import label
from autochron.envelope.type_trees import beyond_paths
from autochron.model import InputForm
from tests.recording.test_graphs import KINDS, SHARED, calls_of, graph


@dataclasses.dataclass(eq=False)
class Agent:
    """An agent that hands over to others, as in a team."""

    name: str
    handoffs: Any = None
    _last: Any = None


class Desk:
    def __init__(self, *workers: Agent) -> None:
        self.workers = set(workers)


def of(value: Any, form: InputForm = InputForm.NUMBERED) -> Any:
    return json.loads(canonical(("v",), (value,), form=form))


def team(size: int) -> list[Agent]:
    agents = [Agent(str(number)) for number in range(size)]
    for agent in agents:
        agent.handoffs = [other for other in agents if other is not agent]
    return agents


def test_each_part_is_written_once_and_has_a_number_where_it_occurs_again() -> None:
    first, second = team(2)
    assert of(first)["v"] == {
        "_last": None,
        "handoffs": [{"_last": None, "handoffs": [{"$cycle": 1}], "name": "1"}],
        "name": "0",
    }
    assert of({"a": first, "b": second})["v"]["b"] == {"$cycle": 5}


def test_a_shared_part_on_no_cycle_is_written_each_time() -> None:
    shared: list[Any] = ["a", {"b": 1}]
    loop: list[Any] = [shared, shared]
    loop.append(loop)
    other: list[Any] = [shared, copy.deepcopy(shared)]
    other.append(other)
    assert canonical(("v",), (loop,)) == canonical(("v",), (other,))
    assert of(loop)["v"] == [["a", {"b": 1}], ["a", {"b": 1}], {"$cycle": 1}]


def test_a_number_tells_a_part_from_the_one_around_it_that_lies_on_no_cycle() -> None:
    inner: dict[str, Any] = {}
    inner["next"] = inner
    outer: dict[str, Any] = {"next": {}}
    outer["next"]["next"] = outer
    assert of({"next": inner})["v"] == {"next": {"next": {"$cycle": 2}}}
    assert of(outer)["v"] == {"next": {"next": {"$cycle": 1}}}


def test_a_digest_tells_them_apart_too() -> None:
    inner: list[Any] = []
    inner.append(inner)
    outer: list[Any] = [[]]
    outer[0].append(outer)
    deep: list[list[Any]] = [[inner], outer]
    for index, value in enumerate(deep):
        for _ in range(120):
            value = [value]
        deep[index] = value
    assert canonical(("v",), (deep[0],)) != canonical(("v",), (deep[1],))


class Row(list[Any]):
    peer: Any


def rows() -> list[Row]:
    """Return three lists, each with the next one as an attribute."""
    ring = [Row(), Row(), Row()]
    for index, row in enumerate(ring):
        row.peer = ring[index - 2]
    return ring


def closures() -> list[Any]:
    """Return three functions, each with the next one in its closure."""
    boxes: list[list[Any]] = [[], [], []]

    def make(box: list[Any]) -> Any:
        return lambda: box

    ring = [make(box) for box in boxes]
    for index, box in enumerate(boxes):
        box.append(ring[index - 2])
    return ring


def errors() -> list[Exception]:
    """Return three errors, each with the next one as an attribute."""
    ring = [ValueError("same") for _ in range(3)]
    for index, error in enumerate(ring):
        error.peer = ring[index - 2]  # type: ignore[attr-defined]
    return ring


@pytest.mark.parametrize("make", [rows, closures, errors])
def test_parts_that_only_their_state_distinguishes_are_not_confused(make: Any) -> None:
    first, second, third = make()
    assert canonical(("v",), ([first, second, third],)) != canonical(("v",), ([first, third, second],))


def test_state_tells_which_part_of_the_input_it_refers_to() -> None:
    texts = set()
    for index in range(2):
        row = Row()
        holders = [{"row": row}, {"row": row}]
        row.peer = holders[index]
        texts.add(canonical(("v",), (holders,)))
    assert len(texts) == 2


def test_a_plain_list_is_no_part_of_a_ring_that_looks_like_it() -> None:
    first, second = Row(), Row()
    first.peer, second.peer = second, first
    assert canonical(("v",), ([first, second],)) != canonical(("v",), ([first, []],))


def test_arguments_that_only_together_are_too_large_are_not_said_to_be_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autochron.envelope.budget._MOST_PARTS", 100)
    loops: list[Any] = [[[] for _ in range(60)] for _ in range(2)]
    for loop in loops:
        loop.append(loop)
    monkeypatch.setattr("autochron.envelope.canonical.MOST_VISITS", 100)
    assert beyond_paths(canonical(("v",), loops[:1])) == ()
    assert beyond_paths(canonical(("v", "w"), loops)) == ("",)


class Lazy:
    @functools.cached_property
    def both(self) -> list[Lazy]:
        return [self]


def cached(lazy: Lazy) -> None:
    assert lazy.both


def in_context(error: ValueError) -> None:
    error.__context__ = KeyError()
    error.__context__.other = error  # type: ignore[attr-defined]


@pytest.mark.parametrize(("make", "close"), [(Lazy, cached), (ValueError, in_context)])
def test_a_cycle_through_what_an_input_does_not_have_does_not_show(make: Any, close: Any) -> None:
    texts = set()
    for closed in (False, True):
        part = make()
        if closed:
            close(part)
        loop = [part, part]
        loop.append(loop)
        texts.add(canonical(("v",), (loop,)))
    assert len(texts) == 1


class Raising(functools.partial[Any]):
    @property
    def keywords(self) -> Any:
        raise ZeroDivisionError


def test_the_search_runs_no_property_of_a_partial() -> None:
    loop: list[Any] = [Raising(print)]
    loop.append(loop)
    assert of(loop)["v"][1] == {"$cycle": 1}


def views(size: int) -> list[dict[str, Any]]:
    """Return dictionaries, each with read-only views of all others."""
    tables: list[dict[str, Any]] = [{} for _ in range(size)]
    for table in tables:
        for index, other in enumerate(tables):
            if other is not table:
                table[str(index)] = types.MappingProxyType(other)
    return tables


def test_a_read_only_view_on_a_cycle_is_written_once() -> None:
    tables = views(12)
    body = canonical(("v",), (tables[0],))
    assert len(body) < 30_000
    assert beyond_paths(body) == ()
    tables[7]["3"] = types.MappingProxyType(tables[4])
    assert canonical(("v",), (tables[0],)) != body


@dataclasses.dataclass(frozen=True)
class Place:
    row: int


@pytest.mark.parametrize(("one", "two"), [((1, 2), (3, 4)), (1, "1"), (Place(1), Place(2)), (b"1", None)])
def test_the_order_in_which_keys_of_any_type_were_set_does_not_show(one: Any, two: Any) -> None:
    texts = set()
    for order in (1, -1):
        first, second = team(2)
        table: dict[Any, Any] = dict([(one, first), (two, second)][::order])
        first._last = table
        texts.add(canonical(("v",), (table,)))
    assert len(texts) == 1


def test_nor_does_the_order_of_keys_that_lie_on_the_cycle() -> None:
    texts = set()
    for order in (1, -1):
        first, second = team(2)
        table: dict[Any, Any] = dict([((first, 1), "a"), (second, "b")][::order])
        first._last = table
        texts.add(canonical(("v",), (table,)))
    assert len(texts) == 1


def test_a_team_of_sixty_is_compared() -> None:
    """Twelve took a second, and were not compared."""
    agents = team(60)
    body = canonical(("v",), (agents[0],))
    assert len(body) < 40_000
    assert beyond_paths(body) == ()
    agents[37].handoffs[5] = agents[6]
    assert canonical(("v",), (agents[0],)) != body
    result = codec.encode(agents[0])
    assert len(result.body) < 300_000
    assert any(path.startswith("handoffs.0.handoffs.0: ") for path in result.opaque)


# --- equal and different graphs

_KINDS = tuple(KINDS)
_Plan = list[tuple[str, list[int]]]
"""For each node its kind, and the nodes that it refers to."""


@st.composite
def plans(draw: st.DrawFn) -> _Plan:
    """Draw a graph in which every node can be reached from the first one."""
    size = draw(st.integers(2, 9))
    kinds = draw(st.lists(st.sampled_from(_KINDS), min_size=size, max_size=size))
    links = draw(
        st.lists(st.lists(st.integers(0, size - 1), min_size=1, max_size=3), min_size=size, max_size=size)
    )
    for node in range(size - 1):
        links[node].append(node + 1)
    return list(zip(kinds, links, strict=True))


def build(plan: _Plan, seed: int) -> Any:
    """Return the first node of a graph; the seed shuffles the order in which attributes and keys are set."""
    order = random.Random(seed)
    nodes: list[Any] = [KINDS[kind](number) for number, (kind, _) in enumerate(plan)]
    for (node, set_links), (_, links) in zip(nodes, plan, strict=True):
        set_links([nodes[number][0] for number in links])
        for state in (node if isinstance(node, dict) else getattr(node, "__dict__", {}),):
            items = list(state.items())
            order.shuffle(items)
            state.clear()
            state.update(items)
    return nodes[0][0]


@given(plan=plans(), seed=st.integers(0, 100))
def test_equal_graphs_have_equal_texts(plan: _Plan, seed: int) -> None:
    assert canonical(("v",), (build(plan, 0),)) == canonical(("v",), (build(plan, seed),))


@given(plan=plans(), where=st.integers(0, 8), place=st.integers(0, 3), target=st.integers(0, 8))
def test_another_link_shows(plan: _Plan, where: int, place: int, target: int) -> None:
    kind, links = plan[where % len(plan)]
    changed = list(links)
    changed[place % len(links)] = target % len(plan)
    other = list(plan)
    other[where % len(plan)] = (kind, changed)
    same = other == plan
    assert (canonical(("v",), (build(plan, 0),)) == canonical(("v",), (build(other, 0),))) is same


@given(plan=plans())
def test_a_text_does_not_depend_on_what_was_met_before(plan: _Plan) -> None:
    value = build(plan, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autochron.envelope.canonical.contains_itself", lambda _values: False)
        unknown = canonical(("v", "w"), ([value], value))
    assert canonical(("v", "w"), ([value], value)) == unknown


def test_a_cycle_that_only_an_undeclared_attribute_closes_does_not_depend_on_it_either() -> None:
    canonical(("v",), (team(2)[0],))
    lone = Agent("lone")
    lone.extra = lone  # type: ignore[attr-defined]
    assert not contains_itself([lone])
    assert contains_itself([team(2)[0]])


@given(names=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), seed=st.integers(0, 100))
def test_the_order_of_a_set_does_not_show(names: list[str], seed: int) -> None:
    def desk(names: list[str]) -> Desk:
        workers = [Agent(name) for name in names]
        desk = Desk(*workers)
        for worker in workers:
            worker.handoffs, worker._last = desk, {"desk": desk}
        return desk

    shuffled = random.Random(seed).sample(names, len(names))
    assert canonical(("v",), (desk(names),)) == canonical(("v",), (desk(shuffled),))
    assert canonical(("v",), (desk(names),)) != canonical(("v",), (desk([*names, "g"]),))


@pytest.mark.parametrize("kind", KINDS)
def test_a_clique_is_short_and_compared(kind: str) -> None:
    value, _ = graph(kind, SHARED["clique"], 12)
    body = canonical(("v",), (value,))
    assert len(body) < 20_000
    assert beyond_paths(body) == ()
    assert len(codec.encode(value).body) < 40_000


def test_a_cycle_by_way_of_a_closure_is_found() -> None:
    def make(limit: int) -> Any:
        held: list[Any] = [limit]

        def tool() -> Any:
            return held

        held.append(tool)
        return tool

    tool = make(1)
    assert len(find_cycles(tool).parts) == 2
    assert canonical(("v",), (tool,)) == canonical(("v",), (make(1),))
    assert canonical(("v",), (tool,)) != canonical(("v",), (make(2),))


# --- the form of older traces


@pytest.mark.parametrize("form", [InputForm.UNTYPED, InputForm.TYPED])
def test_older_forms_have_marks(form: InputForm) -> None:
    desk = Desk()
    desk.workers = desk  # type: ignore[assignment]
    assert of(desk, form)["v"] == {"workers": {"$cycle": True}}
    assert of(team(2)[0], form)["v"]["handoffs"] == [
        {"_last": None, "handoffs": [{"$cycle": True}], "name": "1"}
    ]


def test_a_cycle_has_its_text_of_format_3() -> None:
    """The text is that of the last release that wrote this format."""
    first, second = team(2)
    second._last = (first,)
    body = canonical(("v",), (second,), form=InputForm.TYPED)
    assert body.decode().replace(label(Agent), "Agent") == (
        '{"$types":{"v":{"$is":"Agent","$state":{"_last":[[{"_last":null,"handoffs":[{"_last":{"$cycle":true},'
        '"handoffs":[{"$cycle":true}],"name":"1"}],"name":"0"}],{"$is":"tuple","0":{"$is":"Agent","$state":'
        '{"_last":[null]}}}]},"handoffs":{"0":{"$is":"Agent","$state":{"_last":[null]}}}}},'
        '"v":{"_last":[{"_last":null,"handoffs":[{"$cycle":true}],"name":"0"}],'
        '"handoffs":[{"_last":null,"handoffs":[{"$cycle":true}],"name":"0"}],"name":"1"}}'
    )


# --- cost

Made = Callable[[list[Any]], Any]


def _generator(others: list[Any]) -> Any:
    def items() -> Iterator[Any]:
        yield others

    generator = items()
    next(generator)
    return generator


MAKERS: dict[str, Made] = {
    "generators": _generator,
    "iterators": iter,
    "bound builtins": lambda others: others.append,
    "views": lambda others: MappingProxyType({"others": others}),
    "partials": lambda others: partial(print, others),
    "lists": lambda others: others,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_parts_that_hold_one_another_are_read_once(kind: str) -> None:
    """A clique of eight lists of generators took a minute."""
    lists: list[list[Any]] = [[] for _ in range(12)]
    parts = [MAKERS[kind](others) for others in lists]
    for others in lists:
        others.extend(parts)
    canonical(("v",), (parts[0],))  # fills the caches for classes
    body, calls = calls_of(lambda: canonical(("v",), (parts[0],)))
    assert calls < 300_000
    assert canonical(("v",), (parts[0],)) == body


def test_sets_of_parts_that_hold_one_another_have_a_bound() -> None:
    """Items of sets are written apart, so there is a path for every order. Twenty took seven seconds."""
    agents = [Agent(str(number)) for number in range(20)]
    for agent in agents:
        agent.handoffs = set(agents)
    _, calls = calls_of(lambda: canonical(("v",), (agents[0],)))
    assert calls < 2_000_000


@dataclasses.dataclass(eq=False)
class Keeper:
    """It keeps others in private state."""

    number: int
    _others: list[Any] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("links", ["ring", "clique"])
def test_a_text_does_not_depend_on_the_stack(links: str) -> None:
    keepers = [Keeper(number) for number in range(60)]
    for at, keeper in enumerate(keepers):
        keeper._others.extend(keepers if links == "clique" else [keepers[at - 1]])

    def below(frames: int) -> bytes:
        return canonical(("v",), (keepers[0],)) if not frames else below(frames - 1)

    body = below(0)
    assert beyond_paths(body) == ()
    assert below(300) == body
    keepers[30]._others.append(1)
    assert below(0) != body
