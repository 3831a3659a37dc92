"""Wrappers that tracers put on threads, pools and event loops don't change which values are recorded and served."""

import functools
import threading
from asyncio.base_events import BaseEventLoop
from concurrent.futures import ThreadPoolExecutor

import pytest
import wrapt

from tests.detect.test_ambient_programs import folder, record_and_replay

__all__ = ["folder"]  # a fixture


def closed_over(original):
    def wrapper(*args, **kwargs):
        return original(*args, **kwargs)

    return wrapper


def named(original):
    return functools.wraps(original)(closed_over(original))


def by_wrapt(original):
    def passing(wrapped, _instance, args, kwargs):
        return wrapped(*args, **kwargs)

    return wrapt.FunctionWrapper(original, passing)


WAYS = {
    "closed over": closed_over,
    "named": named,
    "wrapt": by_wrapt,
    "twice": lambda original: named(closed_over(original)),
}
PROGRAMS = ("threads", "pools, and sources that are handed over themselves", "tasks", "timers")


@pytest.mark.parametrize("about", PROGRAMS)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_replay_is_the_same_with_wrappers_of_other_tools(way, about, folder, monkeypatch):
    for owner, name in (
        (threading.Thread, "start"),
        (ThreadPoolExecutor, "submit"),
        (BaseEventLoop, "create_task"),
        (BaseEventLoop, "run_in_executor"),
    ):
        monkeypatch.setattr(owner, name, way(vars(owner)[name]))
    _, recorded, replayed, problems = record_and_replay(folder, about, 2)
    assert (replayed, problems) == ([recorded] * 2, [])
