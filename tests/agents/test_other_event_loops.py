"""Tasks of event loops other than asyncio's own have lanes too."""

import pytest

from tests.agents.workshop import write

TASKS = """
import asyncio
import random
import sys


async def look_up(key):
    return random.random()


async def work(number, results, sleep):
    await sleep(random.random() / 100)
    results[number] = await look_up("x")


async def in_uvloop():
    results = {}
    await asyncio.gather(*[work(number, results, asyncio.sleep) for number in range(8)])
    print(sorted(results.items()))


async def in_trio():
    results = {}
    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(work, number, results, trio.sleep)
    print(sorted(results.items()))


if sys.argv[1] == "uvloop":
    import uvloop

    uvloop.run(in_uvloop())
else:
    import trio

    trio.run(in_trio)
"""


@pytest.mark.parametrize("library", ["uvloop", "trio"])
def test_tasks_get_their_own_results(library, fresh, tmp_path):
    pytest.importorskip(library)
    write(tmp_path, TASKS, "look_up")
    recorded = fresh.run(tmp_path, "run", "agent.py", library)
    assert recorded.status == 0, recorded.stderr
    for _ in range(3):
        replayed = fresh.run(tmp_path, "replay", "last")
        assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr
