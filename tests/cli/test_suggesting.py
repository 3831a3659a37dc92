"""`autochron rules --suggest` shows the tables that are missing, and writes them into the file of rules."""

import os
import pty
import subprocess
import sys

import pytest

from tests.cli.processes import autochron, environment, write

AGENT = """\
import os
import time

def plan():
    return f"{time.time()} {os.getcwd()}"

def never():
    return time.monotonic()

plan()
"""


@pytest.fixture
def home(tmp_path):
    write(tmp_path, {"agent.py": AGENT})
    return tmp_path


def tables(text):
    return [line for line in text.splitlines() if line.startswith(("call", "[[", "category", "site"))]


SUGGESTED = [
    "[[boundary]]", 'call = "time.time"', 'site = "agent.py:5"',
    "[[ignore]]", 'call = "os.getcwd"', 'site = "agent.py:5"',
    "[[boundary]]", 'call = "time.monotonic"', 'site = "agent.py:8"',
]  # fmt: skip


def test_a_table_is_suggested_for_each_call_of_the_run_and_of_the_source(home):
    assert sorted(tables(autochron(home, "rules", "--suggest", "--all").text)) == sorted(SUGGESTED)
    autochron(home, "run", "--quiet", "agent.py")
    done = autochron(home, "rules", "--suggest", "--all")
    assert (done.status, sorted(tables(done.text))) == (0, sorted(SUGGESTED))
    assert "3 tables for autochron.toml; --yes writes them" in done.text
    assert not os.path.exists(home / "autochron.toml")


def test_calls_that_nothing_has_shown_to_matter_are_one_line_with_their_number(home):
    done = autochron(home, "rules", "--suggest", "--yes")
    message = (
        "3 more tables for calls outside every boundary that nothing has shown to matter: --all shows them, and autochron "
        "impact last finds out which calls change the run\n"
    )
    assert (done.status, done.text) == (0, message)
    assert not os.path.exists(home / "autochron.toml")


RULES = """\
# Ours, and it stays so.
version = 1     # the format
project = [ "agent.py" ]

[[ignore]]  # known
call = "os.getcwd"
site = "agent.py:5"
reason = "for the log"
"""


def test_written_tables_are_valid_and_complete(home):
    write(home, {"autochron.toml": RULES})
    done = autochron(home, "rules", "--suggest", "--all", "--yes")
    assert (done.status, "2 tables written to autochron.toml" in done.text) == (0, True)
    text = (home / "autochron.toml").read_text()
    assert text.startswith(RULES)
    assert text.count("[[boundary]]") == 2
    assert "nothing is missing" in autochron(home, "rules", "--suggest").text
    assert autochron(home, "run", "--strict", "agent.py").status == 0
    assert autochron(home, "check", "agent.py").status == 0


def test_tables_are_written_into_a_new_file_or_into_pyproject(home):
    assert autochron(home, "rules", "--suggest", "--all", "--yes").status == 0
    assert (home / "autochron.toml").read_text().startswith("version = 1\n")
    os.unlink(home / "autochron.toml")
    write(
        home,
        {
            "pyproject.toml": '[project]\nname = "shop"\n\n[tool.autochron]\nversion = 1\n\n[tool.other]\nx = 1\n'
        },
    )
    assert autochron(home, "rules", "--suggest", "--all", "--yes").status == 0
    text = (home / "pyproject.toml").read_text()
    assert (text.count("[[tool.autochron.boundary]]"), text.count("[[tool.autochron.ignore]]")) == (2, 1)
    assert "nothing is missing" in autochron(home, "rules", "--suggest").text


def test_a_malformed_file_of_rules_is_left_unchanged(home):
    write(home, {"autochron.toml": "version = 1\nproject = [\n"})
    done = autochron(home, "rules", "--suggest", "--all", "--yes")
    assert (done.status, "autochron.toml:" in done.said) == (2, True)
    assert (home / "autochron.toml").read_text() == "version = 1\nproject = [\n"


@pytest.mark.parametrize(("answer", "is_written"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_on_a_terminal_the_user_is_asked_before_writing(home, answer, is_written):
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "autochron", "rules", "--suggest", "--all"], cwd=home, env=environment(), stdin=follower,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        os.write(leader, answer.encode())
        output, _ = process.communicate(timeout=60)
    os.close(leader)
    os.close(follower)
    assert "write 3 tables to autochron.toml? [y/N]" in output
    assert os.path.exists(home / "autochron.toml") == is_written
