"""The columns of `autochron traces list`, and what is read of a store for them."""

import io
import json
import sqlite3

import msgspec
import pytest

from autochron.model import Exchange, Footer
from autochron.report.phrases import cells
from autochron.report.trace_list import fitted, seconds_text, short_ids, write_list
from autochron.store import open_store
from autochron.store.glances import glances
from tests.store import samples

MESSAGE = "Please refund order 48213. The mug is broken. 注文を返金してください"


def asked(seq, text=MESSAGE, model="gpt-4.1-mini"):
    """Return a crossing of a model whose request holds a message."""
    body = {"json": {"messages": [{"role": "user", "content": text}]}, "style": "c"}
    return msgspec.structs.replace(
        samples.small(seq),
        name="model",
        kind="model",
        nth=seq,
        exchanges=(Exchange(method="POST", url="https://x/y", request=json.dumps(body).encode()),),
        meta=json.dumps({"model": model, "usage": {"prompt_tokens": 30, "completion_tokens": 4}}).encode(),
        started=seq * 1_000_000_000,
        duration=500_000_000,
    )


def filled(store):
    """Put two traces into a store, the second without an end, and return it."""
    sink = store.begin(samples.header(1, "refund"))
    for seq in (1, 2):
        sink.put(asked(seq))
    sink.end(Footer(status=3))
    sink.close()
    sink = store.begin(samples.header(2))
    sink.put(samples.small(1))
    sink.commit()
    sink.close()
    return store


@pytest.fixture(params=["sqlite", "memory"])
def store(request, tmp_path):
    return filled(open_store(f"memory:{tmp_path}" if request.param == "memory" else str(tmp_path / "t.db")))


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True

    def fileno(self):
        raise OSError


def listed(store, stream, *, as_json=False):
    write_list(store.summaries(), glances(store), stream, as_json=as_json)
    return stream.getvalue().splitlines()


def test_without_a_terminal_there_are_tabs_and_nothing_is_shortened(store):
    head, first, second = listed(store, io.StringIO())
    assert head.split("\t")[-4:] == ["tokens in/out", "crossings", "duration", "status"]
    assert first.split("\t")[2:] == [
        *("refund", "agent.py --fast", MESSAGE, "gpt-4.1-mini", "60/8", "2", "2.5 s", "3"),
    ]
    assert second.split("\t")[-1] == "cut off"
    assert len(head.split("\t")) == len(first.split("\t")) == len(second.split("\t"))


@pytest.mark.parametrize("wide", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_on_a_terminal_the_columns_fit_its_width(store, wide, variables, monkeypatch):
    for name, value in {"COLUMNS": str(wide), **variables}.items():
        monkeypatch.setenv(name, value)
    lines = listed(store, Terminal())
    assert max(map(cells, lines)) <= wide
    assert lines[0].startswith("id ")
    assert lines[0].endswith("status")
    assert lines[1].endswith(" 3")
    assert ("crossings" in lines[0]) == (wide >= 120)


def test_json_has_all_unshortened(store):
    first, second = (json.loads(line) for line in listed(store, io.StringIO(), as_json=True))
    assert list(first) == [
        *("id", "created", "name", "command", "message", "models", "tokens_in", "tokens_out", "crossings"),
        *("duration", "status", "complete", "size", "header"),
    ]
    assert (first["message"], first["models"], first["tokens_in"], first["tokens_out"]) == (
        MESSAGE,
        ["gpt-4.1-mini"],
        60,
        8,
    )
    assert (first["duration"], first["status"], first["complete"]) == (2.5, 3, True)
    assert (second["message"], second["models"], second["tokens_in"], second["complete"]) == (
        None,
        [],
        None,
        False,
    )


def test_a_store_with_damage_in_a_request_is_listed_all_the_same(tmp_path):
    store = filled(open_store(str(tmp_path / "t.db")))
    connection = sqlite3.connect(tmp_path / "t.db")
    with connection:
        connection.execute("UPDATE exchange SET request = 424242")
        connection.execute("UPDATE crossing SET meta = 424242 WHERE id & 1")
    connection.close()
    first, _ = (json.loads(line) for line in listed(store, io.StringIO(), as_json=True))
    assert (first["message"], first["tokens_in"], first["crossings"]) == (None, 30, 2)


def test_a_store_that_is_not_there_has_nothing_to_list(tmp_path):
    store = open_store(str(tmp_path / "none.db"))
    assert listed(store, io.StringIO()) == [
        "id\twhen\tname\tcommand\tthe user's message\tmodels\ttokens in/out\tcrossings\tduration\tstatus"
    ]
    assert not (tmp_path / "none.db").exists()


def test_ids_are_as_short_as_their_difference_allows():
    assert short_ids(["01ABCDEFGH", "01ABCDEFXY", "01ZZZZZZZZ"]) == ["01ABCDEFG", "01ABCDEFX", "01ZZZZZZZ"]
    assert short_ids(["01ABCDEFGH"]) == ["01ABCD"]
    assert short_ids([]) == []


def test_columns_that_no_trace_fills_are_left_out():
    row = dict.fromkeys(("id", "when", "name", "command", "message", "models"), "")
    row |= {"tokens": "-", "crossings": "1", "duration": "1 s", "status": "0", "command": "agent.py"}
    assert {"name", "message", "models"} & fitted([row], 200).keys() == set()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.34, "340 ms"), (12.34, "12.3 s"), (245, "4 m 05 s"), (3725, "1 h 02 m")],
)
def test_durations_are_written_as_people_do(seconds, text):
    assert seconds_text(seconds) == text
