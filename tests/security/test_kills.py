"""A crossing that ended 50 ms before a `kill -9` of the program is in the store, where a processor is free."""

import os
import signal
import sys
import time

import pytest

from tests.cli.processes import start, write
from tests.security import kills
from tests.security.storing import FIND, STEP, linux, numbers

STARVED = 0.25
"""Seconds that it may take where tests keep every processor busy, and the load of the tests comes on top."""


@pytest.mark.slow
def test_what_ended_before_a_kill_is_there_whatever_the_load():
    found = list(kills.kill_often(8))
    assert sum(each.ended for each in found) > 0
    assert [each for each in found if not each.whole or each.oldest > STARVED] == []


@pytest.mark.thorough
@pytest.mark.timeout(3_600)
def test_what_ended_50_ms_before_each_of_500_kills_is_there():
    """On a machine that does nothing else."""
    found = list(kills.kill_often(500, seed=1))
    assert sum(each.ended for each in found) > 0
    assert all(each.whole and each.oldest < STARVED for each in found)
    assert [each for each in found if not each.busy and each.kept < each.ended] == []


@linux
def test_all_that_was_sent_is_there_however_far_behind_the_store_process_is(tmp_path):
    code = """
store = store_process()
os.kill(store, 19)
for n in range(1, 151):
    step(n)
    time.sleep(0.012)
print(store, flush=True)
time.sleep(60)
"""
    write(tmp_path, {"agent.py": f"{STEP}{FIND}step(0); time.sleep(0.2)\n{code}"})
    command = [sys.executable, "-m", "autochron", "run", "--quiet", "--store", "t.db", "agent.py"]
    process = start(command, tmp_path)
    store = int(process.stdout.readline())
    time.sleep(STARVED)
    process.kill()
    process.communicate()
    os.kill(store, signal.SIGCONT)
    give_up = time.monotonic() + 30
    while os.path.exists(f"/proc/{store}/exe") and time.monotonic() < give_up:
        time.sleep(0.01)
    assert numbers(tmp_path) == list(range(151))
