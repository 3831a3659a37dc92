"""Ambient values on replay: served to live bodies, invented where there is no record, and reported."""

import datetime as dt
import importlib
import sys
import time
import uuid

import pytest

import autochron
from autochron.ambient import ambient
from autochron.instrument.activation import deactivate

AGENT = """
import datetime
import random
import time
import uuid

class Clock:
    held = None

def tool_quote(sku):
    return [sku, time.time(), random.random()]

def tool_refund(order):
    return [order, time.time(), time.perf_counter()]

def tool_pick(names):
    return random.choice(names)

def main():
    quote = tool_quote("mug")
    refund = tool_refund("A1")
    return [quote, time.time_ns(), refund, tool_pick(list("abcdefgh")), uuid.uuid4()]

# Fixes, which are tried by `swap`.

def asks_more(order):
    first = [order, time.time(), time.perf_counter()]
    return [*first, time.perf_counter(), time.time(), random.random(), random.random(), uuid.uuid4(), random.choice("abc")]

def asks_less(order):
    return [order, 0, 0]

def asks_late(names):
    return [time.time(), datetime.datetime.now(datetime.UTC).timestamp(), time.time()]

def asks_the_old(order):
    return tool_refund(order)

def of_few(names):
    return random.choice(names[:1])
"""
RULES = """
version = 1
packs = []
{more}
[[boundary]]
name = "{{__name__}}"
kind = "tool"
define = "{module}:tool_*"
"""
ALL = 'ambient = ["clock", "random", "uuid"]'

_names = iter(f"asking_{number}" for number in range(1000))


class World:
    """An agent in a project of its own, with its rules."""

    def __init__(self, folder):
        self.folder = folder
        self.name = next(_names)
        self.rules = folder / "autochron.toml"
        self.write(ALL)
        (folder / f"{self.name}.py").write_text(AGENT)
        self.agent = importlib.import_module(self.name)

    def write(self, more):
        self.rules.write_text(RULES.format(more=more, module=self.name))
        deactivate()

    def record(self, run=None):
        with autochron.record(rules=str(self.rules), store="memory:") as self.recording:
            result = (run or self.agent.main)()
        return result, self.recording.trace()

    def replay(self, trace, run=None, **more):
        if "swap" in more:
            more["swap"] = {f"{self.name}:{old}": f"{self.name}:{new}" for old, new in more["swap"].items()}
        with autochron.replay(trace, rules=str(self.rules), check=False, **more) as replay:
            result = (run or self.agent.main)()
        return result, replay

    def line_of(self, text):
        return next(number for number, line in enumerate(AGENT.split("\n"), 1) if text in line)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh_world = World(tmp_path)
    yield fresh_world
    deactivate()
    sys.modules.pop(fresh_world.name, None)


def divergences_of(replay):
    return [
        (divergence.kind, divergence.address.partition("@")[0], divergence.severity)
        for divergence in replay.divergences
        if divergence.kind != "stale-state"
    ]


def test_an_ambient_value_has_the_name_site_and_parent_of_its_line(world):
    _, trace = world.record()
    assert [
        (envelope.name, envelope.nth, envelope.kind, envelope.site, envelope.parent)
        for envelope in trace.envelopes[:4]
    ] == [
        ("tool_quote", 1, "tool", f"{world.name}.py:tool_quote", None),
        (f"time.time@{world.name}.tool_quote", 1, "ambient", f"@{world.name}.py:tool_quote", 1),
        (f"random.random@{world.name}.tool_quote", 1, "ambient", f"@{world.name}.py:tool_quote", 1),
        ("tool_refund", 1, "tool", f"{world.name}.py:tool_refund", None),
    ]
    assert trace.header.ambient is True


@pytest.mark.parametrize("live", [(), "tool_quote", "kind:tool", "tool_refund[1]", "after:tool_quote[1]"])
def test_live_bodies_get_the_recorded_values(world, live):
    result, trace = world.record()
    replayed, replay = world.replay(trace, live=live)
    assert (replayed, divergences_of(replay)) == (result, [])


def test_live_ambient_values_are_fresh(world):
    result, trace = world.record()
    replayed, replay = world.replay(trace, live="kind:ambient")
    assert replayed[1] != result[1]
    assert replayed[4] != result[4]
    assert {crossing.kind for crossing in replay.only(live=True)} == {"ambient"}


def test_values_that_only_a_fix_asks_for_are_invented_from_the_trace(world):
    result, trace = world.record()
    replays = [world.replay(trace, live="tool_refund", swap={"tool_refund": "asks_more"}) for _ in range(2)]
    for replayed, replay in replays:
        first, _, counter, later, current, *drawn = replayed[2]
        assert [first, replayed[0], replayed[3:]] == ["A1", result[0], result[3:]]
        created = dt.datetime.fromisoformat(trace.header.created).timestamp()
        assert created <= current < created + 60
        assert counter <= later < counter + 60
        assert [entry.version for entry in drawn if isinstance(entry, uuid.UUID)] == [4]
        invented = [entry.address.partition("@")[0] for entry in replay.crossings if entry.invented]
        assert set(invented) == {
            "time.time",
            "time.perf_counter",
            "random.random",
            "uuid.uuid4",
            "random.choice",
        }
        assert {severity for kind, _, severity in divergences_of(replay) if kind == "invented"} == {"notice"}
        assert [entry for entry in divergences_of(replay) if entry[2] in {"error", "warning"}] == []
    (first_result, _), (second_result, _) = replays
    assert first_result[2][5:] == second_result[2][5:]
    assert first_result[2][5] != first_result[2][6]
    assert any("◌" in line and "invented" in line for line in replays[0][1].tree())


def test_a_fix_sees_times_that_go_on_from_the_recorded_ones(world):
    """A replay skips the recorded sleep, but a fix sees times after it: whatever expired in the recording has expired."""
    slept = 0.3
    _, trace = world.record(lambda: [world.agent.tool_quote("mug"), time.sleep(slept), world.agent.main()])
    recorded_end = dt.datetime.fromisoformat(trace.header.created).timestamp() + slept
    for live in ("tool_pick", "kind:tool"):
        replayed, _ = world.replay(
            trace,
            lambda: [world.agent.tool_quote("mug"), None, world.agent.main()],
            live=live,
            swap={"tool_pick": "asks_late"},
        )
        times = replayed[2][3]
        assert times == sorted(times)
        assert recorded_end <= times[0] < recorded_end + 60


def test_a_fix_that_calls_the_old_function_gets_its_values(world):
    result, trace = world.record()
    replayed, replay = world.replay(trace, live="tool_refund", swap={"tool_refund": "asks_the_old"})
    assert (replayed, divergences_of(replay)) == (result, [])


def test_a_missing_value_is_a_consequence_of_a_live_fix_and_a_warning_before_it(world):
    _, trace = world.record()
    _, replay = world.replay(trace, live="tool_refund", swap={"tool_refund": "asks_less"})
    assert [divergence for divergence in divergences_of(replay) if divergence[0] != "outcome"] == [
        ("missing", "time.time", "consequence"),
        ("missing", "time.perf_counter", "consequence"),
    ]

    def without():
        world.agent.tool_quote("mug")
        world.agent.tool_refund("A1")
        return [world.agent.tool_pick(list("abcdefgh"))]

    _, replay = world.replay(trace, without, live="tool_pick")
    assert divergences_of(replay) == [
        ("missing", "time.time_ns", "warning"),
        ("missing", "uuid.uuid4", "consequence"),
    ]
    _, replay = world.replay(trace, without)
    assert {divergence for divergence in divergences_of(replay) if divergence[0] == "missing"} == {
        ("missing", "time.time_ns", "error"),
        ("missing", "uuid.uuid4", "error"),
    }


def test_in_a_full_replay_a_value_without_a_record_is_an_error_and_the_program_goes_on(world):
    result, trace = world.record()
    extra_results = []

    def more():
        first = world.agent.main()
        extra_results.append(world.agent.asks_more("B2"))
        return first

    replayed, replay = world.replay(trace, more)
    assert (replayed, len(extra_results[0])) == (result, 9)
    assert {severity for _, _, severity in divergences_of(replay)} == {"error"}
    with pytest.raises(autochron.errors.DivergenceError, match="was not recorded, and its value is made up"):
        replay.verify()


def test_an_ambient_call_of_the_test_itself_is_only_a_warning(world):
    result, trace = world.record()
    (world.folder / "around.py").write_text(
        "import time\ndef around(run):\n    time.time()\n    return run()\n"
    )
    around = importlib.import_module("around").around
    sys.modules.pop("around")
    replayed, replay = world.replay(trace, lambda: around(world.agent.main))
    assert (replayed, divergences_of(replay)) == (result, [("invented", "time.time", "warning")])


def test_a_recorded_choice_that_no_longer_fits_is_invented_anew(world):
    _, trace = world.record(lambda: [world.agent.tool_pick(list("abcdefgh")) for _ in range(20)])
    result, _ = world.replay(
        trace,
        lambda: [world.agent.tool_pick(list("abcdefgh")) for _ in range(20)],
        live="tool_pick",
        swap={"tool_pick": "of_few"},
    )
    assert result == ["a"] * 20


def test_recorded_values_are_served_even_if_the_rules_no_longer_ask_for_them(world):
    result, trace = world.record()
    world.write("")
    for _ in range(2):
        replayed, replay = world.replay(trace)
        assert (replayed, divergences_of(replay)) == (result, [])
    # A trace without ambient values serves none.
    before = time.time_ns()
    _, plain = world.record()
    assert [envelope.name for envelope in plain.envelopes] == ["tool_quote", "tool_refund", "tool_pick"]
    replayed, replay = world.replay(plain)
    assert replayed[1] > before
    assert divergences_of(replay) == []


def test_a_rule_for_one_line_records_only_the_values_of_that_line(world):
    line = world.line_of("time.time_ns()")
    world.write(
        f'[[boundary]]\nkind = "ambient"\ncall = "time.time_ns"\nsite = "{world.name}.py:{line}"\nname = "now"\n'
    )
    result, trace = world.record()
    assert [envelope.name for envelope in trace.envelopes if envelope.kind == "ambient"] == ["now"]
    replayed, replay = world.replay(trace)
    assert (replayed[1], divergences_of(replay)) == (result[1], [])
    assert replayed[4] != result[4]
    _, replay = world.replay(trace, lambda: [world.agent.main(), world.agent.main()], live="kind:tool")
    assert ("invented", "now[2]", "notice") in divergences_of(replay)


def test_a_rule_finds_a_moved_line_by_its_hash(world):
    from autochron.detect.line_hash import hash_of

    line_hash = hash_of(AGENT.split("\n")[world.line_of("time.time_ns()") - 1])
    table = f'[[boundary]]\nkind = "ambient"\ncall = "time.time_ns"\nsite = "{world.name}.py:2"\n'
    world.write(f'{table}hash = "{line_hash[:8]}"\n')
    _, trace = world.record()
    assert [envelope.name for envelope in trace.envelopes if envelope.kind == "ambient"] == [
        f"time.time_ns@{world.name}.main"
    ]


def test_an_ignored_call_is_not_recorded(world):
    line = world.line_of("time.time_ns()")
    world.write(
        f'{ALL}\n[[ignore]]\ncall = "uuid.uuid4"\nsite = "{world.name}.py:{line}"\nreason = "a key"\n'
    )
    _, trace = world.record()
    names = {envelope.name.partition("@")[0] for envelope in trace.envelopes if envelope.kind == "ambient"}
    assert names == {"time.time", "time.time_ns", "time.perf_counter", "random.random", "random.choice"}


def test_the_number_of_values_recorded_for_one_line_is_limited(world, monkeypatch):
    monkeypatch.setattr(ambient, "CAP", 5)

    def polls():
        return [world.agent.tool_refund(str(number)) for number in range(8)]

    _, trace = world.record(polls)
    assert sum(envelope.name.startswith("time.time@") for envelope in trace.envelopes) == 5
    assert [
        problem.partition(": ")[2] for problem in world.recording.problems if "time.time " in problem
    ] == [
        "5 values are recorded, and no more; make what polls a boundary, or [[ignore]] the call (ambient-cap)"
    ]
    result, replay = world.replay(trace, polls, live="tool_refund")
    assert len(result) == 8
    assert {envelope for envelope in divergences_of(replay) if envelope[0] == "invented"} == {
        ("invented", "time.time", "notice"),
        ("invented", "time.perf_counter", "notice"),
    }


def test_the_clock_calls_of_a_library_are_not_recorded(world):
    import threading

    _, trace = world.record(lambda: threading.Event().wait(0.001))
    assert trace.envelopes == ()
