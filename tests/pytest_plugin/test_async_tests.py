"""Agents that were recorded as a script in `asyncio.run(main())`, replayed by tests that await them in other ways."""

import pytest

from tests.pytest_plugin.projects import Project, copy_project

AGENT = """
import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor


def load(path):
    return {"limit": 2}


async def ask(question):
    await asyncio.sleep(0.001)
    return f"answer to {question}"


async def fetch(key):
    await asyncio.sleep(0)
    return key.upper()


def count(key):
    return len(key)


async def step(key):
    found = await fetch(key)
    return await ask(found)


async def grouped():
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(step(key)) for key in ("x", "yy")]
    return [task.result() for task in tasks]


async def threaded():
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(2) as pool:
        jobs = [loop.run_in_executor(pool, count, key) for key in ("ccc", "dddd")]
        return [*await asyncio.gather(*jobs), await asyncio.to_thread(count, "e")]


async def main():
    first = await ask("first")
    gathered = await asyncio.gather(step("a"), step("bb"))
    return [first, gathered, await grouped(), await threaded(), await ask("last")]


async def plain():
    return [await ask("one"), await fetch("two"), await ask("three")]


async def spawned():
    return await asyncio.gather(step("a"), step("bb"))


def until_complete(coro):
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coro)
    finally:
        loop.close()


if __name__ == "__main__":
    run = until_complete if "until" in sys.argv else asyncio.run
    if "load" in sys.argv:
        load("settings")
    chosen = {"main": main, "plain": plain, "spawned": spawned}[sys.argv[1]]
    print(run(chosen()))
    if "again" in sys.argv:
        print(run(chosen()))
"""
RULES = """version = 1
packs = []
""" + "".join(
    f'[[boundary]]\nname = "{name}"\nkind = "{kind}"\ndefine = "agent:{name}"\n'
    for name, kind in {"load": "tool", "ask": "model", "fetch": "tool", "count": "tool"}.items()
)
PLAIN = "['answer to one', 'TWO', 'answer to three']"
MAIN = "['answer to first', ['answer to A', 'answer to BB'], ['answer to X', 'answer to YY'], [3, 4, 1], 'answer to last']"
TESTS = """
import asyncio
import pytest
import agent

mark = pytest.mark.autochron
PLAIN = {plain}
MAIN = {main}


@mark("plain.jsonl")
{own}async def test_plain(replay):
    assert await agent.plain() == PLAIN
    assert replay.sequence() == ["ask[1]", "fetch[1]", "ask[2]"]


@mark("main.jsonl")
{own}async def test_main(replay):
    assert await agent.main() == MAIN


@mark("main.jsonl", live="fetch")
{own}async def test_live(replay):
    assert await agent.main() == MAIN
    assert len(replay.only(live=True)) == 4


@mark("main.jsonl")
{own}async def test_in_a_task(replay):
    assert await asyncio.create_task(agent.main()) == MAIN


@mark("main.jsonl")
{own}async def test_in_a_deeper_task(replay):
    async def inner():
        return await asyncio.create_task(agent.main())
    assert await asyncio.create_task(inner()) == MAIN


@mark("spawned.jsonl")
{own}async def test_spawned(replay):
    assert await agent.spawned() == ["answer to A", "answer to BB"]


@mark("spawned.jsonl")
{own}async def test_spawned_in_this_test(replay):
    assert await asyncio.gather(agent.step("a"), agent.step("bb")) == ["answer to A", "answer to BB"]


@mark("load.jsonl")
{own}async def test_after_something_sync(replay):
    agent.load("settings")
    assert await agent.plain() == PLAIN


@mark("load-main.jsonl")
{own}async def test_more_after_something_sync(replay):
    agent.load("settings")
    assert await agent.main() == MAIN


@mark("again.jsonl")
{own}async def test_twice(replay):
    assert await agent.plain() == PLAIN
    assert await agent.plain() == PLAIN


@mark("again-main.jsonl")
{own}async def test_more_twice(replay):
    assert await agent.main() == MAIN
    assert await agent.main() == MAIN


@mark("plain.jsonl")
{own}async def test_another_order(replay):
    await agent.fetch("two")
    await agent.ask("one")
    await agent.ask("three")


@mark("plain.jsonl")
{own}async def test_too_little(replay):
    await agent.ask("one")


@mark("plain.jsonl")
{own}async def test_too_much(replay):
    await agent.plain()
    await agent.fetch("more")


@mark("main.jsonl")
{own}async def test_another_input(replay):
    await agent.ask("first")
    await asyncio.gather(agent.step("a"), agent.step("ccc"))
    await agent.grouped()
    await agent.threaded()
    await agent.ask("last")


@mark("main.jsonl")
def test_sync(replay):
    assert asyncio.run(agent.main()) == MAIN


@mark("main.jsonl")
def test_sync_in_a_main_of_its_own(replay):
    async def run():
        return await agent.main()
    assert asyncio.run(run()) == MAIN


@mark("load-main.jsonl")
def test_sync_after_something_sync(replay):
    agent.load("settings")
    assert asyncio.run(agent.main()) == MAIN


@mark("load-main.jsonl")
def test_sync_in_a_main_of_its_own_after_something_sync(replay):
    async def run():
        agent.load("settings")
        return await agent.main()
    assert asyncio.run(run()) == MAIN


@mark("again-main.jsonl")
def test_sync_twice(replay):
    assert asyncio.run(agent.main()) == MAIN
    assert asyncio.run(agent.main()) == MAIN


@mark("again-main.jsonl")
def test_sync_twice_in_a_main_of_its_own(replay):
    async def run():
        return [await agent.main(), await agent.main()]
    assert asyncio.run(run()) == [MAIN, MAIN]
"""
FAIL = {"test_another_order", "test_too_little", "test_too_much", "test_another_input"}
TRACES = {
    "plain": ["plain"],
    "main": ["main"],
    "spawned": ["spawned"],
    "load": ["plain", "load"],
    "load-main": ["main", "load"],
    "again": ["plain", "again"],
    "again-main": ["main", "again"],
}
WAYS = {
    "auto": ("", ("pytest_asyncio.plugin",), ["-o", "asyncio_mode=auto"]),
    "strict": ("@pytest.mark.asyncio\n", ("pytest_asyncio.plugin",), ["-o", "asyncio_mode=strict"]),
    "module": (
        '@pytest.mark.asyncio(loop_scope="module")\n',
        ("pytest_asyncio.plugin",),
        ["-o", "asyncio_mode=strict"],
    ),
    "anyio": ("@pytest.mark.anyio\n", ("anyio.pytest_plugin",), []),
}


@pytest.fixture(scope="module", params=["run", "until"])
def scripts(request, tmp_path_factory):
    """Record the scripts. The main task has no lane of its own in `asyncio.run`, and has one in `run_until_complete`."""
    folder = tmp_path_factory.mktemp("scripts")
    project = Project(folder).write(agent=AGENT, **{"autochron.toml": RULES, "pytest.ini": "[pytest]\n"})
    for name, words in TRACES.items():
        project.record("agent.py", *words, request.param, to=f"{name}.jsonl")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_recorded_script_is_replayed_by_tests_that_await_it(scripts, tmp_path, way):
    own, plugins, words = WAYS[way]
    project = copy_project(scripts, tmp_path)
    text = TESTS.format(own=own, plain=PLAIN, main=MAIN)
    if way == "anyio":
        text += '\n\n@pytest.fixture(scope="module")\ndef anyio_backend():\n    return "asyncio"\n'
    result = project.write(test_async=text).pytest(*words, plugins=plugins)
    expected = {name: "FAILED" if name in FAIL else "PASSED" for name in result.outcomes}
    assert (result.outcomes, len(expected)) == (expected, 21), result.text
