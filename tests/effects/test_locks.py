"""Locks that a program holds on its files are kept, although autochron also reads these files."""

import pytest

from tests.cli.processes import autochron, python, write

RULES = """version = 1
packs = []

[[boundary]]
name = "pay"
define = "agent:pay"
kind = "tool"
"""

PROBE = """
import fcntl, sqlite3, sys

def of_a_file(path):
    with open(path, "r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

def of_a_database(path):
    sqlite3.connect(path, timeout=0).execute("begin immediate")

try:
    globals()[sys.argv[1]](sys.argv[2])
    print("free")
except (OSError, sqlite3.Error):
    print("locked")
"""

OF_A_FILE = """
import fcntl, subprocess, sys

held = open("ledger.txt", "r+")  # nothing is kept before the tool opens it
fcntl.lockf(held, fcntl.LOCK_EX)

def is_locked():
    command = [sys.executable, "probe.py", "of_a_file", "ledger.txt"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()

files = []

def pay(cents):
    files.append(open("alias.txt", "a"))  # the same file by another name
    files.append(open("alias.txt"))
    files[0].write(f"{cents}\\n")
    files[0].flush()
    return is_locked()

if __name__ == "__main__":
    print(pay(5), pay(6))
    for each in files:
        each.close()
    held.close()
    print(is_locked())
"""

IN_PROCESS = """
import subprocess, sys
import sqlite3

held = sqlite3.connect("paid.db", isolation_level=None)

def pay(cents):
    with open("limits.txt") as file:
        return int(file.read()) >= cents

def pay_twice():
    held.execute("begin immediate")
    found = [pay(5)]
    said = subprocess.run([sys.executable, "probe.py", "of_a_database", "paid.db"], capture_output=True, text=True)
    found.append(said.stdout.strip())
    held.execute("rollback")
    return found

if __name__ == "__main__":
    held.execute("create table if not exists paid (cents int)")
    print(pay_twice())
"""

REPLAY = """
import subprocess, sys
import autochron
import agent

agent.held.execute("begin immediate")
with autochron.replay("last", live="pay", check=False) as replay:
    agent.pay(5)
said = subprocess.run([sys.executable, "probe.py", "of_a_database", "paid.db"], capture_output=True, text=True)
print(said.stdout.strip())
"""


@pytest.fixture
def project(tmp_path):
    """Create a folder with the rules, and a program that checks from outside whether a file or database is locked."""
    write(tmp_path, {"autochron.toml": RULES, "probe.py": PROBE, "limits.txt": "100", "ledger.txt": "0\n"})
    (tmp_path / "alias.txt").hardlink_to(tmp_path / "ledger.txt")
    return tmp_path


def test_a_run_releases_no_lock_of_the_program(project):
    write(project, {"agent.py": OF_A_FILE})
    plain = python(project, "agent.py")
    assert plain.text == "locked locked\nfree\n", plain.said
    done = autochron(project, "run", "agent.py")
    assert done.text == "locked locked\nfree\n", done.said


def test_a_replay_in_a_process_releases_no_lock_of_an_open_database(project):
    write(project, {"agent.py": IN_PROCESS, "again.py": REPLAY})
    done = autochron(project, "run", "agent.py")
    assert done.text == "[True, 'locked']\n", done.said
    assert python(project, "again.py").text == "locked\n"
