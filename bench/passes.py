"""What a pass over six little agents costs, each replayed from its trace file, as the peer times a suite of incidents.

A pass loads each trace from disk, settles the plan, runs the agent and, with us, compares what crossed when it leaves the
block. The peer's own benchmark times the same steps, and has nothing to compare at the end.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import autochron
from autochron.store import open_store
from autochron.store.memory import MemoryStore
from autochron.store.tracefile import write_trace
from bench import agents, marks
from bench.measure import Case, Figure, Size, has_peer, medians, turn_about

FULL_STUB = 0.6
CUT_POINT = 0.7
LOAD = 40.0

TOOLS = {
    "refund": "issue_refund",
    "invoice": "create_invoice",
    "trade": "place_order",
    "email": "send_campaign",
    "payout": "transfer_funds",
    "deletion": "delete_dataset",
}
"""The tool of each agent, which is live in the cut-point pass."""

Agents = dict[str, agents.Agent]


def run(size: Size) -> Iterable[Figure]:
    """Measure a pass with nothing live, one with each agent's tool live, and the loads in it."""
    with tempfile.TemporaryDirectory() as folder:
        ours = agents.agents(marks.ours)
        files = {
            name: _recorded(agent, os.path.join(folder, f"{name}.jsonl")) for name, agent in ours.items()
        }
        cases: dict[str, Case] = {
            "full-stub": lambda: _pass(ours, files, live=False),
            "cut-point": lambda: _pass(ours, files, live=True),
            "load": lambda: [open_store(file).record("last") for file in files.values()],
        }
        if has_peer():
            theirs = agents.agents(marks.theirs)
            folders = {name: _recorded_by_peer(agent, Path(folder, name)) for name, agent in theirs.items()}
            cases["full-stub, theirs"] = lambda: _pass_of_peer(theirs, folders, live=False)
            cases["cut-point, theirs"] = lambda: _pass_of_peer(theirs, folders, live=True)
        yield from _figures(
            turn_about({name: _often(case, size) for name, case in cases.items()}, size.rounds), size
        )


def _often(case: Case, size: Size) -> Case:
    def run() -> None:
        for _ in range(size.repeat):
            case()

    return run


def _figures(times: dict[str, list[float]], size: Size) -> Iterable[Figure]:
    found = {name: each / size.repeat for name, each in medians(times).items()}
    for name, target in (("full-stub", FULL_STUB), ("cut-point", CUT_POINT)):
        peer = found.get(f"{name}, theirs")
        yield Figure(
            benchmark="replaying",
            name=f"a {name} pass over six agents of three crossings",
            value=found[name] * 1e3,
            unit="ms",
            against="all of it: trace files loaded and checked, replayed, and compared at the end",
            target=target,
            peer=None if peer is None else peer * 1e3,
            samples=found,
        )
    yield Figure(
        benchmark="replaying",
        name="of that, the load of one trace file of three crossings",
        value=found["load"] / len(TOOLS) * 1e6,
        unit="µs",
        against="read, its digest checked, and decoded",
        target=LOAD,
        samples=found,
    )


# --- ours ------------------------------------------------------------------------------------------------------------


def _recorded(agent: agents.Agent, file: str) -> str:
    store = MemoryStore()
    with marks.our_session(store):
        agent()
    write_trace(store.load("last"), file)
    return file


def _pass(ours: Agents, files: dict[str, str], *, live: bool) -> None:
    for name, agent in ours.items():
        plan = [f"{TOOLS[name]}[1]"] if live else []
        with autochron.replay(files[name], live=plan, rules=marks.RULES):
            agent()


# --- the peer's ------------------------------------------------------------------------------------------------------


def _recorded_by_peer(agent: agents.Agent, folder: Path) -> Path:
    from chronicle.session import reset_session

    session = reset_session()
    session.store = None
    session.begin_trace("bench")
    agent()
    session.export_trace(folder)
    return folder


def _pass_of_peer(theirs: Agents, folders: dict[str, Path], *, live: bool) -> None:
    from chronicle.replay.plan import ReplayPlan
    from chronicle.session import reset_session

    for name, agent in theirs.items():
        session: Any = reset_session()
        session.load_trace(folders[name])
        session.enable_replay(ReplayPlan().live(TOOLS[name], 1) if live else ReplayPlan())
        agent()
