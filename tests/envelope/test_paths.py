"""Paths into stored JSON have one grammar for reading, masking, dropping and keeping."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.envelope import codec
from autochron.redaction.json_paths import drop_paths, keep_paths, read_path, redact_paths
from autochron.rules.paths import find, parse_path

CALLS = {
    "output": [{"type": "text", "name": "x"}, {"type": "function_call", "name": "y"}, {"name": "z"}],
    "n": 1,
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("output.*[type=function_call].name", ["y"]),
        ("output.*.name", ["x", "y", "z"]),
        ("output.-1.name", ["z"]),
        ("output.0[type=text].name", ["x"]),
        ("output.0[type=other].name", []),
        ("output.*[type=text][name=x].name", ["x"]),
        ("output.*[type=text][name=y].name", []),
        ("output.9", []),
        ("nothing.*.name", []),
        ("n.x", []),
        ("*", [CALLS["output"], 1]),
    ],
)
def test_a_path_finds_the_matching_values(path: str, expected: list[Any]) -> None:
    assert read_path(CALLS, path) == expected


_keys = st.sampled_from(["a", "b", "0", "-1"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=12,
)
_filters = st.tuples(_keys, st.sampled_from(["x", "1", "true"])).map(lambda pair: f"[{pair[0]}={pair[1]}]")
_components = st.tuples(_keys | st.just("*"), st.just("") | _filters).map("".join)
_paths = st.lists(_components, min_size=1, max_size=3).map(".".join)


@given(_json, _paths)
def test_a_path_reads_stored_and_live_values_alike(value: Any, path: str) -> None:
    expected = list(find(value, parse_path(path)))
    assert read_path(value, path) == expected
    assert read_path(json.loads(codec.encode(value).body), path) == expected


@given(_json, st.lists(_paths, max_size=2))
def test_masking_dropping_and_keeping_affect_the_values_that_reading_finds(
    value: Any, paths: list[str]
) -> None:
    body = msgspec.json.encode(value)
    matches = [match for path in paths for match in read_path(value, path)]
    masked, dropped = redact_paths(body, paths), drop_paths(body, paths)
    assert (masked == body) is (not matches)
    assert (dropped == body) is (not matches)
    assert redact_paths(masked, paths) == masked
    assert (keep_paths(body, paths) == b"{}") is (not matches)
    for path in paths:
        if "[" not in path and "-1" not in path and "0" not in path:
            assert read_path(json.loads(dropped), path) == []


BODY = b'{"a":[{"b":1,"c":2},{"b":3}],"d":{"e":4,"f":5}}'


def test_values_at_paths_are_masked() -> None:
    assert redact_paths(BODY, ["a.*.b"]) == (
        b'{"a":[{"b":"[masked]","c":2},{"b":"[masked]"}],"d":{"e":4,"f":5}}'
    )
    assert redact_paths(BODY, ["a.*[c=2].b"]) == b'{"a":[{"b":"[masked]","c":2},{"b":3}],"d":{"e":4,"f":5}}'
    assert redact_paths(BODY, ["a.*[b=3]"]) == b'{"a":[{"b":1,"c":2},"[masked]"],"d":{"e":4,"f":5}}'
    assert redact_paths(BODY, ["a.*[c=7].b"]) == BODY


def test_values_at_paths_are_dropped() -> None:
    assert drop_paths(BODY, ["a.*.b", "d"]) == b'{"a":[{"c":2},{}]}'
    assert drop_paths(BODY, ["a.*"]) == b'{"a":[],"d":{"e":4,"f":5}}'
    assert drop_paths(BODY, ["a.0", "a.1.b", "a.-1"]) == b'{"a":[],"d":{"e":4,"f":5}}'
    assert drop_paths(BODY, ["a.*[c=2]"]) == b'{"a":[{"b":3}],"d":{"e":4,"f":5}}'
    assert drop_paths(BODY, ["x.y"]) == BODY


def test_only_values_at_paths_are_kept() -> None:
    assert keep_paths(BODY, ["a.0.c", "d.e"]) == b'{"a":[{"c":2}],"d":{"e":4}}'
    assert keep_paths(BODY, ["a.*[c=2].b", "a.*.c", "a.-1"]) == b'{"a":[{"b":1,"c":2},{"b":3}]}'
    assert keep_paths(BODY, ["x"]) == b"{}"


def test_a_filter_sees_values_that_another_path_masks() -> None:
    body = b'{"kind":{"is":"vip"},"users":[{"kind":"vip","name":"Ada"}]}'
    paths = ["users.*.kind", "users.*[kind=vip].name"]
    assert redact_paths(body, paths) == (
        b'{"kind":{"is":"vip"},"users":[{"kind":"[masked]","name":"[masked]"}]}'
    )
    assert drop_paths(body, paths) == b'{"kind":{"is":"vip"},"users":[{}]}'


def test_type_tags_around_a_value_are_no_steps_of_a_path() -> None:
    value = {"a": ({"b": 1},), "d": {1: "one", "$x": [{"k": "v", "s": 1}]}}
    body = codec.encode(value).body
    tree = json.loads(body)
    assert read_path(tree, "a.0.b") == [1]
    assert read_path(tree, "d.1") == ["one"]
    assert read_path(tree, "d.$x.*[k=v].s") == [1]
    assert codec.decode(redact_paths(body, ["a.0.b", "d.1"])) == {
        "a": ({"b": "[masked]"},),
        "d": {1: "[masked]", "$x": [{"k": "v", "s": 1}]},
    }
    assert codec.decode(drop_paths(body, ["d.1", "d.$x.0.k"])) == {"a": ({"b": 1},), "d": {"$x": [{"s": 1}]}}
    assert codec.decode(keep_paths(body, ["d.1"])) == {"d": {1: "one"}}


def test_a_key_that_looks_like_a_type_tag_is_a_step_of_a_path() -> None:
    schema = {"$defs": {"order": {"id": 1}}, "properties": {"x": 2}}
    assert read_path(schema, "properties.x") == [2]
    assert read_path(schema, "$defs.order.id") == [1]
