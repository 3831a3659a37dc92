"""Which exceptions count as a refusal and which as a crash, by how they were raised."""

import asyncio
import json
import os
import socket
import sqlite3
import sys
from contextlib import closing

import pydantic
import pytest

from autochron.errors import DeniedError
from autochron.reproduction.crashes import describe, is_crash
from autochron.reproduction.crashwatch import CrashWatch


class Refused(Exception):
    pass


class Order(pydantic.BaseModel):
    cents: int = pydantic.Field(le=100)


def owns(file):
    return file == __file__


def raises(error):
    raise error


def constraint():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t (x integer check (x < 10))")
        connection.execute("insert into t values (11)")


def missing_table():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("select * from nothing")


def refused_in_an_except():
    try:
        int("x")
    except ValueError as error:
        raise Refused from error


REFUSALS = {
    "own": lambda: raises(Refused()),
    "value": lambda: raises(ValueError("too much")),
    "permission": lambda: raises(PermissionError("no")),
    "key": lambda: raises(KeyError("no such order")),
    "runtime": lambda: raises(RuntimeError("no")),
    "assert": lambda: raises(AssertionError("no")),
    "constraint of a database": constraint,
    "validator of a library": lambda: Order(cents=500),
    "of another one": refused_in_an_except,
}
CRASHES = {
    "name": lambda: nothing_of_that_name,  # noqa: F821
    "attribute": lambda: (1).nothing,
    "type": lambda: len(1),
    "type that is raised": lambda: raises(TypeError("amount")),
    "import": lambda: __import__("nothing_of_that_name"),
    "not implemented": lambda: raises(NotImplementedError()),
    "missing key": lambda: {}["amount"],
    "missing index": lambda: "".split()[0],
    "division": lambda: 1 / 0,
    "parsing": lambda: int("x"),
    "json": lambda: json.loads("{"),
    "missing file": lambda: open("/nothing/of/that/name"),
    "missing table": missing_table,
    "connection": lambda: socket.create_connection(("127.0.0.1", 1), timeout=1),
    "denied": lambda: raises(DeniedError("denied")),
    "exit": lambda: raises(SystemExit(0)),
    "interrupt": lambda: raises(KeyboardInterrupt()),
}


@pytest.mark.parametrize("name", [*REFUSALS, *CRASHES])
def test_refusals_and_crashes(name):
    with pytest.raises(BaseException) as caught:
        (REFUSALS.get(name) or CRASHES[name])()
    assert is_crash(caught.value, owns) is (name in CRASHES)


def test_a_crash_is_described_with_its_line():
    with pytest.raises(NameError) as caught:
        CRASHES["name"]()
    line = CRASHES["name"].__code__.co_firstlineno
    assert describe(caught.value, os.path.basename, owns) == (
        f"NameError: name 'nothing_of_that_name' is not defined, at test_crashes.py:{line}"
    )


def crashes_noted(names):
    """Return the types of the exceptions that the watch notes while the named ones are raised and caught."""
    watch = CrashWatch(owns, os.path.basename)
    began = watch.begin()
    try:
        for name in names:
            try:
                {**REFUSALS, **CRASHES, **ORDINARY}[name]()
            except BaseException:
                pass
    finally:
        watch.end()
    if not began:
        pytest.skip("another tracer is at work, so on 3.11 nothing is noted")
    return [note.partition(",")[0].partition(":")[0] for note in watch.found()]


def make_existing_folder():
    os.mkdir(os.path.dirname(__file__))


ORDINARY = {
    "iterator": lambda: next(iter(())),
    "made twice": make_existing_folder,
    "cancelled": lambda: raises(asyncio.CancelledError()),
}


def test_a_crash_that_is_caught_is_noted():
    names = ["name", "missing key", "missing table", "parsing", "json", "missing file", "division"]
    assert crashes_noted(names) == [
        "NameError",
        "KeyError",
        "OperationalError",
        "ValueError",
        "JSONDecodeError",
        "FileNotFoundError",
        "ZeroDivisionError",
    ]


def test_a_refusal_that_is_caught_is_not_noted():
    assert crashes_noted(["own", "value", "key", "assert", "constraint of a database", *ORDINARY]) == []


def test_an_earlier_tracer_stays_and_the_watch_says_whether_it_began():
    def tracer(*_):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        watch = CrashWatch(owns, os.path.basename)
        began = watch.begin()
        watch.end()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert began is (sys.version_info >= (3, 12))
