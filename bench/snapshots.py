"""What keeping the state of a run takes: a snapshot of a database, and a run that opens none."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing

from autochron.effects.snapshots import SnapshotFolder
from bench.measure import Figure, Size, medians, over, ratio, turn_about
from bench.startup import start

LARGE = 50 << 20
"""Bytes of the database."""

_OURS = ["-m", "autochron", "run", "--quiet"]
_KEEPS = "version = 1\npacks = []\n"
_KEEPS_NOTHING = "version = 1\npacks = []\nsnapshot = false\n"


def database(path: str, size: int) -> None:
    """Make a database of about so many bytes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table rows (id integer primary key, text blob)")
        rows = ((os.urandom(4000),) for _ in range(size // 4096))
        connection.executemany("insert into rows (text) values (?)", rows)
        connection.commit()


def by_hand(path: str, target: str) -> None:
    """Copy a database by `backup`, and take the digest of the copy."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    with open(target, "rb") as file:
        hashlib.file_digest(file, "sha256").hexdigest()
    os.unlink(target)


def run(size: Size) -> Iterable[Figure]:
    """Measure both."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.db")
        database(path, LARGE if size.rounds > 1 else 1 << 20)
        kept = SnapshotFolder(os.path.join(folder, "snapshots"))

        def ours() -> None:
            os.unlink(kept.file_of(kept.keep(path, is_database=True)))

        cases = {"backup": lambda: by_hand(path, os.path.join(folder, "copy.db")), "ours": ours}
        times = turn_about(cases, max(1, size.rounds // 4), clock=time.perf_counter)
        yield Figure(
            benchmark="snapshots",
            name="keep a database of 50 MB",
            value=ratio(times, "ours", "backup"),
            unit="×",
            against="sqlite3.Connection.backup and SHA-256 of the copy",
            target=1.5,
            samples=medians(times),
        )
        yield from _without(size, folder)


def _without(size: Size, folder: str) -> Iterable[Figure]:
    """Measure a run that opens no file, with and without snapshots."""
    import sys

    places = {}
    for name, rules in (("ours", _KEEPS), ("off", _KEEPS_NOTHING)):
        place = places[name] = os.path.join(folder, name)
        os.mkdir(place)
        for file, text in (("empty.py", ""), ("autochron.toml", rules)):
            with open(os.path.join(place, file), "w", encoding="utf-8") as made:
                made.write(text)
    cases = {
        name: lambda place=place: start([sys.executable, *_OURS, "empty.py"], place)
        for name, place in places.items()
    }
    times = turn_about(cases, size.rounds, clock=time.perf_counter)
    yield Figure(
        benchmark="snapshots",
        name="autochron run of a program that opens no file",
        value=over(times, "ours", "off") * 1e3,
        unit="ms",
        against="over the same with `snapshot = false`, whole processes",
        samples=medians(times),
    )
