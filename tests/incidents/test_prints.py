"""Prints: what several values have in common, and whether another value fits it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.reproduction.prints import flatten, print_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_value_fits_its_own_print(value):
    assert print_of([value]).differences(value) == []


@given(st.lists(JSON, min_size=1, max_size=4))
def test_each_of_several_values_fits_their_common_print(values):
    common = print_of(values)
    assert [common.differences(value) for value in values] == [[]] * len(values)


@given(JSON, JSON)
def test_a_value_fits_the_print_of_another_only_if_they_are_equal(first, second):
    # 40.0 counts as 40: the tool did the same.
    def number(text):
        return int(float(text)) if float(text).is_integer() else float(text)

    numbers = [json.loads(json.dumps(value), parse_float=number) for value in (first, second)]
    flat = [flatten(value) for value in numbers]
    is_equal = flat[0].keys() == flat[1].keys() and all(
        type(flat[0][key]) is type(flat[1][key]) and flat[0][key] == flat[1][key] for key in flat[0]
    )
    assert (print_of([first]).differences(second) == []) is is_equal


@given(JSON)
def test_a_print_shows_no_data(value):
    secret = "correct horse battery staple"
    text = json.dumps(print_of([{"secret": secret, "more": value}]).leaves)
    assert secret not in text


@pytest.mark.parametrize(
    ("values", "other", "expected"),
    [
        ([{"id": "4f2a"}, {"id": "99bc"}], {"id": "T-17"}, []),
        ([{"id": "4f2a", "cents": 5}, {"id": "99bc", "cents": 5}], {"id": "x", "cents": 6}, ["cents"]),
        (["paid 40 at 10:31", "paid 40 at 11:02"], "paid 40 at 2026-11-22 09:00", []),
        (["paid 40 at 10:31", "paid 40 at 11:02"], "paid 41 at 10:31", [""]),
        (["paid 40 at 10:31", "paid 40 at 11:02"], "refused", [""]),
        (["tickets/4f2a-11.json", "tickets/99bc-73.json"], "tickets/T-0815.json", []),
        (["tickets/4f2a-11.json", "tickets/99bc-73.json"], "trash/T-0815.json", [""]),
        ([["a", "b", "c"], ["c", "a", "b"]], ["b", "c", "a"], []),
        ([["a", "b", "c"], ["c", "a", "b"]], ["b", "c", "d"], ["0", "1", "2"]),
        ([{"$set": ["a", "b"]}], {"$set": ["b", "a"]}, []),
        ([40], 40.0, []),
        ([40], "40", [""]),
        ([1], True, [""]),
        ([None], None, []),
        ([{"a": []}], {"a": [1]}, ["a", "a.0"]),
    ],
)
def test_which_values_fit_a_print(values, other, expected):
    assert sorted(print_of(values).differences(other)) == sorted(expected)


def test_fields_that_vary_are_named():
    tags = {1: ["a", "b"], 2: ["b", "a"]}
    values = [{"id": f"{n}f", "at": f"on day {n}", "tags": tags[n], "ok": True} for n in tags]
    assert print_of(values).varying() == ["at", "id", "tags"]


@pytest.mark.parametrize(
    ("value", "tells"), [(None, False), ({"a": 1}, True), ("x", True), (False, True), ([], True)]
)
def test_a_print_of_none_tells_nothing(value, tells):
    assert print_of([{"outcome": value}]).tells is tells
