"""Nothing of the store reaches a descriptor of the program's, nothing is lost, and what is claimed is in the store."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
import time

import pytest

from autochron.store import open_store
from tests.cli.processes import autochron, finish, python, start, write
from tests.security import kills

STEP = """
import autochron, os, sys, time

@autochron.boundary("step", kind="tool")
def step(n, text=""):
    return n
"""


def numbers(folder, store="t.db", trace="last"):
    """The arguments of the crossings in a trace, sorted."""
    found = open_store(os.path.join(folder, store)).envelopes(trace)
    return sorted(json.loads(each.input)["n"] for each in found)


def is_sound(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def record(folder, code, *words, env=None):
    write(folder, {"agent.py": STEP + code})
    return autochron(folder, "run", "--quiet", "--store", "t.db", *words, "agent.py", env=env)


# --- a program that closes every descriptor and opens its own ---

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

ALONE = """
for n in range(10): step(n)
for turn in range(5):
    files = take(f"turn{turn}-")
    for n in range(10):
        step(10 + turn * 10 + n)
        fill(files, "own")
        time.sleep(0.003)
    time.sleep(0.05)
    check(files, "own", 10)
step(60)
print("whole")
"""

FORKED = """
step(0)
child = os.fork()
if not child:
    files = take("child")
    for n in range(1, 30):
        step(n)
        fill(files, "own")
    check(files, "own", 29)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
files = take("parent")
for n in range(30, 60):
    step(n)
    fill(files, "own")
check(files, "own", 30)
step(60)
print("whole")
"""

DAEMON = """
ready, done = os.pipe()
step(0)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.dup2(done, 2000)
    os.closerange(3, 2000)
    time.sleep(0.2)
    files = [os.open(f"daemon{n}.txt", os.O_RDWR | os.O_CREAT, 0o600) for n in range(40)]
    for n in range(1, 61):
        step(n)
        fill(files, "own")
    check(files, "own", 60)
    os.write(2000, b"whole")
    os._exit(0)
os.close(done)
if os.environ.get("STAYS"):
    print(os.read(ready, 5).decode())
"""


def closing(way, code):
    body = "".join(f"    {line}\n" for line in WAYS[way].strip().splitlines())
    return f"\ndef close():\n{body}\n{OWN}\n{code}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", ["alone", "forked"])
def test_a_program_that_closes_all_descriptors_has_its_files_to_itself(way, program, tmp_path):
    result = record(tmp_path, closing(way, {"alone": ALONE, "forked": FORKED}[program]))
    assert (result.status, result.out, result.err) == (0, b"whole\n", b"")
    assert numbers(tmp_path) == list(range(61))
    assert is_sound(tmp_path / "t.db")


@pytest.mark.parametrize("stays", ["1", ""], ids=["the program stays", "the program goes"])
def test_a_daemon_that_was_forked_twice_has_its_files_to_itself(stays, tmp_path):
    result = record(tmp_path, closing("closerange", DAEMON), env={"STAYS": stays})
    assert (result.status, result.out) == (0, b"whole\n" if stays else b"")
    give_up = time.monotonic() + 30
    while len(numbers(tmp_path)) < 61 and time.monotonic() < give_up:
        time.sleep(0.05)
    assert numbers(tmp_path) == list(range(61))
    for n in range(40):
        assert (tmp_path / f"daemon{n}.txt").read_bytes() == f"own {n};".encode() * 60


def test_the_program_holds_no_descriptor_of_the_store(tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("lists descriptors as Linux does")
    code = """
for n in range(50):
    step(n)
    time.sleep(0.002)
    for each in os.listdir("/proc/self/fd"):
        try:
            assert "t.db" not in os.readlink(f"/proc/self/fd/{each}")
        except FileNotFoundError:
            pass
"""
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    assert numbers(tmp_path) == list(range(50))


BLOCK = """
with autochron.record("block", store="t.db") as recorded:
    for n in range(10): step(n)
    time.sleep(0.1)
    for turn in range(3):
        files = take(f"turn{turn}-")
        for n in range(10):
            step(10 + turn * 10 + n)
            fill(files, "own")
            time.sleep(0.003)
        time.sleep(0.1)
        check(files, "own", 10)
    if not os.fork():
        step(40)
        os._exit(0)
    os.wait()
print(*recorded.problems)
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_block_writes_into_no_file_of_the_programs(way, tmp_path):
    """There the program's own process holds the store at first, and looks at its descriptors before each commit."""
    write(tmp_path, {"agent.py": STEP + closing(way, BLOCK)})
    assert python(tmp_path, "agent.py") == (0, b"\n", b"")
    assert numbers(tmp_path) == list(range(41))
    assert is_sound(tmp_path / "t.db")


# --- who writes the store ---

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


@linux
@pytest.mark.parametrize("when", ["before", "between", "while"])
def test_the_program_writes_itself_when_the_store_process_is_killed(when, tmp_path):
    code = {
        "before": "step(0); time.sleep(0.1); os.kill(store_process(), 9)\nfor n in range(1, 300): step(n)\n",
        "between": "for n in range(150): step(n)\ntime.sleep(0.2); os.kill(store_process(), 9); time.sleep(0.2)\n"
        "for n in range(150, 300): step(n); time.sleep(0.001)\n",
        "while": "store = store_process()\nfor n in range(300):\n    step(n, 'x' * 5000)\n"
        "    if n == 150: os.kill(store, 9)\n",
    }[when]
    write(tmp_path, {"agent.py": STEP + FIND + code})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py")
    assert (result.status, result.out) == (0, b"")
    assert "autochron: 300 crossings recorded" in result.said
    assert "the process that wrote the store was ended by something else" in result.said
    assert numbers(tmp_path) == list(range(300))


@linux
def test_the_store_process_uses_no_processor_while_nothing_crosses_and_is_nobodys_child(tmp_path):
    code = """
step(0); time.sleep(0.2)
def fields():
    with open(f"/proc/{store}/stat") as file: return file.read().rpartition(")")[2].split()
store = store_process()
before = fields()
time.sleep(2)
after = fields()
ticks = sum(map(int, after[11:13])) - sum(map(int, before[11:13]))
assert ticks <= 2, ticks
assert int(after[1]) != os.getpid()
assert int(after[3]) != os.getsid(0)
for stream in range(3): assert os.readlink(f"/proc/{store}/fd/{stream}") == os.devnull
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("alone")
"""
    result = record(tmp_path, FIND + code)
    assert (result.status, result.out, result.err) == (0, b"alone\n", b"")


ENDS = {
    "kill -9": "os.kill(os.getpid(), 9)",
    "its end": "",
    "exec": "os.execv('/bin/true', ['true'])",
    "a fork that has ended": "if not os.fork(): step(1); os._exit(0)\nos.wait()",
    "a child": "import subprocess; subprocess.run([sys.executable, '-c', 'pass'], check=True)",
}


@linux
@pytest.mark.parametrize("end", ENDS)
def test_the_store_process_ends_with_the_program(end, tmp_path):
    code = f"step(0); time.sleep(0.1)\nprint(store_process())\nsys.stdout.flush()\n{ENDS[end]}\n"
    result = record(tmp_path, FIND + code)
    process, give_up = int(result.out), time.monotonic() + 10
    while os.path.exists(f"/proc/{process}/exe") and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{process}/exe")
    assert numbers(tmp_path) == ([0, 1] if "fork" in end else [0])
    assert not os.path.exists(tmp_path / "t.db-wal")


def test_hooks_of_forks_are_the_programs_own(tmp_path):
    code = """
os.register_at_fork(before=lambda: print("forks"))
for n in range(100): step(n)
time.sleep(0.1)
"""
    result = record(tmp_path, code)
    assert (result.status, result.out, result.err) == (0, b"", b"")


# --- kill -9 ---


def assert_kept(found):
    assert sum(each.ended for each in found) > 0
    assert [(each.kept, each.whole) for each in found] == [(each.ended, True) for each in found]


@pytest.mark.slow
def test_what_ended_50_ms_before_a_kill_is_there():
    assert_kept(list(kills.kill_often(8)))


@pytest.mark.thorough
def test_what_ended_50_ms_before_each_of_500_kills_is_there():
    assert_kept(list(kills.kill_often(500, seed=1)))


# --- load ---


@pytest.mark.slow
def test_payloads_larger_than_the_memory_that_is_shared(tmp_path):
    code = """
if not os.fork():
    step(4, "y" * 5_000_000)
    os._exit(0)
os.wait()
for n in range(2): step(n, "x" * 50_000_000 + str(n))
step(3)
"""
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    found = {
        json.loads(each.input)["n"]: json.loads(each.input)["text"]
        for each in open_store(f"{tmp_path}/t.db").envelopes("last")
    }
    wanted = {n: "x" * 50_000_000 + str(n) for n in range(2)} | {3: "", 4: "y" * 5_000_000}
    assert found == wanted


SERVICE = """
def handle(n):
    return step(n)
"""


def test_1000_traces_of_calls_a_second(tmp_path):
    main = "import service, time\nbegan = time.monotonic()\nfor n in range(1000): service.handle(n)\n"
    rules = 'version = 1\nproject = ["."]\n[[trace]]\ntarget = "service:handle"\n'
    write(tmp_path, {"service.py": STEP + SERVICE, "agent.py": main, "autochron.toml": rules})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py")
    assert result.status == 0
    assert "lost" not in result.said
    store = open_store(str(tmp_path / "t.db"))
    found = [each for each in store.summaries() if each.header.name == "service:handle"]
    assert [(each.crossings, each.complete) for each in found] == [(1, True)] * 1000
    seen = sorted(
        json.loads(envelope.input)["n"] for each in found for envelope in store.envelopes(each.header.id)
    )
    assert seen == list(range(1000))
    assert not os.path.exists(tmp_path / "t.db-wal")


def test_sigterm_under_load_loses_nothing_that_was_printed(tmp_path):
    code = """
import threading
def work(start):
    for n in range(start, start + 1_000_000):
        step(n)
        os.write(1, b"%d\\n" % n)
for k in range(8): threading.Thread(target=work, args=(k * 1_000_000,), daemon=True).start()
time.sleep(60)
"""
    write(tmp_path, {"agent.py": STEP + code})
    process = start(
        [sys.executable, "-m", "autochron", "run", "--quiet", "--store", "t.db", "agent.py"], tmp_path
    )
    lines = [process.stdout.readline() for _ in range(2000)]
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert (result.status, result.err) == (-signal.SIGTERM, b"")
    # What a thread did after the handler had begun is cut off with it.
    assert set(map(int, lines)) <= set(numbers(tmp_path))


def test_4_processes_with_32_threads_each(tmp_path):
    code = """
import threading
def work(start):
    for n in range(start, start + 20): step(n)
children = []
for k in range(4):
    if not os.fork():
        threads = [threading.Thread(target=work, args=(k * 640 + t * 20,)) for t in range(32)]
        for each in threads: each.start()
        for each in threads: each.join()
        os._exit(0)
for k in range(4): assert os.wait()[1] == 0
"""
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    assert numbers(tmp_path) == list(range(2560))


def test_more_forks_than_can_share_memory_lose_nothing(tmp_path):
    code = """
children = []
for n in range(80):
    pid = os.fork()
    if not pid:
        step(n)
        time.sleep(1.5)
        os._exit(0)
    children.append(pid)
for pid in children: assert os.waitpid(pid, 0)[1] == 0
"""
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    assert numbers(tmp_path) == list(range(80))


def test_traces_are_pruned_while_another_is_recorded(tmp_path):
    for _ in range(3):
        assert record(tmp_path, "for n in range(200): step(n, str(n) * 500)\n").status == 0
    write(
        tmp_path,
        {
            "long.py": STEP
            + "for n in range(400):\n    step(n)\n    print(n, flush=True)\n    time.sleep(0.003)\n"
        },
    )
    process = start(
        [sys.executable, "-m", "autochron", "run", "--quiet", "--store", "t.db", "long.py"], tmp_path
    )
    process.stdout.readline()
    pruned = autochron(tmp_path, "traces", "prune", "--store", "t.db", "--max-size", "100KB")
    result = finish(process)
    assert (pruned.status, result.status, result.err) == (0, 0, b"")
    assert 0 < len(open_store(str(tmp_path / "t.db")).summaries()) < 4
    assert numbers(tmp_path) == list(range(400))


# --- a store that takes nothing ---

REFUSED = """
import random
for n in range(200):
    print(step(n, random.Random(n).randbytes(10_000).hex()))
    time.sleep(0.001)
sys.exit(3)
"""


def assert_told(result, folder):
    """The program is as it would be; what is claimed is there, and the rest is called lost."""
    assert (result.status, result.out) == (3, b"".join(b"%d\n" % n for n in range(200)))
    assert "Traceback" not in result.said
    recorded, of = map(int, re.search(r"autochron: (\d+) of (\d+) crossings recorded", result.said).groups())
    assert of == 200
    assert recorded < 200
    assert numbers(folder) == sorted(set(numbers(folder)))
    assert len(numbers(folder)) == recorded
    assert f"lost: {200 - recorded} crossings could not be written (lost)" in result.said


def test_a_store_that_may_not_grow_is_told_of(tmp_path):
    """A limit of the process stands for a quota and a full disk: SQLite sees each as a write that fails."""
    begin = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
os.execv(sys.executable, [sys.executable, "-m", "autochron", "run", "--store", "t.db", "agent.py"])
"""
    write(tmp_path, {"agent.py": STEP + REFUSED})
    assert_told(python(tmp_path, "-c", begin), tmp_path)


def test_a_limit_that_the_program_sets_itself_is_its_own(tmp_path):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    code = f"{limit}for n in range(50): step(n, str(n) * 99)\n"
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    assert numbers(tmp_path) == list(range(50))


def test_a_table_that_is_taken_away_is_told_of(tmp_path):
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


def test_what_was_lost_is_told_by_a_quiet_run_too(tmp_path):
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


def test_a_trace_that_is_deleted_is_not_claimed(tmp_path):
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


def test_a_crossing_that_never_ended_is_neither_claimed_nor_called_lost(tmp_path):
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


def test_a_folder_that_can_t_be_written_is_told_before_the_program_starts(tmp_path):
    if os.geteuid() == 0:
        place = "/proc/t.db"  # root writes every folder but such ones
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        place = "closed/t.db"
    write(tmp_path, {"agent.py": STEP + "print('began')\n"})
    result = autochron(tmp_path, "run", "--store", place, "agent.py")
    assert (result.status, result.out) == (2, b"")
    assert re.fullmatch(rf"autochron: {place} can't be used \(.*\); .*\n", result.said)
