"""The number of recorded crossings that a run reports has been counted in the store."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from autochron.store import open_store
from tests.cli.processes import autochron, finish, python, start, write
from tests.security.storing import STEP, numbers, record

REFUSED = """
import random
for n in range(200):
    print(step(n, random.Random(n).randbytes(10_000).hex()))
    time.sleep(0.001)
sys.exit(3)
"""


def assert_loss_reported(result, folder):
    """Check that the program ran normally, that the reported crossings are stored, and that the rest is reported as lost."""
    assert (result.status, result.out) == (3, b"".join(b"%d\n" % n for n in range(200)))
    assert "Traceback" not in result.said
    recorded, total = map(
        int, re.search(r"autochron: (\d+) of (\d+) crossings recorded", result.said).groups()
    )
    assert total == 200
    assert recorded < 200
    assert numbers(folder) == sorted(set(numbers(folder)))
    assert len(numbers(folder)) == recorded
    assert f"lost: {200 - recorded} crossings could not be written (lost)" in result.said


def test_a_store_that_cannot_grow_is_reported(tmp_path):
    """A file size limit of the process stands in for a quota or a full disk: SQLite sees each as a failed write."""
    begin = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
os.execv(sys.executable, [sys.executable, "-m", "autochron", "run", "--store", "t.db", "agent.py"])
"""
    write(tmp_path, {"agent.py": STEP + REFUSED})
    assert_loss_reported(python(tmp_path, "-c", begin), tmp_path)


def test_a_full_file_system_is_reported(tmp_path):
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    inside = tmp_path / "small"
    inside.mkdir()
    write(tmp_path, {"agent.py": STEP + REFUSED})
    begin = "mount -t tmpfs -o size=600k tmpfs small && $0 -m autochron run --store small/t.db agent.py; status=$?; "
    command = ["unshare", "--mount", "sh", "-c", begin + "cp small/* .; exit $status", sys.executable]
    assert_loss_reported(finish(start(command, tmp_path)), tmp_path)


def test_a_file_size_limit_that_the_program_sets_does_not_limit_the_store(tmp_path):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    code = f"{limit}for n in range(50): step(n, str(n) * 99)\n"
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    assert numbers(tmp_path) == list(range(50))


def test_a_table_that_disappears_is_reported(tmp_path):
    """Another process breaks the store while it is recorded into."""
    code = """
import sqlite3
for n in range(200):
    print(step(n, "x" * 100))
    if n == 100:
        time.sleep(0.1)
        other = sqlite3.connect("t.db"); other.execute("ALTER TABLE body RENAME TO gone"); other.commit(); other.close()
sys.exit(3)
"""
    write(tmp_path, {"agent.py": STEP + code})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py")
    assert result.status == 3
    assert "Traceback" not in result.said
    assert "crossings could not be written (lost)" in result.said


def test_a_quiet_run_reports_lost_crossings_too(tmp_path):
    code = """
import sqlite3
for n in range(51): step(n)
time.sleep(0.2)
other = sqlite3.connect("t.db", timeout=30); other.execute("DELETE FROM crossing WHERE id % 2"); other.commit(); other.close()
"""
    result = record(tmp_path, code)
    left = len(numbers(tmp_path))
    assert result.said == (
        f"autochron: {left} of 51 crossings recorded in trace {open_store(str(tmp_path / 't.db')).find('last')} (t.db)\n"
        f"  lost: {51 - left} crossings could not be written (lost)\n"
    )


def test_deleted_crossings_are_not_reported_as_recorded(tmp_path):
    code = """
import sqlite3
for n in range(51): step(n)
time.sleep(0.2)
other = sqlite3.connect("t.db", timeout=30); other.execute("DELETE FROM crossing WHERE id % 2"); other.commit(); other.close()
"""
    write(tmp_path, {"agent.py": STEP + code})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py")
    left = len(numbers(tmp_path))
    assert 0 < left < 51
    assert f"autochron: {left} of 51 crossings recorded" in result.said
    assert f"lost: {51 - left} crossings could not be written (lost)" in result.said


def test_a_crossing_that_never_ended_is_reported_neither_as_recorded_nor_as_lost(tmp_path):
    code = """
import threading
threading.Thread(target=wait, daemon=True).start()
time.sleep(0.2)
for n in range(3): wait(n)
"""
    waits = STEP.replace("def step", "def wait").replace(
        "    return", "    if text: time.sleep(60)\n    return"
    )
    write(tmp_path, {"agent.py": waits + code.replace("target=wait", 'target=wait, args=(9, "long")')})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py")
    assert "autochron: 3 crossings recorded" in result.said
    assert "(lost)" not in result.said
    assert numbers(tmp_path) == [0, 1, 2]


def test_an_unwritable_folder_is_reported_before_the_program_starts(tmp_path):
    if os.geteuid() == 0:
        place = "/proc/t.db"  # root can write to every other folder
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        place = "closed/t.db"
    write(tmp_path, {"agent.py": STEP + "print('began')\n"})
    result = autochron(tmp_path, "run", "--store", place, "agent.py")
    assert (result.status, result.out) == (2, b"")
    assert re.fullmatch(rf"autochron: {place} can't be used \(.*\); .*\n", result.said)
