"""Every store returns what was put into it, shares equal bytes, and reports its errors."""

import itertools
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autochron._runtime import growing_bodies
from autochron.errors import StoreError, TraceNotFoundError
from autochron.model import Abandoned, Closed, Raised, Returned, Streamed, Trace
from autochron.store import dropping, open_store, schema, sharing
from autochron.store.memory import MemoryStore
from autochron.store.sqlite import SqliteStore
from autochron.store.tracefile import write_trace
from tests.store import samples

counter = itertools.count(1)


@pytest.fixture(params=["sqlite", "memory"])
def store(request, tmp_path):
    return SqliteStore(str(tmp_path / "traces.db")) if request.param == "sqlite" else MemoryStore()


@pytest.fixture
def sqlite_path(tmp_path):
    return str(tmp_path / "traces.db")


def keep(store, envelopes, header=None, footer=None, every=7):
    sink = store.begin(header or samples.header(next(counter)))
    for number, envelope in enumerate(envelopes):
        sink.put(envelope)
        if number % every == every - 1:
            sink.commit()
    if footer is not None:
        sink.end(footer)
    sink.close()


# --- round trips --------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(envelopes=samples.runs(), every=st.integers(1, 5), shuffle=st.randoms(use_true_random=False))
def test_envelopes_are_loaded_as_they_were_put(store, envelopes, every, shuffle):
    shuffled = list(envelopes)
    shuffle.shuffle(shuffled)  # crossings end in a different order than they start
    header = samples.header(next(counter))
    keep(store, shuffled, header, samples.FOOTER, every)
    assert store.load(header.id) == Trace(header, tuple(envelopes), samples.FOOTER)
    assert list(store.envelopes(header.id)) == envelopes


@pytest.mark.parametrize("every", [1, 50])
def test_a_conversation_is_loaded_unchanged_and_takes_only_the_space_of_its_new_turns(sqlite_path, every):
    sizes = {}
    for turns in (50, 200, 400):
        path = f"{sqlite_path}.{turns}"
        envelopes = samples.conversation(turns)
        keep(open_store(path), envelopes, samples.header(1), every=every)
        assert list(open_store(path).envelopes("last")) == envelopes
        sizes[turns] = os.path.getsize(path) / len(envelopes)
    assert max(sizes.values()) <= 1536
    assert sizes[400] <= sizes[50]


def test_alternating_conversations_in_one_boundary_share_bytes(sqlite_path):
    first, second = samples.conversation(60), samples.conversation(60)
    changed = [
        msgspec.structs.replace(envelope, input=envelope.input.replace(b"Help. ", b"Serve. "), exchanges=())
        for envelope in second
    ]
    mixed = [
        msgspec.structs.replace(envelope, seq=seq)
        for seq, envelope in enumerate(itertools.chain.from_iterable(zip(first, changed, strict=True)), 1)
    ]
    keep(open_store(sqlite_path), mixed)
    assert list(open_store(sqlite_path).envelopes("last")) == mixed
    assert os.path.getsize(sqlite_path) / len(mixed) <= 1536


def test_equal_large_bodies_are_stored_once(sqlite_path):
    big = samples.encode("x" + "0123456789" * 20_000)
    random_body = samples.encode(os.urandom(40_000).hex())
    envelopes = [
        msgspec.structs.replace(
            samples.small(seq), name=f"t{seq}", input=random_body, outcome=Returned(random_body), changed=big
        )
        for seq in range(1, 100)
    ]
    keep(open_store(sqlite_path), envelopes)
    assert list(open_store(sqlite_path).envelopes("last")) == envelopes
    assert os.path.getsize(sqlite_path) < 250_000


def test_binary_bodies_are_loaded_unchanged(sqlite_path):
    envelopes = [
        msgspec.structs.replace(
            samples.small(seq),
            input=b"\xff\x00" * (300 * seq),
            outcome=Streamed((b"a\nb", b"", b"\xfe"), Raised(b"\x80")),
        )
        for seq in range(1, 5)
    ]
    keep(open_store(sqlite_path), envelopes)
    assert list(open_store(sqlite_path).envelopes("last")) == envelopes


def test_stored_values_can_be_read_with_plain_sql(sqlite_path):
    keep(open_store(sqlite_path), samples.conversation(3))
    connection = sqlite3.connect(sqlite_path)
    query = (
        "SELECT name, json_extract(input, '$.n'), json_extract(value, '$') FROM crossing WHERE name = 'tool'"
    )
    assert connection.execute(query).fetchone() == ("tool", 2, "result 2")
    schema = "".join(
        row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    )
    assert "-- trace.number << 32 | seq" in schema
    connection.close()


# --- common bytes -------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 900))
def test_common_prefixes_and_suffixes_equal_those_of_a_plain_loop(first, second, shared, hint):
    for left, right in ((shared + first, shared + second), (first + shared, second + shared), (first, first)):
        limit = min(len(left), len(right))
        prefix = next((n for n in range(limit) if left[n] != right[n]), limit)
        suffix = next((n for n in range(limit) if left[-1 - n] != right[-1 - n]), limit)
        assert growing_bodies.common_prefix(left, right, limit, hint) == prefix
        assert growing_bodies.common_suffix(left, right, limit, hint) == suffix
        rest = limit - prefix
        assert growing_bodies.common_suffix(left, right, rest, hint) == min(rest, suffix)


def test_latest_keeps_the_latest_values_within_its_volume():
    latest = growing_bodies.Latest(3, volume=10)
    for key, value in (("a", b"1"), ("b", b"22"), ("a", b"333"), ("c", b"4"), ("d", b"5")):
        latest.put(key, value, len(value))
    assert (list(latest._values), latest.volume) == (["a", "c", "d"], 5)
    latest.put("e", b"6666666", 7)
    assert (list(latest._values), latest.volume) == (["c", "d", "e"], 9)
    latest.put("f", b"x" * 11, 11)  # larger than the whole volume: the last value always stays
    assert (list(latest._values), latest.volume, len(latest)) == (["f"], 11, 1)
    assert (latest.pop("f"), latest.get("f"), latest.pop("f"), latest.volume) == (b"x" * 11, None, None, 0)


def test_threads_may_share_the_latest_values():
    latest, errors = growing_bodies.Latest(3), []

    def work(number):
        try:
            for step in range(20_000):
                latest.put((number, step % 7), step)
        except RuntimeError as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (errors, 1 <= len(latest) <= 3) == ([], True)


def test_windows_of_shared_bytes_are_bounded():
    windows = sharing.Windows()
    for number in range(3 * sharing.BOUNDARIES):
        windows.keep(("input", f"n{number}", "0"), number, b"x" * 1000)
    assert len(windows._kept) == sharing.BOUNDARIES
    assert windows._kept.volume == 1000 * sharing.BOUNDARIES
    windows.keep(("input", "big", "0"), 1, b"x" * (sharing.VOLUME + 1))
    assert list(windows._kept._values) == [("input", "big", "0")]
    windows.clear()
    assert windows.match(("input", "big", "0"), b"x") is None


# --- replacing and streams ----------------------------------------------------------------------------------


def stream(seq, items, end):
    return msgspec.structs.replace(samples.small(seq), outcome=Streamed(tuple(items), end))


@pytest.mark.parametrize("commits", [True, False])
def test_a_stream_grows_and_ends(store, commits):
    sink = store.begin(samples.header(1))

    def commit():
        if commits:
            sink.commit()

    sink.put(stream(1, [], Abandoned()))
    commit()
    sink.extend(1, [b"1", b'"2"'])
    commit()
    sink.extend(1, [b"3"])
    sink.put(samples.small(2))
    commit()
    if commits:
        assert next(iter(store.envelopes("last"))) == stream(1, [b"1", b'"2"', b"3"], Abandoned())
    sink.put(stream(1, [], Closed()))  # without items: the added items stay
    sink.commit()
    assert list(store.envelopes("last")) == [stream(1, [b"1", b'"2"', b"3"], Closed()), samples.small(2)]
    sink.put(stream(1, [b"9"], Raised(b"{}")))  # with items: they replace the added ones
    sink.close()
    assert next(iter(store.envelopes("last"))) == stream(1, [b"9"], Raised(b"{}"))
    assert store.summaries()[0].crossings == 2


def test_a_put_with_the_same_seq_replaces(store):
    first = samples.conversation(4)
    sink = store.begin(samples.header(1))
    for envelope in first:
        sink.put(envelope)
    sink.commit()
    replaced = msgspec.structs.replace(first[2], exchanges=first[2].exchanges * 2, outcome=Raised(b'"no"'))
    plain = msgspec.structs.replace(first[4], exchanges=(), input=first[0].input)
    for envelope in (replaced, plain, replaced):
        sink.put(envelope)
    sink.close()
    assert list(store.envelopes("last")) == [*first[:2], replaced, first[3], plain, *first[5:]]
    assert store.summaries()[0].crossings == len(first)


def test_a_body_can_build_on_one_that_starts_later(sqlite_path):
    """The inner call ends first, so the body of the outer call, which starts first, builds on it."""
    envelopes = samples.conversation(400)
    keep(open_store(sqlite_path), envelopes[::-1], every=31)
    assert list(open_store(sqlite_path).envelopes("last")) == envelopes


def test_a_closed_sink_refuses_envelopes(store):
    sink = store.begin(samples.header(1))
    sink.close()
    with pytest.raises(StoreError, match="closed"):
        sink.put(samples.small(1))


# --- finding ------------------------------------------------------------------------------------------------


def test_traces_are_found_by_name_id_and_age(store):
    for number, name in ((1, "run"), (2, "run"), (32, None), (3, "other")):
        keep(store, [samples.small(1)], samples.header(number, name), samples.FOOTER)
    ids = {number: samples.header(number).id for number in (1, 2, 3, 32)}
    assert store.find("last") == ids[32]  # by time of creation
    assert store.find("run") == ids[2]
    assert store.find(ids[1]) == ids[1]
    assert store.find(ids[32][:-1].lower()) == ids[32]
    assert [summary.header.id for summary in store.summaries()] == [ids[1], ids[2], ids[3], ids[32]]
    assert {summary.status for summary in store.summaries()} == {3}
    with pytest.raises(TraceNotFoundError, match=f"4 ids.*{ids[1]}.*{ids[32]}"):
        store.find("01J")
    with pytest.raises(TraceNotFoundError, match="did you mean other"):
        store.find("othr")
    with pytest.raises(TraceNotFoundError, match="the latest are"):
        store.load("§§§§")
    assert store.outline("run") == (samples.header(2, "run"), samples.FOOTER)


def test_a_trace_that_there_is_not_has_no_crossings(store, tmp_path):
    header = samples.header(1)
    keep(store, [samples.small(1)], header, samples.FOOTER)
    write_trace(store.load(header.id), str(tmp_path / "run.jsonl"))
    stores = [store, open_store(str(tmp_path / "run.jsonl"))]
    assert [(each.count(header.id), each.count("none")) for each in stores] == [(1, 0), (1, 0)]


def test_an_empty_store_reports_that_it_is_empty(store):
    assert store.summaries() == []
    with pytest.raises(TraceNotFoundError, match="autochron run"):
        store.find("last")


def test_a_trace_that_was_cut_off_is_incomplete(store):
    sink = store.begin(samples.header(1))
    sink.put(samples.small(1))
    sink.commit()
    assert store.load("last") == Trace(samples.header(1), (samples.small(1),), None)
    assert not store.summaries()[0].complete
    sink.close()


def test_dropping_a_trace_leaves_the_others(store):
    for number in (1, 2, 3):
        keep(store, samples.conversation(3), samples.header(number))
    store.drop([samples.header(2).id, "no such trace"])
    assert [summary.header for summary in store.summaries()] == [samples.header(1), samples.header(3)]
    assert list(store.envelopes("last")) == samples.conversation(3)


def test_dropping_traces_frees_disk_space(sqlite_path):
    store = open_store(sqlite_path)
    for number in range(1, 6):
        keep(store, samples.conversation(60), samples.header(number))
    size = os.path.getsize(sqlite_path)
    store.drop([samples.header(number).id for number in range(1, 5)])
    assert os.path.getsize(sqlite_path) < size / 2
    assert list(store.envelopes("last")) == samples.conversation(60)


def test_a_large_store_is_not_copied_to_free_disk_space(sqlite_path, monkeypatch):
    monkeypatch.setattr(dropping, "COPIED", 1000)
    store = open_store(sqlite_path)
    for number in (1, 2):
        keep(store, samples.conversation(60), samples.header(number))
    size = os.path.getsize(sqlite_path)
    store.drop([samples.header(1).id])
    assert os.path.getsize(sqlite_path) == size
    keep(store, samples.conversation(60), samples.header(3))
    assert os.path.getsize(sqlite_path) < size * 1.1  # it reuses the freed space
    assert list(store.envelopes("last")) == samples.conversation(60)


def test_a_trace_that_is_dropped_while_it_is_read_is_read_to_its_end(sqlite_path):
    store = open_store(sqlite_path)
    for number in (1, 2):
        keep(store, samples.conversation(30), samples.header(number))
    reading = store.envelopes(samples.header(1).id)
    first = [next(reading)]
    store.drop([samples.header(1).id])
    assert [*first, *reading] == samples.conversation(30)
    assert len(store.summaries()) == 1


def test_recording_into_a_deleted_trace_is_refused(sqlite_path):
    store = open_store(sqlite_path)
    sink = store.begin(samples.header(1))
    store.drop([samples.header(1).id])
    sink.put(samples.small(1))
    with pytest.raises(StoreError, match="was deleted"):
        sink.commit()
    with pytest.raises(TraceNotFoundError):
        store.find("last")


def test_an_id_can_be_used_only_once(store):
    store.begin(samples.header(1)).close()
    with pytest.raises(StoreError, match="already"):
        store.begin(samples.header(1))


# --- opening ------------------------------------------------------------------------------------------------


def test_stores_are_opened_by_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keep(open_store("sqlite:///a b?#%.db"), [samples.small(1)])
    assert os.path.exists("a b?#%.db")
    assert len(open_store(f"sqlite:///{tmp_path}/a b?#%.db").summaries()) == 1
    keep(open_store("memory:x"), [samples.small(1)])
    assert len(open_store("memory:x").summaries()) == 1
    assert open_store("memory:y").summaries() == []
    with pytest.raises(StoreError, match="no store that autochron knows"):
        open_store("postgres://x")


def test_the_folder_of_a_store_is_created_if_its_parent_exists(tmp_path):
    keep(open_store(f"{tmp_path}/.autochron/traces.db"), [samples.small(1)])
    with pytest.raises(StoreError, match="doesn't exist"):
        open_store(f"{tmp_path}/a/b/traces.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is no folder"):
        open_store(f"{tmp_path}/file/traces.db")
    with pytest.raises(StoreError, match="is a folder"):
        open_store(str(tmp_path))
    assert open_store(f"{tmp_path}/nothing.db").summaries() == []
    assert not (tmp_path / "nothing.db").exists()


def test_a_file_that_is_no_store_is_refused(tmp_path):
    text = tmp_path / "text.db"
    text.write_text("hello " * 1000)
    with pytest.raises(StoreError, match="is no autochron store"):
        open_store(str(text))
    foreign_database = tmp_path / "other.db"
    with sqlite3.connect(foreign_database) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(StoreError, match="another SQLite database"):
        open_store(str(foreign_database))
    empty = tmp_path / "empty.db"
    empty.write_text("")
    store = open_store(str(empty))
    assert store.summaries() == []
    keep(store, [samples.small(1)])
    with sqlite3.connect(empty) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match=r"newer autochron \(schema 99"):
        open_store(str(empty))


def test_a_damaged_body_is_named(sqlite_path):
    keep(open_store(sqlite_path), samples.conversation(5))
    with sqlite3.connect(sqlite_path) as connection:
        connection.execute("DELETE FROM body WHERE id & 0xffffffff = 2")
    connection.close()
    with pytest.raises(StoreError, match="is damaged"):
        open_store(sqlite_path).load("last")


def test_opening_a_store_imports_no_heavy_module():
    code = (
        "import sys, autochron.store; autochron.store.open_store('memory:');"
        "print([name for name in ('sqlite3', 'dataclasses', 'hashlib', 'difflib') if name in sys.modules])"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join([root, os.path.dirname(os.path.dirname(msgspec.__file__))]),
        },
    )
    assert done.stdout == "[]\n", done.stderr


def test_migrations_run_in_order(sqlite_path, monkeypatch):

    keep(open_store(sqlite_path), [samples.small(1)])
    monkeypatch.setattr(schema, "VERSION", 4)
    monkeypatch.setattr(
        schema,
        "MIGRATIONS",
        {
            2: "-- A column; with a semicolon.\nALTER TABLE trace ADD COLUMN x;\n",
            3: "UPDATE trace SET x = 5;\n",
        },
    )
    assert list(open_store(sqlite_path).envelopes("last")) == [samples.small(1)]
    connection = sqlite3.connect(sqlite_path)
    assert connection.execute("SELECT x FROM trace").fetchall() == [(5,)]
    assert connection.execute("PRAGMA user_version").fetchone() == (4,)
    connection.close()


def test_several_threads_can_create_a_store_at_once(tmp_path):
    barrier = threading.Barrier(6)

    def make(number):
        barrier.wait()
        open_store(str(tmp_path / f"{number}.db")).begin(samples.header(next(counter))).close()

    with ThreadPoolExecutor(6) as pool:
        for number in range(40):
            list(pool.map(lambda _: make(number), range(6)))
    for number in range(40):
        assert len(open_store(str(tmp_path / f"{number}.db")).summaries()) == 6
