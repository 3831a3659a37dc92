"""Bodies that a replay runs all the same, with a recorded argument or observed; and callables woven as they are passed."""

import asyncio
import functools
import importlib
import random
import socket
import sys
from pathlib import Path

import pytest
from msgspec import structs

import autochron
from autochron.errors import DivergenceError, NetworkRefusedError
from tests.agents.workshop import Block, Fresh, assert_same, write

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

def hold(holder):
    return holder

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

def watched(state, stamp=0, wanted=None):
    ran.append(state)
    print("watching", state)
    if wanted is not None:
        raise wanted(state)
    return {"state": state, "when": random.random()}

async def watched_async(state):
    return (await pick_async(state)).weight

def connects(port):
    import socket
    with socket.create_connection(("127.0.0.1", port)):
        return "there"

def maker(weight):
    def inner(state):
        return Route(state, weight * random.random())
    return inner
"""

OUTCOMES = "finish rebinds fails finish_async items items_async everything"


@pytest.fixture
def routes(tmp_path, monkeypatch):
    """Yield a fresh module of routes."""
    name = f"routes_{random.randrange(10**9)}"
    (tmp_path / f"{name}.py").write_text(ROUTES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def fresh():
    """Return a runner that starts an interpreter for each command."""
    return Fresh()


@pytest.fixture
def block(tmp_path, routes):
    """Return `record` and `replay` with rules for the module of routes."""
    name = routes.__name__
    file = tmp_path / "autochron.toml"
    outcomes = ", ".join(f'"{name}:{function}"' for function in OUTCOMES.split())
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
name = "{{__qualname__}}"
kind = "router"
target = "{name}:hold"
argument = "holder.method"

[[boundary]]
name = "sometimes"
kind = "router"
target = "{name}:sometimes"
argument = "path"
when = {{ name = "yes" }}

[[boundary]]
name = "{{__name__}}"
kind = "tool"
target = "{name}:pick_async"

[[boundary]]
name = "{{__name__}}"
kind = "tool"
target = ["{name}:watched", "{name}:watched_async", "{name}:connects"]
observe = true
redact = ["secret"]
volatile = ["outcome.when", "stamp"]
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
def test_an_argument_can_be_the_outcome(call, routes, block):
    result, trace = block.record(lambda: call(routes))
    assert len(trace.envelopes) == 1
    assert call(routes) != result
    assert block.replay(trace, lambda: call(routes)) == (result, ())


def test_the_argument_is_recorded_as_the_caller_passed_it(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    assert outcomes(trace) == [("rebinds[1]", b"7")]
    assert trace.envelopes[0].input == b'{"rest":1}'


def test_the_body_runs_on_replay_with_the_recorded_argument(routes, block):
    _, trace = block.record(lambda: routes.finish(str, "recorded"))
    routes.ran.clear()
    result, divergences = block.replay(trace, lambda: routes.finish(str, "another"))
    assert (result, routes.ran, divergences) == ("recorded", ["recorded"], ())


@pytest.mark.parametrize("live", ["kind:router", "rebinds", "rebinds[1]"])
def test_a_live_crossing_keeps_its_own_argument(live, routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    with autochron.replay(trace, rules=block.rules, live=live) as replay:
        assert routes.rebinds(8, 1) == (8, [1])
    assert [entry.address for entry in replay.only(live=True)] == ["rebinds[1]"]
    assert replay["rebinds[1]"].result == 8
    assert [(entry.kind, entry.severity) for entry in replay.divergences] == [("outcome", "consequence")]


def test_a_live_crossing_that_was_not_recorded_keeps_its_own_argument(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    with autochron.replay(trace, rules=block.rules, live="rebinds") as replay:
        assert (routes.rebinds(7, 1), routes.rebinds(9, 1)) == ((7, [1]), (9, [1]))
    assert [crossing.result for crossing in replay.only(live=True)] == [7, 9]


def test_a_live_crossing_whose_body_raises_has_its_argument_as_result(routes, block):
    def call():
        with pytest.raises(LookupError):
            routes.fails(argument)

    argument = 1
    _, trace = block.record(call)
    argument = 2
    with autochron.replay(trace, rules=block.rules, live="fails") as replay:
        call()
    assert replay["fails[1]"].result == 2


def test_other_arguments_are_compared(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    result, (divergence,) = block.replay(trace, lambda: routes.rebinds(8, 2), check=False)
    assert result == (7, [2])
    assert (divergence.kind, divergence.path, divergence.recorded, divergence.replayed) == (
        "input",
        "rest",
        "1",
        "2",
    )


def test_an_error_of_the_body_is_not_recorded(routes, block):
    def call():
        with pytest.raises(LookupError) as caught:
            routes.fails(random.random())
        return caught.value.args

    result, trace = block.record(call)
    assert outcomes(trace) == [("fails[1]", str(result[0]).encode())]
    assert block.replay(trace, call) == (result, ())


def test_an_argument_that_cannot_be_stored_says_so_and_raises_on_replay(routes, block):
    _, trace = block.record(lambda: routes.rebinds(routes.Odd(1), 1))
    assert trace.envelopes[0].opaque == (f"(value): {routes.__name__}:Odd",)
    with (
        autochron.replay(trace, rules=block.rules, check=False) as replay,
        pytest.raises(Exception, match="Odd"),
    ):
        routes.rebinds(routes.Odd(1), 1)
    assert [divergence.kind for divergence in replay.divergences] == ["outcome"]


def test_an_additional_call_is_a_divergence(routes, block):
    _, trace = block.record(lambda: routes.rebinds(7, 1))
    with autochron.replay(trace, rules=block.rules, check=False) as replay:
        routes.rebinds(7, 1)
        with pytest.raises(DivergenceError):
            routes.rebinds(7, 1)
    assert [divergence.kind for divergence in replay.divergences] == ["extra"]


PASSED = {
    "function": (lambda m: m.pick, "pick"),
    "coroutine function": (lambda m: m.pick_async, "pick_async"),
    "instance": (lambda m: m.Picker(), "Picker.__call__"),
    "method": (lambda m: m.Picker().method, "Picker.method"),
    "partial": (lambda m: functools.partial(m.pick), "pick"),
    "closure": (lambda m: m.maker(2), "maker.<locals>.inner"),
}


@pytest.mark.parametrize(("make", "name"), PASSED.values(), ids=PASSED)
def test_a_passed_callable_is_woven(make, name, routes, block):
    def call():
        path = routes.add_edges("a", make(routes))
        picked = [path("x"), path("y")]
        return [asyncio.run(route) if asyncio.iscoroutine(route) else route for route in picked]

    result, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == [f"{name}[1]", f"{name}[2]"]
    assert block.replay(trace, call) == (result, ())


def test_a_callable_that_is_passed_twice_crosses_once(routes, block):
    def call():
        routes.add_edges("a", routes.pick)
        return routes.add_edges("b", routes.pick)("x")

    result, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == ["pick[1]"]
    assert block.replay(trace, call) == (result, ())


def test_a_method_of_a_passed_object_is_woven(routes, block):
    def call():
        return routes.hold(routes.Picker()).method("x")

    result, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == ["Picker.method[1]"]
    assert block.replay(trace, call) == (result, ())


def test_a_condition_is_checked_against_the_call_that_passes_the_callable(routes, block):
    def call():
        routes.sometimes("no", routes.Picker().method)("x")
        return routes.sometimes("yes", routes.pick)("x")

    _, trace = block.record(call)
    assert [envelope.address for envelope in trace.envelopes] == ["sometimes[1]"]


def test_a_passed_callable_without_code_is_in_the_ledger(routes, block):
    _, trace = block.record(lambda: routes.add_edges("a", len)("abc"))
    assert trace.envelopes == ()
    assert [(entry.what, entry.slug) for entry in trace.footer.ledger if entry.slug == "no-code"] == [
        (f"{routes.__name__}:add_edges path", "no-code")
    ]


def test_an_unknown_parameter_is_in_the_ledger(routes, tmp_path):
    file = Path(tmp_path / "other.toml")
    rule = f'[[boundary]]\nname = "r"\nkind = "router"\ntarget = "{routes.__name__}:rebinds"\n'
    file.write_text(f'version = 1\npacks = []\n{rule}outcome = "argument:reslt"\n', encoding="utf-8")
    with autochron.record(store="memory:", rules=str(file)) as recording:
        routes.rebinds(1, 2)
    reasons = [entry.reason for entry in recording.trace().footer.ledger]
    assert "it has no parameter `reslt`; it has result, rest" in reasons


def test_deactivating_restores_the_code_of_passed_callables(routes, block):
    codes = routes.pick.__code__, routes.rebinds.__code__
    block.record(lambda: routes.add_edges("a", routes.pick))
    assert routes.pick.__code__ is not codes[0]
    from autochron.instrument.activation import deactivate

    deactivate()
    assert (routes.pick.__code__, routes.rebinds.__code__) == codes


def test_an_observed_call_runs_and_is_compared(routes, block, capsys):
    _, trace = block.record(lambda: routes.watched("a", stamp=1))
    routes.ran.clear()
    capsys.readouterr()
    result, divergences = block.replay(trace, lambda: routes.watched("a", stamp=2))
    assert (result["state"], routes.ran, divergences) == ("a", ["a"], ())
    assert capsys.readouterr().out == "watching a\n"


def test_another_result_of_an_observed_call_is_a_divergence(routes, block):
    _, trace = block.record(lambda: routes.watched("a"))
    trace = with_outcome(trace, b'{"state":"b","when":1}')
    result, (divergence,) = block.replay(trace, lambda: routes.watched("a"), check=False)
    assert result["state"] == "a"
    assert (divergence.kind, divergence.path, divergence.recorded, divergence.replayed) == (
        "outcome",
        "state",
        '"b"',
        '"a"',
    )


def with_outcome(trace, value):
    (envelope,) = trace.envelopes
    outcome = structs.replace(envelope.outcome, value=value)
    return structs.replace(trace, envelopes=(structs.replace(envelope, outcome=outcome),))


def test_another_input_of_an_observed_call_is_a_divergence(routes, block):
    _, trace = block.record(lambda: routes.watched("a"))
    _, divergences = block.replay(trace, lambda: routes.watched("b"), check=False)
    assert [(divergence.kind, divergence.path) for divergence in divergences] == [
        ("input", "state"),
        ("outcome", "state"),
    ]


@pytest.mark.parametrize(
    ("recorded", "replayed", "message"),
    [
        (None, KeyError, "raised builtins:KeyError ('a'); when it was recorded it returned"),
        (KeyError, None, "returned; when it was recorded it raised builtins:KeyError"),
        (
            KeyError,
            ValueError,
            "raised builtins:ValueError (a); when it was recorded it raised builtins:KeyError",
        ),
    ],
)
def test_another_ending_of_an_observed_call_is_a_divergence(recorded, replayed, message, routes, block):
    def call(error):
        try:
            routes.watched("a", 0, error)
        except (KeyError, ValueError):
            pass

    _, trace = block.record(lambda: call(recorded))
    _, divergences = block.replay(trace, lambda: call(replayed), check=False)
    assert f"watched[1] {message}" in [
        divergence.message for divergence in divergences if divergence.kind == "outcome"
    ]


def test_a_crossing_inside_an_observed_call_is_served(routes, block):
    def call():
        return asyncio.run(routes.watched_async("a"))

    result, trace = block.record(call)
    assert [(envelope.address, envelope.parent) for envelope in trace.envelopes] == [
        ("watched_async[1]", None),
        ("pick_async[1]", 1),
    ]
    assert block.replay(trace, call) == (result, ())


def test_a_connection_in_an_observed_call_is_refused(routes, block):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        _, trace = block.record(lambda: routes.connects(port))
    assert [connection.address for connection in trace.footer.connections] == [f"127.0.0.1:{port}"]
    with pytest.raises(NetworkRefusedError), autochron.replay(trace, rules=block.rules, check=False):
        routes.connects(port)


AGENT = """
import random, threading, time

def use(tool):
    return tool()

def draw():
    return random.random()

def late():
    time.sleep(0.3)
    use(draw)

print(use(draw))
threading.Thread(target=late, daemon=True).start()
time.sleep(float(__import__("os").environ["AGENT_WAITS"]))
"""
USE = '[[boundary]]\nname = "{__name__}"\nkind = "tool"\ntarget = "agent:use"\nargument = "tool"\n'


def test_a_passed_callable_is_ruled_by_the_function_that_receives_it(tmp_path, fresh):
    write(tmp_path, AGENT, rules=USE)
    recorded = fresh.run(tmp_path, "run", "agent.py", AGENT_WAITS="0")
    assert "  draw ×1" in recorded.stderr
    assert_same(recorded, fresh.run(tmp_path, "replay", "last", AGENT_WAITS="0"), 0)
    # Now no rule weaves `draw`: `use`, which it is passed to, is no longer a boundary.
    write(tmp_path, AGENT, rules=USE.replace("agent:use", "agent:draw"))
    refused = fresh.run(tmp_path, "replay", "last", AGENT_WAITS="0")
    assert (refused.status, refused.stdout) == (2, b"")
    assert "draw (agent.py:draw) crossed a boundary when it was recorded" in refused.stderr


def test_a_daemon_that_gets_further_on_replay_than_it_did_is_a_divergence(tmp_path, fresh):
    write(tmp_path, AGENT, rules=USE)
    recorded = fresh.run(tmp_path, "run", "agent.py", AGENT_WAITS="0")
    replayed = fresh.run(tmp_path, "replay", "last", AGENT_WAITS="1")
    assert "draw[2] in lane 0/~late.1 was not recorded" in replayed.stderr
    assert (replayed.status, replayed.stdout) == (1, recorded.stdout)
