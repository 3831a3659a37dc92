"""The hooks that carry lanes stand as long as weaving does, pass everything on between sessions, and are put back."""

import asyncio
import functools
import threading
from asyncio.base_events import BaseEventLoop
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess

import pytest

import autochron
from autochron.instrument.activation import deactivate
from autochron.model import Rules

HOOKED = [
    (threading.Thread, "start"),
    (threading.Thread, "_bootstrap_inner"),
    (ThreadPoolExecutor, "submit"),
    (BaseEventLoop, "create_task"),
    (BaseProcess, "start"),
]


def standing():
    """Return what stands there."""
    return [vars(owner)[name] for owner, name in HOOKED]


@autochron.boundary
def ask(question):
    return question


def at_work():
    """Cross a boundary in a thread, in a pool and in a task."""

    async def task():
        return ask("task")

    async def main():
        return await asyncio.create_task(task())

    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask("thread")))
    thread.start()
    thread.join()
    with ThreadPoolExecutor(1) as pool:
        answers.append(pool.submit(ask, "pool").result())
    return [*answers, asyncio.run(main())]


def recorded():
    with autochron.record(store="memory:hooks", rules=Rules(auto=False)) as recording:
        at_work()
    return [(each.lane, each.input) for each in recording.trace().envelopes]


@pytest.fixture
def unwoven():
    """Yield what stands there while nothing is woven."""
    deactivate()
    yield standing()
    deactivate()


def test_hooks_are_put_back(unwoven):
    recorded()
    assert not set(standing()) & set(unwoven)
    deactivate()
    assert standing() == unwoven


@pytest.mark.usefixtures("unwoven")
def test_between_sessions_they_pass_everything_on():
    first = recorded()
    assert at_work() == ["thread", "pool", "task"]
    assert len(first) == 3
    assert recorded() == first


@pytest.mark.parametrize(("owner", "name"), [HOOKED[0], *HOOKED[2:4]], ids=["thread", "pool", "task"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_someone_elses_wrapper_comes_and_goes(owner, name, wrapped, unwoven, monkeypatch):
    expected = recorded()
    original = vars(owner)[name]

    def wrapper(*args, **kwargs):
        return original(*args, **kwargs)

    for _ in range(2):
        monkeypatch.setattr(owner, name, functools.wraps(original)(wrapper) if wrapped else wrapper)
        assert recorded() == expected
        monkeypatch.undo()
        assert recorded() == expected
    deactivate()
    assert standing() == unwoven


@pytest.mark.parametrize(("owner", "name"), [HOOKED[0], *HOOKED[2:4]], ids=["thread", "pool", "task"])
def test_a_wrapper_that_was_there_first_is_taken_off(owner, name, unwoven, monkeypatch):
    expected = recorded()
    deactivate()
    original = vars(owner)[name]

    def wrapper(*args, **kwargs):
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, wrapper)
    assert recorded() == expected
    monkeypatch.undo()
    assert recorded() == expected
    deactivate()
    assert standing() == unwoven


@pytest.mark.usefixtures("unwoven")
@pytest.mark.parametrize(("owner", "name"), [HOOKED[0], *HOOKED[2:4]], ids=["thread", "pool", "task"])
def test_a_wrapper_that_was_put_on_since_stays(owner, name, monkeypatch):
    recorded()
    original = vars(owner)[name]
    calls = []

    def wrapper(*args, **kwargs):
        calls.append(name)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, wrapper)
    recorded()
    deactivate()
    calls.clear()
    assert at_work() == ["thread", "pool", "task"]
    assert name in calls
