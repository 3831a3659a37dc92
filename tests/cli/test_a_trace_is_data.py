"""Loading a trace runs nothing that it names and imports no module for it (guarantee 7)."""

import itertools
import json
import os
import sys

import pytest

from tests.cli.processes import autochron, write

AGENT = """
import dataclasses, sys
import autochron

@dataclasses.dataclass
class Quote:
    price: int
    note: object = None

class Refused(Exception):
    pass

@autochron.boundary(kind="tool")
def quote(n):
    if n == 3:
        raise Refused("three")
    return Quote(n)

before = set(sys.modules)
for n in range(1, 4):
    try:
        print(quote(n))
    except Refused as error:
        print("refused", error)
    except BaseException as error:
        print(type(error).__name__, str(error).splitlines()[0])
print("new:", sorted(set(sys.modules) - before & {"canary", "antigravity", "this"}) if "canary" in sys.modules else "none")
"""

CANARY = """
import os
open(os.path.join(os.path.dirname(__file__), "CANARY"), "w").close()
class Quote:
    def __init__(self, *a, **k): open(os.path.join(os.path.dirname(__file__), "CANARY"), "w").close()
    def __setstate__(self, state): self.__init__()
    __reduce__ = __new__ = lambda *a, **k: Quote.__init__(None)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a trace, in its store and as a file, which a replay of the file showed to be whole."""
    place = tmp_path_factory.mktemp("data")
    write(place, {"agent.py": AGENT, "canary.py": CANARY})
    assert autochron(place, "run", "--quiet", "--name", "x", "agent.py").status == 0
    assert autochron(place, "traces", "export", "last", "trace.jsonl").status == 0
    replayed = autochron(place, "replay", "trace.jsonl")
    assert (replayed.status, replayed.text.splitlines()[1]) == (0, "Quote(price=2, note=None)")
    return place


@pytest.fixture
def recorded(folder):
    """Return the folder without what an earlier test has left there: a copy of the folder would not be trusted."""
    for name in ("CANARY", "edited.jsonl", "probe.py"):
        (folder / name).unlink(missing_ok=True)
    return folder


ENDS = itertools.product("ABCDEFGH", "0123456789")
"""The last two letters of the ids under which traces are imported, each once."""


def import_with_type(folder, name, **fields):
    """Rename the type in the outcome of `quote[2]`, import the file under another id, and return that id."""
    lines = (folder / "trace.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    trace_id = header["header"]["id"]
    ends = map("".join, ENDS)
    new_id = trace_id[:-2] + next(end for end in ends if end != trace_id[-2:])
    index = next(number for number, line in enumerate(lines) if '"seq":2' in line)
    envelope = json.loads(lines[index])
    envelope["outcome"] = {"returned": {**_renamed(envelope["outcome"]["returned"], name), **fields}}
    lines[index] = json.dumps(envelope, separators=(",", ":"), sort_keys=True)
    (folder / "edited.jsonl").write_text("\n".join(lines).replace(trace_id, new_id) + "\n")
    imported = autochron(folder, "traces", "import", "edited.jsonl", "--reseal")
    assert imported.status == 0, imported.said
    return new_id


def _renamed(value, name):
    """Replace the type's name in every field of an encoded value."""
    text = json.dumps(value)
    assert "@agent.py:Quote" in text, text
    return json.loads(text.replace("@agent.py:Quote", name))


TYPES = [
    "os:system",
    "subprocess:Popen",
    "builtins:eval",
    "builtins:exec",
    "builtins:open",
    "builtins:__import__",
    "functools:partial",
    "types:FunctionType",
    "types:CodeType",
    "importlib:import_module",
    "canary:Quote",
    "@canary.py:Quote",
    "@agent.py:Quote.__class__",
    "@agent.py:print",
    "@agent.py:quote",
    "@agent.py:sys.exit",
    "nowhere.to.be.found:Quote",
    "antigravity:fly",
    "@../../etc/passwd:Quote",
    "os:",
    ":Quote",
    "no colon",
    "",
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if index < 4 or "canary" in name else pytest.mark.slow)
             for index, name in enumerate(TYPES)]
)  # fmt: skip
def test_a_type_that_the_program_has_not_imported_is_refused(name, recorded):
    trace = import_with_type(recorded, name)
    shown = autochron(recorded, "traces", "show", trace)
    assert shown.status == 0
    replayed = autochron(recorded, "replay", trace)
    assert replayed.status == 1
    assert not os.path.exists(recorded / "CANARY"), "what a trace names was run"
    second = replayed.text.splitlines()[1]
    assert second.split()[0] in {"CodecError", "OpaqueError"}, second
    assert replayed.text.splitlines()[-1] == "new: none"


def test_the_module_of_a_type_is_not_imported_even_if_it_can_be_found(recorded):
    trace = import_with_type(recorded, "canary:Quote")
    (recorded / "probe.py").write_text(
        "import sys, autochron.store\n"
        f"trace = autochron.store.open_store('.autochron/traces.db').load({trace!r})\n"
        "print(len(trace.envelopes), 'canary' in sys.modules, 'agent' in sys.modules)\n"
    )
    from tests.cli.processes import python

    result = python(recorded, "probe.py")
    assert result.text == "3 False False\n", result.said
    assert not os.path.exists(recorded / "CANARY")


@pytest.mark.parametrize("words", [("traces", "show"), ("replay",), ("traces", "import")], ids=" ".join)
def test_an_edited_file_is_refused_before_anything_in_it_is_used(words, recorded):
    text = (recorded / "trace.jsonl").read_text().replace("agent.py:Quote", "canary:Quote")
    assert "canary:Quote" in text or "__main__" in text
    (recorded / "edited.jsonl").write_text(text.replace("__main__:Quote", "canary:Quote"))
    result = autochron(recorded, *words, "edited.jsonl")
    assert (result.status, result.text) == (2, "")
    assert "the digest is wrong: the file isn't as it was written" in result.said
    assert not os.path.exists(recorded / "CANARY")


def test_no_pickle_is_ever_loaded(tmp_path):
    """Recording and replaying never call `pickle`."""
    code = """
import pickle, sys, _pickle
def refuse(*a, **k):
    raise SystemExit("pickle was used")
pickle.load = pickle.loads = pickle.Unpickler = _pickle.load = _pickle.loads = _pickle.Unpickler = refuse
import runpy
sys.argv = ["autochron", *sys.argv[1:]]
runpy.run_module("autochron", run_name="__main__")
"""
    write(tmp_path, {"agent.py": AGENT, "canary.py": CANARY, "guarded.py": code})
    from tests.cli.processes import python

    assert python(tmp_path, "guarded.py", "run", "--quiet", "agent.py").status == 0
    result = python(tmp_path, "guarded.py", "replay", "last")
    assert (result.status, result.text.splitlines()[:2]) == (
        0,
        ["Quote(price=1, note=None)", "Quote(price=2, note=None)"],
    )
    assert sys.version_info >= (3, 11)
