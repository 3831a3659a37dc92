"""How a crossing finds its record: by lane, nesting, count, order and input. Without a record it is a divergence."""

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

ran = UserList()  # not a list, whose changes a served tool would repeat


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
def test_lanes_that_start_in_another_order_get_their_own_results(way, order, block):
    result, trace = block.record(lambda: way("abcd"))
    before = list(ran)
    assert block.replay(trace, lambda: way(order)) == (result, ())
    assert ran == before


def test_lanes_with_equal_inputs_are_told_apart_by_the_order_of_their_starts(block):
    result, trace = block.record(lambda: in_a_pool("a"))

    def twins():
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(ask, "aaaa"))

    result, trace = block.record(twins)
    for _ in range(5):
        assert block.replay(trace, twins) == (result, ())


def test_a_lane_is_named_after_how_it_was_started(block):
    _, trace = block.record(lambda: (in_threads("a"), in_a_pool("b"), ask("c")))
    assert [envelope.lane for envelope in trace.envelopes] == [*["0/work.1"] * 3, "0/ask.1", "0"]


def test_how_far_a_daemon_thread_gets_is_not_compared(block):
    def begin(wait):
        thread = threading.Thread(target=lambda: [ask(number) for number in range(wait)], daemon=True)
        thread.start()
        thread.join()

    _, trace = block.record(lambda: begin(5))
    assert block.replay(trace, lambda: begin(2)) == (None, ())


def test_a_stubbed_parent_serves_its_outcome_and_its_children_do_not_run(block):
    result, trace = block.record(lambda: (outer(2), ask("after"), outer(1)))
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
    assert block.replay(trace, lambda: (outer(2), ask("after"), outer(1))) == (result, ())
    assert ran == before


def test_a_missing_crossing_is_reported(block):
    _, trace = block.record(lambda: (ask("a"), other("b"), ask("c")))
    with pytest.raises(DivergenceError, match=r"ask\[2\].* was recorded and did not happen"):
        block.replay(trace, lambda: (ask("a"), other("b")))
    _, divergences = block.replay(trace, lambda: ask("a"), check=False)
    assert [(divergence.kind, divergence.address) for divergence in divergences] == [
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
    assert [(divergence.kind, divergence.address) for divergence in divergences] == [
        ("extra", "ask[2]"),
        ("extra", "other[1]"),
    ]
    assert ran == before


def test_a_program_that_swallows_every_divergence_is_stopped(block):
    _, trace = block.record(lambda: ask("a"))
    attempts = 0

    def persistent():
        nonlocal attempts
        while True:
            attempts += 1
            try:
                ask("a")
            except Exception:
                continue

    with pytest.raises(BaseException, match="was not recorded") as stopped:
        block.replay(trace, persistent, check=False)
    assert not isinstance(stopped.value, Exception)
    assert attempts < 1000


def test_another_order_with_the_same_count_is_noticed(block):
    _, trace = block.record(lambda: (ask("a"), other("b"), ask("c"), other("d")))
    _, divergences = block.replay(trace, lambda: (ask("a"), ask("c"), other("b"), other("d")), check=False)
    assert [(divergence.kind, divergence.address, divergence.nearest) for divergence in divergences] == [
        ("reordered", "ask[2]", "other[1]")
    ]


def test_another_order_of_one_name_is_a_changed_input(block):
    _, trace = block.record(lambda: (ask("a"), ask("b")))
    _, divergences = block.replay(trace, lambda: (ask("b"), ask("a")), check=False)
    assert [(divergence.kind, divergence.address) for divergence in divergences] == [
        ("input", "ask[1]"),
        ("input", "ask[2]"),
    ]


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
    result, divergences = block.replay(trace, lambda: ask("q", order(2)), check=False)
    assert result[0] == "q"
    assert [(divergence.kind, divergence.recorded, divergence.replayed) for divergence in divergences] == [
        ("input", "1", "2")
    ]
    assert "order" in divergences[0].path
    assert "lines" in divergences[0].path


def test_an_input_of_another_type_is_another_input(block):
    for recorded, replayed in [(1, "1"), (1, True), (None, {}), (1, 1.5)]:
        _, trace = block.record(lambda recorded=recorded: ask("q", recorded))
        _, divergences = block.replay(trace, lambda replayed=replayed: ask("q", replayed), check=False)
        assert [divergence.kind for divergence in divergences] == ["input"], (recorded, replayed)


def test_equal_calls_in_another_notation_have_the_same_input(block):
    result, trace = block.record(lambda: ask("q", {"a": 1, "b": {2, 3}}))
    assert block.replay(trace, lambda: ask(more={"b": {3, 2}, "a": 1}, question="q")) == (result, ())


def test_random_results_are_served_in_each_replay(block):
    results, trace = block.record(lambda: [ask("a") for _ in range(3)])
    assert len({value for _, value in results}) == 3
    for _ in range(3):
        assert block.replay(trace, lambda: [ask("a") for _ in range(3)]) == (results, ())


def from_a_queue(shares):
    """Run one thread for each share of the jobs, one after the other. All threads are started alike."""
    results = {}

    def work(share):
        results.update({job: ask(job) for job in share})

    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
        thread.join()  # one after the other, so that only the division of the jobs differs
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
def test_threads_that_divide_their_jobs_otherwise_get_each_jobs_own_result(shares, block):
    result, trace = block.record(lambda: from_a_queue([[0, 2, 4], [1, 3, 5]]))
    replayed, divergences = block.replay(trace, lambda: from_a_queue(shares))
    assert replayed == result
    assert [divergence for divergence in divergences if divergence.severity == "error"] == []


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
def test_no_crossing_waits_for_records_inside_a_served_crossing(way, block):
    # The crossing inside the second one ended before the first one did, and the first one before the second.
    result, trace = block.record(way)
    assert result == ["first", "second"]
    inside = [envelope for envelope in trace.envelopes if envelope.parent is not None]
    assert len(inside) == 2
    began = time.monotonic()
    assert block.replay(trace, way) == (result, ())
    assert time.monotonic() - began < 0.9  # a wait in vain takes a whole second
