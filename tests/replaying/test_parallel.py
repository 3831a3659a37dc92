"""Many calls at once, in another order in each run: each is served its own record (case 1)."""

import asyncio
import concurrent.futures
import random
import threading
import time
from collections import Counter

import pytest

import autochron

MANY = 64


@autochron.boundary
def work(number):
    time.sleep(random.random() / 500)
    return number, random.random()


@autochron.boundary
def check(number, outcome):
    return number, outcome, random.random()


@autochron.boundary
async def work_later(number):
    await asyncio.sleep(random.random() / 500)
    return number, random.random()


@autochron.boundary
async def check_later(number, outcome):
    await asyncio.sleep(0)
    return number, outcome, random.random()


def task(number):
    """Call one tool, and a second one with its result."""
    time.sleep(random.random() / 500)
    outcome = work(number)
    return check(number, outcome)


async def task_later(number):
    await asyncio.sleep(random.random() / 500)
    outcome = await work_later(number)
    return await check_later(number, outcome)


def gathered(numbers):
    async def run():
        return await asyncio.gather(*map(task_later, numbers))

    return asyncio.run(run())


def grouped(numbers):
    async def run():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(task_later(number)) for number in numbers]
        return [task.result() for task in tasks]

    return asyncio.run(run())


def mapped(numbers):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(task, numbers))


def submitted(numbers):
    with concurrent.futures.ThreadPoolExecutor(MANY) as pool:
        futures = [pool.submit(task, number) for number in numbers]
        return [future.result() for future in concurrent.futures.as_completed(futures)]


def threaded(numbers):
    def run(number):
        results.append(task(number))

    results = []
    threads = [threading.Thread(target=run, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def threaded_later(numbers):
    async def run():
        return await asyncio.gather(*(asyncio.to_thread(task, number) for number in numbers))

    return asyncio.run(run())


WAYS = [gathered, grouped, mapped, submitted, threaded, threaded_later]


def shuffled(inputs):
    """Return the inputs in random order."""
    inputs = list(inputs)
    random.shuffle(inputs)
    return inputs


DIFFERENT = range(MANY)
ALIKE = [number % 8 for number in range(MANY)]


@pytest.fixture
def repetitions(request):
    """Return how often each case is replayed; with `--thorough`, as often as design.md promises."""
    return 100 if request.config.getoption("--thorough") else 25


def assert_same_results(way, inputs, block, times, order=shuffled):
    results, trace = block.record(lambda: way(list(inputs)))
    assert len(trace.envelopes) == 2 * MANY
    for _ in range(times):
        replayed, divergences = block.replay(trace, lambda: way(order(inputs)))
        assert divergences == ()
        # Calls with the same input are interchangeable: any record of that input is right, and each is used once.
        assert Counter(replayed) == Counter(results)


@pytest.mark.parametrize(
    "inputs",
    [pytest.param(DIFFERENT, id="different"), pytest.param(ALIKE, id="alike", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("way", WAYS)
def test_case_1_each_of_64_calls_is_served_its_own_record(way, inputs, block):
    assert_same_results(way, inputs, block, 2)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_case_1_each_of_64_calls_is_served_its_own_record_each_time(way, block, repetitions):
    # A pool with few workers waits for a second, once in each replay, if it gets its tasks in another order.
    order = list if way in (mapped, threaded_later) else shuffled
    assert_same_results(way, DIFFERENT, block, repetitions, order)


def assert_second_tool_is_served(way, block, times):
    """Replay with the first tool of each task live, and check that the second is served its own record."""
    results, trace = block.record(lambda: way(list(DIFFERENT)))
    recorded = {number: fresh for number, _, fresh in results}
    for _ in range(times):
        with autochron.replay(trace, rules=block.rules, live=["work", "work_later"][way in LATER]) as replay:
            replayed = way(shuffled(DIFFERENT))
        assert {number: fresh for number, _, fresh in replayed} == recorded
        live_results = [entry.result for entry in replay.only(live=True)]
        assert len(live_results) == MANY
        assert not set(live_results) & {outcome for _, outcome, _ in results}
        assert {entry.severity for entry in replay.divergences} <= {"consequence", "notice"}


LATER = (gathered, grouped)


@pytest.mark.parametrize("way", WAYS)
def test_case_1_with_each_first_tool_live_each_second_tool_is_served_its_own_record(way, block):
    assert_second_tool_is_served(way, block, 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", [gathered, submitted])
def test_case_1_with_each_first_tool_live_each_second_tool_is_served_its_own_record_each_time(
    way, block, repetitions
):
    assert_second_tool_is_served(way, block, repetitions)


# --- order in one lane


@autochron.boundary
def one(number):
    return number


@autochron.boundary
def other(number):
    return number


def in_turn():
    return [one(1), other(2), one(3), other(4)]


def sorted_by_name():
    return [one(1), one(3), other(2), other(4)]


@pytest.mark.parametrize("live", [(), "other[2]"], ids=["full", "cut"])
def test_case_1_another_order_with_the_same_counts_is_a_divergence(live, block):
    result, trace = block.record(in_turn)
    with autochron.replay(trace, rules=block.rules, live=live, check=False) as replay:
        assert sorted_by_name() == sorted(result, key=lambda number: number % 2 == 0)
    errors = [divergence for divergence in replay.divergences if divergence.severity == "error"]
    assert [(divergence.kind, divergence.address, divergence.nearest) for divergence in errors] == [
        ("reordered", "one[2]", "other[1]")
    ]
    assert errors[0].message == "one[2] came before other[1]; when it was recorded other[1] came first"


taken = [threading.Event() for _ in range(7)]
"""Set when the loop has the result of that number."""


@autochron.boundary
def dawdle(number):
    assert taken[number - 1].wait(30)
    return number


def test_results_of_threads_reach_the_event_loop_in_the_recorded_order(block):
    # A loop that finds several tasks done at once takes them in the order of a set, as LlamaIndex does with its tools.
    async def collect():
        asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(6))
        pending = {asyncio.create_task(asyncio.to_thread(dawdle, number)) for number in range(6, 0, -1)}
        results = []
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            results += [task.result() for task in done]
            for number in results:
                taken[number].set()
        return results

    taken[0].set()
    results, trace = block.record(lambda: asyncio.run(collect()))
    assert results == [*range(1, 7)]
    # Not each time: on a busy machine the loop may be asleep for longer than the next thread waits for it.
    replays = [block.replay(trace, lambda: asyncio.run(collect())) for _ in range(20)]
    assert replays.count((results, ())) > 16
