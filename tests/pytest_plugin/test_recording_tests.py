"""Recording by tests, several traces, several rule files, and workers of xdist."""

import pytest

from autochron import provider
from tests.pytest_plugin.projects import AGENT, CROSSED, RULES, Project

TESTS = """
import pytest
import agent

mark = pytest.mark.autochron


@mark("new/refund.jsonl", live="refund[2]")
def test_new(replay):
    said, done = agent.run("N1")
    assert (said, done["order"].id) == ("answer 3", "N1")
    assert replay.sequence() == CROSSED
    assert replay["refund[2]"].result == done and replay["refund[2]"].live
    assert replay["model[2]"].result == {"role": "assistant", "content": "answer 3"}
    with pytest.raises(agent.Refused):
        replay["refund[1]"].result
    assert replay.called("refund", cents=500)
    assert not [each for each in replay.divergences if each.severity == "error"]


@mark("trace.jsonl")
def test_old(replay):
    assert agent.run()[0] == "answer 3"
    assert replay.sequence() == CROSSED


@mark("failed.jsonl")
def test_failed():
    agent.run()
    raise LookupError("no such luck")


@mark("nothing.jsonl")
def test_nothing():
    pass


@mark("wrong-live.jsonl", live="refnd[1]")
def test_wrong_live():
    agent.run()
""".replace("CROSSED", repr(CROSSED))


def test_record_records_what_is_missing_if_the_test_passes(project):
    old = (project.folder / "trace.jsonl").read_bytes()
    result = project.write(test_it=TESTS).pytest("--autochron=record")
    assert result.outcomes == {
        "test_new": "PASSED",
        "test_old": "PASSED",
        "test_failed": "FAILED",
        "test_nothing": "FAILED",
        "test_wrong_live": "FAILED",
    }, result.text
    assert sorted(path.name for path in project.folder.rglob("*.jsonl")) == ["refund.jsonl", "trace.jsonl"]
    assert (project.folder / "trace.jsonl").read_bytes() == old
    tools = ["look_up", "ask", "refund", "refund", "ask"]
    assert project.bodies_run() == [*tools, *tools, *tools]  # nothing of test_old, which has a trace
    for message in (
        "test_it.py::test_new: recorded 5 crossings into new/refund.jsonl",
        "test_it.py::test_failed: failed.jsonl was not recorded, because the test did not pass",
        "nothing crossed a boundary, so there is nothing to record",
        "the trace has no crossing refnd[1]; did you mean refund[1]?",
    ):
        assert message in result.text
    replayed = project.pytest("-k", "new or old", env={"AUTOCHRON": "replay"})
    assert (replayed.status, project.bodies_run()) == (0, ["refund"]), replayed.text
    assert "refund[2]" in project.autochron("traces", "show", "new/refund.jsonl")


def test_rewrite_records_anew_and_keeps_the_old_trace_of_a_failed_test(project):
    old = (project.folder / "trace.jsonl").read_bytes()
    failing = 'import agent, pytest\n@pytest.mark.autochron("trace.jsonl")\ndef test_it():\n    agent.run()\n    assert 0\n'
    result = project.write(test_it=failing).pytest("--autochron=rewrite")
    assert (
        "trace.jsonl was not recorded, because the test did not pass, and the old one stays as it was"
        in result.text
    )
    assert (project.folder / "trace.jsonl").read_bytes() == old
    result = project.write(test_it=failing.replace("assert 0", "")).pytest("-o", "autochron_mode=rewrite")
    assert (result.status, (project.folder / "trace.jsonl").read_bytes() == old) == (0, False), result.text
    assert "recorded 5 crossings into trace.jsonl" in result.text
    assert len(project.bodies_run()) == 10
    assert project.pytest().status == 0
    assert project.bodies_run() == []


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (["--autochron=rekord"], {}, "invalid choice: 'rekord'"),
        ([], {"AUTOCHRON": "live"}, "AUTOCHRON=live: it is one of replay, record, rewrite"),
        (["-o", "autochron_mode=on"], {}, "autochron_mode=on: it is one of replay, record, rewrite"),
    ],
)
def test_an_unknown_mode_is_refused(project, words, env, message):
    result = project.pytest(*words, env=env)
    assert (result.status, message in result.text) == (4, True), result.text


SEVERAL = """
import pytest
import agent


@pytest.mark.autochron("traces/*/trace.jsonl")
def test_glob(replay):
    agent.run(replay.record.header.name)


@pytest.mark.autochron(["traces/a/trace.jsonl", "traces/b/trace.jsonl"])
@pytest.mark.parametrize("number", [1, 2])
class TestList:
    def test_list(self, number, replay):
        agent.run(replay.record.header.name)

    def test_without_the_fixture(self, number):
        agent.look_up("none")


@pytest.mark.autochron(["traces/a/trace.jsonl"])
def test_one(replay):
    agent.run("A1")
"""


@pytest.fixture
def several(project):
    for name, order in (("a", "A1"), ("b", "B2")):
        (project.folder / "go.py").write_text(f"import agent; agent.run({order!r})")
        project.record("--name", order, "go.py", to=f"traces/{name}/trace.jsonl")
    return project.write(test_several=SEVERAL)


def test_a_test_is_run_for_each_of_several_traces(several):
    result = several.pytest()
    assert result.outcomes == {
        "test_glob[a/trace]": "PASSED",
        "test_glob[b/trace]": "PASSED",
        **{f"test_list[{trace}/trace-{number}]": "PASSED" for trace in "ab" for number in (1, 2)},
        **{
            f"test_without_the_fixture[{trace}/trace-{number}]": "FAILED"
            for trace in "ab"
            for number in (1, 2)
        },
        "test_one[a/trace]": "PASSED",
    }, result.text
    assert several.bodies_run() == []


@pytest.mark.slow
def test_workers_of_xdist_replay_record_and_report(project):
    tests = (
        "import pytest, agent\n"
        + "".join(
            f'@pytest.mark.autochron("{"trace" if n % 2 else f"new{n % 4}"}.jsonl", live="refund[2]")\n'
            f"def test_{n}(replay):\n    agent.run()\n    assert len(replay.crossings) == 5\n"
            for n in range(24)
        )
        + '@pytest.mark.autochron("trace.jsonl")\ndef test_bad():\n    agent.run(factor=31)\n'
    )
    result = project.write(test_many=tests).pytest("-n", "2", "-v", "--autochron=record", plugins=("xdist",))
    assert result.outcomes == {**{f"test_{n}": "PASSED" for n in range(24)}, "test_bad": "FAILED"}, (
        result.text
    )
    assert "recorded 5 crossings into new0.jsonl" in result.text
    assert "5 crossings of trace.jsonl, 1 live" in result.text
    assert "≠ refund[1]" in result.of("test_bad")
    replayed = project.pytest("-n", "2", "-k", "not bad", plugins=("xdist",))
    assert replayed.status == 0, replayed.text


def test_each_folder_uses_its_own_rules(tmp_path):
    project = Project(tmp_path).write(
        **{"pytest.ini": "[pytest]\naddopts = --import-mode=importlib\npythonpath = lib\n"}
    )
    project.write(lib__agent=AGENT)
    test = (
        'import pytest, agent\n@pytest.mark.autochron("trace.jsonl", live="{live}")\ndef test_{name}(replay):\n'
        "    agent.run()\n    assert replay.sequence() == {crossed}\n"
    )
    for name in ("one", "two"):
        rules = RULES.replace('name = "refund"', f'name = "{name}"').replace(
            "version = 1", 'version = 1\nproject = ["../lib"]'
        )
        (tmp_path / name).mkdir()
        (tmp_path / name / "autochron.toml").write_text(rules)
        crossed = [address.replace("refund", name) for address in CROSSED]
        (tmp_path / name / f"test_{name}.py").write_text(
            test.format(name=name, live=f"{name}[2]", crossed=crossed)
        )
    result = project.pytest("--autochron=record")
    assert result.outcomes == {"test_one": "PASSED", "test_two": "PASSED"}, result.text
    project.bodies_run()
    result = project.pytest()
    assert (result.outcomes, project.bodies_run()) == (
        {"test_one": "PASSED", "test_two": "PASSED"},
        ["refund"] * 2,
    ), result.text


def test_a_marker_and_a_folder_may_name_other_rules(project):
    pay_rules = RULES.replace('name = "refund"', 'name = "pay"')
    project.write(
        test_it="""
import pytest, agent

@pytest.mark.autochron("new.jsonl", rules="rules/other.toml")
def test_named(replay):
    agent.run()
    assert replay["pay[2]"].name == "pay"

@pytest.mark.autochron("trace.jsonl")
def test_found(replay):
    agent.run()
    assert replay["refund[2]"].name == "refund"
""",
        **{"rules/other.toml": pay_rules.replace("version = 1", 'version = 1\nproject = [".."]')},
    )
    assert project.pytest("--autochron=record").status == 0
    project.bodies_run()
    for words in ([], ["test_it.py::test_found", "test_it.py::test_named"]):
        result = project.pytest(*words)
        assert (result.status, project.bodies_run()) == (0, []), result.text


PLAIN = """
import sys

def test_plain():
    ours = {name for name in sys.modules if name.partition(".")[0] == "autochron"}
    assert ours - {"autochron", "autochron.config", "autochron.pytest_plugin"} == set()
"""


def test_without_a_rule_file_nothing_is_woven_or_imported(tmp_path):
    result = Project(tmp_path).write(test_it=PLAIN, **{"pytest.ini": "[pytest]\n"}).pytest()
    assert result.status == 0, result.text


def test_a_bad_rule_file_stops_pytest_with_its_place(project):
    project.write(
        test_it="def test(): ...\n", **{"autochron.toml": RULES.replace('kind = "tool"', 'kind = "tol"')}
    )
    result = project.pytest()
    assert (result.status, "autochron.toml:" in result.text, "Traceback" in result.text) == (
        4,
        True,
        False,
    ), result.text


KEYLESS = """
import pytest
import agent

@pytest.mark.autochron("new.jsonl")
def test_without_a_key(replay):
    said = agent.ask("hello")
    assert replay["model[1]"].result.choices[0].message.content == said
    assert isinstance(agent.ask_anew("again"), str)  # now and then the model says nothing

@pytest.mark.autochron("new.jsonl", live="model", deny="network", check=False)
def test_denied(replay):
    with pytest.raises(Exception):
        agent.ask("hello")
    assert "denied" in [each.kind for each in replay.divergences]

def test_no_key_is_left():
    import os
    assert "OPENAI_API_KEY" not in os.environ
"""
SDK = """
from openai import OpenAI

client = OpenAI(max_retries=0)

def ask(text, client=client):
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-4.1-mini", messages=messages).choices[0].message.content

def ask_anew(text):
    return ask(text, OpenAI())
"""


@pytest.mark.slow
def test_an_agent_on_an_sdk_is_recorded_and_replayed_without_a_key(tmp_path):
    project = Project(tmp_path).write(agent=SDK, test_it=KEYLESS, **{"pytest.ini": "[pytest]\n"})
    (tmp_path / "autochron.toml").write_text("version = 1\n")
    with provider.serve() as model:
        env = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-test", "NO_PROXY": "*"}
        result = project.pytest("--autochron=record", "-k", "without", env=env)
        assert result.status == 0, result.text
    result = project.pytest(unset=("OPENAI_API_KEY",))
    assert (result.status, len(result.outcomes)) == (0, 3), result.text


def test_an_option_denies_actions_in_all_tests(project):
    test = 'import pytest, agent\n@pytest.mark.autochron("trace.jsonl", live="refund")\ndef test_it():\n    agent.run()\n'
    writes = AGENT.replace('os.write(RAN, what.encode() + b" ")', 'open("ran", "a").write(what + " ")')
    result = project.write(test_it=test, agent=writes).pytest("--autochron-deny=network,files")
    assert (result.outcomes, project.bodies_run()) == ({"test_it": "FAILED"}, []), result.text
    assert "(denied)" in result.text
