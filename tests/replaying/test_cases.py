"""What a replay must do, case by case, through `autochron.replay`. The case numbers are those of docs/design.md."""

import asyncio
import gc
import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest

import autochron
from autochron.errors import DivergenceError, PlanError
from autochron.instrument.activation import deactivate
from tests.agents.workshop import Block
from tests.replaying import market as source


@pytest.fixture
def market(tmp_path, monkeypatch):
    """Yield a fresh import of the agent, from a project of its own."""
    deactivate()  # a module that was imported under other rules would stay woven by them
    shutil.copy(source.__file__, tmp_path / "market.py")
    (tmp_path / "autochron.toml").write_text(source.RULES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "market", raising=False)
    yield importlib.import_module("market")
    for name in ("market", "market_fixes"):
        sys.modules.pop(name, None)
    gc.collect()  # the next test would weave the functions of this one, too


@pytest.fixture
def block(market):
    return Block(str(Path(market.__file__).with_name("autochron.toml")))


def replay_again(market, block, trace, run=None, **more):
    """Replay in a second run. Return its result, the names of the bodies that ran, and the replay."""
    market.run[0] = "second"
    market.ran.clear()
    with autochron.replay(trace, rules=block.rules, check=False, **more) as replay:
        result = (run or market.main)()
    return result, list(market.ran), replay


def divergences_of(replay, *severities):
    return [
        (divergence.kind, divergence.address, divergence.severity)
        for divergence in replay.divergences
        if not severities or divergence.severity in severities
    ]


FIRST = [{"sku": "mug", "total": 10, "run": "first"}, "mug shipped in the first run"]

# --- live crossings


def test_case_2_with_nothing_live_all_but_observed_calls_are_served(market, block):
    result, trace = block.record(market.main)
    assert result == FIRST
    # `stamp` is volatile. `watch` is observed: it runs, and its result, which has the run's name, is compared.
    replayed, ran, replay = replay_again(market, block, trace)
    assert (replayed, ran) == (FIRST, ["watch"])
    assert divergences_of(replay) == [("outcome", "watch[1]", "error")]


@pytest.mark.parametrize(
    ("live", "expected_bodies"),
    [
        ("ship", ["watch", "ship"]),
        ("ship[1]", ["watch", "ship"]),
        ("quote[1]", ["quote mug", "watch"]),
        # `quote[2]` is inside `order`, so `order` runs, too. The model call beside it stays served.
        ("quote[2]", ["order mug", "quote mug", "watch"]),
        ("order", ["order mug", "watch"]),
        (["order", "quote"], ["quote mug", "order mug", "quote mug", "watch"]),
        ("kind:model", ["ask", "order mug", "ask", "watch", "ask"]),
        ("kind:tool", ["quote mug", "order mug", "quote mug", "watch", "stamped", "ship"]),
        ("after:order[1]", ["watch", "ask", "stamped", "ship"]),
        (lambda envelope: envelope.name == "ship", ["watch", "ship"]),
        (lambda envelope: b'"question":"what"' in envelope.input, ["ask", "watch"]),
    ],
)
def test_case_2_only_live_and_observed_bodies_run(live, expected_bodies, market, block):
    _, trace = block.record(market.main)
    result, bodies, replay = replay_again(market, block, trace, live=live)
    assert bodies == expected_bodies
    assert [divergence for divergence in divergences_of(replay, "error") if divergence[1] != "watch[1]"] == []
    assert result[0]["total"] == 10


def test_case_2_a_live_parent_serves_its_children(market, block):
    _, trace = block.record(market.main)
    result, _, replay = replay_again(market, block, trace, live="order")
    assert result[0] == {"sku": "mug", "total": 10, "run": "second"}
    assert replay["quote[2]"].result["run"] == "first"
    assert [crossing.address for crossing in replay.only(live=True)] == ["order[1]"]


def test_case_1_an_address_belongs_to_the_record_whatever_else_runs(market, block, monkeypatch):
    def order(sku, quantity):
        market.quote("other")
        return original(sku, quantity)

    _, trace = block.record(market.main)
    original = market.order
    _, ran, replay = replay_again(market, block, trace, live=["order", "quote"], swap={"market:order": order})
    # The added call takes the address quote[2], so the call inside `order` is the extra quote[3].
    assert ran == ["quote mug", "quote other", "order mug", "quote mug", "watch"]
    assert replay.sequence()[:6] == ["ask[1]", "quote[1]", "order[1]", "quote[2]", "quote[3]", "ask[2]"]
    assert ("extra", "quote[3]", "consequence") in divergences_of(replay)


# --- missing and extra


def skipping(market, *names):
    """Return the agent's loop without some of its steps."""

    def main():
        steps = {
            "ask[1]": lambda: market.ask("what"),
            "quote[1]": lambda: market.quote("mug"),
            "order[1]": lambda: market.order("mug", 2),
            "ask[3]": lambda: market.ask("more"),
            "stamped[1]": lambda: market.stamped("a", stamp=0),
            "ship[1]": lambda: market.ship("mug"),
        }
        for name, step in steps.items():
            if name not in names:
                step()

    return main


@pytest.fixture
def simple(market, block):
    """Return a trace of all steps of `skipping`."""
    return block.record(skipping(market))[1]


@pytest.mark.parametrize(
    ("live", "skipped", "severity"),
    [
        ((), "quote[1]", "error"),
        ("order[1]", "quote[1]", "error"),
        ("order[1]", "stamped[1]", "consequence"),
        ("order[1]", "order[1]", "error"),
        ("after:order[1]", "order[1]", "error"),
        ("kind:tool", "ship[1]", "consequence"),
    ],
)
def test_case_3_a_crossing_missing_before_a_live_one_is_an_error_and_after_it_a_consequence(
    live, skipped, severity, market, block, simple
):
    _, _, replay = replay_again(market, block, simple, skipping(market, skipped), live=live)
    assert ("missing", skipped, severity) in divergences_of(replay)


def test_case_3_a_crossing_missing_inside_a_live_one_is_a_consequence(market, block, simple):
    _, _, replay = replay_again(
        market,
        block,
        simple,
        skipping(market),
        live="order[1]",
        swap={"market:order": lambda sku, quantity: 0},
    )
    assert divergences_of(replay) == [
        *(("stale-state", "order[1]", "notice"), ("outcome", "order[1]", "consequence")),
        *(("missing", "quote[2]", "consequence"), ("missing", "ask[2]", "consequence")),
    ]


@pytest.mark.parametrize("live", [(), "order[1]", "quote[1]"])
def test_case_3_an_extra_served_crossing_is_an_error_wherever_it_is(live, market, block, simple):
    def main():
        skipping(market)()
        with pytest.raises(
            DivergenceError, match=r"ship\[2\] in lane 0 was not recorded; the nearest record is ship\[1\]"
        ):
            market.ship("mug")

    _, ran, replay = replay_again(market, block, simple, main, live=live)
    assert ("extra", "ship[2]", "error") in divergences_of(replay)
    assert "ship" not in ran


def test_case_3_an_extra_live_crossing_is_a_consequence(market, block, simple):
    def main():
        skipping(market)()
        return market.ship("cup")

    result, _, replay = replay_again(market, block, simple, main, live="ship")
    assert result == "cup shipped in the second run"
    assert ("extra", "ship[2]", "consequence") in divergences_of(replay)
    assert replay["ship[2]"].recorded is None


def in_lanes(market, *, first=(), second=()):
    """Return an agent that works in two threads, without some steps of either."""

    def first_worker():
        for name in ("quote", "ship"):
            if name not in first:
                getattr(market, name)("one")

    def second_worker():
        for name in ("quote", "ship"):
            if name not in second:
                getattr(market, name)("two")

    def main():
        market.ask("what")
        market.parallel(first_worker, second_worker)

    return main


@pytest.mark.parametrize(
    ("live", "change", "expected"),
    [
        # In the live crossing's lane, before and after it; in a sibling lane that began later, and in one that ended before.
        ("ship[1]", {"first": ("quote",)}, ("missing", "quote[1]", "error")),
        ("quote[1]", {"first": ("ship",)}, ("missing", "ship[1]", "consequence")),
        ("quote[1]", {"second": ("ship",)}, ("missing", "ship[2]", "consequence")),
        ("quote[2]", {"first": ("ship",)}, ("missing", "ship[1]", "error")),
        # In a child lane that was started after the live crossing.
        ("ask[1]", {"second": ("quote",)}, ("missing", "quote[2]", "consequence")),
    ],
)
def test_case_3_a_crossing_missing_in_another_lane_is_a_consequence_if_it_could_follow_the_live_one(
    live, change, expected, market, block
):
    _, trace = block.record(in_lanes(market))
    _, _, replay = replay_again(market, block, trace, in_lanes(market, **change), live=live)
    assert expected in divergences_of(replay)


def test_case_3_the_missing_tail_of_a_daemon_thread_is_no_error(market, block):
    import threading

    def main(*names):
        def work():
            for name in names:
                getattr(market, name)("mug")

        market.ask("what")
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join()

    _, trace = block.record(lambda: main("quote", "ship"))
    for live in ((), "ask"):
        _, _, replay = replay_again(market, block, trace, lambda: main("quote"), live=live)
        assert divergences_of(replay, "error", "warning") == []


# --- inputs


def asking(market, question="what", sku="mug", after="more"):
    def main():
        market.ask(question)
        market.quote(sku)
        market.ship("mug")
        market.ask(after)
        market.quote(after)

    return main


@pytest.mark.parametrize(
    ("live", "inputs", "change", "expected"),
    [
        ((), None, {"question": "who"}, [("input", "ask[1]", "error")]),
        ((), None, {"sku": "cup"}, [("input", "quote[1]", "error")]),
        ((), "warn", {"question": "who"}, [("input", "ask[1]", "warning")]),
        ((), "warn", {"sku": "cup"}, [("input", "quote[1]", "warning")]),
        ((), "ignore", {"question": "who", "sku": "cup"}, []),
        ("ship", None, {"question": "who"}, [("input", "ask[1]", "warning")]),
        ("ship", None, {"sku": "cup"}, [("input", "quote[1]", "error")]),
        ("ship", "strict", {"question": "who"}, [("input", "ask[1]", "error")]),
        ("ship", "warn", {"question": "who"}, [("input", "ask[1]", "warning")]),
        ("ship", "warn", {"sku": "cup"}, [("input", "quote[1]", "warning")]),
        ("ship", "ignore", {"question": "who", "sku": "cup"}, []),
        # After the live crossing a changed input is a consequence, also in a strict plan. Each call is served its own record.
        ("ship", None, {"after": "other"}, [("input", "ask[2]", "consequence"), ("input", "quote[2]", "consequence")]),
        ("ship", "strict", {"after": "other"}, [("input", "ask[2]", "consequence"), ("input", "quote[2]", "consequence")]),
        ("ship", "ignore", {"after": "other"}, []),
    ],
)  # fmt: skip
def test_case_4_the_plan_decides_the_severity_of_a_changed_input(
    live, inputs, change, expected, market, block
):
    _, trace = block.record(asking(market))
    _, _, replay = replay_again(market, block, trace, asking(market, **change), live=live, inputs=inputs)
    assert [divergence for divergence in divergences_of(replay) if divergence[0] == "input"] == expected


def test_case_4_the_first_field_that_differs_is_named(market, block):
    _, trace = block.record(lambda: market.ask("what", temperature=0.5))
    _, _, replay = replay_again(market, block, trace, lambda: market.ask("what", temperature=0.7))
    (divergence,) = replay.divergences
    assert (divergence.path, divergence.recorded, divergence.replayed) == ("temperature", "0.5", "0.7")
    assert divergence.message == "ask[1] was given another input: temperature was 0.5, now it is 0.7"


def test_case_4_volatile_arguments_are_not_compared(market, block):
    _, trace = block.record(lambda: market.stamped("a", stamp=1))
    result, _, replay = replay_again(market, block, trace, lambda: market.stamped("a", stamp=2))
    assert (result, divergences_of(replay)) == (("a", "first"), [])
    _, _, replay = replay_again(market, block, trace, lambda: market.stamped("b", stamp=2))
    assert divergences_of(replay) == [("input", "stamped[1]", "error")]


# --- streams and results beside live crossings


def test_case_7_reading_a_served_stream_further_than_recorded_raises_also_after_a_live_crossing(
    market, block
):
    def main(count):
        market.ship("mug")
        stream = market.pages(5)
        return [next(stream) for _ in range(count)]

    _, trace = block.record(lambda: main(2))
    with pytest.raises(
        DivergenceError, match=r"pages\[1\] is read further than when it was recorded .* after 2"
    ):
        replay_again(market, block, trace, lambda: main(3), live="ship")


def test_case_7_a_cancelled_stream_waits_until_it_is_cancelled(market, block):
    async def main():
        async def read():
            async for item in market.drips(2):
                events.append(item)

        events = []
        task = asyncio.create_task(read())
        events.append(await market.fetch("mug"))
        await asyncio.sleep(0.01)
        events.append(task.done())
        task.cancel()
        await asyncio.wait([task])
        return events, task.cancelled()

    result, trace = block.record(lambda: asyncio.run(main()))
    assert result[0][-1] is False
    assert replay_again(market, block, trace, lambda: asyncio.run(main()))[:2] == (result, [])


def test_case_8_changing_a_served_result_does_not_change_the_record(market, block):
    def main():
        market.ask("what")
        return market.rest("mug")

    _, trace = block.record(main)
    result, ran, _ = replay_again(market, block, trace, main, live="ship")
    assert result == [{"sku": "mug", "price": 5, "run": "first"}, "mug shipped in the second run"]
    result[0]["price"] = 0
    assert replay_again(market, block, trace, main, live="ship")[0][0]["price"] == 5
    assert ran == ["ship"]


# --- swapping


@pytest.fixture
def fixes(tmp_path, market):
    """Return a module of fixes, which a rule with a glob also weaves."""
    (tmp_path / "market_fixes.py").write_text(FIXES, encoding="utf-8")
    return tmp_path / "market_fixes.py"


FIXES = """
import market

def order(sku, quantity):
    market.note("fixed")
    found = market.quote(sku)
    return {"sku": sku, "total": found["price"] * min(quantity, 1), "run": "fixed"}

def capped(sku, quantity):
    return {**market.order(sku, 1), "run": "capped"}

def price(self, price):
    return self.discount, price, "fixed"

def hire(cls, name):
    return cls.__name__, name, "fixed"

async def fetch(sku):
    return sku, "fixed", (await market.fetch(sku))[1]

def pages(size):
    got = yield "fixed"
    yield got
    return "fixed"

async def lines(size):
    try:
        got = yield "fixed"
        yield got
    except LookupError as error:
        yield f"caught {error}"
"""


def test_case_2_a_fix_is_tried_in_the_place_of_a_function(market, block, fixes):
    _, trace = block.record(market.main)
    swap = {"market:order": "market_fixes:order"}
    result, ran, replay = replay_again(market, block, trace, live="order", swap=swap)
    assert result[0] == {"sku": "mug", "total": 5, "run": "fixed"}
    # The fix runs inside the old function's crossing, and the calls that it makes are served.
    assert (ran, replay["order[1]"].live) == (["fixed", "watch"], True)
    assert replay["quote[2]"].result["run"] == "first"
    assert [crossing.address for crossing in replay.only(name="order")] == ["order[1]"]


def test_case_2_a_fix_may_call_the_function_that_it_replaces(market, block, fixes):
    _, trace = block.record(market.main)
    result, ran, _ = replay_again(
        market, block, trace, live="order", swap={"market:order": "market_fixes:capped"}
    )
    assert (result[0], ran) == ({"sku": "mug", "total": 5, "run": "capped"}, ["order mug", "watch"])


def test_case_2_a_fix_may_be_a_callable_or_named_by_file(market, block, fixes):
    _, trace = block.record(market.main)
    fixed = {"sku": "mug", "total": 5, "run": "fixed"}
    for new in (lambda sku, quantity: fixed, f"{fixes}:order", "market_fixes.py:order"):
        for old in ("market:order", "market.py:order"):
            assert replay_again(market, block, trace, live="order", swap={old: new})[0][0] == fixed


def test_case_2_a_fix_of_a_served_function_is_an_error_because_it_is_never_called(
    market, block, fixes, simple
):
    swap = {"market:order": "market_fixes:order"}
    _, ran, replay = replay_again(market, block, simple, skipping(market), live="ship", swap=swap)
    assert "fixed" not in ran
    (divergence,) = [entry for entry in replay.divergences if entry.address == "market:order"]
    assert divergence.severity == "error"
    assert "was to be swapped and was never called" in divergence.message
    assert "see that what calls it is live" in divergence.message


def methods(market):
    clerk = market.Clerk(2)
    return clerk.price(10), clerk.price(20), market.Clerk.hire("Ada"), market.Clerk.greet("Ada")


def test_case_2_methods_are_swapped(market, block, fixes):
    _, trace = block.record(lambda: methods(market))
    swap = {
        "market:Clerk.price": "market_fixes:price",
        "market:Clerk.hire": "market_fixes:hire",
        "market:Clerk.greet": lambda name: f"hello {name}",
    }
    result, ran, _ = replay_again(market, block, trace, lambda: methods(market), live="kind:tool", swap=swap)
    assert result == ((2, 10, "fixed"), (2, 20, "fixed"), ("Clerk", "Ada", "fixed"), "hello Ada")
    assert ran == []


def test_case_2_coroutines_and_generators_are_swapped(market, block, fixes):
    async def later():
        stream = market.lines(2)
        items = [await anext(stream), await stream.asend("sent")]
        thrown = market.lines(2)
        await anext(thrown)
        items.append(await thrown.athrow(LookupError("in")))
        await stream.aclose()
        await thrown.aclose()
        return await market.fetch("mug"), items

    def main():
        stream = market.pages(2)
        return next(stream), stream.send("sent"), list(stream), asyncio.run(later())

    market.lines.__code__
    with autochron.record(store="memory:", rules=block.rules) as recording:
        market.pages(1)
        asyncio.run(market.fetch("mug"))
    trace = recording.trace()
    swap = {f"market:{name}": f"market_fixes:{name}" for name in ("pages", "lines", "fetch")}
    result, ran, _ = replay_again(market, block, trace, main, live=["fetch", "kind:tool"], swap=swap)
    expected = (("mug", "fixed", "second"), ["fixed", "sent", "caught in"])
    assert (result, ran) == (("fixed", "sent", [], expected), ["fetch"])


TOOLS = """
from dataclasses import dataclass
from typing import Any

@dataclass
class Tool:
    name: str
    run: Any

def tool(function):
    async def invoke(context, **arguments):
        return function(**arguments)
    return Tool(function.__name__, invoke)

@dataclass
class Structured:
    func: Any
    coroutine: Any = None

@tool
def order(sku, quantity):
    return {"sku": sku, "total": 5, "run": "tool"}

renamed = Structured(lambda sku, quantity: {"sku": sku, "total": 5, "run": "tool"})
both = Structured(lambda sku, quantity: 0, lambda sku, quantity: 1)
"""


@pytest.mark.parametrize("name", ["order", "renamed"])
def test_case_2_a_fix_may_be_the_object_that_a_framework_made_of_a_function(market, block, tmp_path, name):
    (tmp_path / "market_tools.py").write_text(TOOLS, encoding="utf-8")
    _, trace = block.record(market.main)
    swap = {"market:order": f"market_tools.py:{name}"}
    result, _, replay = replay_again(market, block, trace, live="order", swap=swap)
    assert result[0] == {"sku": "mug", "total": 5, "run": "tool"}
    assert [crossing.address for crossing in replay.only(name="order")] == ["order[1]"]


def test_case_2_an_object_that_holds_two_functions_is_refused_with_the_remedy(market, block, tmp_path):
    (tmp_path / "market_tools.py").write_text(TOOLS, encoding="utf-8")
    _, trace = block.record(market.main)
    words = "both is not callable, but a Structured; name the plain function, without the decorator"
    with pytest.raises(PlanError, match=words):
        replay_again(market, block, trace, live="order", swap={"market:order": "market_tools.py:both"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("order", "market_fixes:order", "swap 'order': name a function as module:name or file.py:name"),
        ("market:order", "order", "swap 'order': name a function as module:name or file.py:name"),
        ("market:order", "nowhere.py:order", "there is no file nowhere.py, in which order was to be"),
        ("nowhere.py:order", "market_fixes:order", "there is no file nowhere.py"),
        ("market:main.<locals>.x", "market_fixes:order", "a function inside a function can't be named"),
    ],
)
def test_case_2_a_wrong_name_is_refused_before_anything_runs(old, new, message, market, block, fixes):
    _, trace = block.record(market.main)
    with pytest.raises(PlanError, match=re.escape(message)):
        replay_again(market, block, trace, live="order", swap={old: new})
    assert market.ran == []


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("market_fixes:ordre", "market_fixes has no ordre; the nearest is order"),
        ("market_fixed:order", "No module named 'market_fixed'"),
    ],
)
def test_case_2_a_fix_that_does_not_exist_fails_the_replay(new, message, market, block, fixes):
    _, trace = block.record(market.main)
    with pytest.raises(PlanError, match=message):
        replay_again(market, block, trace, live="order", swap={"market:order": new})


def test_case_2_swapping_a_function_that_does_not_exist_fails_the_replay(market, block, fixes):
    _, trace = block.record(market.main)
    _, _, replay = replay_again(
        market, block, trace, live="order", swap={"market:ordre": "market_fixes:order"}
    )
    assert ("missing", "market:ordre", "error") in divergences_of(replay)
