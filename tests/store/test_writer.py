"""The writer keeps the order of envelopes, bounds its memory, and survives a failing sink."""

import gc
import os
import threading
import time

import pytest

from autochron.errors import StoreError
from autochron.model import Abandoned, Closed, Streamed
from autochron.store import writer as module
from autochron.store.memory import MemoryStore
from autochron.store.writer import Writer
from tests.store import samples


class Sink:
    """A sink that keeps committed envelopes; `refuse` decides which commits fail."""

    def __init__(self):
        self.pending, self.kept, self.commits = [], [], 0
        self.refuse = lambda pending: False
        self.gate = None
        self.closed = False

    def put(self, envelope):
        self.pending.append(envelope)

    def extend(self, seq, items):
        self.pending.append((seq, items))

    def end(self, footer):
        self.pending.append(footer)

    def commit(self):
        if self.gate is not None:
            self.gate.acquire()
        pending, self.pending = self.pending, []
        if self.refuse(pending):
            raise StoreError("the disk is\nfull; make room")
        self.kept += pending
        self.commits += 1

    def close(self):
        self.closed = True
        self.commit()


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture
def make(sink):
    writers = []

    def make(prepare=lambda draft: draft, **options):
        writers.append(Writer(sink, prepare, **options))
        return writers[-1]

    yield make
    sink.refuse = lambda pending: False
    for writer in writers:
        writer.close()


def seqs(sink):
    return [envelope.seq for envelope in sink.kept]


def test_order_is_kept_and_close_writes_the_rest(sink, make):
    writer = make()
    for seq in range(1, 1001):
        writer.submit(samples.small(seq))
    writer.close()
    writer.close()
    assert seqs(sink) == list(range(1, 1001))
    assert sink.closed
    assert sink.commits <= 1 + 1000 // 100


def test_no_thread_starts_before_the_first_draft(sink, make):
    before = threading.active_count()
    writer = make()
    assert writer.flush()
    assert threading.active_count() == before
    writer.submit(samples.small(1))
    assert writer._worker.is_alive()


def test_the_writing_thread_is_hidden_from_the_program(sink, make):
    before = threading.enumerate()
    writer = make()
    writer.submit(samples.small(1))
    assert writer.flush()
    assert writer._worker.is_alive()
    assert threading.enumerate() == before
    assert threading.active_count() == len(before)
    worker = writer._worker
    writer.close()
    assert not worker.is_alive()
    assert seqs(sink) == [1]


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/task"), reason="counts the system's threads as Linux lists them"
)
def test_the_writing_thread_ends_before_a_fork_and_restarts_after_it(sink, make):
    writer = make()
    before = len(os.listdir("/proc/self/task"))
    for seq in range(1, 51):
        writer.submit(samples.small(seq))
        writer.before_fork()
        assert len(os.listdir("/proc/self/task")) == before
        writer.after_fork_in_parent()
    assert writer.flush()
    assert seqs(sink) == list(range(1, 51))


def test_drafts_become_envelopes_operations_or_nothing(make):
    store = MemoryStore()
    sink = store.begin(samples.header(1))
    stream = Streamed((), Abandoned())
    drafts = [
        samples.msgspec.structs.replace(samples.small(1), outcome=stream),
        lambda sink: sink.extend(1, [b"1", b"2"]),
        None,
        samples.msgspec.structs.replace(samples.small(1), outcome=Streamed((), Closed())),
        lambda sink: sink.end(samples.FOOTER),
    ]
    writer = Writer(sink, lambda number: drafts[number])
    for number in range(len(drafts)):
        writer.submit(number)
    writer.close()
    trace = store.load("last")
    assert trace.envelopes[0].outcome == Streamed((b"1", b"2"), Closed())
    assert trace.footer == samples.FOOTER


def test_a_full_queue_makes_the_caller_wait_and_drops_nothing(sink, make):
    writer = make(limit=10)
    sink.gate = threading.Lock()
    sink.gate.acquire()
    done = threading.Event()

    def work():
        for seq in range(1, 601):
            writer.submit(samples.small(seq))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert not done.wait(0.2)
    assert len(writer._queue) <= 11
    sink.gate.release()
    sink.gate = None
    thread.join()
    writer.flush()
    assert seqs(sink) == list(range(1, 601))
    assert writer.lost == 0


def test_a_sink_that_hangs_neither_blocks_the_program_nor_grows_the_queue(sink, make, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    writer = make(limit=10)
    sink.gate = threading.Lock()
    sink.gate.acquire()
    for seq in range(1, 201):
        writer.submit(samples.small(seq))
    assert len(writer._queue) <= 20
    assert writer.lost >= 150
    assert "queue is full" in writer.fault
    sink.gate.release()
    sink.gate = None
    assert writer.flush(10)
    assert len(sink.kept) + writer.lost == 200
    assert seqs(sink) == sorted(seqs(sink))


def test_a_draft_that_is_slow_to_prepare_is_not_lost(sink, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)

    def prepare(draft):
        time.sleep(0.4)
        return draft

    writer = module.Writer(sink, prepare)
    for seq in (1, 2):
        writer.submit(samples.small(seq))
    writer.close()
    assert (seqs(sink), writer.lost, writer.fault) == ([1, 2], 0, None)


def test_the_queue_is_bounded_by_the_size_of_its_drafts(sink, make):
    waiting, counts = [], []

    def prepare(draft):
        time.sleep(0.002)
        waiting.remove(draft)
        return draft

    writer = make(prepare)
    envelopes = [samples.small(number) for number in range(1, 101)]
    for envelope in envelopes:
        writer.weigh(module.MOST_WAITING // 4)
        waiting.append(envelope)
        writer.submit(envelope)
        counts.append(len(waiting))
    writer.close()
    assert (sink.kept, writer.lost, waiting) == (envelopes, 0, [])
    assert max(counts) <= 5


def test_with_sync_durability_submit_returns_after_the_commit(sink, make):
    writer = make(durability="sync")
    for seq in range(1, 20):
        writer.submit(samples.small(seq))
        assert seqs(sink)[-1] == seq


def test_a_sink_that_recovers_gets_everything_in_order(sink, make):
    messages = []
    writer = make(report=messages.append)
    sink.refuse = lambda pending: True
    for seq in range(1, 301):
        writer.submit(samples.small(seq))
    assert not writer.flush()
    assert writer.lost == 300
    sink.refuse = lambda pending: False
    writer.submit(samples.small(301))
    assert writer.flush()
    assert (writer.lost, writer.fault) == (0, "the disk is full; make room (bad-store)")
    assert messages == [writer.fault]
    assert seqs(sink) == list(range(1, 302))


def test_a_failed_sink_is_retried_without_a_flush(sink, make):
    writer = make()
    recovered = threading.Event()
    sink.refuse = lambda pending: not recovered.is_set()
    writer.submit(samples.small(1))
    assert not writer.flush()
    recovered.set()
    for _ in range(200):
        if sink.kept:
            break
        threading.Event().wait(0.05)
    assert seqs(sink) == [1]


def test_envelopes_that_wait_for_a_broken_sink_are_bounded_and_counted(sink, make):
    writer = make(limit=100)
    sink.refuse = lambda pending: True
    for seq in range(1, 501):
        writer.submit(samples.small(seq))
    writer.flush()
    assert writer.lost == 500
    assert len(writer._saver.failed) <= 100
    sink.refuse = lambda pending: False
    writer.flush()
    assert writer.lost == 400
    assert seqs(sink) == list(range(1, 101))
    sink.refuse = lambda pending: True
    writer.submit(samples.small(501))
    writer.close()
    assert writer.lost == 401


def test_a_bad_envelope_does_not_block_the_others(sink, make):
    writer = make()
    sink.refuse = lambda pending: any(envelope.seq in (3, 7) for envelope in pending)
    for seq in range(1, 11):
        writer.submit(samples.small(seq))
    assert not writer.flush()
    assert seqs(sink) == [1, 2, 4, 5, 6, 8, 9, 10]
    writer.submit(samples.small(11))
    writer.close()
    assert seqs(sink)[8:] == [11]
    assert writer.lost == 2


def test_an_exception_in_prepare_or_report_does_not_reach_the_program(sink, make):
    def prepare(draft):
        if draft == 2:
            raise SystemExit("no")
        return samples.small(draft)

    def report(message):
        raise KeyError

    writer = make(prepare, report=report)
    for draft in (1, 2, 3):
        writer.submit(draft)
    assert writer.flush()
    assert seqs(sink) == [1, 3]
    assert (writer.lost, writer.fault) == (1, "no")


def test_drafts_from_the_writing_thread_itself_are_accepted(sink, make):
    """A finalizer that crosses a boundary may run in that thread while the queue is full."""

    def prepare(draft):
        gc.collect(0)
        if draft < 200:
            writer.submit(draft + 200)
            assert not writer.flush()
        return samples.small(draft)

    writer = make(prepare, limit=3)
    for draft in range(100, 110):
        writer.submit(draft)
    writer.flush()
    assert sorted(seqs(sink)) == [*range(100, 110), *range(300, 310)]
    assert writer.lost == 0


def test_a_draft_after_close_counts_as_lost(sink, make):
    writer = make()
    writer.submit(samples.small(1))
    writer.close()
    writer.submit(samples.small(2))
    assert (writer.lost, seqs(sink)) == (1, [1])


def test_without_a_thread_the_caller_writes(sink, make, monkeypatch):
    def refuse(work, arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module.unpatched, "start_new_thread", refuse)
    writer = make(limit=8)
    for seq in range(1, 30):
        writer.submit(samples.small(seq))
    assert writer.flush()
    assert seqs(sink) == list(range(1, 30))


def test_many_bad_envelopes_do_not_block_the_others_for_ever(sink, make):
    writer = make()
    sink.refuse = lambda pending: any(envelope.seq < 10 for envelope in pending)
    for seq in range(1, 31):
        writer.submit(samples.small(seq))
    assert not writer.flush()
    writer.submit(samples.small(31))
    assert not writer.flush()
    assert sorted(seqs(sink)) == list(range(10, 32))
    assert writer.lost == 9
