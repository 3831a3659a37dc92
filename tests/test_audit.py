"""One audit hook tells those who asked for an event, and no others. They stay: each test has events of its own."""

import sys

import pytest

from autochron._runtime import audit


@pytest.fixture
def heard():
    found = []

    def listener(name, error=None):
        def listen(event, arguments):
            found.append((name, event, arguments))
            if error is not None:
                raise error

        return listen

    return found, listener


def test_each_is_told_of_what_it_asked_for_in_order(heard):
    found, listener = heard
    first, second = listener("first"), listener("second")
    audit.listen(first, ["test.one", "test.both"])
    audit.listen(second, ["test.two", "test.both"])
    for event in ("test.one", "test.both", "test.two", "test.none"):
        sys.audit(event, 1, "x")
    assert found == [
        ("first", "test.one", (1, "x")),
        ("first", "test.both", (1, "x")),
        ("second", "test.both", (1, "x")),
        ("second", "test.two", (1, "x")),
    ]


def test_who_asks_twice_is_told_once(heard):
    found, listener = heard
    one = listener("one")
    audit.listen(one, ["test.a", "test.b"])
    audit.listen(one, ["test.b", "test.c"])
    for event in ("test.a", "test.b", "test.c"):
        sys.audit(event)
    assert [each[1] for each in found] == ["test.a", "test.b", "test.c"]


def test_what_a_listener_raises_fails_the_call(heard):
    found, listener = heard
    refuses, after = listener("refuses", PermissionError("no")), listener("after")
    audit.listen(refuses, ["test.refused"])
    audit.listen(after, ["test.refused"])
    with pytest.raises(PermissionError, match="no"):
        sys.audit("test.refused")
    assert [each[0] for each in found] == ["refuses"]
