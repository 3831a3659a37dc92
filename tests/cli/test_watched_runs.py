"""What `autochron run` says of calls that escape the record, and the seed of hashes that run and replay share."""

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
    """Return the lines that name a call."""
    return [line.strip() for line in text.splitlines() if line.startswith("    agent.py:")]


def test_calls_outside_every_boundary_are_named_with_what_would_mark_them(home):
    done = autochron(home, "run", "agent.py")
    assert shown(done.said) == [
        "agent.py:13  clock  datetime.date.today  ×3  direct",
        "agent.py:13  random  random.random  ×3  direct",
        "agent.py:18  files  tempfile.gettempdir  ×1  direct",
    ]
    assert "3 non-deterministic calls outside every boundary" in done.said
    assert "25 % of 4 covered (unmarked-call)" in done.said
    assert 'call = "datetime.date.today' in done.said
    assert done.status == 0


def test_one_is_unmarked_with_strict_and_too_few_are_covered(home):
    statuses = [
        autochron(home, "run", "--quiet", *options, "agent.py").status
        for options in (["--strict"], ["--fail-under", "25"], ["--fail-under", "26"], ["--no-watch"])
    ]
    assert statuses == [4, 0, 4, 0]


def test_a_program_keeps_a_status_of_its_own(home):
    write(home, {"agent.py": f"{AGENT}raise SystemExit(3)\n"})
    assert autochron(home, "run", "--strict", "agent.py").status == 3


def test_nothing_is_said_without_a_watch(home):
    assert "unmarked-call" not in autochron(home, "run", "--no-watch", "agent.py").said


def test_what_is_ignored_is_not_said_and_a_line_that_is_gone_is(home):
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
def test_a_report_is_written_where_it_was_asked_for(home, ending):
    write(home, {"agent.py": f"import os\nos.makedirs('other')\nos.chdir('other')\n{AGENT}"})
    assert autochron(home, "run", "--report", f"found.{ending}", "agent.py").status == 0
    text = (home / f"found.{ending}").read_text()
    if ending == "json":
        assert [each["call"] for each in json.loads(text)["findings"]] == [
            "datetime.date.today", "random.random", "tempfile.gettempdir",
        ]  # fmt: skip
    elif ending == "sarif":
        assert [each["ruleId"] for each in json.loads(text)["runs"][0]["results"]] == [
            "clock",
            "random",
            "files",
        ]
    else:
        assert len(re.findall("agent.py", text)) >= 3


@pytest.mark.parametrize(
    ("options", "said"),
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
def test_what_is_asked_wrongly_is_answered(home, options, said):
    done = autochron(home, "run", *options, "agent.py")
    assert (done.status, said in done.said) == (2, True)


def test_findings_are_in_the_trace_and_in_its_file(home):
    autochron(home, "run", "--quiet", "agent.py")
    autochron(home, "traces", "export", "last", "t.jsonl")
    footer = json.loads((home / "t.jsonl").read_text().splitlines()[-2])["footer"]
    assert [(each["call"], each.get("covered")) for each in footer["findings"]] == [
        ("time.time", "boundary"), ("datetime.date.today", None), ("random.random", None), ("tempfile.gettempdir", None),
    ]  # fmt: skip
    assert autochron(home, "traces", "show", "t.jsonl").status == 0


CHILD = """\
import random, subprocess, sys
random.random()
subprocess.run([sys.executable, "child.py"], check=True)
"""


def test_what_child_processes_do_is_found_too(home):
    write(home, {"agent.py": CHILD, "child.py": "import time\ntime.time()\n"})
    done = autochron(home, "run", "agent.py")
    assert "child.py:2  clock  time.time  ×1  direct" in done.said


def test_an_address_in_an_input_is_told(home):
    write(home, {"agent.py": AGENT.replace('ask("x")', "ask(f\"{type('Order', (), {})()}\")")})
    assert "ask: its input has an address in memory (at 0x" in autochron(home, "run", "agent.py").said


# --- the seed of hashes ----------------------------------------------------------------------------------------------

ORDER = "import os\nprint(sorted(name for name in os.environ if 'HASH' in name), list({'a', 'b', 'c', 'd', 'e', 'f'}))\n"


def plain(home, *words, **variables):
    """Run a command with an environment that sets no seed but what is given."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(
        [sys.executable, "-m", "autochron", *words], cwd=home, env=environment | variables, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_replay_has_the_order_of_sets_of_its_run_and_the_program_its_environment(home):
    write(home, {"agent.py": ORDER})
    runs = [plain(home, "run", "--quiet", "--name", f"run-{number}", "agent.py") for number in range(6)]
    assert len({stdout for _, stdout in runs}) > 1  # each run has an order of its own
    assert {(status, stdout[:2]) for status, stdout in runs} == {(0, "[]")}
    replays = [plain(home, "replay", "--quiet", f"run-{number}") for number in range(6)]
    assert replays == runs


def test_a_seed_that_is_set_is_kept_and_so_is_the_variable(home):
    write(home, {"agent.py": ORDER})
    first, second = (plain(home, "run", "--quiet", "agent.py", PYTHONHASHSEED="7") for _ in range(2))
    assert first == second
    assert first[1].startswith("['PYTHONHASHSEED']")
    assert plain(home, "run", "--quiet", "agent.py", PYTHONHASHSEED="random")[1].startswith(
        "['PYTHONHASHSEED']"
    )


def test_standard_input_and_status_outlive_the_second_start(home):
    write(home, {"agent.py": "import sys\nprint(sys.stdin.read())\nraise SystemExit(5)\n"})
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "autochron", "run", "--quiet", "agent.py"], cwd=home, env=environment,
        input="what was typed", capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (5, "what was typed\n")


def test_a_replay_finds_the_seed_before_it_imports_what_it_needs(home):
    write(home, {"agent.py": ORDER})
    _, printed = plain(home, "run", "--quiet", "--name", "one", "--store", "here#1.db", "agent.py")
    assert plain(home, "traces", "export", "one", "one.jsonl", "--store=here#1.db")[0] == 0
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    for words in (["one.jsonl"], ["last", "--store=here#1.db"], ["one", "--quiet", "--store", "here#1.db"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "autochron", "replay", *words], cwd=home, env=environment,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, printed)
        imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
        assert [imported.count(name) for name in ("autochron.cli", "autochron.program.run")] == [2, 1]
