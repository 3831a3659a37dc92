"""A trace that was cut off is replayed as far as it goes, and the report says so."""

import sys

import pytest

from tests.agents.workshop import write

KILLED = """
import os
import signal
import time


def roll(number):
    return number


print(roll(1), flush=True)
if os.environ["KILLED"] == "1":
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_trace_that_was_cut_off_replays_the_same_as_far_as_it_goes(fresh, tmp_path):
    write(tmp_path, KILLED, "roll")
    recorded = fresh.run(tmp_path, "run", "agent.py", KILLED="1")
    assert recorded.status == -9
    replayed = fresh.run(tmp_path, "replay", "last", KILLED="0")
    assert (replayed.status, replayed.stdout) == (0, b"1\n"), replayed.stderr
    assert "autochron: the same as far as it was recorded: 1 crossing" in replayed.stderr
    assert "(no-footer)" in replayed.stderr
