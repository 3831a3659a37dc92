"""`autochron impact --fix` adds the rules that record harmful values; the report shows the smallest change of each."""

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.agents.workshop import Fresh

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "send"\nkind = "tool"\ntarget = "agent:send"\n'
AGENT = """\
import random
import time

def send(text):
    return text

drawn = random.random()
print(send(f"at {time.time()}"))
print("big" if drawn > 0.5 else "small")
"""
SET = 'print(send(",".join({"a", "b", "c", "d"})))\n'


def run(folder, *arguments, **more):
    return Fresh().run(folder, *arguments, **more)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    return tmp_path


def recorded(folder, source):
    (folder / "agent.py").write_text(source)
    assert run(folder, "run", "agent.py").status == 0
    return folder


@pytest.mark.slow
def test_the_rules_of_harmful_values_are_added_and_then_nothing_else_changes_the_run(project):
    recorded(project, AGENT)
    done = run(project, "impact", "last", "--fix")
    assert done.status == 0, done.stdout.decode() + done.stderr
    assert "autochron: 2 rules added to autochron.toml\n" in done.stdout.decode()
    assert "autochron: with them no other value changes the run" in done.stdout.decode()
    assert "autochron: the trace has no values for them: record the program again\n" in done.stdout.decode()
    written = (project / "autochron.toml").read_text()
    assert written.startswith(RULES)
    assert (written.count('kind = "ambient"'), written.count("hash = ")) == (2, 2)
    recorded(project, AGENT)
    assert run(project, "replay", "last").status == 0
    again = json.loads(run(project, "impact", "last", "--fix", "--json").stdout.decode())
    assert (again["harmful"], "fix" in again) == (0, False)


@pytest.mark.slow
def test_what_no_rule_can_record_is_left_and_said(project):
    recorded(project, AGENT + SET)
    done = run(project, "impact", "last", "--fix")
    assert done.status == 1
    assert "autochron: with them 1 site is harmful" in done.stdout.decode()
    assert done.stdout.decode().splitlines()[-2].strip() == "agent.py:10 set.__iter__"


@pytest.mark.slow
def test_nothing_is_written_where_no_rule_can_help(project):
    recorded(project, AGENT[: AGENT.index("drawn")] + SET)
    done = run(project, "impact", "last", "--fix")
    assert done.status == 1
    assert "no rule can record what is harmful" in done.stdout.decode()
    assert (project / "autochron.toml").read_text() == RULES


@pytest.mark.slow
def test_a_rule_file_is_made_where_there_is_none_and_json_says_what_was_done(tmp_path):
    recorded(tmp_path, "import random\nprint(random.random() > 0.5)\n")
    done = run(tmp_path, "impact", "last", "--fix", "--json")
    assert done.status == 0, done.stdout.decode() + done.stderr
    fixed = json.loads(done.stdout.decode())["fix"]
    assert (fixed["added"], fixed["left"], fixed["problem"]) == (1, [], None)
    assert fixed["file"] == str(tmp_path / "autochron.toml")
    assert 'call = "random.random"' in (tmp_path / "autochron.toml").read_text()


@pytest.mark.slow
def test_the_report_shows_the_smallest_change_of_the_values(project):
    source = AGENT.replace("drawn = random.random()", "drawn = [random.random() for _ in range(3)][0]")
    recorded(project, source)
    done = run(project, "impact", "last", "--json")
    sites = {site["call"]: site for site in json.loads(done.stdout.decode())["sites"]}
    change = sites["random.random"]["change"]
    assert change["calls"] == 1
    assert float(change["before"]) != float(change["after"])
    assert (float(change["before"]) > 0.5) != (float(change["after"]) > 0.5)
    text = run(project, "impact", "last").stdout.decode()
    assert f"    with {change['after']} instead of {change['before']} in its first call\n" in text


@pytest.mark.slow
def test_values_that_only_change_a_run_together_are_counted(project):
    source = AGENT.replace("drawn = random.random()", "drawn = max(random.random() for _ in range(6))")
    source = source.replace('"big" if drawn > 0.5', '"big" if drawn > 0.999')
    recorded(project, source.replace("0.999", "0.0001"))
    done = run(project, "impact", "last", "--json")
    sites = {site["call"]: site for site in json.loads(done.stdout.decode())["sites"]}
    assert sites["random.random"]["change"]["calls"] == 6


@pytest.mark.slow
def test_an_interrupt_says_that_the_rules_were_added(project):
    slow = "deadline = time.process_time() + 0.5\nwhile time.process_time() < deadline:\n    pass\n"
    recorded(project, AGENT + slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "autochron", "impact", "last", "-q", "--fix", "--site", "agent.py:7"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and (project / "autochron.toml").read_text() == RULES:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors == "autochron: 1 rule added to autochron.toml, and not tried\nautochron: interrupted\n"
    assert process.returncode == 130
