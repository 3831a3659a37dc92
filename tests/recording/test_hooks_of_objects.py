"""A recording runs no hook of the program's objects that a plain run doesn't run."""

import json
import pathlib

import pytest

from tests.cli import processes
from tests.recording.woven import RULES

LIB = """
import noting

SHARED, BOX = None, []

def gives(): return noting.HELD["value"]
def takes(value): return 1
def takes_named(*, value): return 1
def catches(*values, **named): return 1
def same(value): return value
def in_list(value): return [value]
def in_dict(value): return {"held": value}
def in_tuple(value): return (value,)
def reads_global(): return SHARED is None
def makes(value):
    def inner(): return value is None
    return inner
def fails(value): raise ValueError(value)
def fails_with(value):
    error = ValueError("x")
    error.held = value
    raise error
def stream(value):
    yield value
    yield 1
def sent():
    found = yield 1
    yield found is None
class Holder:
    def __init__(self, value): self.value = value
    def run(self): return 1
    def put(self, value): self.value = value
async def later(value): return value
async def stream_later(value): yield value
def has_default(x=1, *, box=BOX): return 1
def pops(): return BOX.pop()
def puts(value, box): box.append(value)
"""

AGENT = """
import json, lib, noting
print(json.dumps(noting.noted(lib)))
"""

KINDS = pathlib.Path(__file__).with_name("noting.py")


@pytest.mark.slow
def test_a_recording_runs_no_further_hook_of_any_kind_of_value_in_any_place(tmp_path):
    files = {"lib.py": LIB, "agent.py": AGENT, "noting.py": KINDS.read_text(), "autochron.toml": RULES}
    processes.write(tmp_path, files)
    plain = processes.python(tmp_path, "agent.py")
    recorded = processes.autochron(tmp_path, "run", "--quiet", "agent.py")
    assert (plain.status, recorded.status, recorded.said) == (0, 0, "")
    plain_hooks, recorded_hooks = json.loads(plain.text), json.loads(recorded.text)
    assert recorded_hooks == plain_hooks
