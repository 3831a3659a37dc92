"""Programs that are recorded into a store of their own, and ways to read that store."""

import contextlib
import json
import os
import sqlite3

import pytest

from autochron.store import open_store
from tests.cli.processes import autochron, write

STEP = """
import autochron, os, sys, time

@autochron.boundary("step", kind="tool")
def step(n, text=""):
    return n
"""


def numbers(folder, store="t.db", trace="last"):
    """Return the `n` arguments of the crossings in a trace, sorted."""
    envelopes = open_store(os.path.join(folder, store)).envelopes(trace)
    return sorted(json.loads(envelope.input)["n"] for envelope in envelopes)


def is_sound(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def record(folder, code, *words, env=None):
    write(folder, {"agent.py": STEP + code})
    return autochron(folder, "run", "--quiet", "--store", "t.db", *words, "agent.py", env=env, fresh=True)


WAYS = {
    "closerange": "os.closerange(3, 4096)",
    "close": """
for each in range(3, 1024):
    try: os.close(each)
    except OSError: pass""",
    "dup2": """
void = os.open(os.devnull, os.O_RDWR)
for each in [int(name) for name in os.listdir("/proc/self/fd")] if os.path.isdir("/proc/self/fd") else range(3, 64):
    if each > 2 and each != void: os.dup2(void, each)
os.closerange(3, 4096)""",
    "ctypes": """
import ctypes
for each in range(3, 1024): ctypes.CDLL(None).close(each)""",
}

OWN = """
def take(tag):
    close()
    return [os.open(f"{tag}{n}.txt", os.O_RDWR | os.O_CREAT, 0o600) for n in range(40)]

def fill(files, tag):
    for n, each in enumerate(files):
        os.write(each, f"{tag} {n};".encode())

def check(files, tag, times):
    for n, each in enumerate(files):
        os.lseek(each, 0, 0)
        assert os.read(each, 1 << 20) == f"{tag} {n};".encode() * times, (tag, n)
"""


def closing(way, code):
    body = "".join(f"    {line}\n" for line in WAYS[way].strip().splitlines())
    return f"\ndef close():\n{body}\n{OWN}\n{code}"


FIND = """
def store_process():
    own = os.getpid()
    for each in os.listdir("/proc"):
        try:
            with open(f"/proc/{each}/stat") as file: fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{each}/cmdline") as file: line = file.read()
            if each.isdigit() and int(each) != own and "t.db" in line and fields[0] != "Z":
                for number in os.listdir(f"/proc/{each}/fd"):
                    if os.readlink(f"/proc/{each}/fd/{number}") == os.path.abspath("t.db"): return int(each)
        except OSError:
            pass
    raise SystemExit("no process has the store open")
"""


linux = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="finds the process as Linux shows it")
