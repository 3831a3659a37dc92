"""A record that reads from SQLite on demand gives the same answers as one that is completely in memory."""

import itertools
import os
import tracemalloc

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autochron.store import stored
from autochron.store.sqlite import SqliteStore
from autochron.store.stored import StoredRecord
from autochron.store.whole import WholeRecord
from tests.store import samples
from tests.store.test_stores import keep

numbers = itertools.count(1)
KINDS = ["model", "tool", "router", "ambient"]


@pytest.fixture
def store(tmp_path):
    return SqliteStore(str(tmp_path / "traces.db"))


@pytest.fixture
def every_size(monkeypatch):
    monkeypatch.setattr(stored, "LARGE", -1)


@st.composite
def runs_with_unique_addresses(draw):
    """Draw runs with unique addresses, in which some crossings are of callables that were passed as arguments."""
    counts = {}
    run = []
    for envelope in draw(samples.runs()):
        nth = counts[envelope.name] = counts.get(envelope.name, 0) + draw(st.integers(1, 3))
        passed = draw(st.sampled_from([None, "shop.py:run", "x" * 600]))
        meta = envelope.meta if passed is None else samples.encode({"passed": passed, "model": "m"})
        site = draw(st.sampled_from(["shop.py:run", "shop.py:tool"]))
        run.append(msgspec.structs.replace(envelope, nth=nth, meta=meta, site=site))
    return run


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(envelopes=runs_with_unique_addresses(), footer=st.sampled_from([None, samples.FOOTER]), data=st.data())
def test_a_stored_record_gives_the_same_answers_as_a_whole_one(store, every_size, envelopes, footer, data):
    header = samples.header(next(numbers))
    keep(store, envelopes, header, footer)
    record, whole_record = store.record(header.id), WholeRecord(store.load(header.id))
    assert type(record) is StoredRecord
    assert (record.header, record.footer, record.size) == (
        whole_record.header,
        whole_record.footer,
        whole_record.size,
    )
    assert list(record) == list(record) == list(whole_record)
    assert record.boundaries() == whole_record.boundaries()
    for envelope in envelopes:
        assert record.get(envelope.seq) == envelope
        assert record.find(envelope.name, envelope.nth) == envelope
    seqs = {envelope.seq for envelope in envelopes}
    for missing in {0, 61, 1 << 31, *range(1, 61)} - seqs:
        with pytest.raises(KeyError):
            record.get(missing)
    assert record.find("agent", 99) is None
    assert record.find("nobody", 1) is None
    names = data.draw(st.sets(samples.names))
    kinds = data.draw(st.sets(st.sampled_from(KINDS)))
    assert record.parents(names, kinds) == whole_record.parents(names, kinds)
    after = data.draw(st.integers(0, 60))
    assert record.parents(names, (), after) == whole_record.parents(names, (), after)


def test_a_large_trace_is_read_in_the_memory_of_a_few_envelopes(store):
    keep(store, (samples.small(seq) for seq in range(1, stored.LARGE + 2)), samples.header(1), every=1000)
    tracemalloc.start()
    try:
        record = store.record("last")
        assert type(record) is StoredRecord
        assert record.size == sum(1 for _ in record) == stored.LARGE + 1
        assert [boundary.count for boundary in record.boundaries()] == [stored.LARGE + 1]
        assert record.find("tool", stored.LARGE) == samples.small(stored.LARGE)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_crossings_recorded_while_a_record_is_open_are_not_in_it(store, every_size):
    sink = store.begin(samples.header(1))
    sink.put(samples.small(1))
    sink.commit()
    record = store.record("last")
    sink.put(samples.small(2))
    sink.close()
    assert list(record) == [samples.small(1)]
    assert [boundary.count for boundary in record.boundaries()] == [1]
    assert record.find("tool", 2) is None
    with pytest.raises(KeyError):
        record.get(2)


def test_small_traces_and_traces_of_several_processes_are_loaded_completely(store, monkeypatch):
    keep(store, [samples.small(1)], samples.header(1))
    assert type(store.record("last")) is WholeRecord
    monkeypatch.setattr(stored, "LARGE", -1)
    joined, _, seq = store.join(samples.header(1).id, "0/child:a.1", "")
    joined.put(samples.small(seq))
    joined.close()
    assert type(store.record("last")) is WholeRecord
    assert store.record("last").size == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_reads_with_its_own_connection(store, every_size):
    keep(store, [samples.small(seq) for seq in (1, 2, 3)], samples.header(1))
    record = store.record("last")
    assert record.get(1) == samples.small(1)
    process = os.fork()
    if not process:
        is_equal = record.get(2) == samples.small(2) and record.find("tool", 3) == samples.small(3)
        os._exit(0 if is_equal else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert record.find("tool", 3) == samples.small(3)


def test_a_store_that_cannot_be_written_is_read(store, every_size, tmp_path):
    keep(store, [samples.small(1)], samples.header(1))
    os.chmod(tmp_path / "traces.db", 0o444)
    assert [boundary.count for boundary in store.record("last").boundaries()] == [1]
