"""Damaged or edited values, trace files and stores are refused with a message of one line."""

import contextlib
import glob
import json
import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.errors import AutochronError, TraceFormatError
from autochron.store.tracefile import read_trace
from tests.cli.processes import autochron, write
from tests.security.decoding import decoded, fuzz, warm
from tests.security.storing import STEP
from tests.security.watched import watched


@pytest.fixture(autouse=True, scope="module")
def _warm():
    warm()


@pytest.mark.parametrize(
    "body",
    [
        b'"\xff"', b"1e400", b"-1e400", b"9" * 5000, b"[" * 100_000, b'{"a":' * 50_000, b'{"$tuple":[' * 20_000,
        b'{"$tuple":[' * 300 + b"]}" * 300, b'{"$opaque":1,"$opaque":2}', b'{"$ref":1}', b'{"$type":{}}',
        b"", b"{", b'{"a":1', b'"\\ud800"', b"nan", b"NaN", b"\x00", b'{"$type":"a:b","$type":"os:system"}',
        b'{"$error":"builtins:ValueError","args":',
        b'[{"$opaque":"x"},' + b"[" * 5000 + b"]" * 5001,
    ],
    ids=range(21),
)  # fmt: skip
def test_a_malformed_body_is_refused_in_one_line(body):
    seen, _, error = decoded(body)
    assert seen.found == []
    assert error is None or str(error).isprintable()


MALFORMED_META = {
    "no object": [1],
    "a response without a body": {"response": {"status": 200}},
    "a response that is a text": {"response": "ok"},
    "a request without a parameter": {"request": {}},
    "an order that is none": {"after": "now"},
    "prints of another form": {"prints": [[1]]},
    "masked without a key": {"masked": {"digests": {}}},
    "arguments in a list": {"arguments": []},
}


@pytest.mark.parametrize("meta", MALFORMED_META.values(), ids=MALFORMED_META)
def test_malformed_meta_in_a_trace_file_is_refused(tmp_path, meta):
    with open("incidents/budget/trace.jsonl", encoding="utf-8") as file:
        lines = file.read().splitlines()
    changed = json.loads(lines[1])
    changed["meta"] = meta
    lines[1] = json.dumps(changed)
    edited = tmp_path / "trace.jsonl"
    edited.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(TraceFormatError, match=r"trace\.jsonl:2: the line is malformed \([^\n]+$"):
        read_trace(str(edited), reseal=True)


def test_malformed_meta_in_a_store_is_refused(tmp_path):
    write(tmp_path, {"agent.py": STEP + "step(1)\n"})
    assert autochron(tmp_path, "run", "--store", "t.db", "agent.py").status == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("UPDATE crossing SET meta = ?", (b'{"response":{"status":200}}',))
    for words in (("show",), ("show", "--full"), ("show", "--json")):
        done = autochron(tmp_path, "traces", *words, "last", "--store", "t.db")
        assert (done.status, done.out) == (2, b"")
        assert re.fullmatch(r"autochron: t\.db is damaged: [^\n]+ \(bad-store\)\n", done.said), done.said


@fuzz(300)
@given(data=st.data())
def test_reading_an_edited_trace_file_runs_nothing(data, tmp_path_factory):
    path = data.draw(st.sampled_from(sorted(glob.glob("incidents/*/trace.jsonl"))))
    with open(path, "rb") as file:
        text = file.read()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.binary(max_size=6)) + text[at + data.draw(st.integers(0, 40)) :]
    edited = tmp_path_factory.mktemp("edited") / "trace.jsonl"
    edited.write_bytes(text)
    with watched() as seen:
        for reseal in (False, True):
            with contextlib.suppress(AutochronError):
                read_trace(str(edited), reseal=reseal)
    assert [
        event for event in seen.found if not event.startswith(("event open", "event os.", "call posix."))
    ] == []
