"""Canonical inputs, and the first difference between two of them."""

from __future__ import annotations

import datetime as dt
import functools
import json
import pathlib
import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.diff.json import first_difference
from autochron.envelope.canonical import canonical
from tests.late import openai

from . import sample_types as samples

_cycle: list[Any] = []
_cycle.append(_cycle)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ((1, [2]), [1, [2]]),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        ({1, "a"}, ["a", 1]),
        ({1: "x"}, {"$dict": [[1, "x"]]}),
        (float("nan"), {"$float": "nan"}),
        ("\ud800", "\\ud800"),
        (10**30, 10**30),
        (_cycle, [{"$cycle": 1}]),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (pathlib.Path("/a"), "/a"),
        (samples.MyStr("x"), "x"),
        (samples.Model(a=1, z=2), {"a": 1, "b": 2, "z": 2, "_secret": None}),
        (samples.Quote("x"), {"price": 1.0, "symbol": "x"}),
        (ValueError("x"), {"$error": "builtins:ValueError", "args": ["x"]}),
        (print, {"$ref": "builtins:print"}),
        (int, {"$ref": "builtins:int"}),
        (object(), {"$opaque": "builtins:object"}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (functools.partial(print, 1), {"$partial": {"$ref": "builtins:print"}, "args": [1], "keywords": {}}),
        (1j, [0.0, 1.0]),
        (range(3), [0, 3, 1]),
        (types.SimpleNamespace(a=1), {"a": 1}),
    ],
)
def test_a_value_has_its_canonical_form(value: Any, expected: Any) -> None:
    form = json.loads(canonical(("v",), (value,)))["v"]
    if "$opaque" in str(expected):
        assert form.keys() == expected.keys()
        assert "0x" not in form["$opaque"]
    else:
        assert form == expected


@pytest.mark.sdks
def test_a_marker_of_an_sdk_is_opaque() -> None:
    test_a_value_has_its_canonical_form(openai.NOT_GIVEN, {"$opaque": "openai:NotGiven"})


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
        | st.frozensets(st.integers() | st.text(), max_size=4)
    ),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(min_size=1), _values, max_size=4))
def test_canonical_never_fails_and_ignores_the_order_of_names(bound: dict[str, Any]) -> None:
    names, values = tuple(bound), tuple(bound.values())
    body = canonical(names, values)
    assert isinstance(json.loads(body), dict)
    assert canonical(names[::-1], values[::-1]) == body
    assert b" at 0x" not in body


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b'{"a":1}', b'{"a":1}', None),
        (b'{"a":1,"b":2}', b'{"b":2,"a":1}', None),
        (b'{"a":1}', b'{"a":1.0}', ("a", "1", "1.0")),
        (b'{"a":1}', b'{"a":true}', ("a", "1", "true")),
        (b'{"a":[1,{"b":2}]}', b'{"a":[1,{"b":3}]}', ("a.1.b", "2", "3")),
        (b'{"a":1}', b"{}", ("a", "1", "(missing)")),
        (b"{}", b'{"a":1}', ("a", "(missing)", "1")),
        (b'{"a":[1]}', b'{"a":[1,2]}', ("a.1", "(missing)", "2")),
        (b"1", b"2", ("(value)", "1", "2")),
    ],
)
def test_the_first_difference_of_two_bodies_is_found(old: bytes, new: bytes, expected: Any) -> None:
    assert first_difference(old, new) == expected


def test_long_texts_are_shortened_around_the_difference() -> None:
    old, new = "a" * 5000 + "X", "a" * 5000 + "Y"
    path, old_text, new_text = first_difference(json.dumps(old).encode(), json.dumps(new).encode()) or (
        "",
        "",
        "",
    )
    assert path == "(value)"
    assert old_text.endswith('X"')
    assert new_text.endswith('Y"')
    assert len(old_text) < 250


def test_types_below_keys_with_a_lone_surrogate_are_distinguished() -> None:
    with_tuple, with_list = ({"value": [{"k\udfff": member}]} for member in ((1,), [1]))
    first, second = (canonical(list(bound), list(bound.values())) for bound in (with_tuple, with_list))
    assert b"$beyond" not in first
    assert first != second
