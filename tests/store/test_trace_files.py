"""A trace file returns what was written, and is refused if it was changed."""

import json
import os
import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autochron.errors import StoreError, TraceFormatError, TraceNotFoundError
from autochron.model import Closed, Footer, Returned, Streamed
from autochron.store import lines, open_store, patches, tracefile
from autochron.store.tracefile import TraceFileStore, read_trace, write_stream, write_trace
from tests.store import samples


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "trace.jsonl")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(envelopes=samples.runs(), footer=st.sampled_from([None, samples.FOOTER]))
def test_a_trace_is_read_as_it_was_written(path, envelopes, footer):
    trace = samples.trace(envelopes, footer)
    write_trace(trace, path)
    assert read_trace(path) == trace
    assert read_trace(path, reseal=True).header == trace.header


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(envelopes=samples.runs())
def test_a_trace_is_read_as_it_was_written_when_all_rebuilt_bodies_are_cached(path, monkeypatch, envelopes):
    monkeypatch.setattr(patches, "LONG", 0)
    monkeypatch.setattr(patches, "KEPT", 2)
    trace = samples.trace(envelopes)
    write_trace(trace, path)
    assert read_trace(path) == trace


@given(samples.bodies(), samples.bodies())
def test_applying_a_patch_restores_the_text(base, text):
    assert patches.apply(base, patches.difference(base, text)) == text


@given(st.data())
def test_applying_a_patch_of_a_small_change_restores_the_text(data):
    base = data.draw(st.dictionaries(samples.keys, samples.values, max_size=6))
    changed = dict(base)
    for key in data.draw(st.lists(samples.keys, max_size=3)):
        if key in changed and data.draw(st.booleans()):
            del changed[key]
        else:
            changed[key] = data.draw(samples.values)
    base_text, changed_text = samples.encode({"x": base}), samples.encode({"x": changed})
    assert patches.apply(base_text, patches.difference(base_text, changed_text)) == changed_text


def test_a_conversation_takes_constant_space_per_turn_and_is_readable(path):
    sizes = {}
    for turns in (50, 200):
        trace = samples.trace(samples.conversation(turns), samples.FOOTER)
        write_trace(trace, path)
        assert read_trace(path) == trace
        sizes[turns] = os.path.getsize(path) / len(trace.envelopes)
    assert sizes[200] <= sizes[50] <= 1536
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert lines[0]["autochron"] == 4
    assert lines[3]["input"]["$base"] == 1
    messages = lines[3]["input"]["$in"]["options"]["$in"]["messages"]
    assert messages["$keep"] == 2
    assert [message["role"] for message in messages["$tail"]] == ["assistant", "user"]
    assert lines[3]["exchanges"][0]["request"]["$base"] == [1, 1]
    assert lines[-1] == {"digest": lines[-1]["digest"], "lines": len(lines) - 1}
    assert all(list(line) == sorted(line) for line in lines)


def test_the_order_of_keys_in_an_outcome_is_kept(path):
    body = b'{"z":1,"a":{"y":1.0,"b":"\\u00e9"}}'
    envelope = msgspec.structs.replace(
        samples.small(1),
        outcome=Streamed((body, b"1e5"), Closed()),
        meta=b'{"sampling":%b}' % body,
        changed=b"null",
    )
    write_trace(samples.trace([envelope]), path)
    assert read_trace(path).envelopes == (envelope,)


def test_a_body_with_line_breaks_becomes_one_line(path):
    envelope = msgspec.structs.replace(samples.small(1), input=b'{\n  "a": [1,\r\n 2]\n}')
    write_trace(samples.trace([envelope]), path)
    assert read_trace(path).envelopes[0].input == b'{"a":[1,2]}'


def test_a_trace_is_written_and_read_as_a_stream(path):
    yielded = []

    def envelopes():
        for seq in range(1, 2001):
            yielded.append(seq)
            yield samples.small(seq)

    write_stream(samples.header(1), envelopes(), None, path)
    read = TraceFileStore(path).envelopes("last")
    assert next(read) == samples.small(1)
    assert sum(1 for _ in read) == 1999


def test_a_trace_file_can_be_opened_as_a_store(path):
    write_trace(samples.trace([samples.small(1)], samples.FOOTER, "named"), path)
    store = open_store(path)
    (summary,) = store.summaries()
    assert (summary.crossings, summary.status, summary.complete) == (1, 3, True)
    assert store.find("named") == store.find("last") == store.find("01J") == summary.header.id
    assert store.outline("last") == (summary.header, samples.FOOTER)
    with pytest.raises(TraceNotFoundError, match="did you mean named"):
        store.find("name")
    with pytest.raises(StoreError, match="can't be recorded into"):
        store.begin(samples.header(2))
    store.close()


def test_a_failed_write_leaves_the_old_file(path, tmp_path):
    write_trace(samples.trace([samples.small(1)]), path)

    def broken():
        yield samples.small(1)
        raise KeyError

    with pytest.raises(KeyError):
        write_stream(samples.header(2), broken(), None, path)
    with pytest.raises(StoreError, match="in order of start"):
        write_trace(samples.trace([samples.small(2), samples.small(1)]), path)
    with pytest.raises(StoreError, match="no JSON"):
        write_trace(samples.trace([msgspec.structs.replace(samples.small(1), input=b"{")]), path)
    assert read_trace(path) == samples.trace([samples.small(1)])
    assert os.listdir(tmp_path) == ["trace.jsonl"]
    with pytest.raises(StoreError, match="can't be written"):
        write_trace(samples.trace([]), f"{tmp_path}/no/such/trace.jsonl")
    with pytest.raises(StoreError, match="there is no trace file"):
        read_trace(f"{tmp_path}/no.jsonl")


# --- files that were changed ---------------------------------------------------------------------------------------


def written_lines(path):
    write_trace(samples.trace(samples.conversation(3), samples.FOOTER), path)
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


def rewrite(path, lines):
    with open(path, "wb") as file:
        file.write(b"".join(lines))


@pytest.mark.parametrize("cut", [0, 1, 3, 7])
def test_a_truncated_file_is_refused(path, cut):
    lines = written_lines(path)
    rewrite(path, lines[:cut])
    with pytest.raises(TraceFormatError, match=r"truncated|empty"):
        read_trace(path)


def test_a_cut_or_a_changed_byte_at_any_place_is_refused(path):
    text = b"".join(written_lines(path))
    for position in range(0, len(text), 97):
        rewrite(path, [text[:position]])
        with pytest.raises(TraceFormatError):
            read_trace(path)
        rewrite(path, [text[:position], bytes([text[position] ^ 1]), text[position + 1 :]])
        with pytest.raises(TraceFormatError):
            read_trace(path)


def test_a_changed_digit_is_refused_and_resealed(path):
    lines = written_lines(path)
    lines[2] = lines[2].replace(b'"result 2"', b'"result 7"')
    rewrite(path, lines)
    with pytest.raises(TraceFormatError, match=r"trace\.jsonl:9: the digest is wrong.*--reseal"):
        read_trace(path)
    trace = read_trace(path, reseal=True)
    assert trace.envelopes[1].outcome == Returned(b'"result 7"')
    write_trace(trace, path)
    assert read_trace(path) == trace


def test_a_missing_digest_is_resealed(path):
    lines = written_lines(path)
    rewrite(path, lines[:-1])
    with pytest.raises(TraceFormatError, match="doesn't end with its digest"):
        read_trace(path)
    assert read_trace(path, reseal=True) == samples.trace(samples.conversation(3), samples.FOOTER)


def test_a_deleted_line_is_reported_with_the_number_of_lines(path):
    lines = written_lines(path)
    rewrite(path, lines[:2] + lines[3:])
    with pytest.raises(TraceFormatError, match="there are 7 lines and not the 8"):
        read_trace(path)


def edit(lines, number, old, new):
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)


@pytest.mark.parametrize(
    ("number", "old", "new", "message"),
    [
        (0, b'"autochron":4', b'"autochron":5', r":1: format 5 was made by a newer autochron"),
        (0, b'"autochron":4', b'"autochron":0', r":1: this is no autochron trace"),
        (0, b'"autochron":4', b'"autochron":"x"', r":1: this is no autochron trace"),
        (0, b'"autochron":4', b'"x":1', r":1: this is no autochron trace"),
        (0, b'"created"', b'"creation"', r":1: the header is malformed"),
        (2, b'"nth":1', b'"nth":"1"', r":3: the line is malformed .*Expected `int`, got `str`.*nth"),
        (2, b'"kind":"tool"', b'"kind":"hammer"', r":3: .*hammer"),
        (2, b'"returned"', b'"returns"', r":3: .*returns"),
        (2, b'"returned":', b'"raised":1,"returned":', r":3: .*one of returned"),
        (2, b'"seq":2', b'"seq":1', r":3: seq 1 \(tool\[1\]\) comes twice"),
        (3, b'"$base":1', b'"$base":2', r":4: .*the input is a patch of 2, but the one before is 1"),
        (3, b'"$keep":2', b'"$keep":200', r":4: .*take 200"),
        (3, b'"$keep":2,', b"", r":4: .*\$tail together are no patch"),
        (4, b"}", b"", r":5: the line is malformed"),
        (5, b"{", b"\n{", r":6: the line is malformed"),
        (7, b'"status":3', b'"status":"3"', r":8: .*status"),
    ],
)
def test_an_invalid_value_is_reported_with_its_line(path, number, old, new, message):
    lines = written_lines(path)
    edit(lines, number, old, new)
    rewrite(path, lines)
    with pytest.raises(TraceFormatError, match=message) as refused:
        read_trace(path, reseal=True)
    assert "; " in str(refused.value)
    assert str(refused.value).endswith("(bad-trace)")


def test_lines_after_the_footer_and_moved_lines_are_refused(path):
    lines = written_lines(path)
    rewrite(path, [*lines[:-1], lines[2], lines[-1]])
    with pytest.raises(TraceFormatError, match=":9: a line follows the footer"):
        read_trace(path, reseal=True)
    rewrite(path, [lines[0], lines[2], lines[1], *lines[3:]])
    with pytest.raises(TraceFormatError, match=re.escape(":3: seq 1 (agent[1]) comes after 2")):
        read_trace(path, reseal=True)


def test_indented_edits_are_compacted_by_reseal(path):
    lines = written_lines(path)
    edit(lines, 2, b'"input":{"n":2}', b'"input":{ "n": 22 }')
    rewrite(path, lines)
    assert read_trace(path, reseal=True).envelopes[1].input == b'{"n":22}'


# --- small files that are read at once, and larger ones -------------------------------------------------------------


@pytest.mark.parametrize("small", [0, 1000, 1 << 20])
def test_files_of_any_size_are_read_and_checked_alike(path, monkeypatch, small):
    monkeypatch.setattr(tracefile, "SMALL", small)
    trace = samples.trace(samples.conversation(4), samples.FOOTER)
    write_trace(trace, path)
    store = TraceFileStore(path)
    assert store.load("last") == store.load("last") == trace
    with open(path, "rb") as file:
        text = file.read()
    for broken, refusal in (
        (text.replace(b"assistant", b"everybody"), ":11: the digest is wrong"),
        (text[: text.rindex(b"{")], ":10: the file is truncated"),
        (text[: text.index(b"\n")], ":1: the file is truncated"),
        (b"", ":1: the file is empty"),
    ):
        with open(path, "wb") as file:
            file.write(broken)
        with pytest.raises(TraceFormatError, match=refusal):
            TraceFileStore(path)


def test_a_file_that_changes_after_its_check_is_read_as_it_was_checked(path):
    trace = samples.trace(samples.conversation(2), samples.FOOTER)
    write_trace(trace, path)
    store = TraceFileStore(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write("something else\n")
    assert store.load("last") == trace


def test_the_fields_of_a_footer_line_are_those_of_a_footer():
    def fields(kind):
        return {field.name: field.default for field in msgspec.structs.fields(kind)}

    raw = {"stdout": b"null", "stdin": b"null", "stderr": None}
    assert {**fields(lines.FooterFields), **raw} == fields(Footer)
