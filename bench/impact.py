"""How long it takes to try every site of an agent on a real framework: recorded once, replayed for each variant.

The agent is that of tests/impact/desk, whose lines say which of them matter; the test there sees to the verdicts.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autochron.provider import Call, Script, Step, serve
from bench.measure import Figure, Size

TARGET = 10.0
NEEDS = ("langgraph", "langchain_openai")
AGENT = "agent.py"

_REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SCRIPT = Script(
    (
        Step(turn=0, calls=(Call.of("look_up_order", order_id="77"),)),
        Step(turn=1, text="{random}", calls=(Call.of("issue_refund", order_id="77", cents=5),)),
        Step(text="{random}"),
    )
)


def run(size: Size) -> Iterable[Figure]:
    """Record the agent, and try its sites."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"bench: impact needs {', '.join(missing)}: pip install --no-deps -r requirements-packs.txt\n"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        record(folder)
        yield figure([perturb(folder) for _ in range(1 if size.rounds == 1 else 5)])


def figure(tries: Sequence[tuple[Mapping[str, Any], float]]) -> Figure:
    """Make a figure of what was said each time, and of how long it took."""
    said, times = tries[-1][0], [seconds for _, seconds in tries]
    return Figure(
        benchmark="impact",
        name=f"autochron impact of an agent on langgraph with {len(said['sites'])} sites",
        value=statistics.median(times),
        unit="s",
        against=f"by the clock on the wall, from its start to its end, in {said['replays']} replays",
        target=TARGET,
        samples={"median": statistics.median(times), "least": min(times), "most": max(times)},
    )


def record(folder: str) -> None:
    """Lay the agent out in a folder, and record it there."""
    shutil.copytree(os.path.join(_REPOSITORY, "tests", "impact", "desk"), folder, dirs_exist_ok=True)
    with open(os.path.join(folder, "autochron.toml"), "w", encoding="utf-8") as file:
        file.write("version = 1\n")
    with serve(script=_SCRIPT, seed=7) as model:
        ran = _autochron(
            folder, "run", "--quiet", AGENT, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="-", NO_PROXY="*"
        )
    assert ran.returncode == 0, ran.stderr


def perturb(folder: str) -> tuple[Mapping[str, Any], float]:
    """Try the sites of what was recorded there; gives what is said of them, and the seconds that it took."""
    began = time.perf_counter()
    told = _autochron(folder, "impact", "last", "--json")
    took = time.perf_counter() - began
    assert told.returncode == 1, told.stderr
    said: Mapping[str, Any] = json.loads(told.stdout)
    return said, took


def _autochron(folder: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": _REPOSITORY, **environment}
    return subprocess.run(
        [sys.executable, "-m", "autochron", *arguments],
        cwd=folder,
        env=known,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
