"""What a replay must do, case by case, through the command line with a real SDK; and which plans are refused."""

import json
import re
import shutil

import pytest

import autochron
from autochron import provider
from autochron.errors import DivergenceError, PlanError
from tests.agents.workshop import Forked, write
from tests.cli.processes import trust

AGENT = """
import os, sys
from dataclasses import dataclass
from openai import OpenAI

@dataclass
class Refund:
    order: str
    cents: int

def look_up(order):
    print("looking up", order)
    return {"order": order, "paid": 500}

def refund(order, cents):
    print("refunding", cents)
    return Refund(order, cents)

def main():
    client = OpenAI()
    asked = client.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-4.1-mini"),
        temperature=float(os.environ.get("TEMPERATURE", "0.5")),
        messages=[{"role": "user", "content": os.environ.get("PROMPT", "Refund it.")}],
    )
    print(asked.choices[0].message.content)
    order = look_up(sys.stdin.readline().strip())
    given = refund(order["order"], order["paid"])
    print(given)
    return 0 if given.cents == 500 else 3

if __name__ == "__main__":
    sys.exit(main())
"""
FIXED = """
from agent import Refund

def refund(order, cents):
    print("capped")
    return Refund(order, min(cents, 100))
"""
SCRIPT = provider.Script((provider.Step(text="{Fine|Well|Good}, I do."),))


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """Yield a runner that forks a process for each command, after it has imported the SDKs."""
    runner = Forked(tmp_path_factory.mktemp("streams"))
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def recording(forked, tmp_path_factory):
    """Record the agent and stop its model server. Return the folder and the finished command."""
    folder = tmp_path_factory.mktemp("recorded")
    write(folder, AGENT, "look_up refund")
    (folder / "fixed.py").write_text(FIXED, encoding="utf-8")
    with provider.serve(script=SCRIPT) as model:
        completed = forked.run(folder, "run", "agent.py", model=model, stdin="48213\n")
    assert completed.status == 0, completed.stderr
    return folder, completed


@pytest.fixture
def recorded(recording, tmp_path):
    """Copy agent and trace into the test's folder. Return the finished command that recorded them."""
    shutil.copytree(recording[0], tmp_path, dirs_exist_ok=True)
    return recording[1]


def replay(forked, folder, *words, **environment):
    return forked.run(folder, "replay", "last", *trust(), *words, **environment)


@pytest.mark.slow
def test_cases_10_and_11_a_replay_needs_no_key_serves_standard_input_and_ends_as_recorded(
    recorded, forked, tmp_path
):
    replayed = replay(forked, tmp_path)
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr
    assert "autochron: the same" in replayed.stderr


@pytest.mark.slow
def test_case_11_another_status_and_other_output_of_the_program_are_errors(recorded, forked, tmp_path):
    write(
        tmp_path,
        AGENT.replace("print(given)", 'print("other")').replace("else 3", "else 3) or (4"),
        "look_up refund",
    )
    replayed = replay(forked, tmp_path)
    assert replayed.status == 1
    assert "exit status" in replayed.stderr
    assert re.search(r"printed|output", replayed.stderr), replayed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("live", ["refund", "refund[1]", "kind:tool", "after:look_up[1]"])
def test_case_2_a_tool_is_live_beside_a_real_sdk(live, recorded, forked, tmp_path):
    replayed = replay(forked, tmp_path, "--live", live)
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr
    assert "refund[1]" in replayed.stderr


def test_case_2_a_fix_is_tried_from_the_command_line(recorded, forked, tmp_path):
    swap = ("--swap", "agent:refund=fixed:refund")
    replayed = replay(forked, tmp_path, "--live", "refund", *swap, "--json")
    report = json.loads(replayed.stderr.splitlines()[-1])
    assert b"capped\nRefund(order='48213', cents=100)" in replayed.stdout
    # Output and status differ only because of the live tool.
    kinds = {
        (divergence["kind"], divergence.get("severity", "error")) for divergence in report["divergences"]
    }
    assert ("outcome", "consequence") in kinds
    assert ("status", "error") not in kinds
    assert report["live"] == ["refund[1]"]
    assert (replayed.status, report["same"]) == (0, True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "MODEL",
            "gpt-5",
            'model[1] was given another model: body.model was "gpt-4.1-mini", now it is "gpt-5"',
        ),
        (
            "TEMPERATURE",
            "0.7",
            "model[1] was given another sampling parameter temperature: body.temperature was 0.5, now it is 0.7",
        ),
        (
            "PROMPT",
            "Don't.",
            'model[1] was given another input: body.messages.0.content was "Refund it.", now it is "Don\'t."',
        ),
    ],
)
def test_case_4_a_changed_request_is_named_and_judged_by_the_plan(
    name, value, message, recorded, forked, tmp_path
):
    statuses = {
        (): 1,
        ("--live", "refund"): 0,
        ("--live", "refund", "--inputs", "strict"): 1,
        ("--inputs", "warn"): 0,
    }
    for words, status in statuses.items():
        replayed = replay(forked, tmp_path, *words, "--json", **{name: value})
        assert replayed.status == status, (words, replayed.stderr)
        report = json.loads(replayed.stderr.splitlines()[-1])
        assert [
            divergence["message"] for divergence in report["divergences"] if divergence["kind"] == "input"
        ] == [message]
    ignored = replay(forked, tmp_path, "--inputs", "ignore", **{name: value})
    assert (ignored.status, message in ignored.stderr) == (0, False)


@pytest.mark.slow
def test_case_4_a_model_may_be_live_beside_served_tools(recorded, forked, tmp_path):
    with provider.serve(script=provider.Script((provider.Step(text="Other."),))) as model:
        replayed = replay(forked, tmp_path, "--live", "kind:model", model=model, PROMPT="Don't.")
        assert model.calls == 1
    assert replayed.stdout.startswith(b"Other.\nlooking up 48213\n")
    assert replayed.status == 0, replayed.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--live", "refnd"), "live refnd: the trace has no crossing refnd; did you mean refund?"),
        (
            ("--live", "refnd[1]"),
            "live refnd[1]: the trace has no crossing refnd[1]; did you mean refund[1]?",
        ),
        (
            ("--live", "refund[2]"),
            "live refund[2]: the trace has no refund[2]; refund crossed 1×, up to refund[1]",
        ),
        (("--live", "kind:tol"), "live kind:tol: a kind is one of"),
        (("--live", "kind:router"), "the trace has no crossing of kind router; it has model, tool"),
        (("--live", "after:refund"), "say after which of its crossings, such as after:refund[1]"),
        (("--live", "after:x[1]"), "live after:x[1]: the trace has no crossing x[1]"),
        (("--inputs", "maybe"), "inputs='maybe': it is one of strict, warn, ignore"),
        (("--deny", "memory"), "what can be denied is network, subprocess, files; 'memory' is none of them"),
        (("--swap", "agent.refund=fixed:refund"), "name a function as module:name or file.py:name"),
    ],
)
def test_a_plan_with_unknown_names_or_values_is_refused(words, message, recorded, forked, tmp_path):
    replayed = replay(forked, tmp_path, *words)
    assert (replayed.status, replayed.stdout) == (2, b"")
    assert message in replayed.stderr
    assert len(replayed.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_recorded_tool_that_the_current_rules_do_not_weave_is_refused(recorded, forked, tmp_path):
    write(tmp_path, AGENT, "look_up")
    for words in ((), ("--live", "refund"), ("--live", "refund", "--allow-unwoven")):
        replayed = replay(forked, tmp_path, *words)
        assert (replayed.status, replayed.stdout) == (2, b""), words
        assert "refund (agent.py:refund) crossed a boundary when it was recorded" in replayed.stderr
        assert "unwoven-tool" in replayed.stderr


@pytest.mark.slow
def test_a_program_that_no_longer_reaches_the_cut_point_says_so(recorded, forked, tmp_path):
    write(
        tmp_path,
        AGENT.replace('    given = refund(order["order"], order["paid"])', "    return 0"),
        "look_up refund",
    )
    for live in ("refund[1]", "refund"):
        replayed = replay(forked, tmp_path, "--live", live)
        assert replayed.status == 1
        assert (
            "the program no longer reaches refund[1] (agent.py:refund), which was to be live"
            in replayed.stderr
        )


@pytest.mark.slow
def test_a_trace_of_a_newer_version_is_refused(recorded, forked, tmp_path):
    forked.run(tmp_path, "traces", "export", "last", "trace.jsonl")
    text = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    newer = text.replace('{"autochron":4,', '{"autochron":5,', 1)
    assert newer != text
    (tmp_path / "trace.jsonl").write_text(newer, encoding="utf-8")
    replayed = forked.run(tmp_path, "replay", "trace.jsonl", *trust(), "--live", "refund")
    assert (replayed.status, replayed.stdout) == (2, b"")
    assert re.search(r"newer|version", replayed.stderr), replayed.stderr
    assert "(bad-trace)" in replayed.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("class Refund", "class Repaid"), "Refund"),
        (("    cents: int\n", ""), "cents"),
    ],
)
def test_a_recorded_type_that_is_gone_or_lost_a_field_is_named(change, message, recorded, forked, tmp_path):
    source = AGENT.replace(*change).replace("return Refund(order, cents)", "raise SystemExit(9)")
    write(tmp_path, source, "look_up refund")
    replayed = replay(forked, tmp_path, "--live", "look_up")
    assert replayed.status == 1
    assert "refund[1] can't be served" in replayed.stderr
    assert message in replayed.stderr
    assert (
        "record the trace again" in replayed.stderr
        or "was the trace edited, or the type changed" in replayed.stderr
    )


@autochron.boundary
def tool(number):
    return number


def with_live(block, trace, run, live):
    with autochron.replay(trace, rules=block.rules, live=live):
        run()


def test_a_replay_in_which_nothing_crosses_says_to_call_the_agent(block):
    _, trace = block.record(lambda: [tool(1), tool(2)])
    for live in ((), "tool[2]"):
        with pytest.raises(
            DivergenceError, match="nothing crossed a boundary: all 2 recorded crossings"
        ) as caught:
            with_live(block, trace, lambda: None, live)
        assert "call the agent inside the replay" in str(caught.value)


def test_a_single_crossing_that_never_happens_is_a_divergence(block):
    _, trace = block.record(lambda: tool(1))
    for live in ((), "tool[1]", "tool"):
        with pytest.raises(DivergenceError, match=r"tool\[1\]"):
            with_live(block, trace, lambda: None, live)


@pytest.mark.parametrize(
    ("live", "message"),
    [
        ("tol", r"the trace has no crossing tol; did you mean tool\?"),
        ("tool[9]", r"tool crossed 1×, up to tool\[1\]"),
        (3, "live=3: give names, addresses, kind:KIND, after:ADDRESS or a function"),
        ([3], r"live=3: give names, addresses, kind:KIND, after:ADDRESS or a function"),
        ("", "the trace has no crossing"),
    ],
)
def test_a_plan_of_a_block_is_refused_before_anything_runs(live, message, block):
    _, trace = block.record(lambda: tool(1))
    with pytest.raises(PlanError, match=message):
        with_live(block, trace, lambda: pytest.fail("it ran"), live)
