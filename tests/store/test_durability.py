"""Committed envelopes are never lost, however the process ends and even if the disk is full."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import autochron
from autochron.errors import StoreError, UsageError
from autochron.store import open_store
from tests.store import samples

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PRELUDE = """
import os, sys, signal, threading, time
from autochron.store import open_store
from autochron.store.writer import Writer
from tests.store import samples
path = sys.argv[1]
"""


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code, *arguments, status=0):
    process = start(code, *arguments)
    out, err = process.communicate(timeout=90)
    assert process.returncode == status, err
    return out


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "traces.db")


@pytest.mark.parametrize("reports", [5, 900])
def test_committed_envelopes_survive_kill_9(path, reports):
    process = start(
        """
sink = open_store(path).begin(samples.header(1))
for seq in range(1, 10_001):
    sink.put(samples.small(seq, "x" * (seq % 900)))
    if seq % 10 == 0:
        sink.commit()
        print(seq, flush=True)
time.sleep(60)
""",
        path,
    )
    printed = [process.stdout.readline() for _ in range(reports)]
    process.kill()
    printed += process.communicate()[0].splitlines()
    reported = int(printed[-1])
    stored = list(open_store(path).envelopes("last"))
    assert len(stored) >= reported
    assert stored == [samples.small(seq, "x" * (seq % 900)) for seq in range(1, len(stored) + 1)]
    sink = open_store(path).begin(samples.header(2))  # the store can still be written
    sink.put(samples.small(1))
    sink.close()


def test_flushed_envelopes_survive_os_exit(path):
    run(
        """
writer = Writer(open_store(path).begin(samples.header(1)), lambda draft: draft)
for seq in range(1, 3001):
    writer.submit(samples.small(seq))
assert writer.flush()
os._exit(7)
""",
        path,
        status=7,
    )
    assert len(list(open_store(path).envelopes("last"))) == 3000


def test_envelopes_are_committed_without_a_flush(path):
    process = start(
        """
writer = Writer(open_store(path).begin(samples.header(1)), lambda draft: draft)
writer.submit(samples.small(1))
time.sleep(60)
""",
        path,
    )
    give_up = time.monotonic() + 30
    while not (
        os.path.exists(path) and open_store(path).summaries() and list(open_store(path).envelopes("last"))
    ):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    process.kill()
    process.communicate()


def test_with_sync_durability_envelopes_are_durable_when_submit_returns(path):
    run(
        """
store = open_store(path, durability="sync")
writer = Writer(store.begin(samples.header(1)), lambda one: one, durability="sync")
for seq in range(1, 51):
    writer.submit(samples.small(seq))
    if seq == 50:
        os.kill(os.getpid(), signal.SIGKILL)
""",
        path,
        status=-signal.SIGKILL,
    )
    assert len(list(open_store(path).envelopes("last"))) == 50


def test_signal_handlers_can_flush_wherever_they_interrupt(path):
    """A timer runs handlers during submit, flush and waits. Each handler flushes, and the last one ends the process.

    The last one may interrupt others before they submit. What has been submitted is stored.
    """
    out = run(
        """
calls, submitted = 0, []
def handle(*_):
    global calls
    calls += 1
    mine = 100_000 + calls
    writer.flush()
    writer.submit(samples.small(mine))
    submitted.append(mine)
writer = Writer(open_store(path).begin(samples.header(1)), lambda draft: draft, limit=64)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
for seq in range(1, 20_001):
    writer.submit(samples.small(seq))
    if seq % 50 == 0:
        writer.flush()
def leave(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(calls, writer.flush(), writer.lost, *submitted, flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
""",
        path,
    )
    calls, flushed, lost, *submitted = out.split()
    seqs = [envelope.seq for envelope in open_store(path).envelopes("last")]
    assert (flushed, lost) == ("True", "0")
    assert seqs[:20_000] == [*range(1, 20_001)]
    assert seqs[20_000:] == sorted({*seqs[20_000:]})
    assert {*map(int, submitted)} <= {*seqs[20_000:]} <= {*range(100_001, 100_001 + int(calls))}
    assert len(submitted) > 10


def test_two_processes_with_32_threads_each_lose_and_corrupt_nothing(path):
    code = """
store = open_store(path)
number = int(sys.argv[2])
writer = Writer(store.begin(samples.header(number)), lambda draft: draft, limit=100)
def work(first):
    for seq in range(first, first + 100):
        writer.submit(samples.small(seq, f"{number}:{seq} " * (seq % 300)))
threads = [threading.Thread(target=work, args=(1 + 100 * n,)) for n in range(32)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
writer.close()
print(writer.lost, writer.fault)
"""
    processes = [start(code, path, number) for number in (1, 2)]
    for process in processes:
        out, err = process.communicate(timeout=90)
        assert (out, process.returncode) == ("0 None\n", 0), err
    store = open_store(path)
    for number in (1, 2):
        expected = [samples.small(seq, f"{number}:{seq} " * (seq % 300)) for seq in range(1, 3201)]
        assert list(store.envelopes(samples.header(number).id)) == expected


def test_threads_can_share_a_sink(path):
    sink = open_store(path).begin(samples.header(1))

    def work(first):
        for seq in range(first, first + 50):
            sink.put(samples.small(seq))
            if seq % 7 == 0:
                sink.commit()

    threads = [threading.Thread(target=work, args=(1 + 50 * n,)) for n in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sink.close()
    assert list(open_store(path).envelopes("last")) == [samples.small(seq) for seq in range(1, 1601)]


FILL = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
said = []
writer = Writer(open_store(path).begin(samples.header(1)), lambda draft: draft, report=said.append)
writer.submit(samples.small(1))
assert writer.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
for seq in range(2, 302):
    writer.submit(samples.small(seq, os.urandom(1000).hex()))
full = writer.flush()
lost = writer.lost
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.submit(samples.small(302))
print(full, lost > 0, len(said), writer.flush(), writer.lost)
writer.close()
"""


def test_a_full_disk_is_reported_once_and_nothing_is_lost(path):
    """A limit on the file size stands in for a full disk, because it needs no special rights."""
    assert run(FILL, path).split() == ["False", "True", "1", "True", "0"]
    assert [envelope.seq for envelope in open_store(path).envelopes("last")] == list(range(1, 303))


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_file_system_is_reported_and_writing_continues_after_it(small_disk):
    path = str(small_disk / "traces.db")
    sink = open_store(path).begin(samples.header(1))
    sink.put(samples.small(1))
    sink.commit()
    ballast = small_disk / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    sink.put(samples.small(2, os.urandom(100_000).hex()))
    with pytest.raises(StoreError, match="make room on the disk"):
        sink.commit()
    assert list(open_store(path).envelopes("last")) == [samples.small(1)]
    ballast.unlink()
    sink.put(samples.small(2))
    sink.close()
    assert list(open_store(path).envelopes("last")) == [samples.small(1), samples.small(2)]


def test_a_read_only_store_can_be_read_but_not_written(small_disk):
    path = str(small_disk / "traces.db")
    sink = open_store(path).begin(samples.header(1))
    for envelope in samples.conversation(5):
        sink.put(envelope)
    sink.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    store = open_store(path)
    assert list(store.envelopes("last")) == samples.conversation(5)
    with pytest.raises(StoreError, match="writable"):
        store.begin(samples.header(2))
    with pytest.raises(StoreError, match="can't be made"):
        open_store(str(small_disk / "new" / "traces.db")).begin(samples.header(2))


def test_a_store_in_a_read_only_folder_is_refused_if_its_last_commits_cannot_be_read(small_disk):
    path = str(small_disk / "traces.db")
    process = start(
        """
sink = open_store(path).begin(samples.header(1))
sink.put(samples.small(1))
sink.commit()
print("done", flush=True)
time.sleep(60)
""",
        path,
    )
    process.stdout.readline()
    process.kill()
    process.communicate()
    os.unlink(f"{path}-shm")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreError, match="copy it"):
        open_store(path)


def test_a_writer_waits_for_the_transaction_of_another(path):
    first, second = (open_store(path).begin(samples.header(number)) for number in (1, 2))
    first._connection.execute("BEGIN IMMEDIATE")
    second.put(samples.small(1))
    waiting = threading.Thread(target=second.close)
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    first._connection.execute("COMMIT")
    waiting.join()
    first.close()
    assert list(open_store(path).envelopes(samples.header(2).id)) == [samples.small(1)]


# --- forks --------------------------------------------------------------------------------------------------

FORK = """
writer = Writer(open_store(path).begin(samples.header(1)), lambda draft: draft)
for seq in range(1, 501):
    writer.submit(samples.small(seq))
children = []
for child in range(1, 6):
    pid = os.fork()
    if not pid:
        for seq in range(child * 1000, child * 1000 + 200):
            writer.submit(samples.small(seq))
        os._exit(0 if writer.flush() and writer.lost == 0 else 1)
    children.append(pid)
    writer.submit(samples.small(500 + child))
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
writer.close()
print(writer.lost, writer.fault)
"""


def test_forked_children_continue_writing_and_nothing_is_written_twice(path):
    assert run(FORK, path) == "0 None\n"
    seqs = [
        *range(1, 506),
        *(seq for child in range(1, 6) for seq in range(child * 1000, child * 1000 + 200)),
    ]
    assert list(open_store(path).envelopes("last")) == [samples.small(seq) for seq in seqs]
    assert open_store(path).summaries()[0].crossings == len(seqs)


def test_a_fork_during_a_transaction_of_the_writing_thread_loses_nothing(path):
    out = run(
        """
writer = Writer(open_store(path).begin(samples.header(1)), lambda draft: draft, limit=50)
stop = False
def work():
    seq = 0
    while not stop:
        seq += 1
        writer.submit(samples.small(seq, "x" * 700))
    writer.flush()
    print(seq, flush=True)
thread = threading.Thread(target=work)
thread.start()
for child in range(20):
    pid = os.fork()
    if not pid:
        writer.submit(samples.small(1_000_000 + child))
        os._exit(0 if writer.flush() else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
thread.join()
writer.close()
""",
        path,
    )
    seqs = [envelope.seq for envelope in open_store(path).envelopes("last")]
    assert seqs == [*range(1, int(out) + 1), *range(1_000_000, 1_000_020)]


@pytest.mark.parametrize("begin", [autochron.record, lambda **options: open_store("memory:", **options)])
@pytest.mark.parametrize("durability", ["Sync", "full", None, True])
def test_a_durability_that_there_is_not_is_refused(begin, durability):
    with pytest.raises(UsageError) as caught:
        begin(durability=durability)
    assert str(caught.value) == f"durability={durability!r}: it is one of group, sync (usage)"
