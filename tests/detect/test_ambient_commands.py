"""Ambient values are recorded and served by the commands: in child processes, in pytest, and without a watch."""

import json

import pytest

from tests.agents.workshop import Fresh
from tests.detect.running import cases

RULES = 'version = 1\npacks = []\nambient = ["clock", "random", "uuid"]\n'

AGENT = """
import secrets, sys, time, uuid
from time import sleep

def uptime():
    with open("/proc/uptime") as file:  # a clock that isn't recorded as one
        return float(file.read().split()[0])

def main():
    began = uptime()
    print(time.time(), uuid.uuid4(), [secrets.token_hex(4) for _ in range(2)])
    sleep(0.4)
    time.sleep(0.4)
    print("took", uptime() - began, file=sys.stderr)
    print(time.monotonic())

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def run(folder, *arguments, module="autochron"):
    return Fresh().run(folder, *arguments, module=module)


def test_a_replay_serves_ambient_values_and_does_not_sleep(project):
    recorded = run(project, "run", "--report", "report.json", "agent.py")
    assert recorded.status == 0
    replayed = run(project, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout)
    assert _took(replayed) < 0.7 < _took(recorded)
    assert "  ambient values ×5" in recorded.stderr.splitlines()
    assert recorded.stderr.count("(ambient-secret)") == 1
    assert "agent.py:11 gives a secret" in recorded.stderr
    report = json.loads((project / "report.json").read_text())
    assert {finding["category"] for finding in report["findings"]} == {"files"}
    assert report["coverage"]["covered"] == 4


def _took(ran):
    return next(float(line.split()[1]) for line in ran.stderr.splitlines() if line.startswith("took "))


def test_values_are_recorded_without_a_watch(project):
    recorded = run(project, "run", "--no-watch", "agent.py")
    assert "  ambient values ×5" in recorded.stderr.splitlines()
    assert run(project, "replay", "last").stdout == recorded.stdout


def test_a_stale_ambient_rule_is_reported(project):
    tables = [
        '[[boundary]]\nkind = "ambient"\ncall = "time.time"\nsite = "gone.py:3"\n',
        '[[boundary]]\nkind = "ambient"\ncall = "time.time"\nsite = "agent.py:7"\nhash = "0123456789ab"\n',
        '[[boundary]]\nkind = "ambient"\ncall = "os.getpid"\nsite = "agent.py:7"\n',
    ]
    (project / "autochron.toml").write_text("version = 1\npacks = []\n" + "".join(tables))
    errors = run(project, "run", "agent.py").stderr
    assert [line.strip() for line in errors.splitlines() if "(stale-ambient)" in line] == [
        f"autochron.toml:{line}: [[boundary]] is stale: {reason}; correct it or take it out (stale-ambient)"
        for line, reason in (
            (3, "there is no file gone.py"),
            (7, "agent.py has no line with the hash 0123456789ab"),
            (12, "the value of `os.getpid` can't be recorded where it is asked for"),
        )
    ]


CHILDREN = """
import multiprocessing, os, subprocess, sys, time, uuid

def work(number):
    return number, time.time(), uuid.uuid4()

def main():
    print(time.time(), flush=True)
    print(subprocess.run([sys.executable, "child.py"], capture_output=True, text=True).stdout)
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(pool.map(work, range(3)))
    print(uuid.uuid4())

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
def test_child_processes_are_served_their_own_values(project):
    (project / "agent.py").write_text(CHILDREN)
    (project / "child.py").write_text("import random, time\nprint(time.time_ns(), random.random())\n")
    recorded = run(project, "run", "agent.py")
    replayed = run(project, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout)


TEST = """
from pathlib import Path
import pytest
import agent

@pytest.mark.autochron("trace.jsonl")
def test_it(replay, capsys):
    agent.main()
    assert capsys.readouterr().out == Path("out.txt").read_text()
"""


@pytest.mark.slow
def test_a_test_with_the_marker_is_served_values(project):
    recorded = run(project, "run", "agent.py")
    (project / "out.txt").write_bytes(recorded.stdout)
    run(project, "traces", "export", "last", "trace.jsonl")
    (project / "test_agent.py").write_text(TEST)
    ran = run(project, "-q", "-p", "no:cacheprovider", module="pytest")
    assert ran.status == 0, ran.stdout.decode()


TRANSPARENT = {about: program for about, program in cases("same").items() if not about.startswith("errors ")}
"""All programs except those about tracebacks, which show our frame where a recorded source itself raises."""


@pytest.mark.slow
@pytest.mark.parametrize("about", TRANSPARENT)
def test_a_program_behaves_the_same_when_recorded_and_when_replayed(about, project):
    (project / "agent.py").write_text(TRANSPARENT[about] + "\nprint('end')\n")
    recorded = run(project, "run", "agent.py")
    replayed = run(project, "replay", "last", "--allow-effects")
    assert (recorded.stdout, replayed.stdout) == (b"end\n", b"end\n"), recorded.stderr + replayed.stderr
    assert "watch-fault" not in recorded.stderr
