"""Processes that a program starts outside every crossing are reported in the recording and in a replay."""

import json
import os
import subprocess
import sys

import pytest

from tests.agents.workshop import write

STARTS = """
import multiprocessing
import os
import subprocess
import sys


def note(text):
    with open("ledger.txt", "a") as ledger:
        ledger.write(text)


def start(how):
    if how == "system":
        os.system("echo x >> ledger.txt")
    elif how == "shell":
        subprocess.run("echo x >> ledger.txt", shell=True)
    else:
        process = multiprocessing.get_context(how).Process(target=note, args=("x",))
        process.start()
        process.join()
        assert process.exitcode == 0


if __name__ == "__main__":
    start(sys.argv[1])
    print("done")
"""


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ("system", "a child process of echo"),
        ("shell", "a child process of sh"),
        ("spawn", "a child process of multiprocessing (spawn)"),
        ("fork", "a child process of multiprocessing (fork)"),
        ("forkserver", "a child process of multiprocessing (forkserver)"),
    ],
)
def test_a_child_process_that_is_not_recorded_is_reported(how, named, fresh, tmp_path):
    write(tmp_path, STARTS)
    recorded = fresh.run(tmp_path, "run", "--no-children", "agent.py", how)
    assert (recorded.status, recorded.stdout) == (0, b"done\n"), recorded.stderr
    assert recorded.stderr.count("(child-process)") == 1
    assert f"not woven: {named}: " in recorded.stderr
    done = (tmp_path / "ledger.txt").read_text()
    replayed = fresh.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (1, b""), replayed.stderr
    assert f"starts {named} outside every boundary, and a replay does not do that again" in replayed.stderr
    assert (tmp_path / "ledger.txt").read_text() == done
    allowed = fresh.run(tmp_path, "replay", "last", "--allow-effects", "--json")
    assert (allowed.status, allowed.stdout) == (0, b"done\n"), allowed.stderr
    report = json.loads(allowed.stderr.splitlines()[-1])
    assert (report["divergences"], report["allowed"] > 0) == ([], True)
    # A process that is forked from a replay works on the replay's scratch copy.
    assert (tmp_path / "ledger.txt").read_text() == done * (1 if how == "fork" else 2)


def test_a_child_process_inside_a_crossing_is_not_reported(fresh, tmp_path):
    write(tmp_path, STARTS, "start")
    recorded = fresh.run(tmp_path, "run", "agent.py", "shell")
    assert "(child-process)" not in recorded.stderr
    replayed = fresh.run(tmp_path, "replay", "last")
    assert replayed.status == 0, replayed.stderr
    assert "none live" in replayed.stderr


FORKS = """
import os
import sys


def roll(number):
    return number


roll(1)
pid = os.fork()
if pid == 0:
    if sys.argv[1] == "crosses":
        roll(2)
    if sys.argv[1] == "immediate":
        os._exit(5)
    sys.exit(4)
print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
roll(3)
"""


@pytest.mark.parametrize("how", ["leaves", "immediate"])
def test_a_forked_child_ends_as_recorded_and_prints_no_report(how, fresh, tmp_path):
    write(tmp_path, FORKS, "roll")
    recorded = fresh.run(tmp_path, "run", "agent.py", how)
    assert recorded.status == 0, recorded.stderr
    replayed = fresh.run(tmp_path, "replay", "last")
    assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr
    assert replayed.stderr.count("autochron: ") == 1


def test_a_forked_child_that_is_not_recorded_is_not_served_its_parents_records(fresh, tmp_path):
    write(tmp_path, FORKS, "roll")
    recorded = fresh.run(tmp_path, "run", "--no-children", "agent.py", "crosses")
    assert recorded.stdout == b"child 4\n"
    replayed = fresh.run(tmp_path, "replay", "last", "--allow-effects")
    assert replayed.status == 1
    assert replayed.stdout == b"child 1\n"
    assert "was not recorded in a child process" in replayed.stderr
    assert replayed.stderr.count("autochron: ") == 1


IN_A_CHILD = """
import multiprocessing
import socket

import autochron


@autochron.boundary
def tool(x):
    return x


def child():
    with autochron.record("in the child", store="memory:"):
        tool(1)
    with autochron.replay("in the child", store="memory:", check=False) as replaying:
        tool(1)
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=2)
        except Exception as error:
            print(type(error).__name__)


if __name__ == "__main__":
    with autochron.record("in the parent", store="memory:"):
        tool(1)
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_session_in_a_forked_child_refuses_the_network(tmp_path):
    (tmp_path / "prog.py").write_text(IN_A_CHILD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "prog.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "NetworkRefusedError\n"), done.stderr
