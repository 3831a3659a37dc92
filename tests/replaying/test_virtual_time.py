"""In live crossings time passes by sleeps and readings of the clock, and not by how busy the machine is."""

import os
import subprocess
import sys
import threading
import time

import pytest

from autochron.ambient import waiting
from autochron.ambient.waiting import VirtualTime

MILLISECOND = 1_000_000

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/schedstat"), reason="the system has no account"
)


@pytest.fixture
def busy():
    """Keep all processors busy with other processes."""
    loop = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(loop) for _ in range(4 * (os.cpu_count() or 1))]
    yield
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def work():
    """Work for 50 ms of the processor's time."""
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass


def test_each_reading_takes_a_millisecond():
    passing = VirtualTime()
    readings = [passing.passed() for _ in range(5)]
    assert readings == [MILLISECOND * number for number in range(1, 6)]


def test_waiting_for_a_processor_takes_no_time(busy):
    passing = VirtualTime()
    for number in range(1, 5):
        work()
        assert passing.passed() == MILLISECOND * number


def test_sleeping_and_time_outs_take_the_time_that_they_take(busy):
    passing = VirtualTime()
    time.sleep(0.2)
    slept = passing.passed()
    assert slept >= 200 * MILLISECOND
    # A time-out is less waiting if the machine was busy before it began to wait.
    assert not threading.Event().wait(0.2)
    assert passing.passed() - slept >= 100 * MILLISECOND


def test_a_fork_goes_on_from_its_parents_time():
    passing = VirtualTime()
    time.sleep(0.1)
    before = passing.passed()
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.write(writing, str(passing.passed()).encode())
        os._exit(0)
    os.waitpid(process, 0)
    assert int(os.read(reading, 80)) - before == MILLISECOND
    os.close(reading)
    os.close(writing)


def test_without_an_account_it_is_the_real_time(monkeypatch):
    monkeypatch.setattr(waiting, "_ACCOUNT", "/nowhere")
    passing = VirtualTime()
    began = time.perf_counter_ns()
    work()
    passed = passing.passed()
    assert 50 * MILLISECOND <= passed <= time.perf_counter_ns() - began + 50 * MILLISECOND
