"""`replay.call()` calls only functions that the project defines, and imports only the project's modules."""

import sys

import pytest
from msgspec import structs

from autochron.errors import UsageError
from autochron.session.calling import call_again
from autochron.store.tracefile import read_trace
from autochron.store.whole import WholeRecord
from tests.cli.processes import autochron, write

RULES = """version = 1
packs = []

[[boundary]]
name = "price"
kind = "tool"
define = "shop:price"

[[trace]]
target = "shop:sell"
"""
SHOP = """
import json as other
import subprocess
from os import getcwd

def price(item):
    return len(item)

def sell(item):
    return price(item)

class Desk:
    helper = staticmethod(getcwd)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record a call of `shop.sell`, and return the folder."""
    folder = tmp_path_factory.mktemp("shop")
    write(
        folder,
        {"shop.py": SHOP, "main.py": "import shop\nprint(shop.sell('mug'))\n", "autochron.toml": RULES},
    )
    done = autochron(folder, "run", "main.py")
    assert (done.status, done.text) == (0, "3\n"), done.said
    listed = autochron(folder, "traces").text
    ident = next(line.split("\t")[0] for line in listed.splitlines() if "sell" in line)
    assert autochron(folder, "traces", "export", ident, "call.jsonl").status == 0
    return folder


@pytest.fixture
def call(recorded, monkeypatch):
    """Return a function that repeats the recorded call, optionally with another target."""
    monkeypatch.chdir(recorded)
    trace = read_trace("call.jsonl")

    def repeat(target=None):
        header = trace.header
        if target is not None:
            header = structs.replace(header, command=structs.replace(header.command, target=target))
        return call_again(WholeRecord(structs.replace(trace, header=header)), str(recorded))

    yield repeat
    sys.modules.pop("shop", None)


def test_a_function_of_the_project_is_called(call):
    assert call() == 3
    assert call("shop:price") == 3


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("os:getcwd", "os is no module of the project"),
        ("subprocess:run", "subprocess is no module of the project"),
        ("antigravity:x", "antigravity is no module of the project"),
        ("this:x", "this is no module of the project"),
        ("xml.sax.handler:x", "xml.sax.handler is no module of the project"),
        ("builtins:print", "builtins is no module of the project"),
        ("shop:getcwd", "shop:getcwd is no function of the project"),
        ("shop:other.loads", "shop:other.loads is no function of the project"),
        ("shop:subprocess.run", "shop:subprocess.run is no function of the project"),
        ("shop:Desk.helper", "shop:Desk.helper is no function of the project"),
    ],
)
def test_any_other_target_is_refused_and_not_imported(call, target, reason):
    before = set(sys.modules)
    with pytest.raises(UsageError) as refused:
        call(target)
    assert reason in str(refused.value)
    assert set(sys.modules) - before <= {"shop"}
