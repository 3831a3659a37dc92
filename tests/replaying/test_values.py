"""Ambient values on replay: served to what is live, made up where there is no record, and told of."""

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
    """An agent in a project of its own."""

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
            given = (run or self.agent.main)()
        return given, self.recording.trace()

    def replay(self, trace, run=None, **more):
        if "swap" in more:
            more["swap"] = {f"{self.name}:{old}": f"{self.name}:{new}" for old, new in more["swap"].items()}
        with autochron.replay(trace, rules=str(self.rules), check=False, **more) as replay:
            given = (run or self.agent.main)()
        return given, replay

    def line_of(self, text):
        return next(number for number, line in enumerate(AGENT.split("\n"), 1) if text in line)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    made = World(tmp_path)
    yield made
    deactivate()
    sys.modules.pop(made.name, None)


def told(replay):
    return [
        (each.kind, each.address.partition("@")[0], each.severity)
        for each in replay.divergences
        if each.kind != "stale-state"
    ]


def test_names_sites_and_lanes_are_those_of_the_line(world):
    _, trace = world.record()
    assert [(each.name, each.nth, each.kind, each.site, each.parent) for each in trace.envelopes[:4]] == [
        ("tool_quote", 1, "tool", f"{world.name}.py:tool_quote", None),
        (f"time.time@{world.name}.tool_quote", 1, "ambient", f"@{world.name}.py:tool_quote", 1),
        (f"random.random@{world.name}.tool_quote", 1, "ambient", f"@{world.name}.py:tool_quote", 1),
        ("tool_refund", 1, "tool", f"{world.name}.py:tool_refund", None),
    ]
    assert trace.header.ambient is True


@pytest.mark.parametrize("live", [(), "tool_quote", "kind:tool", "tool_refund[1]", "after:tool_quote[1]"])
def test_what_is_live_gets_the_values_of_that_day(world, live):
    given, trace = world.record()
    again, replay = world.replay(trace, live=live)
    assert (again, told(replay)) == (given, [])


def test_a_value_that_is_to_be_live_is(world):
    given, trace = world.record()
    again, replay = world.replay(trace, live="kind:ambient")
    assert again[1] != given[1]
    assert again[4] != given[4]
    assert {each.kind for each in replay.only(live=True)} == {"ambient"}


def test_what_a_fix_asks_for_beside_is_made_up_of_the_trace(world):
    given, trace = world.record()
    found = [world.replay(trace, live="tool_refund", swap={"tool_refund": "asks_more"}) for _ in range(2)]
    for again, replay in found:
        first, _, counter, later, now, *drawn = again[2]
        assert [first, again[0], again[3:]] == ["A1", given[0], given[3:]]
        created = dt.datetime.fromisoformat(trace.header.created).timestamp()
        assert created <= now < created + 60
        assert counter <= later < counter + 60
        assert [each.version for each in drawn if isinstance(each, uuid.UUID)] == [4]
        invented = [each.address.partition("@")[0] for each in replay.crossings if each.invented]
        assert set(invented) == {
            "time.time",
            "time.perf_counter",
            "random.random",
            "uuid.uuid4",
            "random.choice",
        }
        assert {severity for kind, _, severity in told(replay) if kind == "invented"} == {"notice"}
        assert [each for each in told(replay) if each[2] in {"error", "warning"}] == []
    (one, _), (other, _) = found
    assert one[2][5:] == other[2][5:]
    assert one[2][5] != one[2][6]
    assert any("◌" in line and "invented" in line for line in found[0][1].tree())


def test_a_fix_sees_the_time_at_which_the_trace_was_there(world):
    """What that day took, here a sleep, is nothing to a replay; what expired in it has expired all the same."""
    slept = 0.3
    _, trace = world.record(lambda: [world.agent.tool_quote("mug"), time.sleep(slept), world.agent.main()])
    ends = dt.datetime.fromisoformat(trace.header.created).timestamp() + slept
    for live in ("tool_pick", "kind:tool"):
        again, _ = world.replay(
            trace,
            lambda: [world.agent.tool_quote("mug"), None, world.agent.main()],
            live=live,
            swap={"tool_pick": "asks_late"},
        )
        times = again[2][3]
        assert times == sorted(times)
        assert ends <= times[0] < ends + 60


def test_a_fix_that_calls_the_old_function_gets_its_values(world):
    given, trace = world.record()
    again, replay = world.replay(trace, live="tool_refund", swap={"tool_refund": "asks_the_old"})
    assert (again, told(replay)) == (given, [])


def test_what_a_fix_no_longer_asks_for_is_a_consequence_where_it_is_live_and_a_warning_before(world):
    _, trace = world.record()
    _, replay = world.replay(trace, live="tool_refund", swap={"tool_refund": "asks_less"})
    assert [each for each in told(replay) if each[0] != "outcome"] == [
        ("missing", "time.time", "consequence"),
        ("missing", "time.perf_counter", "consequence"),
    ]

    def without():
        world.agent.tool_quote("mug")
        world.agent.tool_refund("A1")
        return [world.agent.tool_pick(list("abcdefgh"))]

    _, replay = world.replay(trace, without, live="tool_pick")
    assert told(replay) == [("missing", "time.time_ns", "warning"), ("missing", "uuid.uuid4", "consequence")]
    _, replay = world.replay(trace, without)
    assert {each for each in told(replay) if each[0] == "missing"} == {
        ("missing", "time.time_ns", "error"),
        ("missing", "uuid.uuid4", "error"),
    }


def test_in_a_full_replay_a_value_without_a_record_is_an_error_and_the_program_goes_on(world):
    given, trace = world.record()
    ran = []

    def more():
        first = world.agent.main()
        ran.append(world.agent.asks_more("B2"))
        return first

    again, replay = world.replay(trace, more)
    assert (again, len(ran[0])) == (given, 9)
    assert {severity for _, _, severity in told(replay)} == {"error"}
    with pytest.raises(autochron.errors.DivergenceError, match="was not recorded, and its value is made up"):
        replay.verify()


def test_a_test_s_own_line_is_no_disagreement(world):
    given, trace = world.record()
    (world.folder / "around.py").write_text(
        "import time\ndef around(run):\n    time.time()\n    return run()\n"
    )
    around = importlib.import_module("around").around
    sys.modules.pop("around")
    again, replay = world.replay(trace, lambda: around(world.agent.main))
    assert (again, told(replay)) == (given, [("invented", "time.time", "warning")])


def test_a_choice_that_no_longer_fits_is_made_up(world):
    _, trace = world.record(lambda: [world.agent.tool_pick(list("abcdefgh")) for _ in range(20)])
    given, _ = world.replay(
        trace,
        lambda: [world.agent.tool_pick(list("abcdefgh")) for _ in range(20)],
        live="tool_pick",
        swap={"tool_pick": "of_few"},
    )
    assert given == ["a"] * 20


def test_a_trace_has_its_values_also_where_the_rules_no_longer_ask(world):
    given, trace = world.record()
    world.write("")
    for _ in range(2):
        again, replay = world.replay(trace)
        assert (again, told(replay)) == (given, [])
    # What another trace doesn't have is not asked of it, nor recorded.
    before = time.time_ns()
    _, plain = world.record()
    assert [each.name for each in plain.envelopes] == ["tool_quote", "tool_refund", "tool_pick"]
    again, replay = world.replay(plain)
    assert again[1] > before
    assert told(replay) == []


def test_a_value_at_one_line_is_recorded_and_no_other(world):
    line = world.line_of("time.time_ns()")
    world.write(
        f'[[boundary]]\nkind = "ambient"\ncall = "time.time_ns"\nsite = "{world.name}.py:{line}"\nname = "now"\n'
    )
    given, trace = world.record()
    assert [each.name for each in trace.envelopes if each.kind == "ambient"] == ["now"]
    again, replay = world.replay(trace)
    assert (again[1], told(replay)) == (given[1], [])
    assert again[4] != given[4]
    _, replay = world.replay(trace, lambda: [world.agent.main(), world.agent.main()], live="kind:tool")
    assert ("invented", "now[2]", "notice") in told(replay)


def test_a_line_is_found_again_by_its_hash(world):
    from autochron.detect.line_hash import hash_of

    line_hash = hash_of(AGENT.split("\n")[world.line_of("time.time_ns()") - 1])
    table = f'[[boundary]]\nkind = "ambient"\ncall = "time.time_ns"\nsite = "{world.name}.py:2"\n'
    world.write(f'{table}hash = "{line_hash[:8]}"\n')
    _, trace = world.record()
    assert [each.name for each in trace.envelopes if each.kind == "ambient"] == [
        f"time.time_ns@{world.name}.main"
    ]


def test_what_is_ignored_is_not_recorded(world):
    line = world.line_of("time.time_ns()")
    world.write(
        f'{ALL}\n[[ignore]]\ncall = "uuid.uuid4"\nsite = "{world.name}.py:{line}"\nreason = "a key"\n'
    )
    _, trace = world.record()
    names = {each.name.partition("@")[0] for each in trace.envelopes if each.kind == "ambient"}
    assert names == {"time.time", "time.time_ns", "time.perf_counter", "random.random", "random.choice"}


def test_of_one_line_no_more_than_so_many_values_are_recorded(world, monkeypatch):
    monkeypatch.setattr(ambient, "CAP", 5)

    def polls():
        return [world.agent.tool_refund(str(number)) for number in range(8)]

    _, trace = world.record(polls)
    assert sum(each.name.startswith("time.time@") for each in trace.envelopes) == 5
    assert [
        problem.partition(": ")[2] for problem in world.recording.problems if "time.time " in problem
    ] == [
        "5 values are recorded, and no more; make what polls a boundary, or [[ignore]] the call (ambient-cap)"
    ]
    given, replay = world.replay(trace, polls, live="tool_refund")
    assert len(given) == 8
    assert {each for each in told(replay) if each[0] == "invented"} == {
        ("invented", "time.time", "notice"),
        ("invented", "time.perf_counter", "notice"),
    }


def test_a_library_s_clock_is_never_served(world):
    import threading

    _, trace = world.record(lambda: threading.Event().wait(0.001))
    assert trace.envelopes == ()
