"""No secret reaches the store or a report by a way around the bodies: names, paths, ledgers, reports, command lines."""

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
    """Return the files that are ours and hold the secret in their content."""
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


def test_the_names_of_crossings_and_traces(tmp_path: Path) -> None:
    _project(tmp_path, "", NAMES)
    told = _command(tmp_path, "run", "--name", f"try-{SECRET}", "--report", "r.json", "agent.py")
    assert SECRET not in told
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


def test_the_names_of_files(tmp_path: Path) -> None:
    _project(tmp_path, "", FILES)
    told = _command(tmp_path, "run", "--report", "r.json", "agent.py")
    assert SECRET not in told
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


def test_what_is_wrong_on_our_side_quotes_no_secret(tmp_path: Path) -> None:
    _project(tmp_path, "", FAULT)
    told = _command(tmp_path, "run", "agent.py")
    assert SECRET not in told
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


def test_an_incident_and_its_reports(tmp_path: Path) -> None:
    _project(tmp_path, "", INCIDENT)
    told = _command(tmp_path, "run", "--name", "it", "agent.py")
    assert SECRET in told  # what the program prints is its own
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
def test_what_a_replay_says_of_a_divergence(tmp_path: Path, option: str) -> None:
    _project(tmp_path, "", INCIDENT)
    _command(tmp_path, "run", "agent.py")
    other = "AKIA" + "QQQQODNN7EXAMPLE"
    program = (tmp_path / "agent.py").read_text()
    (tmp_path / "agent.py").write_text(program.replace("refund(7,", "refund(8,").replace(SECRET, other))
    wanted = ["--live", "refund[1]"] if option == "--live" else ["--inputs", "strict"]
    done = subprocess.run(
        [*RUN, "replay", "last", *wanted], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = "\n".join(
        line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("failed:")
    )
    assert SECRET not in said
    assert other not in said
