"""How a crossing finds its record: lanes, nesting, count, order and input; and what is said where it finds none."""

import asyncio
import random
import threading
import time
from collections import UserList
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import autochron
from autochron.errors import DivergenceError

ran = UserList()  # not a list, which a served tool would change again


@autochron.boundary
def ask(question, more=None):
    ran.append(question)
    return question, random.random()


@autochron.boundary
def other(question):
    ran.append(question)
    return [question, random.random()]


@autochron.boundary
def outer(size):
    return [ask(number) for number in range(size)]


@autochron.boundary
async def ask_later(question):
    ran.append(question)
    await asyncio.sleep(random.random() / 200)
    return question, random.random()


def in_threads(order):
    results = {}

    def work(name):
        results[name] = (ask(name), ask(name), other(name))

    threads = [threading.Thread(target=work, args=(name,)) for name in order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(sorted(results.items()))


def in_a_pool(order):
    with ThreadPoolExecutor(2) as pool:
        futures = {name: pool.submit(ask, name) for name in order}
    return {name: future.result() for name, future in sorted(futures.items())}


def in_tasks(order):
    async def run():
        tasks = {name: asyncio.create_task(ask_later(name)) for name in order}
        return {name: await task for name, task in sorted(tasks.items())}

    return asyncio.run(run())


def in_threads_of_threads(order):
    results = {}

    def work(name):
        results[name] = in_a_pool([f"{name}{number}" for number in (order if name == "a" else "xyz")])

    threads = [threading.Thread(target=work, args=(name,)) for name in order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(sorted(results.items()))


@pytest.mark.parametrize("way", [in_threads, in_a_pool, in_tasks, in_threads_of_threads])
@pytest.mark.parametrize("order", ["abcd", "dcba", "badc"])
def test_lanes_that_start_in_another_order_get_what_is_theirs(way, order, block):
    given, trace = block.record(lambda: way("abcd"))
    before = list(ran)
    assert block.replay(trace, lambda: way(order)) == (given, ())
    assert ran == before


def test_lanes_with_equal_inputs_are_told_apart_by_the_order_of_their_starts(block):
    given, trace = block.record(lambda: in_a_pool("a"))

    def twins():
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(ask, "aaaa"))

    given, trace = block.record(twins)
    for _ in range(5):
        assert block.replay(trace, twins) == (given, ())


def test_a_lane_is_named_after_how_it_was_started(block):
    _, trace = block.record(lambda: (in_threads("a"), in_a_pool("b"), ask("c")))
    assert [envelope.lane for envelope in trace.envelopes] == [*["0/work.1"] * 3, "0/ask.1", "0"]


def test_how_far_a_daemon_gets_is_left_open(block):
    def begin(wait):
        thread = threading.Thread(target=lambda: [ask(number) for number in range(wait)], daemon=True)
        thread.start()
        thread.join()

    _, trace = block.record(lambda: begin(5))
    assert block.replay(trace, lambda: begin(2)) == (None, ())


def test_a_stubbed_parent_serves_its_outcome_and_its_children_do_not_run(block):
    given, trace = block.record(lambda: (outer(2), ask("after"), outer(1)))
    parents = {envelope.address: envelope.parent for envelope in trace.envelopes}
    seqs = {envelope.address: envelope.seq for envelope in trace.envelopes}
    first, second = seqs["outer[1]"], seqs["outer[2]"]
    assert parents == {
        "outer[1]": None,
        "ask[1]": first,
        "ask[2]": first,
        "ask[3]": None,
        "outer[2]": None,
        "ask[4]": second,
    }
    before = list(ran)
    assert block.replay(trace, lambda: (outer(2), ask("after"), outer(1))) == (given, ())
    assert ran == before


def test_a_missing_crossing_is_named(block):
    _, trace = block.record(lambda: (ask("a"), other("b"), ask("c")))
    with pytest.raises(DivergenceError, match=r"ask\[2\].* was recorded and did not happen"):
        block.replay(trace, lambda: (ask("a"), other("b")))
    _, divergences = block.replay(trace, lambda: ask("a"), check=False)
    assert [(each.kind, each.address) for each in divergences] == [
        ("missing", "other[1]"),
        ("missing", "ask[2]"),
    ]


def test_an_extra_crossing_is_refused_and_does_not_run(block):
    _, trace = block.record(lambda: ask("a"))
    before = list(ran)

    def twice():
        ask("a")
        with pytest.raises(DivergenceError, match=r"ask\[2\] in lane 0 was not recorded; .*ask\[1\]"):
            ask("a")
        with pytest.raises(DivergenceError, match=r"other\[1\] in lane 0 was not recorded"):
            other("a")

    _, divergences = block.replay(trace, twice, check=False)
    assert [(each.kind, each.address) for each in divergences] == [("extra", "ask[2]"), ("extra", "other[1]")]
    assert ran == before


def test_a_program_that_swallows_every_divergence_is_stopped(block):
    _, trace = block.record(lambda: ask("a"))
    asked = 0

    def persistent():
        nonlocal asked
        while True:
            asked += 1
            try:
                ask("a")
            except Exception:
                continue

    with pytest.raises(BaseException, match="was not recorded") as stopped:
        block.replay(trace, persistent, check=False)
    assert not isinstance(stopped.value, Exception)
    assert asked < 1000


def test_another_order_with_the_same_count_is_noticed(block):
    _, trace = block.record(lambda: (ask("a"), other("b"), ask("c"), other("d")))
    _, divergences = block.replay(trace, lambda: (ask("a"), ask("c"), other("b"), other("d")), check=False)
    assert [(each.kind, each.address, each.nearest) for each in divergences] == [
        ("reordered", "ask[2]", "other[1]")
    ]


def test_another_order_of_one_name_is_a_changed_input(block):
    _, trace = block.record(lambda: (ask("a"), ask("b")))
    _, divergences = block.replay(trace, lambda: (ask("b"), ask("a")), check=False)
    assert [(each.kind, each.address) for each in divergences] == [("input", "ask[1]"), ("input", "ask[2]")]


@dataclass
class Order:
    number: int
    lines: list


def test_a_changed_input_names_the_first_field_that_differs(block):
    def order(amount):
        return {
            "order": Order(7, [{"item": "mug", "cents": 3990}, {"item": "apron", "cents": amount}]),
            "z": amount,
        }

    _, trace = block.record(lambda: ask("q", order(1)))
    with pytest.raises(
        DivergenceError, match=r"ask\[1\] was given another input: .*cents.* was 1, now it is 2"
    ):
        block.replay(trace, lambda: ask("q", order(2)))
    given, divergences = block.replay(trace, lambda: ask("q", order(2)), check=False)
    assert given[0] == "q"
    assert [(each.kind, each.recorded, each.replayed) for each in divergences] == [("input", "1", "2")]
    assert "order" in divergences[0].path
    assert "lines" in divergences[0].path


def test_an_input_of_another_type_is_another_input(block):
    for one, two in [(1, "1"), (1, True), (None, {}), (1, 1.5)]:
        _, trace = block.record(lambda one=one: ask("q", one))
        _, divergences = block.replay(trace, lambda two=two: ask("q", two), check=False)
        assert [each.kind for each in divergences] == ["input"], (one, two)


def test_calls_that_say_the_same_in_another_way_have_the_same_input(block):
    given, trace = block.record(lambda: ask("q", {"a": 1, "b": {2, 3}}))
    assert block.replay(trace, lambda: ask(more={"b": {3, 2}, "a": 1}, question="q")) == (given, ())


def test_a_replay_needs_no_provider_nor_random_luck_twice(block):
    given, trace = block.record(lambda: [ask("a") for _ in range(3)])
    assert len({value for _, value in given}) == 3
    for _ in range(3):
        assert block.replay(trace, lambda: [ask("a") for _ in range(3)]) == (given, ())


def from_a_queue(shares):
    """Let threads that were started alike do what falls to each of them."""
    results = {}

    def work(share):
        results.update({job: ask(job) for job in share})

    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
        thread.join()  # one after the other: which thread does what is what differs
    return dict(sorted(results.items()))


@pytest.mark.parametrize(
    "shares",
    [
        [[0, 1, 2], [3, 4, 5]],
        [[3, 0, 5], [1, 4, 2]],
        [[2, 4, 5], [0, 1, 3]],
        [[0], [1, 2, 3, 4, 5]],
        [[1, 3, 5, 4, 0], [2]],
    ],
)
def test_threads_that_share_their_work_out_otherwise_get_each_jobs_own_result(shares, block):
    given, trace = block.record(lambda: from_a_queue([[0, 2, 4], [1, 3, 5]]))
    replayed, divergences = block.replay(trace, lambda: from_a_queue(shares))
    assert replayed == given
    assert [each for each in divergences if each.severity == "error"] == []


@autochron.boundary
async def above(name, before, after):
    await asyncio.sleep(before)
    await ask_later(name)
    await asyncio.sleep(after)
    return name


@autochron.boundary
def above_in_thread(name, before, after):
    time.sleep(before)
    ask(name)
    time.sleep(after)
    return name


def ends_in_tasks():
    ended = []

    async def work(*arguments):
        ended.append(await above(*arguments))

    async def both():
        await asyncio.gather(work("first", 0.0, 0.06), work("second", 0.03, 0.1))

    asyncio.run(both())
    return ended


def ends_in_threads():
    ended = []
    start = threading.Barrier(2)

    def work(*arguments):
        start.wait()
        ended.append(above_in_thread(*arguments))

    calls = (("first", 0.0, 0.06), ("second", 0.03, 0.1))
    threads = [threading.Thread(target=work, args=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ended


@pytest.mark.parametrize("way", [ends_in_tasks, ends_in_threads])
def test_nobody_waits_for_what_was_recorded_inside_a_crossing_that_is_served(way, block):
    # What is inside the second ended before the first did, which ended before the second.
    given, trace = block.record(way)
    assert given == ["first", "second"]
    inside = [envelope for envelope in trace.envelopes if envelope.parent is not None]
    assert len(inside) == 2
    begun = time.monotonic()
    assert block.replay(trace, way) == (given, ())
    assert time.monotonic() - begun < 0.9  # of a whole second, if one waited in vain
