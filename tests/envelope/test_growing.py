"""Growing inputs: the incremental form equals that of `canonical`, however the input changes."""

import base64
import enum
import math
import sys
import types
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.envelope import exact_snapshot
from autochron.envelope.canonical import canonical
from autochron.envelope.growing import GrowingInputs

_scalar = st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab,]"\\', max_size=4)
_other = st.sampled_from(
    [(1, 2), b"ab", "YWI=", 1.0, -0.0, float("nan"), Decimal("1.5"), "1.5", [1, 2], {1: 2}]
)
_element = _scalar | st.dictionaries(
    st.sampled_from("zyxab"), _scalar | _other | st.sets(st.integers(0, 5)), max_size=4
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
    kind, operand = change
    if kind == "append":
        return [*history, operand]
    if kind == "extend":
        return [*history, *operand]
    if kind == "replace" and history:
        at = operand[0] % len(history)
        return [*history[:at], operand[1], *history[at + 1 :]]
    return history[:-1] if kind == "pop" else operand if kind == "new" else history


@settings(max_examples=300, deadline=None)
@given(_history, st.lists(_change, max_size=8), st.booleans())
def test_the_incremental_form_equals_canonical(history, changes, nested):
    growing = GrowingInputs()
    for change in [("append", 1), *changes]:
        history = _changed(history, change)
        tools = [{"b": 1, "a": index} for index in range(9)]
        values = ({"messages": history, "n": 1, "tools": tools}, 2.5) if nested else (history, tools)
        names = ("request", "temperature") if nested else ("messages", "tools")
        written = growing.canonical(names, values)
        assert written == canonical(names, values)
        msgspec.json.decode(written)


def test_values_that_msgspec_refuses_are_written_as_canonical_writes_them():
    growing = GrowingInputs()
    odd = [{1: object()}] * 9
    for values in ((odd, float("nan")), ([float("nan")] * 9, 1), (["\ud800"] * 9, 1)):
        assert growing.canonical(("a", "b"), values) == canonical(("a", "b"), values)


class Text(str):  # noqa: SLOT000
    """A subclass of `str`, which the program can tell from a string."""


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.StrEnum):
    RED = "red"


# Each pair has the same JSON, or compares equal in Python.
LOOKALIKES = [
    ([1, 2], (1, 2)),
    ("a", Text("a")),
    ("red", Colour.RED),
    (1, Level.LOW),
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    (None, math.nan),
    ("1.5", Decimal("1.5")),
    ("2024-05-01", date(2024, 5, 1)),
    ("a/b", PurePosixPath("a/b")),
    (str(UUID(int=7)), UUID(int=7)),
    (base64.b64encode(b"abc").decode(), b"abc"),
    (b"abc", bytearray(b"abc")),
    ({"a": 1}, OrderedDict(a=1)),
    ({"a": 1}, types.SimpleNamespace(a=1)),
    ({"1": "a"}, {1: "a"}),
    ({"a": 1}, {Text("a"): 1}),
    ([1], [Level.LOW]),
    ([1], {1}),
]


@pytest.mark.parametrize(("plain", "lookalike"), LOOKALIKES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("at", [0, 5, -1])
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "by hand"])
def test_a_change_of_a_value_to_a_lookalike_of_another_type_is_detected(
    plain, lookalike, at, exact, monkeypatch
):
    if not exact:
        monkeypatch.setattr(exact_snapshot, "_encoder", lambda: None)
    growing = GrowingInputs()
    history = [{"content": [number]} for number in range(12)]
    forms = []
    for value in (plain, plain, lookalike, lookalike, plain):
        history[at]["content"][0] = value  # the containers are the same objects
        history.append({"content": ["more"]})
        written = growing.canonical(("messages",), (history,))
        assert written == canonical(("messages",), (history,))
        forms.append(written.replace(b',{"content":["more"]}', b""))
        history = history[:-1] if at == -1 else history
    assert forms[0] == forms[1] == forms[4]
    assert forms[2] == forms[3] != forms[0]


def test_values_below_the_depth_limit_are_written_as_canonical_writes_them():
    deep: list = []
    for _ in range(99):
        deep = [deep]
    growing = GrowingInputs()
    history = [{"content": "x"} for _ in range(12)]
    for element in ("y", deep, [deep], "z"):
        history.append({"content": element})
        assert growing.canonical(("messages",), (history,)) == canonical(("messages",), (history,))


def test_a_module_of_the_program_named_like_our_dependency_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "ormsgpack.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ormsgpack", raising=False)
    exact_snapshot._encoder.cache_clear()
    try:
        assert exact_snapshot.exact_snapshot([1]) is None
    finally:
        exact_snapshot._encoder.cache_clear()


@pytest.mark.parametrize("count", [15, 65_535])
def test_a_list_that_grows_past_a_messagepack_header_size_equals_canonical(count):
    growing = GrowingInputs()
    history = [{"b": 1, "a": 2}] * (count - 1)
    for _ in range(4):
        assert growing.canonical(("history",), (history,)) == canonical(("history",), (history,))
        history = [*history, {"d": 1, "c": 2}]


def test_forms_in_json_and_in_messagepack_are_not_confused():
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    growing = GrowingInputs()
    for history in ([49, 44, 50, 44, 51, 44, 52, 44], [1, 2, 3, 4, 5, 6, 7, 8, moment]):
        assert growing.canonical(("m",), (history,)) == canonical(("m",), (history,))


def test_the_same_moment_in_another_time_zone_is_another_input():
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    growing = GrowingInputs()
    for at in (moment, moment.astimezone(timezone(timedelta(hours=1))), moment):
        history = [*[{"n": -1.0}] * 9, {"at": at}]
        assert growing.canonical(("history",), (history,)) == canonical(("history",), (history,))
