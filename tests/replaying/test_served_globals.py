"""A served tool changes the globals and the variables of enclosing functions that its code names."""

from itertools import zip_longest

import pytest

from tests.cli.processes import autochron

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""
TOOLS = {
    "a dictionary": (
        "ORDERS = {}\ndef act(n):\n    ORDERS[n] = [n]\n    return len(ORDERS)\n",
        "tools.ORDERS",
    ),
    "a list that another holds": (
        "LOG = []\nclass Box:\n    held = LOG\ndef act(n):\n    LOG.append(n)\n",
        "tools.Box.held",
    ),
    "a set": ("SEEN = set()\ndef act(n):\n    SEEN.add(n)\n", "sorted(tools.SEEN)"),
    "a counter": ("TOTAL = 0\ndef act(n):\n    global TOTAL\n    TOTAL += n\n", "tools.TOTAL"),
    "a name that was not there": ("def act(n):\n    global LAST\n    LAST = {'n': n}\n", "tools.LAST"),
    "a dataclass": (
        (
            "import dataclasses\n@dataclasses.dataclass\nclass Store:\n    total: int = 0\nSTORE = Store()\n"
            "def act(n):\n    STORE.total += n\n"
        ),
        "tools.STORE.total",
    ),
    "an object": (
        (
            "class Store:\n    def __init__(self):\n        self.paid = {}\n        self.total = 0\nSTORE = Store()\n"
            "def act(n):\n    STORE.paid[n] = True\n    STORE.total += n\n"
        ),
        "tools.STORE.paid, tools.STORE.total",
    ),
    "a deque": (
        "import collections\nLAST = collections.deque(maxlen=2)\ndef act(n):\n    LAST.append(n)\n",
        "list(tools.LAST)",
    ),
    "a coroutine": ("ORDERS = {}\nasync def act(n):\n    ORDERS[n] = n\n", "tools.ORDERS"),
    "a generator": (
        "ORDERS = []\ndef act(n):\n    for each in range(n):\n        ORDERS.append(each)\n        yield each\n",
        "tools.ORDERS",
    ),
    "a method": (
        "ORDERS = {}\nclass Desk:\n    def act(self, n):\n        ORDERS[n] = n\nact = Desk().act\n",
        "tools.ORDERS",
    ),
    "a counter of a factory": (
        (
            "def make():\n    n = 0\n    def act(by):\n        nonlocal n\n        n += by\n        return n\n"
            "    return act, lambda: n\nact, now = make()\n"
        ),
        "tools.now()",
    ),
    "a list of a factory": (
        (
            "def make():\n    done = []\n    def act(each):\n        done.append(each)\n    return act, lambda: done\n"
            "act, now = make()\n"
        ),
        "tools.now()",
    ),
    "an object of a factory": (
        (
            "class Desk:\n    paid = 0\ndef make():\n    desk = Desk()\n    def act(each):\n        desk.paid += each\n"
            "    return act, lambda: desk.paid\nact, now = make()\n"
        ),
        "tools.now()",
    ),
    "a coroutine of a factory": (
        (
            "def make():\n    n = 0\n    async def act(by):\n        nonlocal n\n        n += by\n"
            "    return act, lambda: n\nact, now = make()\n"
        ),
        "tools.now()",
    ),
    "a generator of a factory": (
        (
            "def make():\n    n = 0\n    def act(by):\n        nonlocal n\n        for each in range(by):\n"
            "            n += 1\n            yield n\n    return act, lambda: n\nact, now = make()\n"
        ),
        "tools.now()",
    ),
    "two of one factory": (
        (
            "def make(n):\n    def act(by):\n        nonlocal n\n        n += by\n        return n\n"
            "    return act, lambda: n\nfirst, one = make(10)\nsecond, other = make(20)\n"
            "def act(by):\n    return first(by), second(by + 1)\n"
        ),
        "tools.one(), tools.other()",
    ),
    "what fails": (
        "ORDERS = []\ndef act(n):\n    ORDERS.append(n)\n    raise ValueError(n)\n",
        "tools.ORDERS",
    ),
}
AGENT = """
import asyncio, inspect

for number in (1, 2, 3):
    try:
        found = tools.act(number)
        if inspect.isawaitable(found):
            asyncio.run(found)
        elif inspect.isgenerator(found):
            print(list(found), {shown})
    except ValueError as error:
        print(error)
    print({shown})
"""


def record_and_replay_all(folder, cases):
    """Record a program that tries cases one after another, and replay it.

    Args:
        folder: where to write the program.
        cases: by name, the rules and the source of a module `tools`, and a part of the program that uses this module.

    Returns:
        By name, what the run and what the replay printed in the part of the case; and the result of the replay.
    """
    rules, agent = RULES.partition("[[boundary]]")[0], ""
    for at, (boundaries, tools, part) in enumerate(cases.values()):
        (folder / f"tools_{at}.py").write_text(tools)
        rules += boundaries.replace("tools:", f"tools_{at}:")
        agent += f"import tools_{at} as tools\nprint('{CASE}')\n{part}\n"
    (folder / "autochron.toml").write_text(rules)
    (folder / "agent.py").write_text(agent)
    recorded = autochron(folder, "run", "agent.py")
    assert recorded.status == 0, recorded.said
    replayed = autochron(folder, "replay", "last")
    printed = zip_longest(recorded.text.split(CASE)[1:], replayed.text.split(CASE)[1:])
    return dict(zip(cases, printed, strict=True)), replayed


CASE = "--- the next case"
BOUNDARY = RULES[RULES.index("[[boundary]]") :]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Record and replay a program that calls the tools of TOOLS."""
    cases = {}
    for name, (tools, shown) in TOOLS.items():
        boundary = BOUNDARY
        if name == "a method":
            boundary += '[[boundary]]\nname = "act"\nkind = "tool"\ndefine = "tools:Desk.*"\n'
        elif "factory" in name:
            boundary = boundary.replace("tools:*", "tools:make.<locals>.act")
        cases[name] = (boundary, tools, AGENT.replace("{shown}", shown))
    return record_and_replay_all(tmp_path_factory.mktemp("served"), cases)


@pytest.mark.parametrize("name", TOOLS)
def test_a_served_tool_changes_its_globals(served, name):
    printed, result = served
    recorded, replayed = printed[name]
    assert replayed == recorded, result.said
    assert result.status == 0, f"this case printed the same, so another diverged: {result.said}"


def test_a_change_of_a_global_that_is_too_large_is_reported(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(
        "ORDERS = dict.fromkeys(range(5000))\ndef act(n):\n    ORDERS[-n] = n\n"
    )
    (tmp_path / "agent.py").write_text("import tools\ntools.act(1)\n")
    recorded = autochron(tmp_path, "run", "agent.py")
    assert "not rebuilt on replay: act: changed.global:ORDERS: builtins:dict (opaque)" in recorded.said


def test_a_global_that_a_tool_only_reads_is_not_recorded(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text("ORDERS = {'a': 1}\ndef act(n):\n    return ORDERS['a'] + n\n")
    (tmp_path / "agent.py").write_text("import tools\nprint(tools.act(1))\n")
    autochron(tmp_path, "run", "agent.py")
    shown = autochron(tmp_path, "traces", "show", "last", "--json")
    assert "global:" not in shown.text


ALIASES = {
    "in a dictionary": ("def act(item):\n    return {'same': item}\n", "found['same'].append(9)"),
    "in a list of dictionaries": (
        "def act(item):\n    return [1, {'a': {'b': item}}]\n",
        "found[1]['a']['b'].append(9)",
    ),
    "in a tuple": ("def act(item):\n    return 1, (2, item)\n", "found[1][1].append(9)"),
    "twice": ("def act(item):\n    return item, item\n", "(found[0].append(9), found[1].append(8))"),
    "after it was changed": (
        "def act(item):\n    item.append(5)\n    return {'same': item}\n",
        "found['same'].append(9)",
    ),
    "beside a tuple": (
        "def act(item):\n    return {'same': item, 'pair': (1, 2)}\n",
        "found['same'].append(9)",
    ),
}


@pytest.fixture(scope="module")
def aliases(tmp_path_factory):
    """Record and replay a program that calls the tools of ALIASES."""
    part = "item = [1]\nfound = tools.act(item)\n{use}\nprint(item, found)"
    cases = {name: (BOUNDARY, tools, part.format(use=use)) for name, (tools, use) in ALIASES.items()}
    return record_and_replay_all(tmp_path_factory.mktemp("aliases"), cases)


@pytest.mark.parametrize("name", ALIASES)
def test_an_argument_inside_a_result_stays_the_same_object(aliases, name):
    printed, result = aliases
    recorded, replayed = printed[name]
    assert "9]" in recorded or "9, 8]" in recorded
    assert replayed == recorded, result.said
    assert result.status == 0, f"this case printed the same, so another diverged: {result.said}"


def test_an_argument_that_cannot_be_encoded_is_returned_as_the_same_object(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text("def act(item):\n    return item, 1\n")
    source = (
        "import socket, tools\nitem = socket.socket()\nfound, _ = tools.act(item)\nprint(found is item)\n"
    )
    (tmp_path / "agent.py").write_text(source)
    recorded = autochron(tmp_path, "run", "agent.py")
    assert "(opaque)" not in recorded.said
    replayed = autochron(tmp_path, "replay", "last")
    assert (replayed.status, replayed.text) == (0, "True\n"), replayed.said
