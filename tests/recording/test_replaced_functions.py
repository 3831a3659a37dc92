"""Replacements that a program makes for functions of `os`, as blockbuster and mocks do, are called as in a plain run."""

import pytest

from tests.cli import processes
from tests.recording.woven import RULES

AGENT = """
import asyncio, os, subprocess, sys
import lib

CALLS = {}

def counted(name, function):
    def count(*args, **kwargs):
        CALLS[name] = CALLS.get(name, 0) + 1
        return function(*args, **kwargs)
    return count

async def fetch():
    return await asyncio.gather(lib.fetch(1), lib.fetch(2))

def work():
    print(lib.tool(1), lib.read("agent.py"), asyncio.run(fetch()), list(lib.items(3)))
    try:
        lib.fail()
    except ValueError as error:
        print(error)
    command = [sys.executable, "-c", "print(1)"]
    print(subprocess.run(command, stdout=subprocess.PIPE).stdout)

subprocess._USE_POSIX_SPAWN = False  # a recorded one starts no child past `fork_exec`
work()  # what Python imports and keeps, it has now
for owner in (os, os.path):
    for name, function in list(vars(owner).items()):
        if callable(function) and not isinstance(function, type) and not name.startswith("_"):
            setattr(owner, name, counted(name, function))
work()
import helper
print(helper.VALUE)
print(sorted(CALLS.items()))
"""

LIB = """
def tool(x): return x + 1
def read(path):
    with open(path) as file: return len(file.read())
async def fetch(x): return x
def items(n): yield from range(n)
def fail(): raise ValueError("no")
"""


@pytest.fixture
def program(tmp_path):
    """Return the folder of a program."""
    for name, text in (
        ("agent.py", AGENT),
        ("lib.py", LIB),
        ("helper.py", "VALUE = 1\n"),
        ("autochron.toml", RULES),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_our_own_code_calls_no_replaced_function(program):
    plain = processes.python(program, "agent.py")
    recorded = processes.autochron(program, "run", "agent.py")
    replayed = processes.autochron(program, "replay", "last")
    assert "('waitpid', 1)" in plain.text
    assert (recorded.status, recorded.text) == (0, plain.text), recorded.said
    assert (replayed.status, replayed.text) == (0, plain.text), replayed.said
