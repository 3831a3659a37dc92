"""`autochron run` reports calls that escape the recording, and a run and its replays share the seed of hashes."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.cli.processes import autochron, write

AGENT = """\
import datetime
import random
import tempfile
import time

import autochron

@autochron.boundary("ask", kind="model")
def ask(prompt):
    return f"{time.time() > 0}"

def plan():
    return f"{datetime.date.today()} {random.random()}"

for _ in range(3):
    plan()
ask("x")
tempfile.gettempdir()
"""


@pytest.fixture
def home(tmp_path):
    write(tmp_path, {"agent.py": AGENT})
    return tmp_path


def shown(text):
    """Return the lines of a report that name a call."""
    return [line.strip() for line in text.splitlines() if line.startswith("    agent.py:")]


def test_calls_outside_every_boundary_are_reported_with_the_rules_that_would_mark_them(home):
    done = autochron(home, "run", "agent.py")
    assert shown(done.said) == [
        "agent.py:13  clock  datetime.date.today  ×3  direct",
        "agent.py:13  random  random.random  ×3  direct",
        "agent.py:18  env  tempfile.gettempdir  ×1  direct",
    ]
    assert "3 non-deterministic calls outside every boundary" in done.said
    assert "; of 4 in all, 1 is inside a boundary, recorded or ignored (25 %) (unmarked-call)" in done.said
    assert 'call = "datetime.date.today' in done.said
    assert done.status == 0


def test_strict_and_fail_under_decide_the_exit_status(home):
    statuses = [
        autochron(home, "run", "--quiet", *options, "agent.py").status
        for options in (["--strict"], ["--fail-under", "25"], ["--fail-under", "26"], ["--no-watch"])
    ]
    assert statuses == [4, 0, 4, 0]


def test_strict_keeps_the_exit_status_of_a_failing_program(home):
    write(home, {"agent.py": f"{AGENT}raise SystemExit(3)\n"})
    assert autochron(home, "run", "--strict", "agent.py").status == 3


def test_no_watch_reports_no_calls(home):
    assert "unmarked-call" not in autochron(home, "run", "--no-watch", "agent.py").said


def test_ignored_calls_are_not_reported_and_stale_ignores_are(home):
    ignores = [
        ("datetime.date.today", 13),
        ("random.random", 13),
        ("tempfile.gettempdir", 18),
        ("time.time", 99),
    ]
    tables = [
        f'[[ignore]]\ncall = "{call}"\nsite = "agent.py:{line}"\nreason = "meant"\n' for call, line in ignores
    ]
    write(home, {"autochron.toml": "\n".join(["version = 1", *tables])})
    done = autochron(home, "run", "--strict", "agent.py")
    assert (done.status, shown(done.said)) == (0, [])
    assert "[[ignore]] is stale: agent.py has only 18 lines" in done.said


@pytest.mark.parametrize("ending", ["json", "sarif", "github", "txt"])
def test_a_report_is_written_relative_to_the_starting_folder(home, ending):
    write(home, {"agent.py": f"import os\nos.makedirs('other')\nos.chdir('other')\n{AGENT}"})
    assert autochron(home, "run", "--report", f"found.{ending}", "agent.py").status == 0
    text = (home / f"found.{ending}").read_text()
    if ending == "json":
        assert [finding["call"] for finding in json.loads(text)["findings"]] == [
            "datetime.date.today", "random.random", "tempfile.gettempdir",
        ]  # fmt: skip
    elif ending == "sarif":
        assert [result["ruleId"] for result in json.loads(text)["runs"][0]["results"]] == [
            "clock",
            "random",
            "env",
        ]
    else:
        assert len(re.findall("agent.py", text)) >= 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "x.html"], "--report x.html: its ending is one of .json, .sarif, .github, .txt"),
        (["--report", "nowhere/x.json"], "--report nowhere/x.json: there is no folder nowhere"),
        (["--fail-under", "lots"], "--fail-under takes a percentage from 0 to 100, not lots"),
        (
            ["--no-watch", "--strict"],
            "--no-watch finds nothing that --strict, --fail-under and --report could tell",
        ),
    ],
)
def test_wrong_options_of_a_watch_are_refused(home, options, message):
    done = autochron(home, "run", *options, "agent.py")
    assert (done.status, message in done.said) == (2, True)


def test_findings_are_stored_and_exported(home):
    autochron(home, "run", "--quiet", "agent.py")
    autochron(home, "traces", "export", "last", "t.jsonl")
    footer = json.loads((home / "t.jsonl").read_text().splitlines()[-2])["footer"]
    assert [(finding["call"], finding.get("covered")) for finding in footer["findings"]] == [
        ("time.time", "boundary"), ("datetime.date.today", None), ("random.random", None), ("tempfile.gettempdir", None),
    ]  # fmt: skip
    assert autochron(home, "traces", "show", "t.jsonl").status == 0


CHILD = """\
import random, subprocess, sys
random.random()
subprocess.run([sys.executable, "child.py"], check=True)
"""


def test_calls_in_child_processes_are_reported(home):
    write(home, {"agent.py": CHILD, "child.py": "import time\ntime.time()\n"})
    done = autochron(home, "run", "agent.py")
    assert "child.py:2  clock  time.time  ×1  direct" in done.said


def test_a_memory_address_in_an_input_is_reported(home):
    write(home, {"agent.py": AGENT.replace('ask("x")', "ask(f\"{type('Order', (), {})()}\")")})
    assert "ask: its input has an address in memory (at 0x" in autochron(home, "run", "agent.py").said


# --- the seed of hashes ----------------------------------------------------------------------------------------------

ORDER = "import os\nprint(sorted(name for name in os.environ if 'HASH' in name), list({'a', 'b', 'c', 'd', 'e', 'f'}))\n"


def run_without_seed(home, *words, **variables):
    """Run a command in an environment without a seed of hashes, except one in `variables`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(
        [sys.executable, "-m", "autochron", *words], cwd=home, env=environment | variables, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_replay_has_the_set_order_of_its_run_and_the_program_does_not_see_the_seed(home, request):
    write(home, {"agent.py": ORDER})
    names = [f"run-{number}" for number in range(6 if request.config.getoption("--thorough") else 3)]
    runs = [run_without_seed(home, "run", "--quiet", "--name", name, "agent.py") for name in names]
    assert len({stdout for _, stdout in runs}) > 1  # the order differs between runs
    assert {(status, stdout[:2]) for status, stdout in runs} == {(0, "[]")}
    replays = [run_without_seed(home, "replay", "--quiet", name) for name in names]
    assert replays == runs


def test_a_seed_in_the_environment_is_used_and_stays_visible(home):
    write(home, {"agent.py": ORDER})
    first, second = (
        run_without_seed(home, "run", "--quiet", "agent.py", PYTHONHASHSEED="7") for _ in range(2)
    )
    assert first == second
    assert first[1].startswith("['PYTHONHASHSEED']")
    assert run_without_seed(home, "run", "--quiet", "agent.py", PYTHONHASHSEED="random")[1].startswith(
        "['PYTHONHASHSEED']"
    )


def test_standard_input_and_status_survive_the_restart_with_a_seed(home):
    write(home, {"agent.py": "import sys\nprint(sys.stdin.read())\nraise SystemExit(5)\n"})
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "autochron", "run", "--quiet", "agent.py"], cwd=home, env=environment,
        input="what was typed", capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (5, "what was typed\n")


def test_a_replay_looks_up_the_seed_before_it_imports_its_modules(home):
    write(home, {"agent.py": ORDER})
    _, printed = run_without_seed(home, "run", "--quiet", "--name", "one", "--store", "here#1.db", "agent.py")
    assert run_without_seed(home, "traces", "export", "one", "one.jsonl", "--store=here#1.db")[0] == 0
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    for words in (["one.jsonl"], ["last", "--store=here#1.db"], ["one", "--quiet", "--store", "here#1.db"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "autochron", "replay", *words], cwd=home, env=environment,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, printed)
        imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
        assert [imported.count(name) for name in ("autochron.cli", "autochron.program.run")] == [2, 1]
