"""No crossing is lost under load, with many threads, with forks, and on SIGTERM."""

import json
import os
import signal
import sys

import pytest

from autochron.store import open_store
from autochron.store.shared import SIZE
from tests.cli.processes import autochron, finish, start, write
from tests.security.storing import STEP, numbers, record


@pytest.mark.thorough
def test_payloads_larger_than_the_shared_memory_are_recorded(tmp_path, request):
    large = 50_000_000 if request.config.getoption("--thorough") else SIZE + 1_000_000
    code = f"""
if not os.fork():
    step(4, "y" * 5_000_000)
    os._exit(0)
os.wait()
for n in range(2): step(n, "x" * {large} + str(n))
step(3)
"""
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    texts = {
        json.loads(envelope.input)["n"]: json.loads(envelope.input)["text"]
        for envelope in open_store(f"{tmp_path}/t.db").envelopes("last")
    }
    expected = {n: "x" * large + str(n) for n in range(2)} | {3: "", 4: "y" * 5_000_000}
    assert texts == expected


SERVICE = """
def handle(n):
    return step(n)
"""


def test_many_traces_of_calls_are_recorded_completely(tmp_path, request):
    count = 1000 if request.config.getoption("--thorough") else 250
    main = f"import service, time\nbegan = time.monotonic()\nfor n in range({count}): service.handle(n)\n"
    rules = 'version = 1\nproject = ["."]\n[[trace]]\ntarget = "service:handle"\n'
    write(tmp_path, {"service.py": STEP + SERVICE, "agent.py": main, "autochron.toml": rules})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py")
    assert result.status == 0
    assert "lost" not in result.said
    store = open_store(str(tmp_path / "t.db"))
    summaries = [summary for summary in store.summaries() if summary.header.name == "service:handle"]
    assert [(summary.crossings, summary.complete) for summary in summaries] == [(1, True)] * count
    arguments = sorted(
        json.loads(envelope.input)["n"]
        for summary in summaries
        for envelope in store.envelopes(summary.header.id)
    )
    assert arguments == list(range(count))
    assert not os.path.exists(tmp_path / "t.db-wal")


def test_sigterm_under_load_loses_no_crossing_whose_result_was_printed(tmp_path):
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
    # Only lines read before the signal are compared: what a thread does after the handler has begun may be cut off.
    assert set(map(int, lines)) <= set(numbers(tmp_path))


def test_4_processes_with_32_threads_each_lose_nothing(tmp_path):
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


def test_more_forks_than_fit_into_the_shared_memory_lose_nothing(tmp_path):
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
