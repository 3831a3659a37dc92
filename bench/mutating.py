"""A mutation study of the six guarded tools of agent-chronicle 0.5.0; how fast mutants are tried, and in what space.

Their source is fetched and not kept. Rates are by the clock on the wall, with two servers at a time: what else the machine
does shows in them, so the time of the processor is told beside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from autochron.mutate.fork_server import ForkServer, ServerPool
from autochron.mutate.generating import generate, mutated
from autochron.mutate.model import Mutant, Study
from autochron.mutate.prepared_process import PreparedProcess
from autochron.mutate.protocol import Job, Ready, ServerTask
from autochron.mutate.sets import operator_set
from autochron.mutate.study import StudyOptions, study_of
from bench.chronicle_incidents import write_incidents
from bench.measure import Figure, Size
from bench.paper import peer
from incidents.suite import INCIDENTS, load

PAPER = {
    "Refund": (33, 9),
    "Invoice": (35, 9),
    "Trade": (37, 9),
    "Email": (32, 9),
    "Payout": (27, 7),
    "Deletion": (28, 8),
}
"""Mutants, and how many of them the cut-point test kills, as its paper counts."""

JOBS = 2
RATE, RATIO = 200.0, 250.0
"""Mutants a second that are to be tried, and how many times as many as `cosmic-ray exec` tries."""
LOOP_RATIO, PROCESS_RATIO = 80.0, 50.0
"""The same where the agent runs in an event loop, and in a process of its own."""
FEW, MANY = 1_000, 10_000
"""Trials between which the servers and their supervisor are to grow no more."""
GROWTH = 0.05
"""Of the memory after the first thousand trials: what an allocator takes and keeps."""

_SERVER = "autochron.mutate.server.main"

_NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "autochron.pytest_plugin"}
"""For `cosmic-ray exec` without the other plugins of pytest that are installed: each of its trials imports them anew,
and here they are imported once. Both figures are told."""

_CONFIG = """\
[cosmic-ray]
module-path = "guarded.py"
timeout = 120
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider ."

[cosmic-ray.distributor]
name = "local"
"""


def run(size: Size) -> Iterable[Figure]:
    """Make the study, and measure on the first of its incidents."""
    is_tiny = size.rounds == 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source = peer.fetched(folder)
        if isinstance(source, str):
            sys.stderr.write(f"bench: mutating needs the source of agent-chronicle: {source}\n")
            return
        incidents = write_incidents(source, folder / "incidents")
        yield from _study(incidents[:1] if is_tiny else incidents, folder)
        first = incidents[0][1]
        swapped = _Trials(first, rebuilds=False)
        try:
            yield from _swapped(swapped, first, is_tiny=is_tiny)
        finally:
            swapped.end()
        yield from _whole(first, folder, is_tiny=is_tiny)


# --- the study ------------------------------------------------------------------------------------------------------


def _study(incidents: Sequence[tuple[str, Path]], scratch: Path) -> Iterable[Figure]:
    """Try the mutants of the set `paper` by every method, and hold the counts against the paper's."""
    options = StudyOptions(operators="paper", jobs=JOBS, out=str(scratch / "study"), sample=0)
    began = time.perf_counter()
    study = study_of([folder for _, folder in incidents], options, lambda *_: None)
    took = time.perf_counter() - began
    counts = counted(study, [name for name, _ in incidents])
    _print(counts)
    expected = {name: (*PAPER[name], 0) for name in counts}
    different = sum(counts[name] != expected[name] for name in counts)
    mutants = sum(each[0] for each in counts.values())
    yield Figure(
        benchmark="mutating",
        name=f"tools of {len(counts)} whose mutants, or kills by cut-point or full-stub, are not the paper's",
        value=different,
        unit="tools",
        against=f"{mutants} mutants; cut-point kills {sum(each[1] for each in counts.values())}, full-stub"
        f" {sum(each[2] for each in counts.values())}",
        target=0.0,
        samples={
            f"{name}, {what}": count
            for name, row in counts.items()
            for what, count in zip(_COUNTED, row, strict=True)
        },
    )
    yield Figure(
        benchmark="mutating",
        name="the whole study, for each mutant",
        value=took / mutants * 1e3,
        unit="ms",
        against=f"{took:.1f} s with start-up and canaries, by every method; {mutants / took:.1f} mutants"
        " a second",
        samples={"study": took},
    )


_COUNTED = ("mutants", "killed by cut-point", "killed by full-stub")


def counted(study: Study, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Count the mutants of each incident, and those that cut-point and full-stub kill."""
    return {
        name: (
            len(each.results),
            sum(result.verdicts["cut-point"].is_killed for result in each.results),
            sum(result.verdicts["full-stub"].is_killed for result in each.results),
        )
        for name, each in zip(names, study.incidents, strict=True)
    }


def _print(counts: dict[str, tuple[int, int, int]]) -> None:
    """Print the counts beside the paper's."""
    print(f"{'':10}{'mutants':>9}{'cut-point':>11}{'full-stub':>11}   the paper's")
    for name, (mutants, cut, stub) in counts.items():
        print(f"{name:10}{mutants:9}{cut:11}{stub:11}   {PAPER[name][0]}/{PAPER[name][1]}")
    sums = [sum(row[at] for row in counts.values()) for at in range(3)]
    print(f"{'in sum':10}{sums[0]:9}{sums[1]:11}{sums[2]:11}   192/51")


# --- rates ------------------------------------------------------------------------------------------------------------


class Phase(Struct, frozen=True):
    """So many trials: the seconds that they took, and those of the processor, in the servers and their forks."""

    count: int
    seconds: float
    processor: float


class _Trials:
    """Servers that try the mutants of one incident's cut-point test."""

    def __init__(self, folder: Path, *, rebuilds: bool, prepares: bool = False) -> None:
        self.began = time.perf_counter()
        self._prepared: PreparedProcess | None = None
        self._fork_server = ForkServer(_SERVER, str(folder), JOBS + 1)
        tests = (str(folder / "test_incident.py"),)
        asked = ServerTask(server="cut", paths=tests, folder=str(folder))
        self._pool = ServerPool(self._fork_server, asked, JOBS)
        self.ready: Ready = self._pool.first()
        self._pools = [self._pool]
        if prepares:
            self._prepared = PreparedProcess(self.ready.fix_reply().hash_seed)
            asked = msgspec.structs.replace(asked, reruns=True, prepared=self._prepared.address)
            self._pool = ServerPool(self._fork_server, asked, JOBS)
            self._pools.append(self._pool)
        if rebuilds:
            asked = msgspec.structs.replace(asked, rebuilds=True, targets=self.ready.targets)
            self._pool = ServerPool(self._fork_server, asked, JOBS)
            self._pools.append(self._pool)
        made = generate(folder, folder.name, self.ready.targets[0], operator_set("paper"))
        self.mutants = [(each, mutated(made.source, each)) for each in made.mutants]
        self.sessions: set[int] = set()
        self.at_cut = False

    def run(self, count: int) -> Phase:
        """Try so many, the same ones again and again under other ids; the servers are started before the clock is."""
        several = (self.mutants * (count // len(self.mutants) + 1))[:count]
        jobs = [_job(f"{mutant.id}-{number}", mutant, text) for number, (mutant, text) in enumerate(several)]
        before = self._processor()
        began = time.perf_counter()
        self._pool.run(jobs, lambda _: None)
        took = time.perf_counter() - began
        return Phase(count, took, self._processor() - before)

    def warm(self) -> None:
        """Have all servers started."""
        self.run(12 * JOBS)
        self.sessions = {each.ready.process for each in self._pool._all}
        self.at_cut = all(each.ready.at_cut for each in self._pool._all)

    def _processor(self) -> float:
        return sum(_processor(each) for each in _processes(self.sessions))

    def resident(self) -> float:
        """Return the megabytes of the servers; a page that a server and its fork at the cut share counts for both."""
        return sum(_resident(each) for each in _processes(self.sessions))

    def end(self) -> None:
        for each in self._pools:
            each.end()
        self._fork_server.end()
        if self._prepared is not None:
            self._prepared.end()


_LOOP = """
import asyncio

import agent
import pytest


@pytest.mark.autochron(
    "trace.jsonl",
    live=["issue_refund[1]", "agent[2]"],
    swap={"agent.py:issue_refund": "guarded.py:issue_refund"},
)
def test_it_is_safe(replay):
    async def run():
        return agent.run_agent(user_message="stubbed")

    assert agent.safe(asyncio.run(run()), replay["issue_refund[1]"].result or {})
"""

_PROCESS = """
import pytest


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap={swap})
def test_it_is_refused(replay):
    replay.run()
    replay.assert_not_reproduced()
"""
"""The test of one of our own incidents: its trace is of a program that `replay.run()` can run."""


def _whole(peers: Path, scratch: Path, *, is_tiny: bool) -> Iterable[Figure]:
    """Measure tests whose trials can't go on from the cut: an event loop runs there, or the agent has its own process."""
    loop = Path(shutil.copytree(peers, scratch / "loop" / "refund"))
    (loop / "test_incident.py").write_text(_LOOP, encoding="utf-8")
    own = load(INCIDENTS / "refund")
    process = Path(shutil.copytree(own.folder, scratch / "process" / "refund"))
    for unused in ("baselines", "fixes", "twin.jsonl", "test_mocks.py"):
        (shutil.rmtree if (process / unused).is_dir() else Path.unlink)(process / unused)
    swap = {own.tool: f"guarded.py:{own.function}"}
    (process / "test_incident.py").write_text(_PROCESS.format(swap=swap), encoding="utf-8")
    shapes = (("an event loop", loop, False, LOOP_RATIO), ("`replay.run()`", process, True, PROCESS_RATIO))
    for name, folder, runs, ratio in shapes:
        trials = _Trials(folder, rebuilds=False, prepares=runs)
        try:
            trials.warm()
            phase = trials.run(24 if is_tiny else 240)
            few = [each for each, _ in trials.mutants][: 1 if is_tiny else 3]
            how = "from the cut" if trials.at_cut else "whole tests"
            yield _rate(f"a mutant, with {name}", phase, None, how)
            yield _against_cosmic_ray(f"mutants with {name}", ratio, phase, folder, few)
        finally:
            trials.end()


def _swapped(trials: _Trials, folder: Path, *, is_tiny: bool) -> Iterable[Figure]:
    """Measure the rate with the body swapped, with start-up, the space, the rate by rebuilding, and cosmic-ray's own."""
    few, many = (24, 48) if is_tiny else (FEW, MANY)
    trials.warm()
    first = trials.run(few)
    ready = trials.resident(), _resident(0)
    rest = trials.run(many - few)
    whole = time.perf_counter() - trials.began
    later = trials.resident(), _resident(0)
    few_mutants = [each for each, _ in trials.mutants][: 1 if is_tiny else 3]
    how = "from the cut" if trials.at_cut else "whole tests"
    yield _rate(
        "a mutant whose body is swapped", rest, 1e3 / RATE, f"the last {rest.count:,} of {many:,}, {how}"
    )
    yield Figure(
        benchmark="mutating",
        name="a mutant whose body is swapped, end to end",
        value=whole / (many + 12 * JOBS) * 1e3,
        unit="ms",
        against=f"with start-up and generation; {many / whole:,.0f} a second",
        target=1e3 / RATE,
        samples={"whole": whole, "first": first.seconds},
    )
    yield _against_cosmic_ray("mutants whose bodies are swapped", RATIO, rest, folder, few_mutants)
    names = ("servers", "supervisor")
    for name, before, after in zip(names, ready, later, strict=True):
        yield Figure(
            benchmark="mutating",
            name=f"growth of the {name} from {few:,} to {many:,} trials",
            value=100 * (after / before - 1),
            unit="%",
            against=f"{before:.1f} MB after {few:,}, {after:.1f} MB after {many:,}",
            target=100 * GROWTH,
            samples={f"{few}": before, f"{many}": after},
        )
    rebuilding = _Trials(folder, rebuilds=True)
    try:
        rebuilding.warm()
        yield _rate(
            "a mutant whose modules are rebuilt", rebuilding.run(24 if is_tiny else 100), None, "as at import"
        )
    finally:
        rebuilding.end()


def _against_cosmic_ray(
    name: str, ratio: float, ours: Phase, folder: Path, mutants: Sequence[Mutant]
) -> Figure:
    """Have plain `cosmic-ray exec` try a few mutants, with the plugins of this environment, as here, and without."""
    each = ours.seconds / ours.count
    theirs, bare = (_by_cosmic_ray(folder, mutants, environment) for environment in ({}, _NO_PLUGINS))
    return Figure(
        benchmark="mutating",
        name=f"{ratio:.0f} {name}, against one of `cosmic-ray exec`",
        value=ratio * each / theirs,
        unit="×",
        against=f"{theirs:.2f} s a mutant there, measured in the same run with the same plugins of pytest:"
        f" {theirs / each:,.0f} times as fast; {bare:.2f} s with no plugin but autochron's: {bare / each:,.0f} times",
        target=1.0,
        samples={"cosmic-ray": theirs, "cosmic-ray without plugins": bare, "ours": each},
    )


def _rate(name: str, phase: Phase, target: float | None, against: str) -> Figure:
    each, processor = phase.seconds / phase.count * 1e3, phase.processor / phase.count * 1e3
    return Figure(
        benchmark="mutating",
        name=f"{name}, {JOBS} at a time",
        value=each,
        unit="ms",
        against=f"{against}; {1e3 / each:,.0f} a second; {processor:.1f} ms of the processor each, of which {JOBS} cores"
        f" could do {JOBS * 1e3 / processor:,.0f} a second",
        target=target,
        samples={"wall": phase.seconds, "processor": phase.processor},
    )


def _job(name: str, mutant: Mutant, text: str) -> Job:
    return Job(id=name, variant="mutant", target=mutant.target, text=text)


def _by_cosmic_ray(folder: Path, mutants: Sequence[Mutant], environment: Mapping[str, str]) -> float:
    """Have plain `cosmic-ray exec` try a few, in a copy; return seconds a mutant."""
    from cosmic_ray.work_db import WorkDB, use_db  # lazy: half a second
    from cosmic_ray.work_item import MutationSpec, WorkItem

    copy = Path(shutil.copytree(folder, tempfile.mkdtemp(dir=folder.parent) + "/plain"))
    (copy / "cosmic-ray.toml").write_text(_CONFIG.format(python=sys.executable), encoding="utf-8")
    items = [
        WorkItem.single(
            each.id,
            MutationSpec(
                module_path=each.target.file,
                operator_name=each.operator,
                operator_args=dict(each.arguments),
                occurrence=each.occurrence,
                start_pos=(each.line, each.column),
                end_pos=(each.end_line, each.end_column),
            ),
        )
        for each in mutants
    ]
    with use_db(copy / "session.sqlite", WorkDB.Mode.create) as database:
        database.add_work_items(items)
    words = [sys.executable, "-m", "cosmic_ray.cli", "exec", "cosmic-ray.toml", "session.sqlite"]
    began = time.perf_counter()
    subprocess.run(words, cwd=copy, capture_output=True, check=True, env={**os.environ, **environment})
    took = time.perf_counter() - began
    with use_db(copy / "session.sqlite", WorkDB.Mode.open) as database:
        wrong = [
            each
            for _, each in database.results
            if each.test_outcome is None or each.worker_outcome.value != "normal"
        ]
        if wrong or database.num_results != len(items):
            raise RuntimeError(f"cosmic-ray exec could not try them: {wrong}")
    return took / len(items)


def _processes(sessions: set[int]) -> list[int]:
    """Return the processes of some sessions."""
    found = []
    for each in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(ProcessLookupError):  # it has ended since
            if os.getsid(int(each)) in sessions:
                found.append(int(each))
    return found


def _resident(process: int) -> float:
    """Return the megabytes that a process has in memory; 0 is this one."""
    with open(f"/proc/{process or 'self'}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def _processor(process: int) -> float:
    """Return the seconds of the processor that a process and its ended children have had."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(int(each) for each in fields[11:15]) / os.sysconf("SC_CLK_TCK")
