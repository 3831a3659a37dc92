"""Many calls at once, in an order that no two runs share: each is served the record that is its own. (Case 1.)"""

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
def check(number, found):
    return number, found, random.random()


@autochron.boundary
async def work_later(number):
    await asyncio.sleep(random.random() / 500)
    return number, random.random()


@autochron.boundary
async def check_later(number, found):
    await asyncio.sleep(0)
    return number, found, random.random()


def task(number):
    """Call one tool, and with what it gave a second one."""
    time.sleep(random.random() / 500)
    found = work(number)
    return check(number, found)


async def task_later(number):
    await asyncio.sleep(random.random() / 500)
    found = await work_later(number)
    return await check_later(number, found)


def gathered(numbers):
    async def run():
        return await asyncio.gather(*map(task_later, numbers))

    return asyncio.run(run())


def grouped(numbers):
    async def run():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(task_later(number)) for number in numbers]
        return [each.result() for each in tasks]

    return asyncio.run(run())


def mapped(numbers):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(task, numbers))


def submitted(numbers):
    with concurrent.futures.ThreadPoolExecutor(MANY) as pool:
        futures = [pool.submit(task, number) for number in numbers]
        return [each.result() for each in concurrent.futures.as_completed(futures)]


def threaded(numbers):
    def run(number):
        found.append(task(number))

    found = []
    threads = [threading.Thread(target=run, args=(number,)) for number in numbers]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def threaded_later(numbers):
    async def run():
        return await asyncio.gather(*(asyncio.to_thread(task, number) for number in numbers))

    return asyncio.run(run())


WAYS = [gathered, grouped, mapped, submitted, threaded, threaded_later]


def shuffled(inputs):
    """Return the inputs in an order of this run's own."""
    inputs = list(inputs)
    random.shuffle(inputs)
    return inputs


DIFFERENT = range(MANY)
ALIKE = [number % 8 for number in range(MANY)]


@pytest.fixture
def often(request):
    """How often each is replayed; `--thorough` as often as is promised."""
    return 100 if request.config.getoption("--thorough") else 25


def same_again(way, inputs, block, times, order=shuffled):
    given, trace = block.record(lambda: way(list(inputs)))
    assert len(trace.envelopes) == 2 * MANY
    for _ in range(times):
        again, divergences = block.replay(trace, lambda: way(order(inputs)))
        assert divergences == ()
        # Calls with the same input can't be told apart: any record of it is right, and each is used once.
        assert Counter(again) == Counter(given)


@pytest.mark.parametrize(
    "inputs",
    [pytest.param(DIFFERENT, id="different"), pytest.param(ALIKE, id="alike", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("way", WAYS)
def test_case_1_each_of_64_calls_is_served_its_own_record(way, inputs, block):
    same_again(way, inputs, block, 2)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_case_1_each_of_64_calls_is_served_its_own_record_each_time(way, block, often):
    # A pool of few workers that gets its tasks in another order stands still for a second, once a replay.
    order = list if way in (mapped, threaded_later) else shuffled
    same_again(way, DIFFERENT, block, often, order)


def one_live(way, block, times):
    """Replay with the first tool of each task live, and the second served."""
    given, trace = block.record(lambda: way(list(DIFFERENT)))
    recorded = {number: fresh for number, _, fresh in given}
    for _ in range(times):
        with autochron.replay(trace, rules=block.rules, live=["work", "work_later"][way in LATER]) as replay:
            again = way(shuffled(DIFFERENT))
        assert {number: fresh for number, _, fresh in again} == recorded
        ran = [each.result for each in replay.only(live=True)]
        assert len(ran) == MANY
        assert not set(ran) & {found for _, found, _ in given}
        assert {each.severity for each in replay.divergences} <= {"consequence", "notice"}


LATER = (gathered, grouped)


@pytest.mark.parametrize("way", WAYS)
def test_case_1_with_every_second_name_live_the_others_are_served_their_own(way, block):
    one_live(way, block, 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", [gathered, submitted])
def test_case_1_with_every_second_name_live_the_others_are_served_their_own_each_time(way, block, often):
    one_live(way, block, often)


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
    given, trace = block.record(in_turn)
    with autochron.replay(trace, rules=block.rules, live=live, check=False) as replay:
        assert sorted_by_name() == sorted(given, key=lambda number: number % 2 == 0)
    errors = [each for each in replay.divergences if each.severity == "error"]
    assert [(each.kind, each.address, each.nearest) for each in errors] == [
        ("reordered", "one[2]", "other[1]")
    ]
    assert errors[0].message == "one[2] came before other[1]; when it was recorded other[1] came first"
