"""Stores from older versions can be read, migrated and recorded into, and their traces still replay."""

import os
import shutil
import sqlite3

import pytest

from autochron.store import open_store, schema
from tests.cli.processes import autochron, trust
from tests.store import samples

OLD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "old")


@pytest.fixture(params=[1])
def folder(request, tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    with open(os.path.join(OLD, f"version_{request.param}.sql"), encoding="utf-8") as dump:
        connection.executescript(dump.read())
    connection.close()
    shutil.copy(os.path.join(OLD, "agent.py"), tmp_path)
    shutil.copy(os.path.join(OLD, "rules.toml"), tmp_path / "autochron.toml")
    return tmp_path


def test_a_trace_in_an_old_store_replays(folder):
    replayed = autochron(folder, "replay", "last", "--store", "t.db", *trust())
    assert replayed.status == 0, replayed.said
    assert replayed.said.startswith("autochron: the same: 2 crossings")


def test_an_old_store_is_migrated_when_it_is_recorded_into(folder):
    store = open_store(str(folder / "t.db"))
    assert [envelope.address for envelope in store.envelopes("last")] == ["look_up[1]", "refund[1]"]
    assert store.children("last") == []
    sink = store.begin(samples.header(1))
    sink.put(samples.small(1))
    sink.close()
    assert len(store.summaries()) == 2
    connection = sqlite3.connect(folder / "t.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    connection.close()


def test_an_old_store_that_cannot_be_written_is_read_without_migration(folder, monkeypatch):
    from autochron.errors import StoreError
    from autochron.store import database

    def refuse(*_):
        raise StoreError("read-only")

    monkeypatch.setattr(database, "connect_to_write", refuse)
    store = open_store(str(folder / "t.db"))
    assert [envelope.address for envelope in store.envelopes("last")] == ["look_up[1]", "refund[1]"]
    assert store.children("last") == []
    assert store.outline("last")[1].status == 0
