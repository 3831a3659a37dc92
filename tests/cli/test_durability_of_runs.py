"""No crossing is lost, however the program ends, and no fault of ours ends or changes the program (guarantee 6)."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from autochron.model import Returned
from autochron.store import open_store
from tests.cli.processes import autochron, finish, python, start, write

PROMISED = 0.05
"""Seconds of the writer's own time after which a crossing is durable."""

SLACK = 1.0
"""Seconds by which a busy machine may delay the writer."""

LOOP = """
import autochron, os, sys, time

@autochron.boundary("step", kind="tool")
def step(n, text):
    return {"n": n, "text": text}

def loop(count):
    for n in range(1, count + 1):
        step(n, "x" * (n % 50))
        os.write(1, b"%d %.6f\\n" % (n, time.monotonic()))
"""


SILENT = LOOP[: LOOP.index("def loop")]


def seqs(store, trace="last"):
    return [envelope.seq for envelope in open_store(str(store)).envelopes(trace)]


def assert_complete(envelopes, count):
    """Check that no envelope is lost, duplicated or corrupt."""
    assert [envelope.seq for envelope in envelopes] == list(range(1, count + 1))
    for envelope in envelopes:
        arguments = json.loads(envelope.input)
        assert json.loads(envelope.outcome.value) == arguments


@pytest.mark.parametrize("reports", [200, pytest.param(6000, marks=pytest.mark.slow)])
def test_kill_9_loses_only_the_last_moments(reports, tmp_path):
    write(tmp_path, {"agent.py": LOOP + "loop(10_000)\n"})
    process = start([sys.executable, "-m", "autochron", "run", "--store", "t.db", "agent.py"], tmp_path)
    printed = [process.stdout.readline() for _ in range(reports)]
    process.kill()
    killed = time.monotonic()
    printed += process.stdout.read().splitlines()
    process.communicate()
    done = {int(number): float(when) for number, when in (line.split() for line in printed)}
    envelopes = list(open_store(str(tmp_path / "t.db")).envelopes("last"))
    assert_complete(envelopes, len(envelopes))
    old = [number for number, when in done.items() if when < killed - PROMISED - SLACK]
    assert len(envelopes) >= max(old, default=0)
    shown = autochron(tmp_path, "traces", "show", "last", "--store", "t.db")
    assert shown.text.splitlines()[1].endswith("cut off before its end")
    assert autochron(tmp_path, "traces", "--store", "t.db").text.endswith("\tcut off\n")
    second_run = autochron(
        tmp_path, "run", "--store", "t.db", "--quiet", "agent.py"
    )  # the store can still be recorded into
    assert second_run.status == 0
    assert seqs(tmp_path / "t.db") == list(range(1, 10_001))


def test_a_crossing_becomes_durable_while_the_program_sleeps(tmp_path):
    """No later crossing and no end of the program is needed to commit it."""
    write(tmp_path, {"agent.py": LOOP + "loop(3)\ntime.sleep(60)\n"})
    process = start([sys.executable, "-m", "autochron", "run", "--store", "t.db", "agent.py"], tmp_path)
    for _ in range(3):
        process.stdout.readline()
    give_up = time.monotonic() + 30
    while seqs(tmp_path / "t.db") != [1, 2, 3]:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    process.kill()
    process.communicate()


def test_the_replay_of_a_trace_that_was_cut_off_reports_it(tmp_path):
    end = (
        "loop(5)\nif os.environ.get('CUT'):\n    time.sleep(0.5)\n    os.kill(os.getpid(), 9)\nstep(6, '')\n"
    )
    write(tmp_path, {"agent.py": LOOP + end})
    assert autochron(tmp_path, "run", "--quiet", "agent.py", env={"CUT": "1"}).status == -9
    result = autochron(tmp_path, "replay", "last")
    assert (
        "the trace was cut off before its end: exit status and output could not be compared (no-footer)"
        in result.said
    )
    assert result.status == 1
    assert "step[6]" in result.said  # a call after the end of the recording is a divergence and does not run


ENDINGS = {
    "os._exit": ("os._exit(7)", 7, 7),
    "os._exit in a thread": (
        "import threading\nthreading.Thread(target=os._exit, args=(7,)).start()\ntime.sleep(60)",
        7,
        7,
    ),
    "os.execv": ("os.execv(sys.executable, [sys.executable, '-c', 'pass'])", 0, None),
    "os.execlp": ("os.execlp(sys.executable, sys.executable, '-c', 'raise SystemExit(5)')", 5, None),
    "SIGTERM": ("os.kill(os.getpid(), 15)\ntime.sleep(60)", -15, -15),
    "SIGHUP": ("os.kill(os.getpid(), 1)\ntime.sleep(60)", -1, -1),
    "SIGINT": ("os.kill(os.getpid(), 2)\ntime.sleep(60)", -2, -2),
    "SIGTERM handled": (
        "import signal\nsignal.signal(15, lambda *_: sys.exit(3))\nos.kill(os.getpid(), 15)\ntime.sleep(60)",
        3,
        3,
    ),
    "raises": ("1/0", 1, 1),
    "exits": ("sys.exit('so')", 1, 1),
    "exits in a daemon's time": (
        "import threading\nthreading.Thread(target=loop, args=(0,), daemon=True).start()",
        0,
        0,
    ),
    "atexit": ("import atexit\natexit.register(lambda: None)", 0, 0),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_crossing_is_lost_when_the_program_ends(ending, tmp_path):
    code, status, recorded_status = ENDINGS[ending]
    write(tmp_path, {"agent.py": f"{LOOP}loop(3000)\n{code}\n"})
    result = autochron(tmp_path, "run", "--quiet", "--store", "t.db", "agent.py")
    assert result.status == status
    assert len(result.out.splitlines()) == 3000
    trace = open_store(str(tmp_path / "t.db")).load("last")
    assert_complete(trace.envelopes, 3000)
    assert trace.footer is not None
    assert (trace.footer.status, trace.footer.lost) == (recorded_status, 0)


def test_crossings_in_exit_functions_and_late_threads_are_recorded(tmp_path):
    late = """
import atexit, threading
atexit.register(lambda: step(3, "exit"))
threading.Thread(target=lambda: (time.sleep(0.2), step(2, "thread"))).start()
step(1, "main")
"""
    write(tmp_path, {"agent.py": LOOP + late})
    assert autochron(tmp_path, "run", "--quiet", "--store", "t.db", "agent.py").status == 0
    envelopes = open_store(str(tmp_path / "t.db")).envelopes("last")
    assert [json.loads(envelope.input)["text"] for envelope in envelopes] == ["main", "thread", "exit"]


THREADS = """
import autochron, sys, threading

@autochron.boundary("step", kind="tool")
def step(n, text):
    return {"n": n, "text": text}

def work(number):
    for n in range(100):
        step(100 * number + n, str(number) * 20)

threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_two_processes_with_32_threads_each_share_a_store(tmp_path):
    write(tmp_path, {"agent.py": THREADS})
    command = [sys.executable, "-m", "autochron", "run", "--store", "t.db", "agent.py"]
    processes = [start(command, tmp_path) for _ in range(2)]
    results = [finish(process) for process in processes]
    assert [result.status for result in results] == [0, 0]
    assert all("lost" not in result.said for result in results)
    store = open_store(str(tmp_path / "t.db"))
    ids = [summary.header.id for summary in store.summaries()]
    assert len(ids) == 2
    for trace_id in ids:
        trace = store.load(trace_id)
        assert_complete(trace.envelopes, 3200)
        assert len({envelope.lane for envelope in trace.envelopes}) == 32
        assert sorted(json.loads(envelope.input)["n"] for envelope in trace.envelopes) == list(range(3200))
        assert all(type(envelope.outcome) is Returned for envelope in trace.envelopes)


# --- a store that cannot be written ---

SPEAKING = """
import autochron, random, sys, time

@autochron.boundary("step", kind="tool")
def step(n, text):
    return len(text)

for n in range(200):
    print(step(n, random.Random(n).randbytes(10_000).hex()))
    time.sleep(0.001)
sys.exit(3)
"""


@pytest.mark.slow
def test_a_full_disk_changes_nothing_for_the_program(tmp_path):
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root mounts a small disk")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        write(tmp_path, {"agent.py": SPEAKING})
        plain = python(tmp_path, "agent.py")
        woven = autochron(tmp_path, "run", "--store", "small/t.db", "agent.py")
        assert (woven.status, woven.out) == (plain.status, plain.out)
        assert woven.status == 3
        assert "could not be written (lost)" in woven.said
        assert f"autochron: {len(seqs(small / 't.db'))} of 200 crossings recorded" in woven.said
        assert "full" in woven.said
        assert "Traceback" not in woven.said
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.slow
def test_a_read_only_disk_is_refused_before_the_program_starts(tmp_path):
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root mounts a disk")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=9m", "tmpfs", small], check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro", small], check=True)
        write(tmp_path, {"agent.py": SPEAKING})
        refused = autochron(tmp_path, "run", "--store", "small/t.db", "agent.py")
        assert (refused.status, refused.text) == (2, "")
        assert refused.said.startswith("autochron: small/t.db can't be used (unable to open database file); ")
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_store_that_is_removed_changes_nothing_for_the_program(tmp_path):
    """The folder of the store is removed during the run, and replaced by a file."""
    source = SPEAKING.replace("import autochron, random", "import autochron, shutil, random").replace(
        "    time.sleep(0.001)\n",
        "    time.sleep(0.001)\n    if n == 20:\n        shutil.rmtree('kept')\n        open('kept', 'w').close()\n",
    )
    write(tmp_path, {"agent.py": source, "kept/x": ""})
    plain = python(tmp_path, "agent.py")
    os.unlink(tmp_path / "kept")
    os.mkdir(tmp_path / "kept")
    woven = autochron(tmp_path, "run", "--store", "kept/t.db", "agent.py")
    assert (woven.status, woven.out) == (plain.status, plain.out)
    assert woven.status == 3
    assert "Traceback" not in woven.said
    assert "  kept/t.db was removed while it was recorded into, and trace " in woven.said


def test_the_store_stays_in_place_when_the_program_changes_its_folder_and_forks(tmp_path):
    end = "loop(5)\nos.chdir('elsewhere')\nif os.fork() == 0: os._exit(0)\nos.wait()\nstep(6, '')\n"
    write(tmp_path, {"agent.py": LOOP + end, "elsewhere/x": "", "stores/x": ""})
    result = autochron(tmp_path, "run", "--store", "stores/t.db", "agent.py")
    assert result.status == 0
    assert seqs(tmp_path / "stores" / "t.db") == [1, 2, 3, 4, 5, 6]
    assert os.listdir(tmp_path / "elsewhere") == ["x"]


@pytest.mark.parametrize("lines", [3, 20_000], ids=["noticed at the end", "noticed by print"])
def test_a_closed_pipe_changes_nothing_for_the_recording(lines, tmp_path):
    """`autochron run agent.py | true` has Python's own message and status, and the trace is complete."""
    write(
        tmp_path, {"agent.py": f"{SILENT}for n in range(3): step(n, '')\nfor n in range({lines}): print(n)\n"}
    )

    def run_into_closed_pipe(*words):
        reader, writer = os.pipe()
        os.close(reader)
        result = python(tmp_path, *words, stdout=writer)
        os.close(writer)
        return result

    plain = run_into_closed_pipe("agent.py")
    woven = run_into_closed_pipe("-m", "autochron", "run", "--quiet", "--store", "t.db", "agent.py")
    assert woven == plain
    assert b"BrokenPipeError" in plain.err
    trace = open_store(str(tmp_path / "t.db")).load("last")
    assert_complete(trace.envelopes, 3)
    assert trace.footer is not None
