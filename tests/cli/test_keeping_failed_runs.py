"""`run --keep failed` keeps only traces of runs that raised or ended with a status other than 0."""

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


def stored_traces(folder):
    store = open_store(os.path.join(folder, ".autochron", "traces.db"))
    return [(summary.crossings, summary.status) for summary in store.summaries()]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": RULES})
    return tmp_path


def test_the_trace_of_a_successful_run_is_dropped_with_a_message(folder):
    ran = autochron(folder, "run", "--keep", "failed", "agent.py", "end")
    assert ran.status == 0
    assert ran.said.splitlines() == [
        "autochron: 1 crossing, and no trace kept: the run ended with status 0 (--keep failed)",
        "  step ×1",
    ]
    assert stored_traces(folder) == []


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
    assert stored_traces(folder) == [(1, status)]


def test_the_trace_of_a_run_that_sigkill_ended_is_kept(folder):
    write(folder, {"agent.py": AGENT.replace("how = ", "print(flush=True)\nsys.stdin.readline()\nhow = ")})
    command = [sys.executable, "-m", "autochron", "run", "--keep", "failed", "agent.py", "end"]
    process = start(command, folder)
    process.stdout.readline()
    while not stored_traces(folder) or stored_traces(folder)[0][0] == 0:
        time.sleep(0.02)
    process.kill()
    assert finish(process).status == -signal.SIGKILL
    assert stored_traces(folder) == [(1, None)]


def test_the_trace_of_a_run_that_ends_by_os_exit_with_status_0_is_dropped(folder):
    ran = autochron(folder, "run", "--keep", "failed", "agent.py", "immediate", "0")
    assert (ran.status, ran.said) == (0, "")
    assert stored_traces(folder) == []


def test_all_traces_are_kept_by_default(folder):
    for option in ((), ("--keep", "all")):
        assert autochron(folder, "run", *option, "agent.py", "end").status == 0
    assert stored_traces(folder) == [(1, 0), (1, 0)]


def test_an_unknown_value_of_keep_is_refused(folder):
    ran = autochron(folder, "run", "--keep", "none", "agent.py", "end")
    assert (ran.status, ran.out) == (2, b"")
    assert ran.said == "autochron: autochron run: --keep takes all or failed, not none (usage)\n"
