"""Hard cases of binding calls: receivers, ambiguous names, unusual objects, fused instructions, and stale cache entries."""

import gc
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import autochron
from autochron.errors import UnwovenToolError
from tests.binding.test_forms import project, recorded, run, table  # noqa: F401 - a fixture
from tests.cli.processes import finish, start, write

OVERRIDES = """
import functools
import broker

def timed(f):
    def run(*a): return f(*a)
    return run

class Card(broker.Client):
    @timed
    def sell(self, symbol): return f"card {symbol}"
class Hidden(broker.Client):
    def hide(self, symbol): return f"hidden {symbol}"
    sell = hide
class Part(broker.Client):
    def _sell(self, prefix, symbol): return f"{prefix} {symbol}"
    sell = functools.partialmethod(_sell, "part")
class Own(broker.Client):
    def __init__(self): self.sell = lambda symbol: f"own {symbol}"
class Other:
    def sell(self, symbol): return f"other {symbol}"

def main(): return [each.sell("A") for each in (Card(), Hidden(), Part(), Own(), Other(), broker.Client())]
"""


def test_a_method_rule_matches_overrides_of_any_kind(project):  # noqa: F811
    rules = project(OVERRIDES, table("broker.Client.sell(...)", "sell"))
    result, trace = recorded(rules)
    assert result == ["card A", "hidden A", "part A", "own A", "other A", "A:1"]
    assert [json.loads(envelope.outcome.value) for envelope in trace.envelopes] == [
        "card A", "hidden A", "part A", "own A", "A:1",
    ]  # fmt: skip


MEANINGS = """
import broker
from broker import sell
class Fake:
    def sell(self, x): return f"fake {x}"
def one(flag):
    if flag:
        import broker
    else:
        broker = Fake()
    return broker.sell("A")
def two(flag):
    if flag:
        from broker import sell
    else:
        sell = str
    return sell("B")
def main(): return one(True), one(False), two(True), two(False)
"""


def test_a_name_with_several_meanings_is_checked_at_run_time(project):  # noqa: F811
    rules = project(MEANINGS, table("broker.sell(...)", "sell"))
    result, trace = recorded(rules)
    assert result == ("sold A 1", "fake A", "sold B 1", "B")
    assert [json.loads(envelope.outcome.value) for envelope in trace.envelopes] == ["sold A 1", "sold B 1"]


CHANGES = """
class Counter:
    total = 0
    def run(self, n):
        self.total += n
        return self.total
def main():
    c, numbers = Counter(), [3, 1]
    c.run(3), c.run(4)
    numbers.sort()
    return c.total, numbers
"""


def test_a_replay_repeats_the_change_of_a_receiver(project):  # noqa: F811
    rules = project(CHANGES, table("numbers.$method(...)", "{method}"))
    result, trace = recorded(rules)
    with autochron.replay(trace, rules=rules):
        assert run() == result == (7, [1, 3])
    rules = project(CHANGES, table("c.run(...)", "run"))
    result, trace = recorded(rules)
    assert [envelope.opaque for envelope in trace.envelopes] == [(), ()]
    with autochron.replay(trace, rules=rules):
        assert run() == result


FUSED = """
def pay(x): return x
def main():
    out = []
    for tool in [pay, pay]: x = tool(1); out.append(x)
    return out, [g(1) for g in [pay]], (lambda a, g: (a, g(a)))(2, pay)
"""


def test_calls_with_fused_load_instructions_are_bound(project):  # noqa: F811
    rules = project(FUSED, table("tool(...)", "tool"), table("g(...)", "g"))
    result, trace = recorded(rules)
    assert result == ([1, 1], [1], (2, 2))
    assert [envelope.name for envelope in trace.envelopes] == ["tool", "tool", "g", "g"]


def test_a_pattern_with_a_dotted_module_and_a_metavariable_matches(project, tmp_path):  # noqa: F811
    rules = project(
        "from shop.tools import refund\nfrom shop.tools import pay as p\ndef main(): return refund(1), p(2)\n",
        table("shop.tools.$action(...)", "{action}"),
    )
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "tools.py").write_text("def refund(x): return x\ndef pay(x): return x\n")
    try:
        _, trace = recorded(rules)
    finally:
        sys.modules.pop("shop", None), sys.modules.pop("shop.tools", None)
    assert [envelope.name for envelope in trace.envelopes] == ["refund", "pay"]


ODD = """
import broker
class Odd:
    __slots__ = ("name", "__weakref__")
    def __init__(self, name): self.name = name
    def __hash__(self): raise RuntimeError("hashed")
    def __eq__(self, other): raise ValueError("compared")
    def run(self): return self.name
class Raises:
    def __getattr__(self, name): raise RuntimeError(name)
    def __call__(self, x): return x
class Meta(type):
    def __eq__(cls, other): return NotImplemented
    def __instancecheck__(cls, value): raise RuntimeError("asked")
class Strange(metaclass=Meta):
    def sell(self, x): return x
T = {1: lambda: "one", True: lambda: "one"}
tool = Raises()
def main():
    out = [who.run() for who in (Odd("eve"), Odd("bob"))]
    return out, tool(1), Strange().sell(2)
"""


def test_binding_runs_no_hook_of_the_programs_objects(project):  # noqa: F811
    rules = project(
        ODD,
        table("$who.run(...)", "{who.name}"),
        table("tool(...)", "tool"),
        table("broker.Client.sell(...)", "sell"),
    )
    result, trace = recorded(rules)
    assert result == (["eve", "bob"], 1, 2)
    assert [envelope.name for envelope in trace.envelopes] == ["eve", "bob", "tool"]


def test_a_receiver_is_not_kept_alive(project):  # noqa: F811
    rules = project(
        "class Conn:\n    name = 'c'\n    def run(self): return 1\ndef main():\n    c = Conn()\n    return c.run(), c\n",
        table("$who.run(...)", "{who.name}"),
    )
    with autochron.record(store="memory:", rules=rules) as recording:
        reference = weakref.ref(run()[1])
        recording.trace()
        gc.collect()
        assert reference() is None


@pytest.mark.parametrize("call", ["tool(*None)", "tool(**1)", "tool(1, y=2, **{'y': 3})", "tool(1, 2, 3, 4)"])
def test_messages_of_type_errors_name_the_callable_of_the_program(project, call):  # noqa: F811
    source = f"def tool(x, y=0): return x\ndef main():\n    try: {call}\n    except TypeError as error: return str(error)\n"
    rules = project(source, table("tool(...)", "tool"))
    plain = run()
    project(source, table("tool(...)", "tool"))
    result, _ = recorded(rules)
    assert result == plain


def test_binding_adds_at_most_one_frame(project):  # noqa: F811
    source = "import traceback\ndef f(): return len(traceback.extract_stack())\ndef g(): return f()\ndef main(): return g()\n"
    rules = project(source, table("agent.f(...)", "f"))
    plain = run()
    project(source, table("agent.f(...)", "f"))
    depth, _ = recorded(rules)
    assert depth in (plain + 1, plain + 2)  # `recorded` itself adds one


# --- replays ----------------------------------------------------------------------------------------------------------

PAYS = """
def pay(n):
    with open("paid", "a") as file:
        file.write("x")
    return n

TOOLS = {"pay": pay}

if __name__ == "__main__":
    print(TOOLS["pay"](1))
"""
RULES = 'version = 1\npacks = []\n[[boundary]]\nname = "{t}"\nkind = "tool"\ncall = "TOOLS[$t](...)"\n'


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, {"agent.py": PAYS, "autochron.toml": RULES})
    return tmp_path


def command(folder, *words, flags=(), **env):
    variables = {"AUTOCHRON_CACHE": str(folder / "cache"), **env}
    return finish(start([sys.executable, *flags, "-m", "autochron", *words], folder, env=variables))


def test_a_replay_that_cannot_bind_calls_is_refused(folder):
    assert command(folder, "run", "agent.py").status == 0
    blind = command(folder, "replay", "last", flags=("-X", "no_debug_ranges"))
    assert (blind.status, (folder / "paid").read_text()) == (2, "x")
    assert "(unwoven-tool)" in blind.said


def test_a_run_without_column_numbers_caches_nothing_for_others(folder):
    blind = command(folder, "run", "agent.py", PYTHONNODEBUGRANGES="1")
    assert "0 crossings recorded" in blind.said
    assert "pay ×1" in command(folder, "run", "agent.py").said


# --- the cache of woven code ------------------------------------------------------------------------------------------


TILL = """
import desk

class Till:
    def pay(self, n): return n

if __name__ == "__main__":
    print(desk.act(Till()))
"""


def test_cache_entries_depend_on_the_program_that_runs_as_main(folder):
    files = {
        "desk.py": "def act(till):\n    return till.pay(3)\n",
        "agent.py": TILL,
        "other.py": "import agent, desk\nprint(desk.act(agent.Till()))\n",
        "autochron.toml": RULES.replace("TOOLS[$t](...)", "agent.Till.pay(...)").replace("{t}", "pay"),
    }
    write(folder, files)
    for _ in range(2):
        for program in ("agent.py", "other.py"):
            assert "pay ×1" in command(folder, "run", program).said


def test_types_of_a_module_that_runs_with_m_are_recognised(folder):
    (folder / "pkg").mkdir()
    own = "class C:\n    def m(self, n): return n\ndef go(c): return c.m(1)\nif __name__ == '__main__': print(go(C()))\n"
    write(folder, {"pkg/__init__.py": "", "pkg/own.py": own})
    write(folder, {"autochron.toml": RULES.replace("TOOLS[$t](...)", "pkg.own.C.m(...)").replace("{t}", "m")})
    assert "m ×1" in command(folder, "run", "-m", "pkg.own").said


SAVING = """
import sys
import autochron.weaving.binding as binding

bind = binding.bind_calls

def slowly(code, bindings, ledger):
    with open("desk.py") as file:
        source = file.read()
    with open("desk.py", "w") as file:
        file.write(source.replace("old", "newer"))
    return bind(code, bindings, ledger)

if "--saving" in sys.argv:
    sys.argv.remove("--saving")
    binding.bind_calls = slowly
import autochron.cli
autochron.cli.main(sys.argv[1:])
"""


def test_a_file_that_is_saved_while_it_is_woven_is_not_cached(folder):
    desk = "def f(x):\n    return x\ndef main():\n    return f('old')\n"
    write(folder, {"desk.py": desk, "agent.py": "import desk\nprint(desk.main())\n", "saving.py": SAVING})
    write(folder, {"autochron.toml": RULES.replace("TOOLS[$t](...)", "f(...)").replace("{t}", "f")})
    env = {"AUTOCHRON_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
    outputs = [
        finish(start([sys.executable, "saving.py", "run", "agent.py", *more], folder, env=env)).text
        for more in (["--saving"], [], [])
    ]
    assert outputs == ["old\n", "newer\n", "newer\n"]


def test_an_entry_with_other_content_is_rebuilt(folder):
    assert "pay ×1" in command(folder, "run", "agent.py").said
    script = """
import marshal, sys
from binascii import crc32
from autochron.weaving import code_cache as plans
for file in sys.argv[1:]:
    known, entry = marshal.loads(open(file, "rb").read()[plans._HEAD:])
    data = marshal.dumps((known, ({"matched": [99], "absent": [], "decorators": []}, [], entry[2], ((0, 7),), [("what",)])))
    open(file, "wb").write(plans._FORMAT + crc32(data).to_bytes(4, "big") + data)
"""
    files = [str(file) for file in Path(folder, "cache").rglob("*") if file.is_file()]
    subprocess.run(
        [sys.executable, "-c", script, *files], check=True, env={**os.environ, "PYTHONPATH": os.getcwd()}
    )
    assert "pay ×1" in command(folder, "run", "agent.py").said


def test_a_replay_whose_call_site_is_gone_is_refused(project):  # noqa: F811
    rules = project("T = {'f': str}\ndef main(): return T['f'](1)\n", table("T[$t](...)", "{t}"))
    _, trace = recorded(rules)
    rules = project("T = {'f': str}\ndef main(): return str(1)\n", table("T[$t](...)", "{t}"))
    with pytest.raises(UnwovenToolError), autochron.replay(trace, rules=rules):
        run()
