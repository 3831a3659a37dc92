"""What recording a call with a graph of objects costs, in time and memory, against `copy.deepcopy` of the graph.

The graphs are trees: of those that share parts or go in circles, tests see to it that the cost grows as their nodes do
(`tests/recording/test_graphs.py`).
"""

from __future__ import annotations

import collections
import copy
import os
import tempfile
import tracemalloc
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import attrs
import pydantic

import autochron
from bench.measure import Case, Figure, Size, ratio, turn_about

NODES = 4_000
TARGET = 3.0
"""Times `copy.deepcopy`."""


@dataclass(eq=False)
class Record:
    """A node with fields."""

    number: int
    links: list[Any] = field(default_factory=list)


class Plain:
    """A node with attributes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.links: list[Any] = []


class Slotted:
    """A node with slots."""

    __slots__ = ("links", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.links: list[Any] = []


def _listed(number: int) -> list[Any]:
    return [number, []]


def _mapped(number: int) -> dict[str, Any]:
    return {"number": number, "links": []}


def _defaulted(number: int) -> dict[str, Any]:
    return collections.defaultdict(list, number=number, links=[])


def _spaced(number: int) -> types.SimpleNamespace:
    return types.SimpleNamespace(number=number, links=[])


@attrs.define(eq=False)
class Attrs:
    """A node that attrs made."""

    number: int
    links: list[Any] = attrs.Factory(list)


class Model(pydantic.BaseModel):
    """A node that is a model."""

    number: int
    links: list[Any] = []


class Error(Exception):
    """A node that is an exception."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.links: list[Any] = []


def _numbered(number: int) -> dict[Any, Any]:
    return {number: {}, (number, "links"): []}


KINDS: dict[str, Callable[[int], Any]] = {
    "list": _listed,
    "dict": _mapped,
    "defaultdict": _defaulted,
    "dataclass": Record,
    "object": Plain,
    "slots": Slotted,
    "namespace": _spaced,
    "attrs": Attrs,
    "pydantic": lambda number: Model(number=number),
    "exception": Error,
    "keys": _numbered,
}


def _links(node: Any) -> list[Any]:
    if isinstance(node, dict) and "links" not in node:
        return node[next(key for key in node if isinstance(key, tuple))]  # type: ignore[no-any-return]
    if isinstance(node, list):
        return node[1]  # type: ignore[no-any-return]
    return node["links"] if isinstance(node, dict) else node.links  # type: ignore[no-any-return]


def tree(kind: str, size: int) -> Any:
    """Make a tree in which each node has eight below it; return its root."""
    nodes = [KINDS[kind](number) for number in range(size)]
    for at in range(1, size):
        _links(nodes[(at - 1) // 8]).append(nodes[at])
    return nodes[0]


@autochron.boundary("take", kind="tool")
def take(value: Any) -> None:
    """Take a graph, and do nothing with it."""


@autochron.boundary("give", kind="tool")
def give(value: Any) -> Any:
    """Return a graph that was made before."""
    return _GIVEN[value]


_GIVEN: dict[str, Any] = {}


def run(size: Size) -> Iterable[Figure]:
    """Measure each kind of node, as an argument and as what is returned."""
    nodes = NODES if size.rounds > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "autochron.toml")
        with open(rules, "w", encoding="utf-8") as file:
            file.write("version = 1\npacks = []\n")
        for kind in KINDS:
            _GIVEN[kind] = value = tree(kind, nodes)
            for way, call in (
                ("taken", lambda value=value: take(value)),
                ("given", lambda kind=kind: give(kind)),
            ):
                yield from _figures(f"{kind}, {way}", value, call, rules, max(1, size.rounds // 8))


def _figures(name: str, value: Any, call: Case, rules: str, rounds: int) -> Iterator[Figure]:
    def recorded() -> None:
        with autochron.record("graph", rules=rules, store="memory:") as recording:
            call()
        assert recording.footer is not None  # in memory nothing is masked and written before somebody reads

    cases: dict[str, Case] = {"ours": recorded, "copied": lambda: copy.deepcopy(value)}
    times = turn_about(cases, rounds)
    peaks = {name: _peak(case) for name, case in cases.items()}
    against = "over copy.deepcopy of the graph"
    yield Figure(
        benchmark="graphs",
        name=f"time, {name}",
        value=ratio(times, "ours", "copied"),
        unit="×",
        against=against,
        target=TARGET,
    )
    yield Figure(
        benchmark="graphs",
        name=f"memory, {name}",
        value=peaks["ours"] / peaks["copied"],
        unit="×",
        against=against,
        target=TARGET,
        samples=peaks,
    )


def _peak(case: Case) -> float:
    """Return the most bytes that a case has at once."""
    tracemalloc.start()
    try:
        case()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
