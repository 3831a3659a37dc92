"""The hooks that carry lanes stay installed while weaving is active, do nothing between sessions, and are removed after."""

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


def hooked_attributes():
    """Return the current values of the hooked attributes."""
    return [vars(owner)[name] for owner, name in HOOKED]


@autochron.boundary
def ask(question):
    return question


def cross_in_lanes():
    """Cross a boundary in a thread, in a pool and in a task; return the results."""

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
        cross_in_lanes()
    return [(envelope.lane, envelope.input) for envelope in recording.trace().envelopes]


@pytest.fixture
def unwoven():
    """Yield the hooked attributes while nothing is woven."""
    deactivate()
    yield hooked_attributes()
    deactivate()


def test_deactivating_restores_the_hooked_attributes(unwoven):
    recorded()
    assert not set(hooked_attributes()) & set(unwoven)
    deactivate()
    assert hooked_attributes() == unwoven


@pytest.mark.usefixtures("unwoven")
def test_between_sessions_hooked_functions_work_as_usual():
    first = recorded()
    assert cross_in_lanes() == ["thread", "pool", "task"]
    assert len(first) == 3
    assert recorded() == first


@pytest.mark.parametrize(("owner", "name"), [HOOKED[0], *HOOKED[2:4]], ids=["thread", "pool", "task"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_wrapper_of_someone_else_can_be_put_on_and_taken_off(owner, name, wrapped, unwoven, monkeypatch):
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
    assert hooked_attributes() == unwoven


@pytest.mark.parametrize(("owner", "name"), [HOOKED[0], *HOOKED[2:4]], ids=["thread", "pool", "task"])
def test_an_earlier_wrapper_of_someone_else_can_be_taken_off(owner, name, unwoven, monkeypatch):
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
    assert hooked_attributes() == unwoven


@pytest.mark.usefixtures("unwoven")
@pytest.mark.parametrize(("owner", "name"), [HOOKED[0], *HOOKED[2:4]], ids=["thread", "pool", "task"])
def test_a_later_wrapper_of_someone_else_stays_after_deactivating(owner, name, monkeypatch):
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
    assert cross_in_lanes() == ["thread", "pool", "task"]
    assert name in calls
