"""Objects that a program leaves behind are finalized after Python has cleared modules; a recording changes no output then."""

import pytest

from tests.cli.processes import python

TOOLS = """
import contextlib

def primed():
    def total():
        so_far = 0
        while True:
            so_far += yield so_far
    made = total()
    next(made)
    return made

def items():
    try:
        yield 1
        yield 2
    finally:
        print("items: closed")

def delegating():
    yield from items()

async def items_async():
    try:
        yield 1
    finally:
        print("items_async: closed")

async def waiting():
    import asyncio
    try:
        await asyncio.sleep(0)
    finally:
        print("waiting: over")

@contextlib.contextmanager
def opened():
    try:
        yield "opened"
    finally:
        print("opened: closed")

def pay(amount):
    return {"paid": amount}

class Holder:
    def __init__(self, act):
        self.act, self.me = act, self

    def __del__(self):
        try:
            print("Holder:", self.act())
        except Exception as error:
            print("Holder:", type(error).__name__)
"""

RULES = """
version = 1
project = ["."]
packs = []

[[boundary]]
name = "{__qualname__}"
kind = "tool"
define = "tools:*"
"""

LEFTOVERS = {
    "a generator that was sent into": "held = tools.primed(); held.send(5)",
    "a generator amid its items": "held = tools.items(); print(next(held))",
    "a generator that delegates": "held = tools.delegating(); print(next(held))",
    "a generator that was not begun": "held = tools.items()",
    "an async generator": "held = tools.items_async(); step(held.__anext__())",
    "a coroutine amid its work": "held = tools.waiting(); step(held)",
    "a context": "held = tools.opened(); print(held.__enter__())",
    "an object that calls a tool": "pay = tools.pay; held = tools.Holder(lambda: pay(3))",
    "an object that closes a generator": "held = tools.Holder(tools.items().close)",
    "a generator in a ring": "ring = [tools.items()]; ring.append(ring); held = ring; print(next(ring[0]))",
}

PLACES = {
    "global": "{}",
    "builtins": "{}\nimport builtins; builtins.held = held; del held",
    "tools": "{}\ntools.held = held; del held",
    "a frame of the traceback": "def work():\n    {}\n    raise ValueError(held is None)\nwork()",
}

ENDINGS = {"falls off": "", "raises": "raise ValueError('over')", "leaves": "import sys; sys.exit(3)"}

PRELUDE = """import tools

def step(awaitable):
    try:
        awaitable.send(None)
    except StopIteration:
        pass

"""


def outcome(folder, *words):
    done = python(folder, *words)
    return done.status, done.text, done.said


CASES = [
    pytest.param(leftover, place, ending, id=f"{leftover}, {place}, {ending}")
    for leftover in LEFTOVERS
    for place in PLACES
    for ending in ENDINGS
    if place != "a frame of the traceback" or ending == "raises"
]
LONGER = [pytest.param(*case.values, id=case.id, marks=pytest.mark.thorough) for case in CASES]


@pytest.mark.parametrize(
    ("leftover", "place", "ending"),
    [case if at % 5 == 0 else longer for at, (case, longer) in enumerate(zip(CASES, LONGER, strict=True))],
)
def test_a_recorded_program_ends_like_the_plain_one(tmp_path, leftover, place, ending):
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "agent.py").write_text(
        PRELUDE + PLACES[place].format(LEFTOVERS[leftover]) + "\n" + ENDINGS[ending] + "\n"
    )
    plain = outcome(tmp_path, "agent.py")
    assert outcome(tmp_path, "-m", "autochron", "run", "--quiet", "agent.py") == plain
