"""The writing thread pauses during long work, so that other threads don't wait for it."""

import sys
import threading

import pytest

from autochron._runtime import pauses
from autochron.redaction.redactor import Redactor

FIELDS = b"[" + b",".join(b'{"id":%d,"token":"t%d"}' % (number, number) for number in range(20_000)) + b"]"


@pytest.fixture
def no_switches():
    """Let a thread run until it yields by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    yield
    sys.setswitchinterval(before)


def _turns_of_another_thread(work):
    turns, ended, began = [], threading.Event(), threading.Event()

    def take():
        began.set()
        while not ended.wait(0.001):
            turns.append(1)

    thread = threading.Thread(target=take)
    thread.start()
    began.wait()
    first = len(turns)
    work()
    count = len(turns) - first
    ended.set()
    thread.join()
    return count


def test_another_thread_runs_while_a_large_value_is_masked_with_pauses(no_switches):
    redactor = Redactor()
    redactor.load()
    masked = []

    def mask():
        pauses.begin()
        masked.append(redactor.mask_outcome(FIELDS))
        pauses.end()

    assert _turns_of_another_thread(mask) > 0
    assert _turns_of_another_thread(lambda: masked.append(redactor.mask_outcome(FIELDS))) == 0
    assert masked[0] == masked[1]
    assert len(masked[0][1]) == 20_000
