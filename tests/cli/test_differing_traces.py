"""`autochron traces diff` compares real runs, from stores and from trace files."""

import json
import re

import pytest

from autochron import provider
from tests.cli.processes import autochron, write

RULES = 'version = 1\npacks = []\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "agent:*"\nexclude = ["main"]\n'

AGENT = """
import sys

def look_up(order):
    return {"order": order, "paid": 3990}

def refund(order, cents):
    if cents > 5000:
        raise ValueError("too much")
    return cents

def mail(order):
    return read(order)

def read(order):
    return f"to {order}"

def main(steps):
    for step in steps:
        name, _, argument = step.partition("=")
        try:
            print(name, globals()[name](*map(int, argument.split(","))))
        except ValueError as error:
            print("failed", error)

if __name__ == "__main__":
    main(sys.stdin.read().split())
"""

STEPS = "look_up=1 refund=1,500 mail=1 look_up=2 refund=2,700 mail=2"


@pytest.fixture
def home(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": RULES})
    return tmp_path


def recorded(home, **runs):
    for name, steps in runs.items():
        assert autochron(home, "run", "--quiet", "--name", name, "agent.py", stdin=steps.encode()).status == 0
    return home


def diff(home, *words, **more):
    result = autochron(home, "traces", "diff", *words, **more)
    assert result.said == ""
    return result.status, result.text.splitlines()


def test_two_equal_runs_are_the_same(home):
    recorded(home, one=STEPS, two=STEPS)
    status, lines = diff(home, "one", "two")
    assert (status, lines[2:]) == (0, ["the same: 8 crossings the same"])
    assert lines[0].startswith("first   01")
    assert lines[0].endswith("Z  agent.py")
    assert "  two  " in lines[1]


def test_a_trace_equals_itself_by_any_reference(home):
    recorded(home, one=STEPS)
    assert autochron(home, "traces", "export", "one", "one.jsonl").status == 0
    for words in (("last", "last"), ("one", "one.jsonl"), ("one.jsonl", "one.jsonl")):
        assert diff(home, *words)[0] == 0


def test_differences_are_drawn_in_place_and_counted(home):
    changed_steps = "look_up=1 refund=1,500 mail=1 look_up=3 refund=2,9000 mail=2"
    recorded(home, one=STEPS, two=changed_steps)
    status, lines = diff(home, "one", "two")
    assert status == 1
    assert lines[2:] == [
        "├─ … 3 the same: look_up, refund, mail",
        "├─ ≠ look_up[2] tool  order: 2 → {order: 2, paid: 3990}",
        "│       input order: 2 → 3",
        "│       outcome order: 2 → 3",
        "├─ ≠ refund[2] tool  cents: 700, order: 2 → 700",
        "│       input cents: 700 → 9000",
        "│       outcome: returned → raised ValueError",
        "└─ … 1 the same: mail",
        "output line 4: \"look_up {'order': 2, 'paid': 3990}\" → \"look_up {'order': 3, 'paid': 3990}\"",
        "stdin line 1: …ok_up=2 refund=2,700 mail=2' → …ok_up=3 refund=2,9000 mail=2'",
        "they differ: 6 crossings the same, 2 changed, output, stdin",
    ]


def test_missing_extra_and_reordered_crossings_are_drawn_once(home):
    recorded(home, one=STEPS, two="look_up=1 mail=1 refund=1,500 look_up=2 mail=2 refund=5,1")
    _, lines = diff(home, "one", "two")
    tree = [line for line in lines if line[:1] in "├└│"]
    assert tree == [
        "├─ … 1 the same: look_up",
        "├─ ≠ refund[1] tool  cents: 500, order: 1 → 500",
        "│       reordered: after look_up[1] → after mail[1]",
        "├─ … 2 the same: mail, look_up",
        "├─ − refund[2] tool  cents: 700, order: 2 → 700  in the first only",
        "├─ … 1 the same: mail",
        "└─ + refund[2] tool  cents: 1, order: 5 → 1  in the second only",
    ]
    assert (
        lines[-1]
        == "they differ: 6 crossings the same, 1 reordered, 1 in the first only, 1 in the second only, output, stdin"
    )


def test_nested_crossings_are_drawn_below_their_parent(home):
    recorded(home, one=STEPS)
    write(home, {"agent.py": AGENT.replace('return f"to', 'return f"for')})
    recorded(home, two=STEPS)
    _, lines = diff(home, "one", "two")
    assert lines[3:7] == [
        '├─ ≠ mail[1] tool  order: 1 → "to 1"',
        '│  │    outcome: "to 1" → "for 1"',
        '│  └─ ≠ read[1] tool  order: 1 → "to 1"',
        '│          outcome: "to 1" → "for 1"',
    ]


def test_differences_of_inputs_can_be_ignored(home):
    recorded(home, one="mail=1")
    write(home, {"agent.py": AGENT.replace('f"to {order}"', '"to"')})
    recorded(home, two="mail=1", three="mail=2")
    assert diff(home, "two", "three")[0] == 1
    report = json.loads("\n".join(diff(home, "two", "three", "--json", "--inputs", "warn")[1]))
    assert [(difference["kind"], difference["severity"]) for difference in report["differences"]] == [
        ("stdin", "error"), ("input", "warning"), ("input", "warning"),
    ]  # fmt: skip
    report = json.loads("\n".join(diff(home, "two", "three", "--json", "--inputs", "ignore")[1]))
    assert [difference["kind"] for difference in report["differences"]] == ["stdin"]


def test_json_contains_the_differences(home):
    recorded(home, one="refund=1,500", two="refund=1,700")
    status, lines = diff(home, "one", "two", "--json")
    report = json.loads("\n".join(lines))
    assert (status, report["same"], report["crossings"]) == (1, False, 1)
    assert [report[side]["name"] for side in ("first", "second")] == ["one", "two"]
    assert [
        (
            difference["lane"],
            difference["address"],
            difference["kind"],
            difference["path"],
            difference["first"],
            difference["second"],
        )
        for difference in report["differences"]
        if difference["address"]
    ] == [
        ("0", "refund[1]", "input", "cents", "500", "700"),
        ("0", "refund[1]", "outcome", "(value)", "500", "700"),
    ]


def test_a_different_command_is_a_difference(home):
    recorded(home, one="mail=1")
    done = autochron(home, "run", "--quiet", "--name", "two", "agent.py", "--fast", stdin=b"mail=1")
    assert done.status == 0
    assert diff(home, "one", "two")[1][2:] == [
        "└─ … 1 the same: mail",
        "command: script agent.py → script agent.py --fast",
        "they differ: 2 crossings the same, command",
    ]


def test_a_trace_that_was_cut_off_is_compared_as_far_as_it_goes(home):
    recorded(home, one=STEPS)
    kill_itself = (
        "\n    import os, signal, time\n    time.sleep(0.3)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    write(home, {"agent.py": AGENT + kill_itself})
    killed = autochron(home, "run", "--quiet", "--name", "two", "agent.py", stdin=b"look_up=1 refund=1,500")
    assert killed.status == -9
    status, lines = diff(home, "one", "two")
    assert status == 1
    assert lines[-2:] == [
        "end: came to its end → cut off",
        "they differ: 2 crossings the same, 4 in the first only, end",
    ]


def test_unknown_traces_are_refused_in_one_line(home):
    recorded(home, one=STEPS)
    for words in (("one", "won"), ("won", "one")):
        refused = autochron(home, "traces", "diff", *words)
        assert (refused.status, refused.text) == (2, "")
        assert re.fullmatch(
            r"autochron: .*traces\.db holds no trace won; did you mean one\? \(no-such-trace\)\n",
            refused.said,
        )


SCRIPT = {
    "steps": [
        {"turn": 0, "text": "One moment.", "calls": [{"name": "refund", "arguments": {"order": 7}}]},
        {"turn": 1, "text": "All is well."},
    ]
}

CHAT = """
from openai import OpenAI
import sys

client = OpenAI()
messages = [{"role": "user", "content": "refund 7"}]
first = client.chat.completions.create(model=sys.argv[1], temperature=float(sys.argv[2]), messages=messages,
    tools=[{"type": "function", "function": {"name": "refund", "parameters": {}}}]).choices[0].message
messages.append(first)
for call in first.tool_calls or ():
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "done"})
print(client.chat.completions.create(model=sys.argv[1], messages=messages).choices[0].message.content)
"""


@pytest.mark.slow
def test_runs_with_a_real_sdk_differ_only_where_their_requests_do(tmp_path):
    write(tmp_path, {"agent.py": CHAT, "autochron.toml": "version = 1\n"})
    script = provider.Script.from_data(SCRIPT)
    with provider.serve(script=script) as model:
        env = {"OPENAI_BASE_URL": model.url, "NO_PROXY": "127.0.0.1"}
        for name, *arguments in (("one", "m-1", "0.1"), ("two", "m-1", "0.1"), ("three", "m-2", "0.9")):
            ran = autochron(tmp_path, "run", "--quiet", "--name", name, "agent.py", *arguments, env=env)
            assert ran.status == 0, ran.said
    assert diff(tmp_path, "one", "two")[1][2:] == ["the same: 2 crossings the same"]
    assert diff(tmp_path, "one", "three")[1][2:] == [
        "├─ ≠ model[1] model  m-1 → refund",
        '│       model model: "m-1" → "m-2"',
        "│       sampling sampling.temperature: 0.1 → 0.9",
        '└─ ≠ model[2] model  m-1 → "All is well."',
        '        model model: "m-1" → "m-2"',
        "command: script agent.py m-1 0.1 → script agent.py m-2 0.9",
        "they differ: 0 crossings the same, 2 changed, command",
    ]
