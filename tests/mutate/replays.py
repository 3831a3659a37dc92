"""Recorded programs, and what a replay of them by `replay.run()` gives."""

import contextlib
import json
import os
import re
import time

import autochron
from tests.cli.processes import autochron as command
from tests.cli.processes import write

RULES = """version = 1
packs = ["openai"]
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""

TOOLS = """
import time

def look(number):
    return {"number": number, "at": time.time()}

def rest():
    return "nothing"
"""


def results(folder, trace="trace.jsonl", **options):
    """Return what a replay of the recorded command gives."""
    with autochron.replay(
        str(folder / trace), check=False, rules=str(folder / "autochron.toml"), **options
    ) as replay:
        rerun = replay.run()
    crossings = [(each.address, each.live, repr(each.result)) for each in rerun.crossings]
    return rerun.status, rerun.stdout, rerun.stderr, crossings, rerun.summary.divergences


def replayed(folder, *, timeout=None, **options):
    """Return what a replay of the recorded command gives, without durations, and why it did not go on from the cut."""
    rules = str(folder / "autochron.toml")
    with autochron.replay(str(folder / "trace.jsonl"), check=False, rules=rules, **options) as replay:
        rerun = replay.run(timeout=timeout)
    crossings = [(each.address, each.live, repr(each.result)) for each in rerun.crossings]
    stderr = re.sub(r"[\d.,]+ [mµ]?s\b", "… s", rerun.stderr)
    return (rerun.status, rerun.stdout, stderr, crossings, rerun.summary), rerun.why_whole


def recorded(folder, program):
    write(folder, {"autochron.toml": RULES, "tools.py": TOOLS, "agent.py": program})
    command(folder, "run", "--quiet", "agent.py")
    command(folder, "traces", "export", "last", "trace.jsonl")
    return json.loads((folder / "trace.jsonl").read_text().splitlines()[0])["header"]["hash_seed"]


def processes_left(prepared, most):
    """Return how many processes of a prepared one are left, once there are no more than `most`, or after 20 seconds."""
    deadline = time.monotonic() + 20
    while (number := _processes_of(prepared)) > most and time.monotonic() < deadline:
        time.sleep(0.05)
    return number


def _processes_of(prepared):
    number = 0
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
            number += prepared.address.encode() in file.read()
    return number
