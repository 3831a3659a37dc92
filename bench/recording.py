"""What recording costs in memory, at six agents of three crossings each: in a session of many runs, and of one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from autochron.store.memory import MemoryStore
from bench import agents, marks
from bench.measure import Case, Figure, Size, has_peer, medians, over, turn_about

CROSSINGS = 3
TARGET = 8.0

Agents = dict[str, agents.Agent]


def run(size: Size) -> Iterable[Figure]:
    """Measure sessions of many runs, then of one."""
    plain = agents.agents(agents.plain)
    ours = agents.agents(marks.ours)
    theirs = agents.agents(marks.theirs) if has_peer() else {}
    _check(ours)
    yield _long(size, plain, ours, theirs)
    yield _short(size, plain, ours, theirs)
    yield _read_back(size, plain, ours)


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


def _six(size: Size, cases: Callable[[str], dict[str, Case]], crossings: int) -> dict[str, dict[str, float]]:
    """Measure each agent; microseconds a crossing over the plain one, by agent and case."""
    found: dict[str, dict[str, float]] = {}
    for name in agents.agents(agents.plain):
        times = turn_about(cases(name), size.rounds)
        found[name] = {
            case: over(times, case, "plain") / crossings * 1e6 for case in times if case != "plain"
        }
    return found


def _figure(found: dict[str, dict[str, float]], name: str, target: float) -> Figure:
    has_peers = all("theirs" in each for each in found.values())
    return Figure(
        benchmark="recording",
        name=name,
        value=statistics.median(each["ours"] for each in found.values()),
        unit="µs",
        against="over the same agent, plain; median of six",
        target=target,
        peer=statistics.median(each["theirs"] for each in found.values()) if has_peers else None,
        samples={f"{name}, {case}": value for name, each in found.items() for case, value in each.items()},
    )


def _long(size: Size, plain: Agents, ours: Agents, theirs: Agents) -> Figure:
    runs = size.repeat * 5

    def cases(name: str) -> dict[str, Case]:
        given = {"plain": _plain(plain[name], runs), "ours": _ours(ours[name], 1, runs)}
        return {**given, "theirs": _theirs(theirs[name], 1, runs)} if theirs else given

    each = CROSSINGS * runs
    return _figure(_six(size, cases, each), f"a crossing, in a session of {each}, in memory", TARGET)


def _short(size: Size, plain: Agents, ours: Agents, theirs: Agents) -> Figure:
    """Measure sessions that are opened and closed around each run, as the peer's own harness does."""

    def cases(name: str) -> dict[str, Case]:
        given = {"plain": _plain(plain[name], size.repeat), "ours": _ours(ours[name], size.repeat)}
        return {**given, "theirs": _theirs(theirs[name], size.repeat)} if theirs else given

    each = CROSSINGS * size.repeat
    return _figure(_six(size, cases, each), f"a crossing and a third of its session of {CROSSINGS}", TARGET)


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
