"""Arguments are read by paths, for `when`, `capture` and names."""

from collections import UserDict, namedtuple
from enum import IntEnum
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.crossing.arguments import bound, capture, reader
from autochron.crossing.conditions import condition
from autochron.rules.paths import find, parse_path
from autochron.weaving.gate import Point

POINT = Point("m", "f", ("order", "items", "rest", "more"), variadic=("rest", "more"))
Line = namedtuple("Line", "sku qty")


class Broken:
    @property
    def id(self):
        raise RuntimeError("not there yet")


class Level(IntEnum):
    HIGH = 3


ORDER = SimpleNamespace(
    id=7,
    none=None,
    vip=True,
    price=1.5,
    level=Level.HIGH,
    lines=[{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}],
    line=Line("c", 3),
    user=UserDict(name="Ada"),
)
CALL = (ORDER, ["x", "y"], ("r0",), {"order_id": 9, "tags": ["p", "q"]})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("order.id", [7]),
        ("order.none", [None]),
        ("order.nothing", []),
        ("order.nothing.more", []),
        ("order.lines.0.sku", ["a"]),
        ("order.lines.-1.sku", ["b"]),
        ("order.lines.2.sku", []),
        ("order.lines.count", []),
        ("order.lines.*.sku", ["a", "b"]),
        ("order.lines.*[qty=2].sku", ["b"]),
        ("order[vip=true].id", [7]),
        ("order[vip=false].id", []),
        ("order.line.sku", ["c"]),
        ("order.line.1", [3]),
        ("order.user.name", ["Ada"]),
        ("order.user.data", []),
        ("items.1", ["y"]),
        ("items.*", ["x", "y"]),
        ("rest.0", ["r0"]),
        ("order_id", [9]),
        ("tags.-1", ["q"]),
        ("tags.*", ["p", "q"]),
        ("more.order_id", [9]),
        ("unknown", []),
        ("unknown.*", []),
    ],
)
def test_a_path_finds_the_matching_arguments(path, expected):
    assert list(reader(path, POINT)(CALL)) == expected


def test_a_property_that_raises_counts_as_missing():
    call = (Broken(), [Broken()], (), {})
    for path in ("order.id", "order[id=1]", "items.*.id"):
        assert list(reader(path, POINT)(call)) == []


def test_a_parameter_takes_precedence_over_a_keyword_of_its_name():
    point = Point("m", "f", ("order", "more"), variadic=(None, "more"))
    assert list(reader("order", point)((1, {"order": 2}))) == [1]
    assert bound(point, (1, {"order": 2, "x": 3})) == {"order": 1, "more": {"order": 2, "x": 3}, "x": 3}


def test_arguments_that_did_not_bind_are_read_as_missing():
    assert list(reader("more.x", POINT)(((), {}))) == []
    assert bound(POINT, ((), {})) == {"order": (), "items": {}}


_keys = st.sampled_from(["a", "b", "0", "-1", "id"])
_leaves = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["x", "y"])
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_keys, inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "id"]), inner, max_size=3).map(
            lambda own: SimpleNamespace(**own)
        )
        | st.dictionaries(_keys, inner, max_size=2).map(UserDict)
        | st.tuples(inner, inner).map(lambda pair: Line(*pair))
    ),
    max_leaves=10,
)
_paths = st.tuples(st.sampled_from(["order", "word", "more"]), st.lists(_keys, max_size=3)).map(
    lambda pair: ".".join([pair[0], *pair[1]])
)


@given(_values, _values, _paths)
def test_the_fast_reader_finds_the_same_as_the_general_one(order, word, path):
    call = (order, [], (), {"word": word})
    general = list(find(bound(POINT, call), parse_path(path), attributes=True))
    assert list(reader(path, POINT)(call)) == general


@given(_values, st.sampled_from(["*", "true", "1", "x", "1.*", "None"]))
def test_a_condition_has_the_same_meaning_with_and_without_a_star(value, glob):
    plain = condition((("order.a", glob),), POINT)
    general = condition((("order.*", glob),), POINT)
    assert plain(({"a": value}, [], (), {})) is general(({"a": value}, [], (), {}))


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({"order.id": "7"}, True),
        ({"order.id": "7*", "order.vip": "true"}, True),
        ({"order.id": "7", "order.vip": "false"}, False),
        ({"order.vip": "True"}, False),
        ({"order.price": "1.5"}, True),
        ({"order.level": "3"}, True),
        ({"order.none": "*"}, False),
        ({"order.nothing": "*"}, False),
        ({"order.lines": "*"}, False),
        ({"order.lines.0.sku": "a"}, True),
        ({"order.lines.*.sku": "b"}, True),
        ({"order.lines.*[sku=b].qty": "1"}, False),
        ({"order_id": "9"}, True),
        ({"rest.0": "r*"}, True),
    ],
)
def test_a_when_table_matches_arguments(when, fits):
    assert condition(tuple(when.items()), POINT)(CALL) is fits


def test_without_pairs_there_is_no_condition():
    assert condition((), POINT) is None


def test_captured_paths_give_a_value_or_a_list_or_are_left_out():
    paths = ("order.id", "order.none", "order.nothing", "order.lines.*.sku", "order.nothing.*", "order_id")
    assert capture(paths, POINT)(CALL) == (
        ("order.id", "order.none", "order.lines.*.sku", "order.nothing.*", "order_id"),
        (7, None, ["a", "b"], [], 9),
    )
