"""What recording costs: in memory, at agents of three crossings and at one session of many."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from autochron.store.memory import MemoryStore
from bench import agents, marks
from bench.measure import Case, Figure, Size, has_peer, medians, over, turn_about

CROSSINGS = 3
TARGET = 8.0

Agents = dict[str, agents.Agent]


def run(size: Size) -> Iterable[Figure]:
    """Measure sessions of three crossings, then one of many."""
    plain = agents.agents(agents.plain)
    ours = agents.agents(marks.ours)
    theirs = agents.agents(marks.theirs) if has_peer() else {}
    _check(ours)
    yield _short(size, plain, ours, theirs)
    yield _read_back(size, plain, ours)
    yield _long(size, plain, ours, theirs)


def _check(ours: Agents) -> None:
    """Make sure that what is measured is recorded."""
    for agent in ours.values():
        store = MemoryStore()
        with marks.our_session(store):
            agent()
        assert len(store.load("last").envelopes) == CROSSINGS


def _plain(agent: agents.Agent, runs: int) -> Case:
    def run() -> None:
        for _ in range(runs):
            agent()

    return run


def _ours(agent: agents.Agent, sessions: int, runs: int = 1, *, read: bool = False) -> Case:
    def run() -> None:
        store = MemoryStore()
        for _ in range(sessions):
            with marks.our_session(store) as recording:
                for _ in range(runs):
                    agent()
            if read:
                recording.trace()

    return run


def _theirs(agent: agents.Agent, sessions: int, runs: int = 1) -> Case:
    def run() -> None:
        for _ in range(sessions):
            with marks.their_session():
                for _ in range(runs):
                    agent()

    return run


def _short(size: Size, plain: Agents, ours: Agents, theirs: Agents) -> Figure:
    each = CROSSINGS * size.repeat
    found: dict[str, dict[str, float]] = {}
    for name, agent in plain.items():
        cases = {"plain": _plain(agent, size.repeat), "ours": _ours(ours[name], size.repeat)}
        if theirs:
            cases["theirs"] = _theirs(theirs[name], size.repeat)
        times = turn_about(cases, size.rounds)
        found[name] = {case: over(times, case, "plain") / each * 1e6 for case in cases if case != "plain"}
    return Figure(
        benchmark="recording",
        name="a session of three crossings, in memory, per crossing",
        value=statistics.median(each["ours"] for each in found.values()),
        unit="µs",
        against="over the same agent, plain; median of six",
        target=TARGET,
        peer=statistics.median(each["theirs"] for each in found.values()) if theirs else None,
        samples={f"{name}, {case}": value for name, each in found.items() for case, value in each.items()},
    )


def _read_back(size: Size, plain: Agents, ours: Agents) -> Figure:
    """Measure the same with the trace read back: in memory, masking waits until someone reads."""
    cases = {
        "plain": _plain(plain["trade"], size.repeat),
        "ours": _ours(ours["trade"], size.repeat, read=True),
    }
    times = turn_about(cases, size.rounds)
    return Figure(
        benchmark="recording",
        name="the same with the trace masked and read back",
        value=over(times, "ours", "plain") / (CROSSINGS * size.repeat) * 1e6,
        unit="µs",
        against="over the same agent, plain",
        samples=medians(times),
    )


def _long(size: Size, plain: Agents, ours: Agents, theirs: Agents) -> Figure:
    runs = size.repeat * 5
    cases = {"plain": _plain(plain["trade"], runs), "ours": _ours(ours["trade"], 1, runs)}
    if theirs:
        cases["theirs"] = _theirs(theirs["trade"], 1, runs)
    times = turn_about(cases, size.rounds)
    each = CROSSINGS * runs
    return Figure(
        benchmark="recording",
        name=f"one session of {each} crossings, in memory, per crossing",
        value=over(times, "ours", "plain") / each * 1e6,
        unit="µs",
        against="over the same agent, plain",
        target=TARGET,
        peer=over(times, "theirs", "plain") / each * 1e6 if theirs else None,
        samples=medians(times),
    )
