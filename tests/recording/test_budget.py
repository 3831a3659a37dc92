"""Graphs with shared parts: reading them has a bound, parts beyond it are reported, and everything else is kept whole."""

import copy
import sys
import types
from dataclasses import dataclass

import pytest

import autochron
from autochron.envelope import codec
from autochron.envelope.canonical import canonical
from autochron.envelope.type_trees import beyond_paths
from tests.cli import processes
from tests.recording.woven import RULES

LIB = """
def take(*given, **named): return None
def give(make): return make()
"""


@dataclass
class Node:
    left: object = None
    right: object = None


class Plain:
    def __init__(self, left, right):
        self.left, self.right = left, right


class Error(Exception):
    pass


PAIRS = {
    "list": lambda left, right: [left, right],
    "dict": lambda left, right: {"left": left, "right": right},
    "tuple": lambda left, right: (left, right),
    "keys": lambda left, right: {1: left, 2: right},
    "dataclass": Node,
    "object": Plain,
    "exception": Error,
    "namespace": lambda left, right: types.SimpleNamespace(left=left, right=right),
    "mixed": lambda left, right: Node([left, {"a": right}], (left,)),
}


def diamond(pair, levels):
    """Return a value with two to the power of `levels` paths to its one leaf."""
    value = 1
    for _ in range(levels):
        value = pair(value, value)
    return value


def clique(make, size):
    """Return the first of `size` containers that all hold each other."""
    containers = [make(number) for number in range(size)]
    for container in containers:
        if isinstance(container, dict):
            container.update({f"to{number}": other for number, other in enumerate(containers)})
        else:
            container.extend(containers)
    return containers[0]


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("levels", [24, 60])
def test_a_graph_with_exponentially_many_paths_is_not_compared(kind, levels):
    value = diamond(PAIRS[kind], levels)
    body = canonical(["graph", "other"], [value, 7])
    if kind == "object":  # any large object is compared by its digest
        assert len(body) < 2000
    else:
        assert beyond_paths(body) == ("graph",)
    assert b'"other":7' in body


@pytest.mark.parametrize("kind", PAIRS)
def test_a_graph_with_exponentially_many_paths_is_opaque(kind):
    encoded = codec.encode(diamond(PAIRS[kind], 40))
    assert [part.partition(":")[0] for part in encoded.opaque] == ["(value)"]
    assert len(encoded.body) < 1000


@pytest.mark.parametrize("make", [lambda number: {"number": number}, lambda number: [number]])
def test_containers_that_all_hold_each_other_are_compared(make):
    body = canonical(["graph"], [clique(make, 30)])
    assert (beyond_paths(body), body) == ((), canonical(["graph"], [clique(make, 30)]))
    assert canonical(["graph"], [clique(make, 29)]) != body
    assert codec.encode(clique(make, 30)).opaque != ()


@pytest.mark.parametrize("kind", [kind for kind in PAIRS if kind not in {"object", "exception"}])
def test_a_graph_with_few_shared_parts_is_kept_whole(kind):
    value = diamond(PAIRS[kind], 6)
    assert beyond_paths(canonical(["graph"], [value])) == ()
    encoded = codec.encode(value)
    assert (encoded.opaque, codec.decode(encoded.body)) == ((), value)


@pytest.mark.slow
def test_a_large_value_without_shared_parts_is_kept_whole():
    value = [(number, {"at": (number,)}) for number in range(30_000)]
    body = canonical(["many"], [value])
    assert (beyond_paths(body), body == canonical(["many"], [copy.deepcopy(value)])) == ((), True)
    encoded = codec.encode(value)
    assert (encoded.opaque, codec.decode(encoded.body)) == ((), value)


def test_a_long_doubly_linked_list_is_kept_whole():
    first = {"number": 0}
    last = first
    for number in range(1, 60):
        last["next"] = {"number": number, "before": last}
        last = last["next"]
    assert beyond_paths(canonical(["row"], [first])) == ()


def test_the_bound_holds_with_sqlalchemy_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy.orm", types.ModuleType("sqlalchemy.orm"))
    first, second = {"name": "one"}, {"name": "other"}
    first.update(a=second, b=second, c=[second, first])
    second.update(a=first, b=first)
    assert len(canonical(["one"], [first])) < 100_000
    assert beyond_paths(canonical(["graph"], [diamond(PAIRS["list"], 40)])) == ("graph",)


def test_changes_of_a_value_that_is_not_compared_are_reported(tmp_path):
    (tmp_path / "autochron.toml").write_text("version = 1\npacks = []\n")

    @autochron.boundary("put", kind="tool")
    def put(graph):
        graph.append(1)

    with autochron.record("run", rules=str(tmp_path / "autochron.toml")) as recording:
        put(diamond(PAIRS["list"], 40))
    (envelope,) = recording.trace().envelopes
    assert envelope.opaque == ("changed.graph: builtins:list",)


def test_a_run_reports_values_that_are_not_compared_once_and_a_replay_counts_them(tmp_path):
    processes.write(
        tmp_path,
        {
            "lib.py": LIB,
            "autochron.toml": RULES,
            "agent.py": "import lib\nvalue = 1\nfor _ in range(60): value = [value, value]\n"
            "for _ in range(3): lib.take({'graph': value}, graph=value)\nprint('done')\n",
        },
    )
    recorded = processes.autochron(tmp_path, "run", "agent.py")
    assert (recorded.status, recorded.text) == (0, "done\n")
    assert recorded.said.count("is too large to be compared") == 1
    assert "at lib.py:take:2; name what of it matters with `capture` (not-compared)" in recorded.said
    replayed = processes.agreed(tmp_path, "replay", "last")
    assert (replayed.status, replayed.text) == (0, "done\n")
    assert "the same, except" in replayed.said
    assert "Traceback" not in recorded.said + replayed.said
