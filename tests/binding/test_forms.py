"""Call sites in every form: exactly the matching calls cross, and the program's result is unchanged."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import autochron
from autochron.errors import RuleError
from autochron.instrument.activation import deactivate
from tests.binding.forms import BROKER, DEALS, FORMS, INLINED, T


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes the program and its rules, and returns the path of the rules."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broker.py").write_text(BROKER, encoding="utf-8")
    (tmp_path / "deals.py").write_text(DEALS, encoding="utf-8")

    def forget():
        for name in ("agent", "broker", "deals"):
            sys.modules.pop(name, None)

    def make(source, *tables):
        forget()
        (tmp_path / "agent.py").write_text(source, encoding="utf-8")
        rules = tmp_path / "autochron.toml"
        rules.write_text("version = 1\npacks = []\nproject = ['.']\n" + "".join(tables), encoding="utf-8")
        return str(rules)

    yield make
    forget()


def table(call, name="{__name__}", within=None, **more):
    keys = {"name": name, "kind": "tool", "call": call, **({"within": within} if within else {}), **more}
    return "[[boundary]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def run():
    return importlib.import_module("agent").main()


def recorded(rules, function=run):
    with autochron.record(store="memory:", rules=rules) as recording:
        result = function()
    trace = recording.trace()
    return result, trace


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_matching_calls_cross(project, form):
    rules = project(form.source, table(form.pattern, form.name, form.within))
    plain = run()
    project(form.source, table(form.pattern, form.name, form.within))
    result, trace = recorded(rules)
    assert result == plain
    assert [envelope.name for envelope in trace.envelopes] == form.crossed.split()
    assert run() == plain


VALUES = {name: form for name, form in FORMS.items() if form.crossed and form.is_value}


@pytest.mark.parametrize("form", VALUES.values(), ids=VALUES)
def test_the_matching_calls_are_served(project, form):
    rules = project(form.source, table(form.pattern, form.name, form.within))
    result, trace = recorded(rules)
    with autochron.replay(trace, rules=rules) as replay:
        replayed = run()
    assert replayed == result
    assert replay.divergences == ()


# --- calls that don't match, or can't be bound -----------------------------------------------------------------------


def ledger(rules, function=run):
    with autochron.record(store="memory:", rules=rules) as recording:
        function()
    return [f"{entry.what}: {entry.reason} ({entry.slug})" for entry in recording.footer.ledger]


def test_a_project_in_which_nothing_matches_keeps_its_code(project):
    source = "def f(x): return x\ndef main(): return f(1)\n"
    rules = project(source, table("TOOLS[$tool](...)", "{tool}"), table("self.$method(...)", "{method}"))
    with autochron.record(store="memory:", rules=rules):
        module = importlib.import_module("agent")
        compiled = compile(source, module.__file__, "exec", dont_inherit=True)
        plain = next(
            constant for constant in compiled.co_consts if getattr(constant, "co_name", "") == "main"
        )
        assert module.main.__code__ == plain
        assert module.main.__code__.co_linetable == plain.co_linetable


def test_two_rules_of_equal_weight_are_refused(project):
    rules = project(
        T + "def main(): return TOOLS['a'](1)\n", table("TOOLS[$tool](...)"), table("TOOLS[$other](...)")
    )
    with pytest.raises(RuleError) as caught:
        recorded(rules)
    assert str(caught.value) == (
        "autochron.toml:8: `TOOLS[$other](...)` fits the call of `TOOLS['a']` at agent:2, as does `TOOLS[$tool](...)` at "
        "autochron.toml:4; narrow one with `within`, `when` or its arguments (bad-rule)"
    )


def test_the_more_specific_rule_is_tried_first(project):
    rules = project(
        "def run(mode, n): return n\ndef main(): return run('live', 1), run('dry', 2)\n",
        table("run(...)", "any"),
        table("run('live', ...)", "live"),
    )
    _, trace = recorded(rules)
    assert [envelope.name for envelope in trace.envelopes] == ["live", "any"]


def test_a_rule_whose_condition_fails_leaves_the_call_to_the_next(project):
    rules = project(
        "def run(mode): return mode\ndef main(): return run('live'), run('dry')\n",
        table("run($mode)", "live") + 'when = { mode = "live" }\n',
        table("run(...)", "other"),
    )
    _, trace = recorded(rules)
    assert [envelope.name for envelope in trace.envelopes] == ["live", "other"]


def test_a_metavariable_outside_a_comprehension_is_in_the_ledger(project):
    form = FORMS["key before a comprehension in a key"]
    rules = project(form.source, table(form.pattern, form.name))
    assert ledger(rules) == (
        [
            "agent:5 main → REG[$set][...](...): a comprehension stands between a metavariable and the callee (not-woven)"
        ]
        if INLINED == ""
        else []
    )


def test_code_without_column_numbers_is_in_the_ledger(project):
    rules = project(T + "def main(): return TOOLS['a'](1)\n", table("TOOLS[$tool](...)", "{tool}"))
    program = f"""
import autochron, sys
sys.path.insert(0, {str(Path(rules).parent)!r})
with autochron.record(store="memory:", rules={rules!r}) as recording:
    import agent
    print(agent.main(), len(recording.trace().envelopes))
print(*[(entry.what, entry.reason) for entry in recording.footer.ledger])
"""
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", program], capture_output=True, text=True, check=False
    )
    reason = "the code has no columns (-X no_debug_ranges), so the call can't be told from others"
    assert (done.stdout, done.stderr) == (f"a1 0\n{('agent:2 main → TOOLS[$tool](...)', reason)}\n", "")


def test_a_call_of_super_does_not_cross(project):
    rules = project(
        "class A:\n    def run(self): return 1\nclass B(A):\n    def run(self): return super().run()\n"
        "def main(): return B().run()\n",
        table("$x.run()"),
    )
    result, trace = recorded(rules)
    assert (result, [envelope.site for envelope in trace.envelopes]) == (1, ["agent.py:main → $x.run()"])


# --- records -------------------------------------------------------------------------------------------------


def test_the_arguments_are_recorded_by_the_names_of_the_callee(project):
    rules = project(
        "import broker\ndef main(): return broker.buy('A', limit=3), broker.Client().sell('B')\n",
        table("broker.buy(...)"),
        table("broker.Client.sell(...)"),
    )
    _, trace = recorded(rules)
    assert [
        (envelope.address, envelope.site, json.loads(envelope.input)) for envelope in trace.envelopes
    ] == [
        ("buy[1]", "agent.py:main → broker.buy(...)", {"symbol": "A", "qty": 1, "limit": 3}),
        ("sell[1]", "agent.py:main → broker.Client.sell(...)", {"symbol": "B", "qty": 1}),
    ]


def test_a_crossing_whose_name_cannot_be_formed_is_reported(project):
    rules = project(
        "TOOLS = {(1, 2): print}\ndef main():\n    k = (1, 2)\n    return TOOLS[k]()\n",
        table("TOOLS[$tool](...)", "{tool}"),
    )
    with autochron.record(store="memory:", rules=rules) as recording:
        run()
    assert [envelope.name for envelope in recording.trace().envelopes] == ["print"]
    assert recording.problems == (
        "agent:print can't form `{tool}`: tool is of type tuple, and a name takes text or a number (bad-rule)",
    )


def test_modules_that_were_imported_before_are_bound_too(project):
    rules = project(FORMS["key"].source, table("TOOLS[$tool](...)", "{tool}"))
    module = importlib.import_module("agent")
    before = module.main.__code__
    result, trace = recorded(rules, module.main)
    assert [envelope.name for envelope in trace.envelopes] == ["a", "b"]
    assert result == module.main()
    deactivate()
    assert module.main.__code__ is before


def test_a_recorded_traceback_shows_only_frames_of_the_program(project):
    rules = project("T = {'f': lambda x: 1 // x}\ndef main(): return T['f'](0)\n", table("T[$t](...)", "{t}"))
    with autochron.record(store="memory:", rules=rules) as recording, pytest.raises(ZeroDivisionError):
        run()
    (envelope,) = recording.trace().envelopes
    assert [(name, line) for _, line, name, *_ in json.loads(envelope.outcome.error)["traceback"]] == [
        ("<lambda>", 1)
    ]


def test_a_replay_repeats_the_change_of_an_argument(project):
    rules = project(
        "def add(to, x): to.append(x)\nTOOLS = {'add': add}\n"
        "def main():\n    out = []\n    TOOLS['add'](out, x=1)\n    return out\n",
        table("TOOLS[$tool](...)", "{tool}"),
    )
    result, trace = recorded(rules)
    with autochron.replay(trace, rules=rules):
        assert run() == result == [1]
