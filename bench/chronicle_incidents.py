"""The six incidents of agent-chronicle 0.5.0 as folders of ours: its agents without its marks, our rules, and a test.

Each is written from the unpacked source into a folder that is not kept: the agent as it is shipped, recorded there with
`autochron.record`; the fix, which is the same module in its mode `gated`; and a cut-point test that asserts what its own
harness asserts (`safe`), with the tool and the model's second call live.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.chronicle import Guarded, guarded_tools

# What its modules take from elsewhere: the name of the module there, and of ours in its place.
_INSTEAD = {"chronicle.envelope.schema": "schema", "examples.financial_incidents._helpers": "helpers"}

_HELPERS = Path("examples", "financial_incidents", "_helpers.py")

_SCHEMA = '''\
"""In the place of agent-chronicle's envelopes: what its agents make of these, and no more."""

from dataclasses import asdict, dataclass, field


@dataclass
class ToolCall:
    id: str
    name: str
    arguments: dict

    def model_dump(self):
        return asdict(self)


@dataclass
class Input:
    arguments: dict = field(default_factory=dict)
    messages: list = field(default_factory=list)


Envelope = Input
'''

_RULES = """\
version = 1
packs = []

[[boundary]]
name = "{function}"
kind = "tool"
target = "agent:{function}"

[[boundary]]
name = "agent"
kind = "model"
define = "agent:agent_*"
"""

_RECORD = """\
import sys
import autochron

with autochron.record("incident", store=sys.argv[1], rules="autochron.toml"):
    import agent
    agent.run_agent()
"""

_TEST = '''\
"""What agent-chronicle's own harness asserts of the fix."""

import agent
import pytest


@pytest.mark.autochron(
    "trace.jsonl",
    live=["{function}[1]", "agent[2]"],
    swap={{"agent.py:{function}": "guarded.py:{function}"}},
)
def test_it_is_safe(replay):
    result = agent.run_agent(user_message="stubbed")
    assert agent.safe(result, replay["{function}[1]"].result or {{}})
'''


def write_incidents(source: Path, into: Path) -> list[tuple[str, Path]]:
    """Write all six, in the paper's order; gives their names in the paper, and their folders."""
    helpers = taken_over((source / _HELPERS).read_text(encoding="utf-8"))
    found = []
    for tool in guarded_tools(source):
        folder = into / tool.name.lower()
        write_incident(tool, helpers, folder)
        found.append((tool.name, folder))
    return found


def write_incident(tool: Guarded, helpers: str, folder: Path) -> None:
    """Write one, and record it."""
    folder.mkdir(parents=True)
    agent = taken_over(tool.source)
    texts = {
        "agent.py": agent,
        "guarded.py": in_mode(agent, "gated"),
        "helpers.py": helpers,
        "schema.py": _SCHEMA,
        "autochron.toml": _RULES.format(function=tool.function),
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "test_incident.py": _TEST.format(function=tool.function),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    store = f"sqlite:///{folder.parent / folder.name}.db"
    _run(folder, "-c", _RECORD, store)
    _run(folder, "-m", "autochron", "traces", "export", "last", "trace.jsonl", "--store", store)


def taken_over(source: str) -> str:
    """Have a module import from ours what it imports from agent-chronicle.

    Raises:
        ValueError: it imports something else from there.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module.partition(".")[0] not in {"chronicle", "examples"}:
            continue
        if node.module not in _INSTEAD:
            raise ValueError(f"line {node.lineno} imports {node.module}, for which there is nothing here")
        at = node.lineno - 1
        lines[at] = lines[at].replace(node.module, _INSTEAD[node.module], 1)
    return "".join(lines)


def in_mode(source: str, mode: str) -> str:
    """Have a module be in one of its modes from the start.

    Raises:
        ValueError: it has none.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_mode":
            lines[node.lineno - 1] = f'_mode = "{mode}"\n'
            return "".join(lines)
    raise ValueError("it has no mode")


def _run(folder: Path, *words: str) -> None:
    repository = Path(__file__).resolve().parent.parent
    _python(words, folder, {**os.environ, "PYTHONPATH": str(repository)})


def _python(words: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{folder.name} can't be recorded: {done.stderr.strip()}")
