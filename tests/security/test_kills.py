"""A crossing that ended 50 ms before a `kill -9` of the program is in the store, if a processor is free."""

import os
import signal
import sys
import time

import pytest

from tests.cli.processes import start, write
from tests.security import kills
from tests.security.storing import FIND, STEP, linux, numbers

STARVED = 0.25
"""Seconds until a crossing is safe when tests run on every processor and the load of this test comes on top."""


@pytest.mark.slow
def test_crossings_that_ended_before_a_kill_are_stored_under_any_load():
    kill_results = list(kills.kill_often(8))
    assert sum(result.ended for result in kill_results) > 0
    assert [result for result in kill_results if not result.whole or result.oldest > STARVED] == []


@pytest.mark.thorough
@pytest.mark.timeout(3_600)
def test_crossings_that_ended_50_ms_before_each_of_500_kills_are_stored():
    """This holds on a machine that does nothing else."""
    kill_results = list(kills.kill_often(500, seed=1))
    assert sum(result.ended for result in kill_results) > 0
    assert all(result.whole and result.oldest < STARVED for result in kill_results)
    assert [result for result in kill_results if not result.busy and result.kept < result.ended] == []


@linux
def test_crossings_sent_before_a_kill_are_stored_even_if_the_store_process_is_far_behind(tmp_path):
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
    process = start(command, tmp_path, fresh=True)
    store = int(process.stdout.readline())
    time.sleep(STARVED)
    process.kill()
    process.communicate()
    os.kill(store, signal.SIGCONT)
    give_up = time.monotonic() + 30
    while os.path.exists(f"/proc/{store}/exe") and time.monotonic() < give_up:
        time.sleep(0.01)
    assert numbers(tmp_path) == list(range(151))
