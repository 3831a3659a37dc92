"""What replaying a long conversation costs, and what a very large trace needs: time to open it, and memory to its end."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import autochron
from autochron.model import Command, Envelope, Footer, Header, Returned, Trace
from autochron.store import open_store
from autochron.store.memory import MemoryStore
from autochron.store.tracefile import write_trace
from bench import agents, conversation, marks
from bench.measure import Case, Figure, Size, has_peer, medians, over, turn_about

TIMES = 1.5
LOAD = 20.0
OPEN = 1.0
MEGABYTES = 300.0

_encode = msgspec.json.Encoder(order="sorted").encode


# --- a conversation --------------------------------------------------------------------------------------------------


class _Encoding(conversation.Functions):
    """The same conversation, in which each input is only written as JSON: what no comparison of it can do without."""

    def run(self, turns: int) -> None:
        """Hold a conversation."""

        def model(messages: list[conversation.Message]) -> conversation.Message:
            _encode({"messages": messages, "tools": self._schemas})
            return conversation.answer(messages)

        def tool(order: str) -> conversation.Message:
            _encode({"order": order})
            return conversation.find(order)

        conversation.converse(turns, model, tool)


def run_conversation(size: Size) -> Iterable[Figure]:
    """Measure stubbed crossings of a conversation of plain functions, and its loads."""
    turns = size.turns[1]
    with tempfile.TemporaryDirectory() as folder:
        form = conversation.Functions(marks.ours)
        store = MemoryStore()
        with marks.our_session(store):
            form.run(turns)
        trace = store.load("last")
        assert len(trace.envelopes) == 2 * turns
        file, database = os.path.join(folder, "long.jsonl"), os.path.join(folder, "long.db")
        write_trace(trace, file)
        _keep(trace, database)
        plain, encoding = conversation.Functions(agents.plain), _Encoding(agents.plain)
        cases: dict[str, Case] = {
            "plain": lambda: plain.run(turns),
            "encoded": lambda: encoding.run(turns),
            "replayed": lambda: _replay(form, trace, turns),
            "load of a trace file": lambda: open_store(file).record("last"),
            "load from SQLite": lambda: open_store(database).record("last"),
        }
        if has_peer():
            cases |= _cases_of_peer(Path(folder, "theirs"), turns)
        yield from _figures(turns, turn_about(cases, max(1, size.rounds // 5)))


def _replay(form: conversation.Functions, trace: Trace, turns: int) -> None:
    with autochron.replay(trace, rules=marks.RULES):
        form.run(turns)


def _keep(trace: Trace, path: str) -> None:
    sink = open_store(path).begin(trace.header)
    for envelope in trace.envelopes:
        sink.put(envelope)
    if trace.footer is not None:
        sink.end(trace.footer)
    sink.close()


def _cases_of_peer(folder: Path, turns: int) -> dict[str, Case]:
    """Return the same of agent-chronicle; its replay is told from its load."""
    from chronicle.execution_graph import ExecutionGraph
    from chronicle.replay.plan import ReplayPlan
    from chronicle.session import reset_session

    form = conversation.Functions(marks.theirs)
    session: Any = reset_session()
    session.store = None
    session.begin_trace("bench")
    form.run(turns)
    session.export_trace(folder)
    graph = ExecutionGraph.load(folder)

    def replay() -> None:
        session: Any = reset_session()
        session.fixture_graph = graph
        session.trace_id = graph.trace_id
        session.enable_replay(ReplayPlan())
        form.run(turns)

    return {"replayed, theirs": replay, "load, theirs": lambda: ExecutionGraph.load(folder)}


def _figures(turns: int, times: dict[str, list[float]]) -> Iterable[Figure]:
    found, bare = medians(times), over(times, "encoded", "plain")
    each = over(times, "replayed", "plain")
    theirs = over(times, "replayed, theirs", "plain") if "replayed, theirs" in times else None
    label = f"a stubbed crossing in {turns} turns of plain functions"
    yield Figure(
        benchmark="replaying",
        name=label,
        value=each / bare,
        unit="×",
        against="the bare encoding of its input as JSON",
        target=TIMES,
        peer=None if theirs is None else theirs / bare,
        samples=found,
    )
    yield Figure(
        benchmark="replaying",
        name=f"{label}, in time",
        value=each / (2 * turns) * 1e6,
        unit="µs",
        against=f"over the same, plain; the bare encoding takes {bare / (2 * turns) * 1e6:.1f} µs, the peer compares none",
        peer=None if theirs is None else theirs / (2 * turns) * 1e6,
        samples=found,
    )
    for name in ("load of a trace file", "load from SQLite"):
        yield Figure(
            benchmark="replaying",
            name=f"{turns} turns, {name}",
            value=found[name] * 1e3,
            unit="ms",
            against="all envelopes whole in memory",
            target=LOAD,
            peer=found["load, theirs"] * 1e3 if "load, theirs" in found else None,
            samples=found,
        )


# --- a very large trace ----------------------------------------------------------------------------------------------


def _large(crossings: int) -> Iterator[Envelope]:
    """Yield what `step` below crosses; not recorded, which would take the better part of a minute."""
    for seq in range(1, crossings + 1):
        yield Envelope(
            seq=seq,
            name="step",
            nth=seq,
            kind="tool",
            lane="0",
            parent=None,
            site="@bench/longer.py:fork.<locals>.step",
            input=b'{"number":%d}' % (seq - 1),
            outcome=Returned(b'{"done":%d,"message":"step by step"}' % (seq - 1)),
            started=seq * 1000,
            duration=500,
        )


def run_large(size: Size) -> Iterable[Figure]:
    """Measure in a process of its own: the replay of a large trace with its last crossing live."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.db")
        header = Header(
            id="01J00000000000000000000000", created="2025-01-01T00:00:00Z", command=Command("block", "")
        )
        sink = open_store(path).begin(header)
        for envelope in _large(size.crossings):
            sink.put(envelope)
            if envelope.seq % 2000 == 0:
                sink.commit()
        sink.end(Footer())
        sink.close()
        command = [sys.executable, "-m", "bench.longer", path, str(size.crossings)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
        found: dict[str, float] = json.loads(done.stdout)
    label = f"a trace of {size.crossings:,} crossings"
    yield Figure(
        benchmark="replaying",
        name=f"{label}, opened",
        value=found["open"],
        unit="s",
        against="until the block of a replay begins whose last crossing is live; the file read before",
        target=OPEN,
        samples=found,
    )
    yield Figure(
        benchmark="replaying",
        name=f"{label}, forked at the last one",
        value=found["memory"],
        unit="MB",
        against=f"the most that the process took; one without a replay takes {found['memory before']:.0f} MB",
        target=MEGABYTES,
        samples=found,
    )


def _memory() -> float:
    """Return the most megabytes that this process has taken."""
    try:
        # Not `getrusage`: on Linux that is at least what the parent took when it started us.
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def fork(path: str, crossings: int) -> dict[str, float]:
    """Replay a large trace with its last crossing live."""
    ran: list[int] = []

    @autochron.boundary("step")
    def step(number: int) -> dict[str, object]:
        ran.append(number)
        return {"done": number, "message": "step by step"}

    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass
    before, started = _memory(), time.perf_counter()
    with autochron.replay("last", store=path, live=[f"step[{crossings}]"], rules=marks.RULES):
        opened = time.perf_counter() - started
        for number in range(crossings):
            step(number)
    whole = time.perf_counter() - started
    assert ran == [crossings - 1], ran
    return {"open": opened, "whole": whole, "memory": _memory(), "memory before": before}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fork(sys.argv[1], int(sys.argv[2]))))
