"""A store is read as data: its triggers and views run nothing, and its location does not make it trusted."""

import contextlib
import re
import shutil
import sqlite3

import pytest

from tests.cli.processes import autochron, write
from tests.security.agents import FILES, recorded

TABLES = ("trace", "crossing", "exchange", "item", "body", "child")
READS = [
    ("traces", "list"),
    ("traces", "show", "--full", "last"),
    ("traces", "show", "--json", "last"),
    ("traces", "diff", "last", "last"),
    ("traces", "export", "last", "again.jsonl"),
    ("replay", "last"),
    ("traces", "prune", "--max-age", "1d", "--dry-run"),
]


@pytest.fixture(scope="module")
def sender(tmp_path_factory):
    """Record a program, and return its folder."""
    return recorded(tmp_path_factory.mktemp("made"))


@pytest.fixture
def received(sender, tmp_path):
    """Return a folder with the same program, and somebody else's store in the place of the user's own."""
    write(tmp_path, FILES)
    (tmp_path / ".autochron").mkdir()
    shutil.copy(sender / ".autochron" / "traces.db", tmp_path / ".autochron" / "traces.db")
    return tmp_path


@contextlib.contextmanager
def opened(folder):
    """Open the store of a folder, to change it or to look into it."""
    with contextlib.closing(sqlite3.connect(folder / ".autochron" / "traces.db")) as connection, connection:
        yield connection


def test_a_foreign_store_in_the_users_folder_is_not_trusted(received):
    done = autochron(received, "replay", "last")
    assert (done.status, "and was not recorded here" in done.said, "--trust " in done.said) == (2, True, True)
    assert autochron(received, "traces", "list").status == 0  # reading needs no trust
    assert not (received / "ran").exists()


def test_reading_a_store_runs_no_trigger_and_changes_nothing(received):
    with opened(received) as store:
        store.execute("CREATE TABLE told (what TEXT)")
        for table in TABLES:
            for when in ("INSERT", "UPDATE", "DELETE"):
                store.execute(
                    f"CREATE TRIGGER t_{table}_{when} AFTER {when} ON {table} "
                    f"BEGIN INSERT INTO told VALUES ('{table} {when}'); END"
                )
        before = [*store.iterdump()]
    for words in READS:
        done = autochron(received, *words)
        assert done.status == (2 if words[0] == "replay" else 0), done.said
    with opened(received) as store:
        assert [*store.iterdump()] == before


@pytest.mark.parametrize(
    "definition", ["TRIGGER t AFTER INSERT ON crossing BEGIN DELETE FROM trace; END", "VIEW v AS SELECT 1"]
)
def test_recording_into_a_store_with_triggers_or_views_is_refused(received, definition):
    with opened(received) as store:
        store.execute(f"CREATE {definition}")
        before = [*store.iterdump()]
    done = autochron(received, "run", "agent.py")
    assert (done.status, done.out) == (2, b"")
    assert re.fullmatch(
        r"autochron: \S+traces.db has triggers or views, .*; give another --store \(bad-store\)\n", done.said
    )
    with opened(received) as store:
        assert [*store.iterdump()] == before


# A view can stand in the place of a table that we query. Functions that it calls must not have side effects.
ACTS = {
    "a library": "load_extension('./evil.so')",
    "a tokenizer": "fts3_tokenizer('simple', x'0000000000000000')",
    "a file that is written": "writefile('owned', 'x')",
    "a file that is read": "readfile('/etc/passwd')",
    "a program": "edit('x', 'touch owned')",
}


@pytest.mark.parametrize("call", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("table", ["trace", "crossing"])
def test_a_view_in_the_place_of_a_table_has_no_side_effects(received, call, table):
    with opened(received) as store:
        columns = [row[1] for row in store.execute(f"PRAGMA table_info({table})")]
        store.execute(f"ALTER TABLE {table} RENAME TO held")
        shown = ", ".join(
            f"coalesce(CAST({call} AS TEXT), {column}) AS {column}" if column == "name" else column
            for column in columns
        )
        store.execute("PRAGMA legacy_alter_table=1")
        store.execute(f"CREATE VIEW {table} AS SELECT {shown} FROM held")
    before = sorted(file.name for file in received.iterdir())
    done = autochron(received, "traces", *("list" if table == "trace" else "show last").split())
    assert (done.status, done.text, done.said.count("\n")) == (2, "", 1)
    assert re.search("can't be used \\((no such function|not authorized|unsafe use of)", done.said), done.said
    assert sorted(file.name for file in received.iterdir()) == before
