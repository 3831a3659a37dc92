"""`run --keep failed`: traces of runs that raised or ended with another status than 0."""

import os
import signal
import sys
import time

import pytest

from autochron.store import open_store
from tests.cli.processes import autochron, finish, python, start, write

RULES = """
version = 1
[[boundary]]
name = "{__name__}"
kind = "tool"
target = "agent:step"
"""

AGENT = """
import os, signal, sys


def step(n):
    return n


step(1)
how = sys.argv[1]
if how == "raise":
    raise ValueError("no")
if how == "exit":
    sys.exit(3)
if how == "immediate":
    os._exit(int(sys.argv[2]))
if how == "signal":
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
"""


def kept(folder):
    store = open_store(os.path.join(folder, ".autochron", "traces.db"))
    return [(summary.crossings, summary.status) for summary in store.summaries()]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": RULES})
    return tmp_path


def test_the_trace_of_a_run_that_ends_well_is_dropped_and_that_is_said(folder):
    ran = autochron(folder, "run", "--keep", "failed", "agent.py", "end")
    assert ran.status == 0
    assert ran.said.splitlines() == [
        "autochron: 1 crossing, and no trace kept: the run ended with status 0 (--keep failed)",
        "  step ×1",
    ]
    assert kept(folder) == []


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("raise",), 1),
        (("exit",), 3),
        (("immediate", "5"), 5),
        (("signal", "SIGTERM"), -signal.SIGTERM),
    ],
)
def test_the_trace_of_a_run_that_fails_is_kept(folder, words, status):
    ran = autochron(folder, "run", "--keep", "failed", "agent.py", *words)
    assert ran.status == python(folder, "agent.py", *words).status == status
    assert kept(folder) == [(1, status)]


def test_what_sigkill_leaves_is_kept(folder):
    write(folder, {"agent.py": AGENT.replace("how = ", "print(flush=True)\nsys.stdin.readline()\nhow = ")})
    command = [sys.executable, "-m", "autochron", "run", "--keep", "failed", "agent.py", "end"]
    process = start(command, folder)
    process.stdout.readline()
    while not kept(folder) or kept(folder)[0][0] == 0:
        time.sleep(0.02)
    process.kill()
    assert finish(process).status == -signal.SIGKILL
    assert kept(folder) == [(1, None)]


def test_the_trace_of_a_run_that_ends_at_once_with_status_0_is_dropped(folder):
    ran = autochron(folder, "run", "--keep", "failed", "agent.py", "immediate", "0")
    assert (ran.status, ran.said) == (0, "")
    assert kept(folder) == []


def test_all_are_kept_unless_that_is_said(folder):
    for option in ((), ("--keep", "all")):
        assert autochron(folder, "run", *option, "agent.py", "end").status == 0
    assert kept(folder) == [(1, 0), (1, 0)]


def test_another_word_is_refused(folder):
    ran = autochron(folder, "run", "--keep", "none", "agent.py", "end")
    assert (ran.status, ran.out) == (2, b"")
    assert ran.said == "autochron: autochron run: --keep takes all or failed, not none (usage)\n"
