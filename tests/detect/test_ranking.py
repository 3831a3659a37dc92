"""What a value may reach: `check` ranks by it, folds what reaches nothing, and `--strict` fails for what is ranked first."""

import json
import re

import pytest

from autochron.cli import main
from autochron.detect.scan.scan import scan
from tests.detect.running import cases

DESTINATIONS = cases("destinations")


def marked(program):
    """Return the destinations in the comments of a program by line, as sets of `kind` or `kind:name`."""
    return {
        number: set(mark[1].split()) - {"nothing"}
        for number, line in enumerate(program.splitlines(), start=1)
        if (mark := re.search(r"# ([a-z].*)$", line))
    }


def seen(call, wanted):
    """Return the destinations of a call, with the name where the comment names one."""
    kinds = {"call", "elsewhere"}
    named = {want.partition(":")[0] for want in wanted if ":" in want}
    return {
        f"{one.kind}:{one.name}" if one.kind in named & kinds else one.kind
        for one in call.reached
        if one.kind != "own"
    }


@pytest.mark.parametrize("program", DESTINATIONS.values(), ids=DESTINATIONS)
def test_a_value_reaches_what_the_program_makes_of_it(program):
    wanted = marked(program)
    found = {call.line: seen(call, wanted.get(call.line, set())) for call in scan(program)}
    assert found == wanted


AGENT = """\
import random
import time
import uuid

from tools import send as deliver


def header(question):
    now = time.time()
    return f"at {now}: {question}"


def _unused():
    random.random()
    key = uuid.uuid4()


def main():
    if random.random() > 0.5:
        print(uuid.uuid4())
    deliver(header("why?"))
"""
RULES = 'version = 1\n\n[[boundary]]\nname = "answer"\nkind = "tool"\ntarget = "tools:send"\n'


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "tools.py").write_text("def send(text):\n    return text\n")
    (tmp_path / "autochron.toml").write_text(RULES)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["check", *arguments])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return run


def listed(out):
    return [line.split()[0] for line in out.splitlines() if line.startswith("agent.py:")]


def test_the_input_of_a_boundary_comes_first_and_what_reaches_nothing_is_folded(check):
    status, out, _ = check(".")
    assert status == 1
    assert listed(out) == ["agent.py:9", "agent.py:20", "agent.py:19"]
    lines = [line for line in out.splitlines() if "more call" not in line]
    assert lines[1] == "    # may reach the input of answer at line 21 (by line 10)"
    assert "    # may reach the output at line 20" in lines
    assert "    # may decide a branch at line 19" in lines
    assert (
        lines[-2]
        == "4 unmarked calls in 1 file; of 4 in all, 0 are inside a boundary, recorded or ignored (0 %)"
    )
    assert (
        lines[-1] == "1 of them reaches nothing that a run shows, as far as the files tell: --all lists all"
    )


def test_all_lists_all(check):
    _, out, _ = check("--all", ".")
    assert listed(out) == ["agent.py:9", "agent.py:20", "agent.py:19", "agent.py:14"]
    assert "--all" not in out


def test_strict_fails_only_for_what_is_ranked_first(check, tmp_path):
    assert check("--strict", ".")[0] == 1
    (tmp_path / "agent.py").write_text("import time\n\n\ndef _f():\n    time.time()\n")
    assert (check("--strict", ".")[0], check(".")[0]) == (0, 1)


def test_strict_and_a_percentage_exclude_each_other(check):
    status, _, errors = check("--strict", "--fail-under", "50", ".")
    assert status == 2
    assert "give one of them" in errors


def test_json_has_the_most_telling_destination_of_each(check):
    found = {
        finding["site"]["line"]: finding["reaches"]
        for finding in json.loads(check("--format", "json", ".")[1])["findings"]
    }
    assert found == {
        9: {"kind": "input", "line": 21, "name": "answer", "path": [9, 10, 21]},
        14: None,
        19: {"kind": "branch", "line": 19, "name": "", "path": [19]},
        20: {"kind": "output", "line": 20, "name": "", "path": [20]},
    }


def test_sarif_shows_the_way(check):
    log = json.loads(check("--format", "sarif", ".")[1])
    results = {
        result["locations"][0]["physicalLocation"]["region"]["startLine"]: result
        for result in log["runs"][0]["results"]
    }
    (flow,) = results[9]["codeFlows"]
    (thread,) = flow["threadFlows"]
    steps = [
        (
            place["location"]["physicalLocation"]["region"]["startLine"],
            place["location"]["message"]["text"],
        )
        for place in thread["locations"]
    ]
    assert steps == [
        (9, "time.time"),
        (10, "the value goes on"),
        (21, "may reach the input of answer at line 21"),
    ]
    assert (results[14]["level"], "codeFlows" in results[14]) == ("note", False)
    assert (results[9]["level"], results[9]["rank"], results[14]["rank"]) == ("warning", 100.0, 0.0)


def test_a_bound_call_is_the_input_of_its_boundary(check, tmp_path):
    (tmp_path / "autochron.toml").write_text(
        'version = 1\n\n[[boundary]]\nname = "weather"\nkind = "tool"\ncall = "$client.fetch($city)"\n'
    )
    (tmp_path / "agent.py").write_text(
        "import time\n\n\ndef main(client):\n    client.fetch(str(time.time()))\n"
    )
    (finding,) = json.loads(check("--format", "json", "agent.py")[1])["findings"]
    assert (finding["reaches"]["kind"], finding["reaches"]["name"]) == ("input", "weather")


STRICT = cases("strict") | cases("escapes")
"""Programs whose output differs between runs. Those of `escapes` had passed `check --strict` once."""


@pytest.mark.parametrize("program", STRICT.values(), ids=STRICT)
def test_strict_lets_no_value_pass_that_changes_the_output(program):
    assert any(one.matters for call in scan(program) if not call.is_harmless for one in call.reached)
