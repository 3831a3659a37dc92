"""Small incidents of plain functions: an agent, its tool and the guard of the tool, recorded once and copied."""

import shutil
import sys
from pathlib import Path

from autochron.mutate.fork_server import ForkServer, ServerPool
from autochron.mutate.model import MutationTarget
from autochron.mutate.protocol import Job, ServerTask
from tests.cli.processes import ROOT, autochron, start, write

SERVER = "autochron.mutate.server.main"
TARGET = MutationTarget("guarded.py", "refund")

RULES = """version = 1
packs = []
[[boundary]]
name = "model"
kind = "model"
define = "agent:ask"
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""
TOOLS = '''
PAID = {"A1": 4900}
paid = []


def refund(order: str, cents: int) -> dict:
    """Pay."""
    paid.append(cents)
    return {"status": "paid", "cents": cents}
'''
GUARDED = '''
from tools import PAID
from tools import refund as pay


def refund(order: str, cents: int) -> dict:
    """Pay no more than was paid."""
    if cents > PAID[order]:
        return {"status": "blocked", "most": PAID[order]}
    return pay(order, cents)
'''
AGENT = """
import tools


def ask(messages):
    return {"order": "A1", "cents": 9900}


def main():
    wish = ask(["my lamp is broken"])
    return tools.refund(wish["order"], wish["cents"])


if __name__ == "__main__":
    main()
"""
TEST = """
import agent
import pytest
import tools


@pytest.mark.autochron("trace.jsonl", live=["refund"], swap={"tools.py:refund": "guarded.py:refund"})
def test_no_more_than_was_paid(replay):
    agent.main()
    assert replay["refund[1]"].result["status"] == "blocked"
    assert tools.paid == []
"""
FILES = {
    "agent.py": AGENT,
    "tools.py": TOOLS,
    "guarded.py": GUARDED,
    "test_incident.py": TEST,
    "autochron.toml": RULES,
    "pytest.ini": "[pytest]\npythonpath = .\n",
}

# Only autochron's plugin: other installed plugins of pytest take seconds to import.
PLAIN = {
    "PYTHONPATH": ROOT,
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "autochron.pytest_plugin",
}


def record_incident(folder, **files):
    """Write an incident and record it. In the keywords, two underscores stand for a dot of a file's name."""
    named = {name.replace("__", "."): text for name, text in files.items()}
    write(folder, FILES | {name if "." in name else f"{name}.py": text for name, text in named.items()})
    store = ("--store", f"sqlite:///{folder}/../{folder.name}.db")
    for words in (
        ("run", "--strict", *store, "agent.py"),
        ("traces", "export", "last", "trace.jsonl", *store),
    ):
        command = autochron(folder, *words)
        assert command.status == 0, command.said
    return folder


def copy_incident(folder, to, **files):
    """Copy an incident with some of its files changed. None removes a file."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name, text in files.items():
        path = to / (name.replace("__", ".") if "__" in name else f"{name}.py")
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")
    return to


def mutate(folder, *words, env=None, **more):
    """Run `autochron mutate WORD …`, without a crosscheck unless the words have one."""
    sample = () if "--crosscheck" in words or "merge" in words else ("--crosscheck", "0")
    return autochron(folder, "mutate", *words, *sample, env=PLAIN | (env or {}), **more)


def start_study(folder, *words, **more):
    """Start `autochron mutate WORD …` without waiting for it."""
    command = [sys.executable, "-m", "autochron", "mutate", *words, "--crosscheck", "0"]
    return start(command, folder, env=PLAIN, **more)


class Trier:
    """A pool of servers that tries hand-written bodies of a function."""

    def __init__(self, folder: Path, *, server="cut", target=TARGET, width=1, **options):
        self.folder = folder
        self.target = target
        self.fork_server = ForkServer(SERVER, str(folder), width)
        paths = tuple(str(path) for path in sorted(folder.glob("test_*.py")))
        options = {"timeout": 2.0, "memory": 256 << 20, "targets": (target,)} | options
        self.pool = ServerPool(
            self.fork_server, ServerTask(server=server, paths=paths, folder=str(folder), **options), width
        )
        self.ready = self.pool.first()

    def job(self, body, name="mutant", **more):
        """Return the job that tries a body of the function."""
        text = (self.folder / self.target.file).read_text(encoding="utf-8")
        head, _, _ = text.partition('    """Pay no more')
        lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
        return Job(id=name, variant="mutant", target=self.target, text=head + lines, **more)

    def ask(self, body, **more):
        return self.pool.ask(self.job(body, **more))

    def end(self):
        self.pool.end()
        self.fork_server.end()
