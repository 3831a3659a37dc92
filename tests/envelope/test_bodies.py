"""HTTP bodies are stored without loss, and in readable form where possible."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.envelope.bodies import read_body, read_content, restore_body, store_body
from autochron.envelope.frames import write_frames
from autochron.errors import CodecError
from autochron.redaction.json_paths import read_path
from autochron.redaction.redactor import Redactor

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
_types = st.sampled_from(["application/json", "text/event-stream; charset=utf-8", "text/plain", ""])
_lines = st.sampled_from(
    [
        "data: ",
        "data:",
        "event: x",
        "\n",
        "\n\n",
        "\r\n",
        "\r\n\r\n",
        '{"a":1}',
        '{"a": 1}',
        "[DONE]",
        ": c",
        "style: x",
        "é",
        '{"a":1e5}',
        "null",
    ]
)


@pytest.mark.parametrize("blank", ["", " ", "\t", "\n"])
@pytest.mark.parametrize("value", ["null", "true", "1.50", '"a"', "{}", "[1]"])
def test_a_body_is_read_as_its_stored_form_is(value, blank):
    for content in (f"{blank}{value}".encode(), f"{value}{blank}".encode()):
        stored = store_body(content, "application/json")
        assert read_content(content, "application/json") == read_body(stored)


@settings(max_examples=300, deadline=None)
@given(st.binary() | st.text().map(str.encode) | st.lists(_lines).map("".join).map(str.encode), _types)
def test_any_bytes_are_restored(content: bytes, content_type: str) -> None:
    stored = store_body(content, content_type)
    json.loads(stored)
    assert restore_body(stored) == content
    assert read_content(content, content_type) == read_body(stored)


@settings(max_examples=200, deadline=None)
@given(
    _json,
    st.sampled_from([None, (",", ":")]),
    st.booleans(),
    st.sampled_from([None, 2, 4]),
    st.sampled_from(["", "\n"]),
    _types,
)
def test_json_of_any_layout_is_restored(
    value, separators, ascii_only: bool, indent, tail: str, content_type: str
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only, indent=indent) + tail
    content = text.encode("utf-8", "replace")
    stored = store_body(content, content_type)
    assert restore_body(stored) == content
    assert read_content(content, content_type) == read_body(stored)


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        (b"", b"null"),
        (b'{"a":[1,2.5]}', b'{"json":{"a":[1,2.5]},"style":"compact"}'),
        (b'{"a": [1, 2]}', b'{"json":{"a":[1,2]},"style":"spaced"}'),
        (b'{\n  "a": 1\n}\n', b'{"json":{"a":1},"style":"indent-2","tail":"\\n"}'),
        (b'{"a":1,"a":2}', b'{"text":"{\\"a\\":1,\\"a\\":2}"}'),
        (b"hello", b'{"text":"hello"}'),
        (b"\xff", b'{"base64":"/w=="}'),
    ],
)
def test_a_body_is_stored_in_the_most_readable_form(content: bytes, stored: bytes) -> None:
    assert store_body(content, "application/json" if content[:1] == b"{" else "text/plain") == stored


_STREAM = (
    b'event: delta\ndata: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"buy"}}]}}]}\n\n'
    b'data: {"choices": [{"delta": {"tool_calls": [{"function": {"name": "sell"}}]}}]}\n\n'
    b'data: {"type":"x"  }\n\ndata: [DONE]\n\n'
)


def test_events_are_stored_readably_and_paths_reach_their_data() -> None:
    stored = store_body(_STREAM, "text/event-stream")
    events = json.loads(stored)["events"]
    assert [event["data"] for event in events[2:]] == ['{"type":"x"  }', "[DONE]"]
    assert events[1]["style"] == "spaced"
    assert restore_body(stored) == _STREAM
    read = read_body(stored)
    assert read_path(read, "events.*.data.choices.*.delta.tool_calls.*.function.name") == ["buy", "sell"]
    assert read_path(read, "events.*.data[type=x].type") == ["x"]
    assert read_path(read, "events.*.event") == ["delta"]


@pytest.mark.parametrize(
    ("content", "content_type", "expected"),
    [
        (b"", "application/json", None),
        (b'{"a": 1}', "application/json", {"a": 1}),
        (b' {"a"  :  1}', "application/json", {"a": 1}),  # an unusual layout is kept as text
        (b"hello", "text/plain", "hello"),
        (b"\xff", "text/plain", ""),
        (b'data:{"a":1}\n\n', "text/event-stream", {"events": [{"data": {"a": 1}}]}),
        (b': ping\n\ndata: {"a":\ndata: 1}\n\n', "text/event-stream", {"events": [{"data": {"a": 1}}]}),
        (b'data: {"a":1}\r\n\r\n', "text/event-stream", {"events": [{"data": {"a": 1}}]}),
        (
            b'data: "\r\n\n\ndata:{"a":1}\n\n',
            "text/event-stream",
            {"events": [{"data": '"'}, {"data": {"a": 1}}]},
        ),
        (b'id: 1\ndata: {"a":1}', "text/event-stream", {"events": [{"id": "1", "data": {"a": 1}}]}),
        (b'event: x\ndata: {"a":1}\n\n', "", {"events": [{"event": "x", "data": {"a": 1}}]}),
    ],
)
def test_a_body_is_read_as_an_sdk_reads_it(content: bytes, content_type: str, expected: object) -> None:
    stored = store_body(content, content_type)
    assert restore_body(stored) == content
    assert read_body(stored) == expected
    assert read_content(content, content_type) == expected


def test_a_masked_body_is_restored_with_the_mask() -> None:
    stored = Redactor().mask(store_body(b'{"api_key":"abc","n":1}', "application/json"))
    assert restore_body(stored) == b'{"api_key":"[masked]","n":1}'
    stored = Redactor().mask(store_body(b'data: {"api_key": "abc"}\n\n', "text/event-stream"))
    assert restore_body(stored) == b'data: {"api_key": "[masked]"}\n\n'


def test_a_body_edited_by_hand_is_restored() -> None:
    assert restore_body(b'{ "json": {"a" : 2}, "style": "compact" }') == b'{"a":2}'


@pytest.mark.parametrize(
    "stored", [b"{}", b"[]", b'{"base64":"*"}', b'{"json":{},"style":"no"}', b'{"other":1}', b"{"]
)
def test_a_malformed_stored_body_is_refused(stored: bytes) -> None:
    with pytest.raises(CodecError):
        restore_body(stored)


def test_json_as_msgspec_writes_it_is_stored_as_compact() -> None:
    content = msgspec.json.encode({"a": 1e16, "b": "é\u2028"})
    assert store_body(content).endswith(b'"style":"compact"}')


LINES = [
    b'{"a":1}\n{"a":2}\n',
    b'{"a": 1}\n{"a": 2.50}\n{"b": [1, 2]}',
    b'{"a":1}\nnot json\n\n[1]\n',
    b'{"a":1}\n{"a": 2}\r\n',
]


@pytest.mark.parametrize("content", LINES)
def test_json_lines_are_stored_as_json(content):
    stored = store_body(content, "application/x-ndjson")
    assert restore_body(stored) == content
    assert b'"lines":[{"a":' in stored


def test_json_lines_are_read():
    stored = store_body(b'{"a":1}\n{"a": 2}\nplain', "application/x-ndjson; charset=utf-8")
    assert read_body(stored) == {"lines": [{"a": 1}, {"a": 2}, "plain"]}


def test_json_lines_that_are_no_text_are_restored():
    content = b'{"a":1}\n\xff'
    assert restore_body(store_body(content, "application/x-ndjson")) == content


def _frames(*payloads: bytes) -> bytes:
    headers = {":event-type": "chunk", ":message-type": "event"}
    return write_frames([(headers, payload) for payload in payloads])


FRAMES = [
    _frames(b'{"a":1}', b'{"a": 2}', b'{"b":"\xc3\xa9"}'),
    _frames(b'{"a": 1}', b"", b"\xff\x00"),
    _frames(b'{"a":1}') + _frames(b'{"a":2}')[:-3],
]


@pytest.mark.parametrize("content", FRAMES)
def test_frames_are_stored_as_json(content: bytes) -> None:
    stored = store_body(content, "application/vnd.amazon.eventstream")
    assert restore_body(stored) == content
    assert b'"payload":{"a":1}' in stored
    assert read_body(stored)["frames"][0]["headers"][":event-type"] == "chunk"


def test_a_masked_frame_has_a_new_checksum() -> None:
    stored = store_body(_frames(b'{"a":1}'), "application/vnd.amazon.eventstream")
    edited = restore_body(stored.replace(b'{"a":1}', b'{"a":"masked"}'))
    assert edited == _frames(b'{"a":"masked"}')


@pytest.mark.parametrize("content", [_frames(b'{"a":1}')[:-1] + b"x", b"\0\0\0\1\0\0\0\0\0\0\0\0", b"\0\0"])
def test_bytes_that_are_no_frames_are_restored(content: bytes) -> None:
    assert restore_body(store_body(content, "application/vnd.amazon.eventstream")) == content
