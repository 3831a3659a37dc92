"""One audit hook tells those who asked for an event, and no others."""

import sys

import pytest

from autochron import _audit


@pytest.fixture
def heard():
    found, listeners = [], []

    def listener(name, error=None):
        def listen(event, arguments):
            found.append((name, event, arguments))
            if error is not None:
                raise error

        listeners.append(listen)
        return listen

    yield found, listener
    for each in listeners:
        _audit.listen(each, ())


def test_each_is_told_of_what_it_asked_for_in_order(heard):
    found, listener = heard
    first, second = listener("first"), listener("second")
    _audit.listen(first, ["test.one", "test.both"])
    _audit.listen(second, ["test.two", "test.both"])
    for event in ("test.one", "test.both", "test.two", "test.none"):
        sys.audit(event, 1, "x")
    assert found == [
        ("first", "test.one", (1, "x")),
        ("first", "test.both", (1, "x")),
        ("second", "test.both", (1, "x")),
        ("second", "test.two", (1, "x")),
    ]


def test_what_is_asked_for_takes_the_place_of_what_was(heard):
    found, listener = heard
    one, other = listener("one"), listener("other")
    _audit.listen(one, ["test.a", "test.b"])
    _audit.listen(other, ["test.a"])
    _audit.listen(one, ["test.b", "test.c"])
    for event in ("test.a", "test.b", "test.c"):
        sys.audit(event)
    assert [each[:2] for each in found] == [("other", "test.a"), ("one", "test.b"), ("one", "test.c")]
    found.clear()
    _audit.listen(one, ())
    _audit.listen(other, ())
    for event in ("test.a", "test.b", "test.c"):
        sys.audit(event)
    assert found == []


def test_what_a_listener_raises_fails_the_call(heard):
    found, listener = heard
    refuses, after = listener("refuses", PermissionError("no")), listener("after")
    _audit.listen(refuses, ["test.refused"])
    _audit.listen(after, ["test.refused"])
    with pytest.raises(PermissionError, match="no"):
        sys.audit("test.refused")
    assert [each[0] for each in found] == ["refuses"]
