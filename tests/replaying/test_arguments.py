"""Rules that mean an argument: one that is the outcome, and one that is woven as it is passed."""

import asyncio
import functools
import importlib
import random
import sys
from pathlib import Path

import pytest

import autochron
from autochron.errors import DivergenceError
from tests.agents.workshop import Block

ROUTES = """
import random
from dataclasses import dataclass

ran = []

@dataclass
class Route:
    goal: str
    weight: float

class Odd:
    def __init__(self, weight):
        self.weight = weight

def finish(writer, result, *, config=None):
    ran.append(result)
    def late():
        return result
    return writer(late())

def rebinds(result, rest):
    given = result
    result = [rest]
    return given, result

def fails(result):
    ran.append(result)
    raise LookupError(result)

async def finish_async(result):
    await sleep()
    return result

async def sleep():
    import asyncio
    await asyncio.sleep(0)

def items(result):
    got = yield result
    yield got, result
    return result

async def items_async(result):
    yield result
    yield result

def everything(*args, result, **kwargs):
    return args, result, kwargs

def add_edges(name, path, *, other=None):
    return path

def sometimes(name, path):
    return path

def pick(state):
    return Route(state, random.random())

async def pick_async(state):
    return Route(state, random.random())

class Picker:
    def __call__(self, state):
        return Route(state, random.random())

    def method(self, state):
        return Route(state, random.random())

def maker(weight):
    def inner(state):
        return Route(state, weight * random.random())
    return inner
"""

OUTCOMES = "finish rebinds fails finish_async items items_async everything"


@pytest.fixture
def routes(tmp_path, monkeypatch):
    """Give a fresh module of routes."""
    name = f"routes_{random.randrange(10**9)}"
    (tmp_path / f"{name}.py").write_text(ROUTES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def block(tmp_path, routes):
    """Give `record` and `replay` with rules for that module."""
    name = routes.__name__
    file = tmp_path / "autochron.toml"
    outcomes = ", ".join(f'"{name}:{each}"' for each in OUTCOMES.split())
    file.write_text(
        f"""version = 1
packs = []
project = ["."]

[[boundary]]
name = "{{__name__}}"
kind = "router"
target = [{outcomes}]
outcome = "argument:result"

[[boundary]]
name = "{{__qualname__}}"
kind = "router"
target = "{name}:add_edges"
argument = "path"

[[boundary]]
name = "sometimes"
kind = "router"
target = "{name}:sometimes"
argument = "path"
when = {{ name = "yes" }}
""",
        encoding="utf-8",
    )
    return Block(str(file))


def outcomes(trace):
    return [(envelope.address, envelope.outcome.value) for envelope in trace.envelopes]


CALLS = {
    "sync": lambda m: m.finish(lambda route: ("written", route), m.Route("a", random.random())),
    "rebound": lambda m: m.rebinds(random.random(), 1),
    "coroutine": lambda m: asyncio.run(m.finish_async(m.Route("a", random.random()))),
    "generator": lambda m: list(m.items([random.random()])),
    "async generator": lambda m: asyncio.run(collect(m.items_async(random.random()))),
    "keywords": lambda m: m.everything(1, 2, result=random.random(), more=3),
}


async def collect(items):
    return [item async for item in items]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_argument_is_the_outcome(call, routes, block):
    given, trace = block.record(lambda: call(routes))
    assert len(trace.envelopes) == 1
    assert call(routes) != given
    assert block.replay(trace, lambda: call(routes)) == (given, ())


def test_what_is_recorded_is_the_argument_as_it_was(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    assert outcomes(trace) == [("rebinds[1]", b"7")]
    assert trace.envelopes[0].input == b'{"rest":1}'


def test_the_body_runs_on_replay_with_the_recorded_argument(routes, block):
    _, trace = block.record(lambda: routes.finish(str, "recorded"))
    routes.ran.clear()
    given, divergences = block.replay(trace, lambda: routes.finish(str, "another"))
    assert (given, routes.ran, divergences) == ("recorded", ["recorded"], ())


def test_other_arguments_are_compared(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    given, (divergence,) = block.replay(trace, lambda: routes.rebinds(8, 2), check=False)
    assert given == (7, [2])
    assert (divergence.kind, divergence.path, divergence.recorded, divergence.replayed) == (
        "input",
        "rest",
        "1",
        "2",
    )


def test_what_the_body_raises_is_not_on_record(routes, block):
    def call():
        with pytest.raises(LookupError) as caught:
            routes.fails(random.random())
        return caught.value.args

    given, trace = block.record(call)
    assert outcomes(trace) == [("fails[1]", str(given[0]).encode())]
    assert block.replay(trace, call) == (given, ())


def test_an_argument_that_cannot_be_stored_says_so_and_raises_on_replay(routes, block):
    _, trace = block.record(lambda: routes.rebinds(routes.Odd(1), 1))
    assert trace.envelopes[0].opaque == (f"(value): {routes.__name__}:Odd",)
    with (
        autochron.replay(trace, rules=block.rules, check=False) as replay,
        pytest.raises(Exception, match="Odd"),
    ):
        routes.rebinds(routes.Odd(1), 1)
    assert [each.kind for each in replay.divergences] == ["outcome"]


def test_one_call_more_is_a_divergence(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    with autochron.replay(trace, rules=block.rules, check=False) as replay:
        routes.rebinds(7, 1)
        with pytest.raises(DivergenceError):
            routes.rebinds(7, 1)
    assert [each.kind for each in replay.divergences] == ["extra"]


PASSED = {
    "function": (lambda m: m.pick, "pick"),
    "coroutine function": (lambda m: m.pick_async, "pick_async"),
    "instance": (lambda m: m.Picker(), "Picker.__call__"),
    "method": (lambda m: m.Picker().method, "Picker.method"),
    "partial": (lambda m: functools.partial(m.pick), "pick"),
    "closure": (lambda m: m.maker(2), "maker.<locals>.inner"),
}


@pytest.mark.parametrize(("make", "name"), PASSED.values(), ids=PASSED)
def test_what_is_passed_is_woven(make, name, routes, block):
    def call():
        path = routes.add_edges("a", make(routes))
        found = [path("x"), path("y")]
        return [asyncio.run(each) if asyncio.iscoroutine(each) else each for each in found]

    given, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == [f"{name}[1]", f"{name}[2]"]
    assert block.replay(trace, call) == (given, ())


def test_what_is_passed_twice_crosses_once(routes, block):
    def call():
        routes.add_edges("a", routes.pick)
        return routes.add_edges("b", routes.pick)("x")

    given, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == ["pick[1]"]
    assert block.replay(trace, call) == (given, ())


def test_a_condition_is_of_the_call_that_passes(routes, block):
    def call():
        routes.sometimes("no", routes.Picker().method)("x")
        return routes.sometimes("yes", routes.pick)("x")

    _, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == ["sometimes[1]"]


def test_what_has_no_code_stands_in_the_ledger(routes, block):
    _, trace = block.record(lambda: routes.add_edges("a", len)("abc"))
    assert trace.envelopes == ()
    assert [(entry.what, entry.slug) for entry in trace.footer.ledger if entry.slug == "no-code"] == [
        (f"{routes.__name__}:add_edges path", "no-code")
    ]


def test_a_parameter_that_is_not_there_stands_in_the_ledger(routes, tmp_path):
    file = Path(tmp_path / "other.toml")
    rule = f'[[boundary]]\nname = "r"\nkind = "router"\ntarget = "{routes.__name__}:rebinds"\n'
    file.write_text(f'version = 1\npacks = []\n{rule}outcome = "argument:reslt"\n', encoding="utf-8")
    with autochron.record(store="memory:", rules=str(file)) as recording:
        routes.rebinds(1, 2)
    reasons = [entry.reason for entry in recording.trace().footer.ledger]
    assert "it has no parameter `reslt`; it has result, rest" in reasons


def test_weaving_is_taken_off_with_the_rest(routes, block):
    codes = routes.pick.__code__, routes.rebinds.__code__
    block.record(lambda: routes.add_edges("a", routes.pick))
    assert routes.pick.__code__ is not codes[0]
    from autochron.session.activation import deactivate

    deactivate()
    assert (routes.pick.__code__, routes.rebinds.__code__) == codes
