"""Inputs that grow: what is written is what `canonical` writes, however they change."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.envelope.canonical import canonical
from autochron.envelope.growing import Growing

_scalar = st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab,]"\\', max_size=4)
_element = _scalar | st.dictionaries(
    st.sampled_from("zyxab"), _scalar | st.sets(st.integers(0, 5)), max_size=4
)
_history = st.lists(_element, max_size=30)
_change = st.one_of(
    st.tuples(st.just("append"), _element),
    st.tuples(st.just("extend"), st.lists(_element, max_size=3)),
    st.tuples(st.just("replace"), st.tuples(st.integers(0, 40), _element)),
    st.tuples(st.just("pop"), st.just(None)),
    st.tuples(st.just("new"), _history),
)


def _changed(history: list, change: tuple) -> list:
    kind, what = change
    if kind == "append":
        return [*history, what]
    if kind == "extend":
        return [*history, *what]
    if kind == "replace" and history:
        at = what[0] % len(history)
        return [*history[:at], what[1], *history[at + 1 :]]
    return history[:-1] if kind == "pop" else what if kind == "new" else history


@settings(max_examples=300, deadline=None)
@given(_history, st.lists(_change, max_size=8), st.booleans())
def test_equal_to_canonical(history, changes, nested):
    growing = Growing()
    for change in [("append", 1), *changes]:
        history = _changed(history, change)
        tools = [{"b": 1, "a": index} for index in range(9)]
        values = ({"messages": history, "n": 1, "tools": tools}, 2.5) if nested else (history, tools)
        names = ("request", "temperature") if nested else ("messages", "tools")
        written = growing.canonical(names, values)
        assert written == canonical(names, values)
        msgspec.json.decode(written)


def test_what_msgspec_refuses_is_written_as_canonical_does():
    growing = Growing()
    odd = [{1: object()}] * 9
    for values in ((odd, float("nan")), ([float("nan")] * 9, 1), (["\ud800"] * 9, 1)):
        assert growing.canonical(("a", "b"), values) == canonical(("a", "b"), values)


@pytest.mark.parametrize("count", [15, 65_535])
def test_a_list_grows_past_the_length_that_takes_another_header(count):
    growing = Growing()
    history = [{"b": 1, "a": 2}] * (count - 1)
    for _ in range(4):
        assert growing.canonical(("history",), (history,)) == canonical(("history",), (history,))
        history = [*history, {"d": 1, "c": 2}]


def test_a_look_in_json_is_none_in_messagepack():
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    growing = Growing()
    for history in ([49, 44, 50, 44, 51, 44, 52, 44], [1, 2, 3, 4, 5, 6, 7, 8, moment]):
        assert growing.canonical(("m",), (history,)) == canonical(("m",), (history,))


def test_the_same_moment_in_another_zone_is_another_input():
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    growing = Growing()
    for at in (moment, moment.astimezone(timezone(timedelta(hours=1))), moment):
        history = [*[{"n": -1.0}] * 9, {"at": at}]
        assert growing.canonical(("history",), (history,)) == canonical(("history",), (history,))
