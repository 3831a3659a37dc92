"""No secret outside the bodies reaches the store or a report: names, paths, ledgers, reports, command lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
RUN = [sys.executable, "-m", "autochron"]


def _command(folder: Path, *arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [*RUN, *arguments], cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def _search(folder: Path) -> list[str]:
    """Return the files, other than the program, that contain the secret."""
    return [
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and file.name != "agent.py" and SECRET.encode() in file.read_bytes()
    ]


def _project(folder: Path, rules: str, program: str) -> None:
    (folder / "autochron.toml").write_text(f"version = 1\npacks = []\n{rules}")
    (folder / "agent.py").write_text(program.replace("SECRET", SECRET))


NAMES = """
import autochron

@autochron.boundary("call_{key}", kind="tool")
def find(key):
    return 1

find("SECRET"); find("b"); find("SECRET")
"""


def test_secrets_in_names_of_crossings_and_traces_are_masked(tmp_path: Path) -> None:
    _project(tmp_path, "", NAMES)
    output = _command(tmp_path, "run", "--name", f"try-{SECRET}", "--report", "r.json", "agent.py")
    assert SECRET not in output
    for arguments in (["list"], ["show", "last"], ["export", "last", "t.jsonl"]):
        assert SECRET not in _command(tmp_path, "traces", *arguments)
    assert "call_[masked]" in _command(tmp_path, "traces", "show", "last")
    assert SECRET not in _command(tmp_path, "replay", "last")
    assert _search(tmp_path) == []


FILES = """
import os, sqlite3, autochron

@autochron.boundary("keep", kind="tool")
def keep():
    with open("state-SECRET.txt", "w") as file:
        file.write("x")
    return 1

with open("out-SECRET.txt", "w") as file:
    file.write("x")
with open("state-SECRET.txt", "w") as file:
    file.write("x")
keep()
"""


def test_secrets_in_names_of_files_are_masked(tmp_path: Path) -> None:
    _project(tmp_path, "", FILES)
    output = _command(tmp_path, "run", "--report", "r.json", "agent.py")
    assert SECRET not in output
    for arguments in (["show", "last"], ["export", "last", "t.jsonl"]):
        assert SECRET not in _command(tmp_path, "traces", *arguments)
    assert _search(tmp_path) == []


FAULT = """
import autochron

@autochron.boundary("find_{key.inner}", kind="tool")
def find(key):
    return 1

class Key:
    @property
    def inner(self):
        raise ValueError("no inner: password=SECRET")

find(Key())
"""


def test_reports_of_our_own_faults_quote_no_secret(tmp_path: Path) -> None:
    _project(tmp_path, "", FAULT)
    output = _command(tmp_path, "run", "agent.py")
    assert SECRET not in output
    assert _search(tmp_path) == []


INCIDENT = """
import autochron

@autochron.boundary("refund", kind="tool")
def refund(order, api_key):
    return {"refunded": order, "note": "password: SECRET"}

@autochron.boundary("check", kind="tool")
def check(text):
    raise ValueError("login failed, token=SECRET")

refund(7, "SECRET")
try:
    check("curl -u bob:SECRET https://example.invalid")
except ValueError as error:
    print("failed:", error)
"""


@pytest.mark.slow
def test_an_incident_and_its_reports_hold_no_secret(tmp_path: Path) -> None:
    _project(tmp_path, "", INCIDENT)
    output = _command(tmp_path, "run", "--name", "it", "agent.py")
    assert SECRET in output  # the program's own output is not masked
    for arguments in (
        ["traces", "show", "last"],
        ["traces", "show", "last", "--json"],
        ["traces", "export", "last", "t.jsonl"],
        ["incident", "new", "last", "incidents/it"],
    ):
        done = subprocess.run([*RUN, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert SECRET not in done.stdout + done.stderr
    assert _search(tmp_path) == []


@pytest.mark.parametrize("option", ["--live", "--inputs"])
def test_the_report_of_a_divergence_holds_no_secret(tmp_path: Path, option: str) -> None:
    _project(tmp_path, "", INCIDENT)
    _command(tmp_path, "run", "agent.py")
    new_secret = "AKIA" + "QQQQODNN7EXAMPLE"
    program = (tmp_path / "agent.py").read_text()
    (tmp_path / "agent.py").write_text(program.replace("refund(7,", "refund(8,").replace(SECRET, new_secret))
    options = ["--live", "refund[1]"] if option == "--live" else ["--inputs", "strict"]
    done = subprocess.run(
        [*RUN, "replay", "last", *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    report = "\n".join(
        line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("failed:")
    )
    assert SECRET not in report
    assert new_secret not in report
