"""The audit hook calls listeners only for their events. Listeners can't be removed, so each test has its own events."""

import sys

import pytest

from autochron._runtime import audit


@pytest.fixture
def heard():
    calls = []

    def listener(name, error=None):
        def listen(event, arguments):
            calls.append((name, event, arguments))
            if error is not None:
                raise error

        return listen

    return calls, listener


def test_listeners_are_called_for_their_events_in_order(heard):
    calls, listener = heard
    first, second = listener("first"), listener("second")
    audit.listen(first, ["test.one", "test.both"])
    audit.listen(second, ["test.two", "test.both"])
    for event in ("test.one", "test.both", "test.two", "test.none"):
        sys.audit(event, 1, "x")
    assert calls == [
        ("first", "test.one", (1, "x")),
        ("first", "test.both", (1, "x")),
        ("second", "test.both", (1, "x")),
        ("second", "test.two", (1, "x")),
    ]


def test_a_listener_that_is_registered_twice_is_called_once(heard):
    calls, listener = heard
    repeated = listener("one")
    audit.listen(repeated, ["test.a", "test.b"])
    audit.listen(repeated, ["test.b", "test.c"])
    for event in ("test.a", "test.b", "test.c"):
        sys.audit(event)
    assert [call[1] for call in calls] == ["test.a", "test.b", "test.c"]


def test_an_exception_of_a_listener_fails_the_audited_call(heard):
    calls, listener = heard
    refuses, after = listener("refuses", PermissionError("no")), listener("after")
    audit.listen(refuses, ["test.refused"])
    audit.listen(after, ["test.refused"])
    with pytest.raises(PermissionError, match="no"):
        sys.audit("test.refused")
    assert [call[0] for call in calls] == ["refuses"]
