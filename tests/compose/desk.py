"""The agent that the tests of this folder run in many ways, and the expected result of its runs."""

import os
import shutil
from typing import NamedTuple

from tests.cli.processes import autochron, write

WORK = """

def add(a: int, b: int) -> int:
    with open("ran", "a") as file:
        file.write("add ")
    return a + b


TOOLS = {"add": add}


def act(name: str, arguments: dict) -> int:
    return TOOLS[name](**arguments)


def pay(amount: int) -> int:
    with open("ran", "a") as file:
        file.write("pay ")
    return amount * 2


def work() -> None:
    print(act("add", {"a": 1, "b": 2}), pay(3))
"""
"""Calls one tool through a table and one by its definition. Each appends its name to a file when it runs."""

RULES = """version = 1
packs = []
[[boundary]]
name = "{{tool}}"
kind = "tool"
call = "TOOLS[$tool](...)"
[[boundary]]
name = "{{__name__}}"
kind = "tool"
define = "{module}:pay"
"""


class Ran(NamedTuple):
    """The results of a recording and its replay."""

    printed: str
    names: list[str]
    """The crossings as shown in the report of the run."""
    ran: str
    """The tools that ran during the recording."""
    replayed: tuple[int, str, str]
    """Status and output of the replay, and the tools that ran then, which should be none."""
    said: str


WELL = ("3 6\n", ["add ×1", "pay ×1"], "add pay ", (0, "3 6\n", ""))
"""The expected results of recording the agent and replaying it."""


def make(folder, files, module="desk", **more):
    """Write a project with rules for the module that contains the agent's work."""
    write(folder, {**files, "autochron.toml": RULES.format(module=module), **more})
    return folder


def record_and_replay(folder, *command, env=None, by=autochron, given=()):
    """Run `autochron run WORD …` and replay the trace; `by` starts autochron, and both get the options `given`."""
    recorded = by(folder, "run", *given, *command, env=env)
    done = _done(folder)
    replayed = by(folder, "replay", *given, "last", env=env)
    assert recorded.status == 0, recorded.said
    replay = (replayed.status, replayed.text, _done(folder))
    return Ran(recorded.text, names_in(recorded.said), done, replay, recorded.said + replayed.said)


def names_in(report):
    """Return the crossings in the report of a run, sorted."""
    words = report.replace(",", "\n").replace(":", "\n").replace("(", "\n").replace(")", "\n").splitlines()
    return sorted(word.strip() for word in words if word.strip() in {"add ×1", "pay ×1"})


def _done(folder):
    path = os.path.join(folder, "ran")
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""
    finally:
        if os.path.exists(path):
            os.unlink(path)


def forget_bytecode(folder):
    """Remove Python's bytecode caches."""
    for path, _, _ in os.walk(folder):
        if os.path.basename(path) == "__pycache__":
            shutil.rmtree(path)
