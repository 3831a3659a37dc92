"""Traces that several processes write."""

import msgspec
import pytest

from autochron.errors import StoreError
from autochron.model import ChildEnd, Footer, Unwoven
from autochron.store import open_store, processes
from tests.store import samples


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "t.db"))


def crossing(seq, started, lane, *, nth=1, parent=None, body=b"{}"):
    envelope = samples.small(seq)
    return msgspec.structs.replace(
        envelope, name="step", nth=nth, started=started, lane=lane, parent=parent, input=body
    )


def positions(store, trace):
    return [
        (envelope.seq, envelope.address, envelope.lane, envelope.parent)
        for envelope in store.envelopes(trace)
    ]


def test_crossings_of_all_processes_are_ordered_by_their_start(store):
    header = samples.header(1)
    first = store.begin(header)
    sink_one, lane_one, seq_one = store.join(header.id, "0/child:a.2", "")
    sink_two, lane_two, seq_two = store.join(header.id, "0/child:a.10", "")
    assert (lane_one, lane_two) == ("0/child:a.2", "0/child:a.10")
    assert seq_two - seq_one == processes.TAKEN
    first.put(crossing(1, 10, "0"))
    first.put(crossing(2, 40, "0", nth=2))
    sink_two.put(crossing(seq_two, 20, lane_two, parent=1))
    sink_one.put(crossing(seq_one, 30, lane_one))
    sink_one.put(crossing(seq_one + 1, 50, lane_one, nth=2, parent=seq_one))
    for sink in (sink_two, sink_one, first):
        sink.close()
    assert positions(store, header.id) == [
        (1, "step[1]", "0", None),
        (2, "step[5]", "0/child:a.10", 1),
        (3, "step[3]", "0/child:a.2", None),
        (4, "step[2]", "0", None),
        (5, "step[4]", "0/child:a.2", 3),
    ]
    assert store.counts(header.id) == {"step": 5}
    assert store.summaries()[0].crossings == 5


def test_bodies_are_shared_even_if_processes_write_alternately(store, tmp_path):
    header = samples.header(1)
    sinks = [(store.begin(header), "0", 1), store.join(header.id, "0/child:a.1", "")]
    for turn in range(1, 60):
        for sink, lane, first in sinks:
            text = b"".join(b"turn %d of a long conversation, " % n for n in range(turn * 20))
            body = b'{"text":"%s"}' % text
            sink.put(crossing(first + turn, turn, lane, nth=turn, body=body))
            sink.commit()
    for sink, _, _ in sinks:
        sink.close()
    assert len(list(store.envelopes(header.id))) == 118
    assert (tmp_path / "t.db").stat().st_size < 400_000


def test_each_process_gets_a_lane_of_its_own(store):
    header = samples.header(1)
    sink = store.begin(header)
    lanes = []
    for name in ("", "", "child:?b.py", "child:?b.py"):
        joined, lane, _ = store.join(header.id, "0/child:a.1", name)
        joined.close()
        lanes.append(lane)
    sink.close()
    assert lanes == [
        "0/child:a.1",
        "0/child:a.1/child:a.1",
        "0/child:a.1/child:?b.py.1",
        "0/child:a.1/child:?b.py.2",
    ]
    assert [child.lane for child in store.children(header.id)] == lanes


def test_the_footers_of_all_processes_are_merged(store):
    header = samples.header(1)
    first = store.begin(header)
    sink, lane, seq = store.join(header.id, "0/child:a.1", "")
    sink.put(crossing(seq, 5, lane))
    entry = Unwoven("x", "y", "z")
    child = Footer(ledger=(entry,), lost=2, unwoven_tools=("paint",), declined_tools=("wait",))
    sink.end(ChildEnd(footer=child))
    sink.close()
    # `step` was requested in the first process and crossed in the child; `paint` crossed in neither. A tool that is unwoven
    # in one process is not declined in the merged footer.
    first.end(Footer(status=0, unwoven_tools=("step",), declined_tools=("step", "paint", "rest"), lost=1))
    first.close()
    footer = store.outline(header.id)[1]
    assert (footer.status, footer.ledger, footer.lost) == (0, (entry,), 3)
    assert (footer.unwoven_tools, footer.declined_tools) == (("paint",), ("rest", "wait"))


def test_a_dropped_trace_cannot_be_joined(store):
    header = samples.header(1)
    store.begin(header).close()
    sink, _, seq = store.join(header.id, "0/child:a.1", "")
    store.drop([header.id])
    assert store.summaries() == []
    sink.put(crossing(seq, 1, "0/child:a.1"))
    with pytest.raises(StoreError, match="was deleted"):
        sink.commit()
    with pytest.raises(StoreError, match="holds no trace"):
        store.join(header.id, "0/child:a.2", "")


def test_a_process_with_many_crossings_reserves_more_numbers(store):
    header = samples.header(1)
    first = store.begin(header)
    sink, lane, seq = store.join(header.id, "0/child:a.1", "")
    reserved = sink.reserve(lane)[1]
    assert reserved == seq + processes.TAKEN
    sink.put(crossing(seq, 1, lane))
    sink.put(crossing(reserved, 2, lane, nth=2, parent=seq))
    sink.close()
    first.close()
    assert positions(store, header.id) == [(1, "step[1]", lane, None), (2, "step[2]", lane, 1)]
    assert [child.lane for child in store.children(header.id)] == [lane]


def test_a_store_in_memory_cannot_be_joined():
    store = open_store("memory:processes")
    header = samples.header(1)
    store.begin(header)
    with pytest.raises(StoreError, match="kept in memory"):
        store.join(header.id, "0/child:a.1", "")
    assert store.children(header.id) == []
