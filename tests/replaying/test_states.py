"""State that tools share: before a live crossing, the earlier crossings of its state run, too (case 5)."""

import importlib
import sys

import pytest

import autochron
from autochron.instrument.activation import deactivate
from tests.agents.workshop import Block

AGENT = """
ledger, ran = {}, []

def note(what):
    ran.append(what)

def ask(question):
    note("ask")
    return question.upper()

def put(key, amount):
    note(f"put {key}")
    ledger[key] = ledger.get(key, 0) + amount
    return ledger[key]

def look_up(key):
    note("look_up")
    return key

def total():
    note("total")
    return sum(ledger.values())

def book(key):
    note("book")
    look_up(key)
    return put(key, 5)

def main():
    ledger.clear()
    ran.clear()
    put("a", 1)
    ask("first")
    look_up("a")
    book("b")
    given = total()
    put("c", 2)
    return given, ledger.copy()
"""
RULES = """version = 1
packs = []
project = ["."]

[[boundary]]
name = "ask"
kind = "model"
target = "ledgers:ask"

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "ledgers:*"
exclude = ["note", "ask", "main", "put", "total"]

[[boundary]]
name = "{__name__}"
kind = "tool"
target = ["ledgers:put", "ledgers:total"]
"""


@pytest.fixture
def ledgers(tmp_path, monkeypatch):
    deactivate()  # a module that was imported under other rules would stay woven by them
    (tmp_path / "ledgers.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("ledgers", None)
    yield importlib.import_module("ledgers")
    del sys.modules["ledgers"]


@pytest.fixture
def stateful(tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(RULES + 'state = "ledger"\n', encoding="utf-8")
    return Block(str(file))


def test_case_5_a_live_crossing_makes_the_earlier_ones_of_its_state_live(ledgers, stateful):
    result, trace = stateful.record(ledgers.main)
    assert result == (6, {"a": 1, "b": 5, "c": 2})
    with autochron.replay(trace, rules=stateful.rules, live="total[1]") as replay:
        replayed = ledgers.main()
    # `book` runs because the `put` inside it is needed. The `put` after the live crossing does not run.
    assert (replayed, ledgers.ran) == ((6, {"a": 1, "b": 5}), ["put a", "book", "put b", "total"])
    assert [crossing.address for crossing in replay.only(live=True)] == ["put[1]", "put[2]", "total[1]"]
    assert "stale-state" not in [crossing.kind for crossing in replay.divergences]


def test_case_5_without_a_state_a_live_tool_after_served_ones_is_reported(ledgers, tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(RULES, encoding="utf-8")
    block = Block(str(file))
    _, trace = block.record(ledgers.main)
    with autochron.replay(trace, rules=block.rules, live="total[1]") as replay:
        assert ledgers.main() == (0, {})
    assert ledgers.ran == ["total"]
    (stale,) = [divergence for divergence in replay.divergences if divergence.kind == "stale-state"]
    assert (stale.severity, stale.address) == ("notice", "total[1]")
    assert "put[1], look_up[1], book[1]" in stale.message


def test_case_5_boundaries_of_other_states_stay_served(ledgers, tmp_path):
    file = tmp_path / "autochron.toml"
    rules = RULES.replace(
        'target = ["ledgers:put", "ledgers:total"]', 'target = "ledgers:put"\nstate = "other"'
    )
    rules += '\n[[boundary]]\nname = "total"\nkind = "tool"\ntarget = "ledgers:total"\nstate = "ledger"\n'
    file.write_text(rules, encoding="utf-8")
    block = Block(str(file))
    _, trace = block.record(ledgers.main)
    with autochron.replay(trace, rules=block.rules, live="total[1]"):
        ledgers.main()
    assert ledgers.ran == ["total"]


shelf = []


@autochron.boundary(state="shelf")
def stack(item):
    shelf.append(item)
    return len(shelf)


@autochron.boundary("count", kind="tool", state="shelf")
def count_stacked():
    return list(shelf)


def stacked():
    shelf.clear()
    stack("a")
    stack("b")
    return count_stacked()


def test_case_5_a_state_may_be_named_by_the_decorator(block):
    _, trace = block.record(stacked)
    with autochron.replay(trace, rules=block.rules, live="count") as replay:
        assert stacked() == ["a", "b"]
    assert [crossing.address for crossing in replay.only(live=True)] == ["stack[1]", "stack[2]", "count[1]"]
    assert replay.divergences == ()
