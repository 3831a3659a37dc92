"""What a replay costs: a stubbed call of an SDK, passes over little agents, a long conversation, and a very large trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import autochron
from autochron.store.memory import MemoryStore
from bench import conversation, longer, passes
from bench.measure import Figure, Size, medians, over, ratio, turn_about

TARGET = 1.3


def run(size: Size) -> Iterable[Figure]:
    """Measure all of it."""
    yield from _call(size)
    yield from passes.run(size)
    yield from longer.run_conversation(size)
    yield from longer.run_large(size)


def _call(size: Size) -> Iterable[Figure]:
    """Measure calls of `chat.completions.create`: the SDK on a served transport, against one on a mock transport."""
    client = conversation.client(asks=False)
    rules = conversation.pack_rules()
    messages: Any = [{"role": "user", "content": "Where is my order?"}]
    calls = size.repeat * 2

    def ask() -> None:
        for _ in range(calls):
            client.chat.completions.create(model="gpt-bench", messages=messages)

    store = MemoryStore()
    ask()  # the SDK imports half of itself at its first call
    with autochron.record("bench", store=store, rules=rules):
        ask()
    trace = store.load("last")
    assert len(trace.envelopes) == calls
    assert all(envelope.reenters for envelope in trace.envelopes)

    def replay() -> None:
        with autochron.replay(trace, rules=rules):
            ask()

    times = turn_about({"mock": ask, "replayed": replay}, size.rounds)
    yield Figure(
        benchmark="replaying",
        name="a stubbed chat.completions.create",
        value=ratio(times, "replayed", "mock"),
        unit="×",
        against="the same call on a mock transport",
        target=TARGET,
        samples=medians(times),
    )
    yield Figure(
        benchmark="replaying",
        name="the same, as a difference",
        value=over(times, "replayed", "mock") / calls * 1e6,
        unit="µs",
        against="over the same call on a mock transport",
        samples=medians(times),
    )
