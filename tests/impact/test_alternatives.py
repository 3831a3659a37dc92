"""Other contents, conditions that are turned, times that pass, and names of temporary files."""

import ast
import datetime as dt
import json
import os
import subprocess
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.impact.alternative_files import (
    Same,
    other_answer,
    other_bytes,
    other_entries,
    other_file_value,
    other_text,
)
from autochron.impact.branch_conditions import Condition, conditions_of
from autochron.impact.steady_clocks import STEADY_VARIANTS, gap, inverted, oriented
from autochron.model import Effect, Impact, Site
from autochron.report.impact import mending
from tests.impact.test_impact import project as project
from tests.impact.test_impact import run

VARIANTS = range(8)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
    max_leaves=20,
)


@given(st.text(), st.sampled_from(VARIANTS))
def test_a_text_gets_another_one_and_the_same_each_time(text, variant):
    assert other_text(text, variant) != text
    assert other_text(text, variant) == other_text(text, variant)


@given(st.dictionaries(st.text(), CONTENT, min_size=1) | st.lists(CONTENT), st.sampled_from(VARIANTS))
def test_json_stays_json_with_its_keys(value, variant):
    text = json.dumps(value)
    changed = json.loads(other_text(text, variant))
    assert type(changed) is type(value)
    assert changed != value or json.dumps(changed) != text
    if isinstance(value, dict):
        assert changed.keys() in (value.keys(), value.keys() | {"other"})


@given(st.integers(), st.sampled_from(VARIANTS))
def test_a_number_stays_a_number(number, variant):
    text = f" {number}\n"
    assert int(other_text(text, variant)) != number
    assert other_text(text, variant).endswith("\n")


@given(st.binary(), st.sampled_from(VARIANTS))
def test_bytes_get_others(data, variant):
    assert other_bytes(data, variant) != data or data == b""


def test_lines_are_changed_fewer_more_and_reversed():
    text = "id,cents\n1,20\n2,30\n"
    changed, fewer, more, turned = (other_text(text, variant) for variant in range(4))
    assert changed == "id,cents\n18,37\n19,47\n"
    assert fewer == "id,cents\n1,20\n"
    assert len(more.splitlines()) > 10
    assert turned == "2,30\n1,20\nID,CENTS\n"


def test_a_listing_gets_another_order_fewer_and_more_entries():
    assert other_entries(["a.txt", "b.txt"], 0) == ["b.txt", "a.txt"]
    assert other_entries(["a.txt", "b.txt"], 1) == ["a.txt"]
    assert len(other_entries(["a.txt", "b.txt"], 3)) > 10


def test_the_status_of_a_file_gets_another_age_and_size(tmp_path):
    (tmp_path / "a").write_text("hello")
    kept = os.stat(tmp_path / "a")
    for variant in VARIANTS:
        other = other_file_value("stat", kept, variant)
        assert other.st_mtime != kept.st_mtime
        assert other.st_mtime == pytest.approx(other.st_mtime_ns / 1e9, abs=1e-3)
        assert (other.st_size, other.st_mode, other.st_ino) != (kept.st_size, kept.st_mode, kept.st_ino)
        assert other.st_mode == kept.st_mode


def test_a_process_gets_other_output_or_another_status():
    kept = subprocess.CompletedProcess(["id"], 0, "12\n", "")
    others = [other_answer(kept, variant) for variant in range(4)]
    assert [other.stdout for other in others] == ["13\n", "0\n", "41\n", "12\n"]
    assert [other.returncode for other in others] == [0, 0, 0, 1]
    assert other_answer((0, "a"), 1) == (1, "a")
    assert other_answer(1, 0) == 0
    with pytest.raises(Same):
        other_answer(object(), 0)


# --- conditions -------------------------------------------------------------------------------------------------------


def conditions(program, call):
    tree = ast.parse(program)
    sites = {
        id(node): f"site {node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == call
    }
    return conditions_of(tree, sites)


@pytest.mark.parametrize(
    ("program", "call", "kept", "turning"),
    [
        ("if draw() == 42: f()", "draw", 3, 42),
        ("LIMIT = 7\nx = draw()\nif x % 100 < LIMIT and x: f()", "draw", 50, 205),
        ("def f(n):\n    return n > 9\ndef g():\n    x = draw()\n    if f(x): h()", "draw", 3, 10),
        ("def today():\n    return draw()\ndef g():\n    return today() >= 5", "draw", 3, 5),
        ("def check(n, limit=4):\n    if n > limit: h()\ncheck(draw())", "draw", 3, 5),
        ("class A:\n    RATE = 3\n    def f(self):\n        if draw() < self.RATE: g()", "draw", 3, 2),
        ("{'de': 1}.get(draw(), 2)", "draw", "en", "de"),
        ("names = [name for name in n if draw() > 0.9]", "draw", 0.1, 0.95),
        ("if (x := draw()).startswith('2.'): f(x)", "draw", "1.4", "2.0"),
        ("if not draw(): f()", "draw", 1, 0),
    ],
)
def test_what_a_site_decides_alone_is_a_condition_that_another_value_turns(program, call, kept, turning):
    (found,) = conditions(program, call).values()
    turned = [
        condition
        for condition in found
        if condition.holds(kept) is not None and condition.holds(turning) is (not condition.holds(kept))
    ]
    assert turned


@pytest.mark.parametrize(
    "program",
    [
        "a, b = draw(), draw()\nif a < b: f()",
        "if draw() < limit(): f()",
        "for rate in rates:\n    if draw() < rate: f()",
        "x = draw()\nx = 2\nif x > 1: f()",
    ],
)
def test_what_something_else_decides_as_well_is_no_condition_that_can_be_turned(program):
    found = [one for known in conditions(program, "draw").values() for one in known]
    assert [one.holds(1) for one in found if one.holds(1) is not None] == []


def test_a_condition_can_do_nothing_but_compute():
    assert Condition("open('/etc/passwd')").holds(1) is None
    assert Condition("__import__('os').getcwd()").holds(1) is None
    assert Condition("_value.hour == 3").holds(dt.datetime(2026, 1, 1, 3)) is True
    emptied = ["a"]
    assert Condition("_value.pop() == 'a'").holds(emptied) is None
    assert emptied == ["a"]
    with pytest.raises(ValueError, match=r"\*\*"):
        Condition("_value ** 9 > 3")
    assert Condition("_value == 3").other_value(1, iter([2, 3, 4]), lambda kept: kept) == 3
    with pytest.raises(LookupError):
        Condition("_value == 3").other_value(1, iter([2]), lambda kept: kept)


# --- time -------------------------------------------------------------------------------------------------------------


def test_time_passes_at_all_readings_or_at_some():
    passed = {variant: [gap(variant, nth, 3) > 0 for nth in range(3)] for variant in range(STEADY_VARIANTS)}
    assert passed[0] == [True, True, True]
    assert [False, False, True] in passed.values()
    assert [True, False, False] in passed.values()
    assert inverted({"a": 0, "b": 3}) == {"a": -1, "b": -4}


def test_two_steady_clocks_are_opposed_at_some_step():
    steady = [f"a.py:{line} time.monotonic" for line in range(9)]
    seen = set()
    for step in range(8):
        variants = {key: (step + number) % 8 for number, key in enumerate(steady)}
        turned = oriented(variants, steady)
        seen |= {(a, b) for a in steady for b in steady if (turned[a] < 0) != (turned[b] < 0)}
    assert {(a, b) for a in steady for b in steady if a != b} <= seen


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "call", "qualname", "expected"),
    [
        (
            "clock",
            "time.time",
            "act",
            {"kind": "ambient", "call": "time.time", "site": "src/app/a.py:3", "hash": "1"},
        ),
        ("files", "open", "load", {"name": "load", "kind": "tool", "target": "app.a:load"}),
        (
            "subprocess",
            "subprocess.run",
            "Git.head",
            {"name": "Git.head", "kind": "tool", "target": "app.a:Git.head"},
        ),
        ("files", "open", "main", "# move it into a function of its own, and make that a boundary"),
        ("set-order", "set.__iter__", "f", "# sort it: `sorted(...)` has one order in every run"),
        ("identity", "object.__repr__", "f", "# give its class a `__repr__`, or show what names the object"),
        (
            "set-order",
            "hash",
            "f",
            "# take a digest of `hashlib`: the hash of a text is another one in each process",
        ),
    ],
)
def test_each_harmful_site_has_the_rule_that_mends_it(category, call, qualname, expected):
    impact = Impact(
        site=Site("src/app/a.py", 3, qualname, "1"),
        category=category,
        call=call,
        count=1,
        tier="direct",
        effect=Effect("changes", "a", "b"),
    )
    rule = mending(impact)
    if isinstance(expected, str):
        assert rule == expected
    else:
        assert tomllib.loads(rule) == {"boundary": [expected]}


# --- in a replay ------------------------------------------------------------------------------------------------------

AGENT = """\
import subprocess, sys, tempfile, time
from pathlib import Path
from boundary import log, send

def main():
    with open("limits.json") as file:
        limits = file.read()
    send("limits", text2=limits)
    log(Path("notes.txt").read_text())
    until = time.monotonic() + 60
    if time.monotonic() > until:
        send("late")
    took = time.monotonic() - until
    if took > 5 and took < 1:
        send("never")
    done = subprocess.run([sys.executable, "-c", "print(4)"], capture_output=True, text=True)
    if done.stdout.startswith("77"):
        send("rare")
    log(tempfile.mkdtemp())
    send("made", path=tempfile.mkdtemp())

main()
"""


READER = """\
import random, secrets, sys, tempfile
from boundary import log, send

queues = [["a", "b"], ["c"]]
if random.choice(queues).pop(0) == "a":
    send("first")
if secrets.token_hex(4).startswith("sk-"):
    send("never")
with open("digits.txt", newline="") as file:
    log(file.mode)
    print(file.name)
    log(len(file.read()))
print(len(list({"a", "b"})))
with tempfile.TemporaryDirectory() as folder:
    log(folder)
"""


@pytest.mark.slow
def test_what_is_put_in_the_place_of_a_value_changes_nothing_else(project):
    (project / "agent.py").write_text(READER)
    (project / "digits.txt").write_text("1" * 5_000 + "\r\n")
    assert run(project, "run", "agent.py").status == 0
    result = run(project, "impact", "last", "-q", "--json")
    said = json.loads(result.stdout)
    assert result.stderr == ""
    assert said["problems"] == []
    assert {entry["site"]["line"] for entry in said["sites"] if entry["effect"] is not None} == {5}


@pytest.mark.slow
def test_files_processes_and_names_are_perturbed_and_deadlines_pass(project):
    (project / "agent.py").write_text(AGENT)
    (project / "limits.json").write_text('{"refund": 5}')
    (project / "notes.txt").write_text("a note\n")
    assert run(project, "run", "agent.py").status == 0
    result = run(project, "impact", "last", "--json")
    assert result.status == 1, result.stderr
    found = {
        entry["site"]["line"]: entry["effect"] and entry["effect"]["what"]
        for entry in json.loads(result.stdout)["sites"]
    }
    assert found == {
        6: "changes send[1] input at more.text2",
        9: None,
        10: found[10],
        11: found[11],
        13: None,
        16: found[16],
        19: None,
        20: "changes send[2] input at more.path",
    }
    assert None not in {found[10], found[11], found[16]}
    rules = {entry["site"]["line"]: entry["rule"] for entry in json.loads(result.stdout)["sites"]}
    assert rules[9] is None
    assert tomllib.loads(rules[10])["boundary"][0]["call"] == "time.monotonic"
    assert rules[6] == "# move it into a function of its own, and make that a boundary"
