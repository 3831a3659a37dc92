"""A secret that is split over the items of a stream, so that no item holds it alone."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.envelope import bodies
from autochron.redaction.joined import differences
from autochron.redaction.redactor import Redactor
from tests.security.secret_texts import (
    SIZES,
    STREAMED,
    VALUE,
    cut,
    delta,
)


def _content(chunks: list[dict]) -> str:
    return "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)


@pytest.mark.parametrize("text", STREAMED)
@pytest.mark.parametrize("size", SIZES)
def test_a_secret_split_over_the_events_of_a_body_is_masked(text: str, size: int) -> None:
    chunks = [delta(part) for part in cut(text.replace("@", VALUE), size)]
    sent = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    stored = bodies.store_body(sent.encode(), "text/event-stream")
    masked, paths = Redactor().mask_outcome(stored)
    lines = bodies.restore_body(masked).decode().split("\n\n")
    masked_chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    assert len(masked_chunks) == len(chunks)
    assert _content(masked_chunks) == Redactor().mask_text(text.replace("@", VALUE))
    assert VALUE not in _content(masked_chunks)
    assert paths == ("events",)
    assert Redactor().mask_outcome(masked)[0] == masked


def test_alternating_choices_are_masked_as_separate_texts() -> None:
    secret_parts, plain_parts = cut(f"password: {VALUE}\n", 4), cut("nothing is said here, at all", 4)
    pairs = [
        chunk
        for pair in zip(secret_parts, plain_parts, strict=False)
        for chunk in (delta(pair[0], 0), delta(pair[1], 1))
    ]
    masked_items = [
        json.loads(body) for body, _ in Redactor().mask_items([msgspec.json.encode(item) for item in pairs])
    ]
    assert VALUE not in _content(masked_items[::2])
    assert masked_items[1::2] == pairs[1::2]


def test_items_without_a_secret_stay_identical() -> None:
    items = [
        msgspec.json.encode(delta(part)) for part in cut("the quick brown fox has 500 max_tokens: so", 3)
    ]
    assert [body for body, _ in Redactor().mask_items(items)] == items


def test_a_secret_split_over_pieces_of_bytes_is_masked() -> None:
    parts = [msgspec.json.encode({"$bytes": _base64(part)}) for part in cut(f"password: {VALUE}\nüé", 3)]
    masked_bytes = b"".join(_bytes(body) for body, _ in Redactor().mask_items(parts))
    assert masked_bytes.decode() == "password: [masked]\nüé"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _bytes(body: bytes) -> bytes:
    return base64.b64decode(json.loads(body)["$bytes"])


# --- streams that are masked while they are written ---
@pytest.mark.parametrize("text", STREAMED)
@pytest.mark.parametrize("size", SIZES)
def test_a_secret_in_a_stream_that_is_written_item_by_item_is_masked(text: str, size: int) -> None:
    stream = Redactor().begin_stream()
    sent = [msgspec.json.encode({"delta": part}) for part in cut(text.replace("@", VALUE), size)]
    written = [body for item in sent for body in stream.push(item)]
    early = "".join(json.loads(body)["delta"] for body in written)
    written += stream.flush()
    text_kept = "".join(json.loads(body)["delta"] for body in written)
    assert len(written) == len(sent)
    assert VALUE not in early
    assert VALUE not in text_kept
    assert stream.has_masked


def test_an_item_waits_at_most_for_the_next_word() -> None:
    stream = Redactor().begin_stream()
    words = "the quick brown fox jumps over the lazy dog".split()
    sent = [msgspec.json.encode({"delta": f" {word}", "n": at}) for at, word in enumerate(words)]
    released = [stream.push(item) for item in sent]
    assert released == [[], *([item] for item in sent[:-1])]
    assert stream.flush() == sent[-1:]
    assert not stream.has_masked


def test_items_without_text_are_held_back_only_behind_text_that_waits() -> None:
    stream = Redactor().begin_stream()
    assert stream.push(b'{"n":1}') == [b'{"n":1}']
    assert stream.push(b'{"delta":"half"}') == []
    assert stream.push(b'{"n":2}') == []
    assert stream.push(b'{"delta":" more "}') == [b'{"delta":"half"}', b'{"n":2}', b'{"delta":" more "}']


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*"ab \n:='\"", "password", ": ", "Xy9", "curl -u a:", "token=", "é"]), max_size=14
    ),
    st.integers(1, 5),
)
def test_the_stream_loses_and_reorders_no_item(parts: list[str], size: int) -> None:
    sent = [
        msgspec.json.encode({"n": at, "delta": part}) for at, part in enumerate(cut("".join(parts), size))
    ]
    stream = Redactor().begin_stream()
    written = [json.loads(body) for item in sent for body in stream.push(item)]
    written += map(json.loads, stream.flush())
    assert [event["n"] for event in written] == list(range(len(sent)))
    masked_text = Redactor().mask_text("".join(parts))
    if masked_text == "".join(parts) and not stream.has_masked:
        assert "".join(event["delta"] for event in written) == masked_text


@given(st.lists(st.sampled_from(["a", "b", "ab", " ", "[masked]", "x1"]), max_size=8), st.data())
def test_differences_cover_all_masked_parts(parts: list[str], data: st.DataObject) -> None:
    hidden = [data.draw(st.booleans()) for _ in parts]
    text = "".join(parts)
    masked = "".join("[masked]" if is_hidden else part for part, is_hidden in zip(parts, hidden, strict=True))
    spans = differences(text, masked)
    at = 0
    for part, is_hidden in zip(parts, hidden, strict=True):
        if is_hidden and part != "[masked]" and text != masked:
            assert any(start <= at and at + len(part) <= end for start, end in spans)
        at += len(part)


PROGRAM = """
import os, sys
import autochron

@autochron.boundary("speak", kind="model")
def speak():
    text = "fine then\\npassword: VALUE\\nand that is all of it"
    for at in range(0, len(text), 3):
        yield {"delta": text[at:at + 3]}

said = "".join(each["delta"] for each in speak())
sys.stdout.write(str(len(said)) + "\\n")
sys.stdout.flush()
END
"""


@pytest.mark.parametrize("end", ["", "os._exit(0)"])
def test_a_run_stores_no_secret_from_its_stream(tmp_path: Path, end: str) -> None:
    (tmp_path / "autochron.toml").write_text("version = 1\npacks = []\n")
    (tmp_path / "agent.py").write_text(PROGRAM.replace("VALUE", VALUE).replace("END", end))
    run = [sys.executable, "-m", "autochron"]
    recorded = subprocess.run(
        [*run, "run", "agent.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert recorded.returncode == 0, recorded.stderr
    file = tmp_path / "trace.jsonl"
    subprocess.run(
        [*run, "traces", "export", "last", str(file)], cwd=tmp_path, capture_output=True, check=True
    )
    deltas = [
        value["delta"]
        for line in file.read_text().splitlines()
        for value in _objects(json.loads(line))
        if "delta" in value
    ]
    assert "".join(deltas) == "fine then\npassword: [masked]\nand that is all of it"


def _objects(value: object) -> list[dict]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [
        *([value] if isinstance(value, dict) else ()),
        *(nested for member in inner for nested in _objects(member)),
    ]
