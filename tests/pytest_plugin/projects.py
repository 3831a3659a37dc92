"""Projects with an agent, its trace and tests, and pytest in a process of its own."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.processes import finish, start, write

AGENT = """
import asyncio
import os
from dataclasses import dataclass


@dataclass
class Order:
    id: str
    cents: int


class Refused(Exception):
    def __init__(self, cents):
        super().__init__(f"{cents} cents is too much")
        self.cents = cents


RAN = os.open("ran", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)  # before a replay, so past its scratch copy


def note(what):
    os.write(RAN, what.encode() + b" ")


def ask(messages):
    note("ask")
    return {"role": "assistant", "content": f"answer {len(messages)}"}


def look_up(order_id):
    note("look_up")
    return Order(order_id, 500)


def refund(order, cents):
    note("refund")
    if cents > 10_000:
        raise Refused(cents)
    return {"blocked": False, "cents": cents, "order": order}


def run(order_id="A1", factor=30):
    messages = [{"role": "user", "content": f"refund {order_id}"}]
    order = look_up(order_id)
    messages.append(ask(messages))
    try:
        refund(order, order.cents * factor)
    except Refused as refused:
        messages.append({"role": "tool", "content": str(refused)})
    done = refund(order, order.cents)
    messages.append(ask(messages))
    return messages[-1]["content"], done


if __name__ == "__main__":
    print(run()[0])
"""
RULES = """version = 1
packs = []
snapshot = false
[[boundary]]
name = "model"
kind = "model"
define = "agent:ask"
[[boundary]]
name = "look_up"
kind = "tool"
define = "agent:look_up"
[[boundary]]
name = "refund"
kind = "tool"
define = "agent:refund"
"""
CROSSED = ["look_up[1]", "model[1]", "refund[1]", "refund[2]", "model[2]"]

_OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS|SKIPPED) (\S+)", re.MULTILINE)


@dataclass
class PytestRun:
    """The result of a run of pytest.

    Attributes:
        status: its exit status.
        text: its standard output and standard error.
        outcomes: the outcome of each test, by its name without the file.
    """

    status: int
    text: str
    outcomes: dict[str, str] = field(default_factory=dict)

    def of(self, name):
        """Return the report of one failed test."""
        parts = re.split(r"^_{3,} (?:ERROR at setup of )?(\S+) _{3,}$", self.text, flags=re.MULTILINE)
        sections = dict(zip(parts[1::2], parts[2::2], strict=True))
        return sections[name].partition("\n====")[0]


class Project:
    """A folder with an agent and tests."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, **files):
        """Write files. Two underscores in a name stand for a slash, and a name without an ending gets `.py`."""
        named = {
            name.replace("__", "/") + ("" if "." in name else ".py"): text for name, text in files.items()
        }
        write(self.folder, named)
        return self

    def autochron(self, *words, **more):
        """Run autochron and return its standard output."""
        done = finish(start([sys.executable, "-m", "autochron", *words], self.folder, **more))
        assert done.status == 0, done.said
        return done.text

    def record(self, *words, to="trace.jsonl"):
        """Record a program into a trace file."""
        (self.folder / to).parent.mkdir(parents=True, exist_ok=True)
        self.autochron("run", *words)
        self.autochron("traces", "export", "last", to)
        (self.folder / "ran").unlink(missing_ok=True)
        return self

    def pytest(self, *words, plugins=(), env=None, autoload=False, unset=()):
        """Run pytest with the given plugins and autochron's."""
        own = {"NO_COLOR": "1", "COLUMNS": "200", **(env or {})}
        if not autoload:
            own["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
            plugins = ("autochron.pytest_plugin", *plugins)
        load = [word for plugin in plugins for word in ("-p", plugin)]
        command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *load, *words]
        if unset:
            command = ["env", *(word for name in unset for word in ("-u", name)), *command]
        done = finish(start(command, self.folder, env=own))
        outcomes = {name.rpartition("::")[2]: outcome for outcome, name in _OUTCOME.findall(done.text)}
        return PytestRun(done.status, done.text + done.said, outcomes)

    def bodies_run(self):
        """Return the names of the bodies that ran since the last call of this method."""
        file = self.folder / "ran"
        text = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return text


def copy_project(source: Path, target: Path) -> Project:
    """Copy a project into another folder, without caches and stores."""
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and ".autochron" not in path.parts:
            to = target / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    return Project(target)
