"""What replay means, case by case, through `autochron.replay`: the numbers are those of the contract."""

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
    deactivate()  # what is imported under other rules stays woven by them
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


def again(market, block, trace, run=None, **more):
    """Replay in a second run; give what it gave, whose bodies ran, and the replay."""
    market.run[0] = "second"
    market.ran.clear()
    with autochron.replay(trace, rules=block.rules, check=False, **more) as replay:
        given = (run or market.main)()
    return given, list(market.ran), replay


def told(replay, *severities):
    return [
        (each.kind, each.address, each.severity)
        for each in replay.divergences
        if not severities or each.severity in severities
    ]


FIRST = [{"sku": "mug", "total": 10, "run": "first"}, "mug shipped in the first run"]

# --- what is live


def test_case_2_nothing_live_serves_all_but_what_is_observed(market, block):
    given, trace = block.record(market.main)
    assert given == FIRST
    # `stamp` is volatile; what is observed runs, and is compared: it gave another run's name.
    again_given, ran, replay = again(market, block, trace)
    assert (again_given, ran) == (FIRST, ["watch"])
    assert told(replay) == [("outcome", "watch[1]", "error")]


@pytest.mark.parametrize(
    ("live", "ran"),
    [
        ("ship", ["watch", "ship"]),
        ("ship[1]", ["watch", "ship"]),
        ("quote[1]", ["quote mug", "watch"]),
        # It lies inside of `order`, which is opened for it; the model beside it stays served.
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
def test_case_2_what_is_live_runs_and_nothing_else(live, ran, market, block):
    _, trace = block.record(market.main)
    given, now, replay = again(market, block, trace, live=live)
    assert now == ran
    assert [each for each in told(replay, "error") if each[1] != "watch[1]"] == []
    assert given[0]["total"] == 10


def test_case_2_a_live_parent_serves_its_children(market, block):
    _, trace = block.record(market.main)
    given, _, replay = again(market, block, trace, live="order")
    assert given[0] == {"sku": "mug", "total": 10, "run": "second"}
    assert replay["quote[2]"].result["run"] == "first"
    assert [each.address for each in replay.only(live=True)] == ["order[1]"]


def test_case_1_an_address_belongs_to_the_record_whatever_else_runs(market, block, monkeypatch):
    def order(sku, quantity):
        market.quote("other")
        return original(sku, quantity)

    _, trace = block.record(market.main)
    original = market.order
    _, ran, replay = again(market, block, trace, live=["order", "quote"], swap={"market:order": order})
    # The second quote took the first one's record, its own is new.
    assert ran == ["quote mug", "quote other", "order mug", "quote mug", "watch"]
    assert replay.sequence()[:6] == ["ask[1]", "quote[1]", "order[1]", "quote[2]", "quote[3]", "ask[2]"]
    assert ("extra", "quote[3]", "consequence") in told(replay)


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
    """Return a trace of these steps."""
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
def test_case_3_missing_before_what_is_live_is_an_error_and_behind_it_a_consequence(
    live, skipped, severity, market, block, simple
):
    _, _, replay = again(market, block, simple, skipping(market, skipped), live=live)
    assert ("missing", skipped, severity) in told(replay)


def test_case_3_missing_below_what_is_live_is_a_consequence(market, block, simple):
    _, _, replay = again(
        market,
        block,
        simple,
        skipping(market),
        live="order[1]",
        swap={"market:order": lambda sku, quantity: 0},
    )
    assert told(replay) == [
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

    _, ran, replay = again(market, block, simple, main, live=live)
    assert ("extra", "ship[2]", "error") in told(replay)
    assert "ship" not in ran


def test_case_3_an_extra_live_crossing_is_a_consequence(market, block, simple):
    def main():
        skipping(market)()
        return market.ship("cup")

    given, _, replay = again(market, block, simple, main, live="ship")
    assert given == "cup shipped in the second run"
    assert ("extra", "ship[2]", "consequence") in told(replay)
    assert replay["ship[2]"].recorded is None


def in_lanes(market, *, first=(), second=()):
    """Return an agent that works in two threads, without some steps of either."""

    def one():
        for name in ("quote", "ship"):
            if name not in first:
                getattr(market, name)("one")

    def two():
        for name in ("quote", "ship"):
            if name not in second:
                getattr(market, name)("two")

    def main():
        market.ask("what")
        market.parallel(one, two)

    return main


@pytest.mark.parametrize(
    ("live", "change", "expected"),
    [
        # In the lane of what is live, before and behind it; in a sibling that began after it ended, and before.
        ("ship[1]", {"first": ("quote",)}, ("missing", "quote[1]", "error")),
        ("quote[1]", {"first": ("ship",)}, ("missing", "ship[1]", "consequence")),
        ("quote[1]", {"second": ("ship",)}, ("missing", "ship[2]", "consequence")),
        ("quote[2]", {"first": ("ship",)}, ("missing", "ship[1]", "error")),
        # In a child lane of what is live, and where what is live is in a child lane.
        ("ask[1]", {"second": ("quote",)}, ("missing", "quote[2]", "consequence")),
    ],
)
def test_case_3_what_is_missing_in_other_lanes_is_judged_by_what_could_follow(
    live, change, expected, market, block
):
    _, trace = block.record(in_lanes(market))
    _, _, replay = again(market, block, trace, in_lanes(market, **change), live=live)
    assert expected in told(replay)


def test_case_3_the_missing_tail_of_a_daemon_is_nothing(market, block):
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
        _, _, replay = again(market, block, trace, lambda: main("quote"), live=live)
        assert told(replay, "error", "warning") == []


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
        # Behind what is live it follows from it, however strict; and each is still served its own record.
        ("ship", None, {"after": "other"}, [("input", "ask[2]", "consequence"), ("input", "quote[2]", "consequence")]),
        ("ship", "strict", {"after": "other"}, [("input", "ask[2]", "consequence"), ("input", "quote[2]", "consequence")]),
        ("ship", "ignore", {"after": "other"}, []),
    ],
)  # fmt: skip
def test_case_4_what_a_changed_input_means(live, inputs, change, expected, market, block):
    _, trace = block.record(asking(market))
    _, _, replay = again(market, block, trace, asking(market, **change), live=live, inputs=inputs)
    assert [each for each in told(replay) if each[0] == "input"] == expected


def test_case_4_the_first_field_that_differs_is_named(market, block):
    _, trace = block.record(lambda: market.ask("what", temperature=0.5))
    _, _, replay = again(market, block, trace, lambda: market.ask("what", temperature=0.7))
    (divergence,) = replay.divergences
    assert (divergence.path, divergence.recorded, divergence.replayed) == ("temperature", "0.5", "0.7")
    assert divergence.message == "ask[1] was given another input: temperature was 0.5, now it is 0.7"


def test_case_4_what_is_volatile_is_left_out(market, block):
    _, trace = block.record(lambda: market.stamped("a", stamp=1))
    given, _, replay = again(market, block, trace, lambda: market.stamped("a", stamp=2))
    assert (given, told(replay)) == (("a", "first"), [])
    _, _, replay = again(market, block, trace, lambda: market.stamped("b", stamp=2))
    assert told(replay) == [("input", "stamped[1]", "error")]


# --- streams and arguments beside something live


def test_case_7_reading_a_served_stream_further_than_recorded_raises_also_behind_something_live(
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
        again(market, block, trace, lambda: main(3), live="ship")


def test_case_7_a_cancelled_stream_waits_until_it_is_cancelled(market, block):
    async def main():
        async def read():
            async for item in market.drips(2):
                seen.append(item)

        seen = []
        task = asyncio.create_task(read())
        seen.append(await market.fetch("mug"))
        await asyncio.sleep(0.01)
        seen.append(task.done())
        task.cancel()
        await asyncio.wait([task])
        return seen, task.cancelled()

    given, trace = block.record(lambda: asyncio.run(main()))
    assert given[0][-1] is False
    assert again(market, block, trace, lambda: asyncio.run(main()))[:2] == (given, [])


def test_case_8_arguments_are_changed_again_inside_and_beside_what_is_live(market, block):
    def main():
        market.ask("what")
        return market.rest("mug")

    _, trace = block.record(main)
    given, ran, _ = again(market, block, trace, main, live="ship")
    assert given == [{"sku": "mug", "price": 5, "run": "first"}, "mug shipped in the second run"]
    given[0]["price"] = 0
    assert again(market, block, trace, main, live="ship")[0][0]["price"] == 5
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
    given, ran, replay = again(market, block, trace, live="order", swap=swap)
    assert given[0] == {"sku": "mug", "total": 5, "run": "fixed"}
    # The crossing is the old one's, and what it calls is served.
    assert (ran, replay["order[1]"].live) == (["fixed", "watch"], True)
    assert replay["quote[2]"].result["run"] == "first"
    assert [each.address for each in replay.only(name="order")] == ["order[1]"]


def test_case_2_a_fix_may_call_what_it_replaces(market, block, fixes):
    _, trace = block.record(market.main)
    given, ran, _ = again(market, block, trace, live="order", swap={"market:order": "market_fixes:capped"})
    assert (given[0], ran) == ({"sku": "mug", "total": 5, "run": "capped"}, ["order mug", "watch"])


def test_case_2_a_fix_may_be_a_callable_or_named_by_file(market, block, fixes):
    _, trace = block.record(market.main)
    fixed = {"sku": "mug", "total": 5, "run": "fixed"}
    for new in (lambda sku, quantity: fixed, f"{fixes}:order", "market_fixes.py:order"):
        for old in ("market:order", "market.py:order"):
            assert again(market, block, trace, live="order", swap={old: new})[0][0] == fixed


def test_case_2_a_fix_of_what_is_served_is_not_called(market, block, fixes, simple):
    swap = {"market:order": "market_fixes:order"}
    _, ran, replay = again(market, block, simple, skipping(market), live="ship", swap=swap)
    assert "fixed" not in ran
    (divergence,) = [each for each in replay.divergences if each.address == "market:order"]
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
    given, ran, _ = again(market, block, trace, lambda: methods(market), live="kind:tool", swap=swap)
    assert given == ((2, 10, "fixed"), (2, 20, "fixed"), ("Clerk", "Ada", "fixed"), "hello Ada")
    assert ran == []


def test_case_2_coroutines_and_generators_are_swapped(market, block, fixes):
    async def later():
        stream = market.lines(2)
        found = [await anext(stream), await stream.asend("sent")]
        thrown = market.lines(2)
        await anext(thrown)
        found.append(await thrown.athrow(LookupError("in")))
        await stream.aclose()
        await thrown.aclose()
        return await market.fetch("mug"), found

    def main():
        stream = market.pages(2)
        return next(stream), stream.send("sent"), list(stream), asyncio.run(later())

    market.lines.__code__
    with autochron.record(store="memory:", rules=block.rules) as recording:
        market.pages(1)
        asyncio.run(market.fetch("mug"))
    trace = recording.trace()
    swap = {f"market:{name}": f"market_fixes:{name}" for name in ("pages", "lines", "fetch")}
    given, ran, _ = again(market, block, trace, main, live=["fetch", "kind:tool"], swap=swap)
    expected = (("mug", "fixed", "second"), ["fixed", "sent", "caught in"])
    assert (given, ran) == (("fixed", "sent", [], expected), ["fetch"])


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
        again(market, block, trace, live="order", swap={old: new})
    assert market.ran == []


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("market_fixes:ordre", "market_fixes has no ordre; the nearest is order"),
        ("market_fixed:order", "No module named 'market_fixed'"),
    ],
)
def test_case_2_a_fix_that_is_not_there_fails_the_replay(new, message, market, block, fixes):
    _, trace = block.record(market.main)
    with pytest.raises(PlanError, match=message):
        again(market, block, trace, live="order", swap={"market:order": new})


def test_case_2_a_function_that_is_not_there_fails_the_replay(market, block, fixes):
    _, trace = block.record(market.main)
    _, _, replay = again(market, block, trace, live="order", swap={"market:ordre": "market_fixes:order"})
    assert ("missing", "market:ordre", "error") in told(replay)
