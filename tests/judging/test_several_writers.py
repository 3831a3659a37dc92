"""Several processes and threads can write one record of judgements at once."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import autochron
from autochron.store.locking import locked
from autochron.store.tracefile import read_trace
from tests.agents.workshop import environment as surroundings
from tests.judging.conftest import GOOD

POLITE = "The answer is polite."

WORKER = """
import json, sys, time
import autochron

path, own, start = sys.argv[1:]
calls = []


def judges(prompt):
    calls.append(prompt)
    return json.dumps({"reason": f"by {own}", "score": 0.5})


judges.__module__, judges.__qualname__ = "worker", "judges"
while time.time() < float(start):
    pass
reasons = []
for number in range(20):
    reasons.append(autochron.judge("r", f"{own} {number}", model=judges, record=path, mode="record").reason)
    reasons.append(autochron.judge("r", f"shared {number}", model=judges, record=path, mode="record").reason)
print(json.dumps(reasons[1::2]))
"""


def test_two_processes_that_write_at_once_lose_nothing_and_agree(tmp_path):
    path = tmp_path / "judged.jsonl"
    start = str(time.time() + 1.0)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), own, start],
            env=surroundings(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for own in ("one", "two")
    ]
    shared = [json.loads(worker.communicate(timeout=100)[0]) for worker in workers]
    recorded = {
        json.loads(envelope.input)["subject"]: json.loads(envelope.outcome.value)["reason"]
        for envelope in read_trace(str(path)).envelopes
    }
    assert set(recorded) == {f"{own} {number}" for own in ("one", "two", "shared") for number in range(20)}
    # The second writer used the judgement of the first, so both saw what later runs will see.
    assert shared[0] == shared[1] == [recorded[f"shared {number}"] for number in range(20)]
    assert os.listdir(tmp_path) == ["judged.jsonl"]


def test_threads_of_one_process_lose_nothing(tmp_path):
    path = tmp_path / "judged.jsonl"

    def judged(number):
        return autochron.judge(
            POLITE, f"subject {number % 20}", model=lambda prompt: GOOD, record=path, mode="record"
        ).score

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(judged, range(40))) == {0.9}
    assert len(read_trace(str(path)).envelopes) == 20


def test_a_lock_admits_one_thread_at_a_time_and_leaves_no_file(tmp_path):
    place, inside, counts = str(tmp_path / "file"), [], []

    def enter():
        for _ in range(50):
            with locked(place):
                inside.append(1)
                counts.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(counts), set(counts)) == (300, {1})
    assert os.listdir(tmp_path) == []


HOLDER = """
import sys
from autochron.store.locking import locked

with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_released_by_an_error_and_by_a_kill(tmp_path):
    place = str(tmp_path / "file")
    with pytest.raises(KeyError), locked(place):
        raise KeyError
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            HOLDER,
            place,
        ],
        env=surroundings(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.communicate()
    assert os.listdir(tmp_path) == ["file.lock"]
    with locked(place):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("left", ["nothing", "the file of another holder", "a folder"])
def test_a_lock_ends_although_its_file_was_removed(tmp_path, left):
    place, lock = str(tmp_path / "file"), tmp_path / "file.lock"

    def replace():
        lock.unlink()
        if left == "a folder":
            lock.mkdir()
        elif left == "the file of another holder":
            lock.write_text("other")

    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyError, match="the block's own"), locked(place):
        replace()
        raise KeyError("the block's own")
    with locked(place) if left == "nothing" else contextlib.nullcontext():
        pass
    expected = {"nothing": [], "the file of another holder": ["file.lock"], "a folder": ["file.lock"]}
    assert (os.listdir(tmp_path), sorted(os.listdir("/proc/self/fd"))) == (expected[left], before)


SUITE = """
import json
import os

import autochron
import pytest


@pytest.mark.parametrize("number", range(6))
def test_answer(number):
    judgement = autochron.judge("It is polite.", f"Thanks, {number}!", model="openai:m", record="judged.jsonl")
    assert judgement.passed, judgement.reason
    assert judgement.recorded is (os.environ.get("AUTOCHRON_JUDGE") is None)
"""


@pytest.mark.thorough
def test_a_judged_suite_is_recorded_by_xdist_workers_and_runs_without_the_provider(model, tmp_path):
    (tmp_path / "test_answers.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(provider, *options, **variables):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist.plugin", *options],
            cwd=tmp_path,
            env=surroundings(provider, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **variables),
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    recorded = run(model, "-n", "2", AUTOCHRON_JUDGE="record")
    assert "6 passed" in recorded.stdout, recorded.stdout
    assert model.calls == 6
    recorded_file = (tmp_path / "judged.jsonl").read_bytes()
    assert len(read_trace(str(tmp_path / "judged.jsonl")).envelopes) == 6
    for options in (("-n", "2"), ()):
        served = run(None, *options)
        assert "6 passed" in served.stdout, served.stdout
    assert model.calls == 6
    assert (tmp_path / "judged.jsonl").read_bytes() == recorded_file
