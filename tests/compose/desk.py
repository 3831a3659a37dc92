"""The agent that the tests of this folder run in every way, and what its runs must come to."""

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
"""Calls one tool by a table, and one that is a definition; each writes down that it ran."""

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
    """How a recording and its replay went."""

    printed: str
    names: list[str]
    """The crossings, as the report of the run has them."""
    ran: str
    """Which tools ran while it was recorded."""
    replayed: tuple[int, str, str]
    """Status and output of the replay, and which tools ran then: none should."""
    said: str


WELL = ("3 6\n", ["add ×1", "pay ×1"], "add pay ", (0, "3 6\n", ""))
"""What recording the agent and replaying it comes to."""


def make(folder, files, module="desk", **more):
    """Write a project with the rules for a module that has the agent's work."""
    write(folder, {**files, "autochron.toml": RULES.format(module=module), **more})
    return folder


def record_and_replay(folder, *command, env=None, by=autochron, given=()):
    """Run `autochron run WORD …`, and replay what it recorded; `by` starts autochron, and both are `given` options."""
    ran = by(folder, "run", *given, *command, env=env)
    done = _done(folder)
    replayed = by(folder, "replay", *given, "last", env=env)
    assert ran.status == 0, ran.said
    replay = (replayed.status, replayed.text, _done(folder))
    return Ran(ran.text, names_in(ran.said), done, replay, ran.said + replayed.said)


def names_in(said):
    """Read the crossings from what a run reported."""
    words = said.replace(",", "\n").replace(":", "\n").replace("(", "\n").replace(")", "\n").splitlines()
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
    """Remove what Python has kept."""
    for where, _, _ in os.walk(folder):
        if os.path.basename(where) == "__pycache__":
            shutil.rmtree(where)
