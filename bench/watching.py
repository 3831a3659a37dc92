"""What it costs to watch a program for calls whose value isn't determined by it: its own code, and such calls.

Each round takes the program once with a watch over it and once without, turn about. To put patches on and to take them off
is part of the start, and stays outside.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from types import ModuleType

from autochron.crossing.lanes import CURRENT
from autochron.detect.watch.watch import SourceWatch
from bench.measure import Figure, Size, medians, over, ratio

WORK = 1.03
TURN = 15.0
CALLS = 5

_clock = time.process_time
"""As it is while nothing is watched."""

_PROGRAM = '''
"""A project's module: what it computes, and what an agent asks of the world in each turn."""

import datetime, json, os, random, time, uuid

def work(n):
    total, seen = 0, {}
    for number in range(n):
        total += number * number % 7
        seen[number % 97] = seen.get(number % 97, 0) + total
        if number % 16 == 0:
            total += len(",".join(map(str, sorted(seen.values())[:8])))
    return total

def turn(messages):
    entry = {
        "id": str(uuid.uuid4()),
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "jitter": random.random(),
        "user": os.environ.get("HOME", ""),
        "clock": time.time(),
    }
    messages.append(entry)
    return json.dumps(messages[-8:])

def loop(turns):
    messages = []
    for _ in range(turns):
        turn(messages)
'''


def run(size: Size) -> Iterable[Figure]:
    """Measure code of the project's own, then an agent's turns."""
    with tempfile.TemporaryDirectory() as folder:
        module = _module(os.path.join(folder, "agent.py"))
        work, turns = 250 * size.repeat, 10 * size.repeat
        _check(module)
        times = _turn_about(module, lambda: module.work(work), size.rounds)
        yield Figure(
            benchmark="watching",
            name="code that asks nothing of the world, watched",
            value=ratio(times, "watched", "plain"),
            unit="×",
            against="the same code, not watched",
            target=WORK,
            samples=medians(times),
        )
        times = _turn_about(module, lambda: module.loop(turns), size.rounds)
        yield Figure(
            benchmark="watching",
            name=f"a turn of an agent that makes {CALLS} calls which are watched",
            value=over(times, "watched", "plain") / turns * 1e6,
            unit="µs",
            against="over the same turn, not watched",
            target=TURN,
            samples=medians(times),
        )


def _module(path: str) -> ModuleType:
    with open(path, "w", encoding="utf-8") as file:
        file.write(_PROGRAM)
    module = ModuleType("agent")
    module.__file__ = path
    exec(compile(_PROGRAM, path, "exec"), vars(module))
    return module


def _watch(module: ModuleType) -> SourceWatch:
    problems: list[str] = []
    return SourceWatch(
        lambda file: file == module.__file__, str, problems.append, lambda: CURRENT.get(None) is not None
    )


def _check(module: ModuleType) -> None:
    """Make sure that what is measured is watched, and the audit hook that stays is there from the start."""
    watch = _watch(module)
    watch.on()
    try:
        module.loop(3)
    finally:
        watch.off()
    assert sorted(finding.count for finding in watch.findings()) == [3] * CALLS


def _turn_about(module: ModuleType, case: Callable[[], object], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"plain": [], "watched": []}
    for turn in range(rounds):
        for name in ("plain", "watched") if turn % 2 else ("watched", "plain"):
            watch = _watch(module) if name == "watched" else None
            if watch is not None:
                watch.on()
            try:
                case()  # what is found at each line is at hand from then on
                gc.collect()
                started = _clock()
                case()
                times[name].append(_clock() - started)
            finally:
                if watch is not None:
                    watch.off()
    return times
