"""Kill recorded programs at random points under load, and compare the store with the crossings that had ended.

A crossing counts as ended when the program has its result. The program then writes the wall time into a memory-mapped file,
which survives the kill. Crossings that ended `PROMISED` seconds or more before the kill have to be in the store.
"""

import contextlib
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from autochron.store import open_store
from tests.cli.processes import start

PROMISED = 0.05
ROOM = 1 << 20
WORD = struct.Struct("=d")

PROGRAM = """
import autochron, mmap, os, random, struct, sys, threading, time

@autochron.boundary("step", kind="tool")
def step(n, text):
    return {"n": n, "text": text}

with open("times", "r+b") as file:
    times = mmap.mmap(file.fileno(), 0)
load = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(int, 1)], daemon=True)
if os.environ.get("LOAD"):
    load.start()
word = struct.Struct("=d")
for n in range(len(times) // word.size):
    step(n, "x" * (n * 37 % 3000))
    word.pack_into(times, n * word.size, time.time())
    if n % 7 == 0:
        time.sleep(0.001)
"""


class Killed(NamedTuple):
    """What is in the store after one kill.

    Attributes:
        ended: how many crossings ended `PROMISED` seconds or more before the kill.
        kept: how many of these are in the store.
        oldest: seconds between the end of the first crossing that is not in the store and the kill; 0 if all are stored.
        whole: whether the crossings in the store are the first ones, without a gap.
        busy: how many other processes only computed meanwhile.
    """

    ended: int
    kept: int
    oldest: float
    whole: bool
    busy: int = 0


def prepare(folder):
    """Write the program and an empty file of times; return the path of the file."""
    with open(os.path.join(folder, "agent.py"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    times = os.path.join(folder, "times")
    with open(times, "wb") as file:
        file.truncate(ROOM)
    return times


def kill_once(folder, seconds, *, load=True):
    """Record a program into `folder`, kill it after `seconds` of crossings, and compare the store with the times."""
    times = prepare(folder)
    command = [sys.executable, "-m", "autochron", "run", "--quiet", "--store", "t.db", "agent.py"]
    process = start(command, folder, env={"LOAD": "1"} if load else {})
    with open(times, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    give_up = time.monotonic() + 60
    while not WORD.unpack_from(mapped)[0] and time.monotonic() < give_up:
        time.sleep(0.001)
    time.sleep(seconds)
    kill_time = time.time()
    process.kill()
    process.communicate()
    ended = [when for (when,) in WORD.iter_unpack(mapped) if when]
    numbers = _stored(os.path.join(folder, "t.db"), sum(when < kill_time - PROMISED for when in ended))
    due = [number for number, when in enumerate(ended) if when < kill_time - PROMISED]
    missing = [when for number, when in enumerate(ended) if number not in numbers and when < kill_time]
    return Killed(
        len(due),
        len(numbers.intersection(due)),
        max((kill_time - when for when in missing), default=0.0),
        numbers == set(range(len(numbers))),
    )


def _stored(path, expected_count):
    """Return the numbers of the crossings in the store; wait up to ten seconds for its writing process to end."""
    give_up = time.monotonic() + 10
    while True:
        numbers = {json.loads(envelope.input)["n"] for envelope in open_store(path).envelopes("last")}
        if time.monotonic() > give_up or (len(numbers) >= expected_count and not _is_written(path)):
            return numbers
        time.sleep(0.01)


def _is_written(path):
    """Return whether another process has the store open: SQLite then keeps a file beside it."""
    return os.path.exists(f"{path}-wal")


def kill_often(times, seed=0):
    """Kill a program `times` times, and yield the result of each kill."""
    choose = random.Random(seed)
    for _ in range(times):
        busy = choose.randrange(3)
        with tempfile.TemporaryDirectory() as folder, loaded(busy):
            result = kill_once(folder, choose.uniform(0.06, 0.6), load=choose.random() < 0.5)
        yield result._replace(busy=busy)


@contextlib.contextmanager
def loaded(processes):
    """Keep the machine busy with a number of processes that only compute."""
    busy = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()
