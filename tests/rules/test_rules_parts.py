"""The parts of rules: lines, globs, paths and names."""

import re
from types import SimpleNamespace

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from autochron.errors import RuleError
from autochron.rules.globs import dotted_glob, text_glob
from autochron.rules.lines import find_lines
from autochron.rules.names import NameFacts, name_template
from autochron.rules.paths import find, parse_path

KEYS = st.sampled_from(["a", "b-1", '"q.r"', "'l[1]'", '"e\\"x"', "c.d", "[[x]]".strip("[]")])
STRINGS = [
    '"s"',
    "'s # no'",
    '"a \\" ] }"',
    '"""\n[[boundary]]\nk = 1 \\""" ""x"""""',
    "'''\n[t]\n''x'''''",
    '""""""',
]
SCALARS = st.sampled_from([*STRINGS, "1", "-3.5", "true", "1979-05-27 07:32:00", "[]", "{}"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[ # c ]\n" + ",\n".join(items) + "\n]")
        | st.lists(inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"k{i} = {v}" for i, v in enumerate(items)) + "}"
        )
    ),
    max_leaves=5,
)
BLANKS = st.sampled_from(["", "\n", "# [[boundary]]\n", '\n\n  # x = """\n'])


@given(
    st.lists(st.tuples(BLANKS, st.lists(st.tuples(BLANKS, VALUES), max_size=3), st.booleans()), max_size=4)
)
def test_the_lines_of_tables_and_keys_are_found(tables):
    text, expected = "", {}

    def here():
        return text.count("\n") + 1

    arrays = 0
    for number, (blank, pairs, is_array) in enumerate(tables):
        text += blank
        path = ("arr", arrays) if is_array else (f"t{number}",)
        expected[path] = here()
        text += "[[ arr ]]  # c\n" if is_array else f"[t{number}]\n"
        arrays += is_array
        for index, (inner, value) in enumerate(pairs):
            text += inner
            expected[(*path, f"k.{index}")] = here()
            text += f'"k.{index}" = {value}\n'
    tomli.loads(text)
    lines = find_lines(text)
    assert {path: lines.get(path) for path in expected} == expected


@given(st.lists(st.tuples(KEYS, VALUES), max_size=5, unique_by=lambda pair: pair[0]))
def test_every_key_and_element_has_a_line(pairs):
    text = "\n".join(f"{key} = {value}" for key, value in pairs)
    lines = find_lines(text)

    def paths(value, path=()):
        inner = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in inner:
            yield (*path, key)
            yield from paths(item, (*path, key))

    assert set(paths(tomli.loads(text))) == set(lines)


def test_the_lines_of_nested_tables_are_found():
    text = "[[a]]\n[[a.b]]\n[[a.b]]\nx.y = 1\n[[a]]\n[a.c]\n[[a.b]]\n"
    assert find_lines(text) == {
        ("a",): 1,
        ("a", 0): 1,
        ("a", 0, "b"): 2,
        ("a", 0, "b", 0): 2,
        ("a", 0, "b", 1): 3,
        ("a", 0, "b", 1, "x"): 4,
        ("a", 0, "b", 1, "x", "y"): 4,
        ("a", 1): 5,
        ("a", 1, "c"): 6,
        ("a", 1, "b"): 7,
        ("a", 1, "b", 0): 7,
    }


@given(st.text("ab*/", max_size=8), st.text("ab/", max_size=8))
def test_text_globs_match_like_regular_expressions(pattern, text):
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
    assert text_glob(pattern).fits(text) == expected


COMPONENT = st.text("ab*", min_size=1, max_size=4).filter(lambda text: "**" not in text)


@given(
    st.lists(COMPONENT | st.just("**"), min_size=1, max_size=4),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5),
)
def test_dotted_globs_match_like_regular_expressions(pattern, name):
    def expression_of(component):
        if component == "**":
            return r"[^.]+(?:\.[^.]+)*"
        return "[^.]*".join(component.split("*"))

    expected = re.fullmatch(r"\.".join(map(expression_of, pattern)), ".".join(name)) is not None
    assert dotted_glob(".".join(pattern)).fits(".".join(name)) == expected


@pytest.mark.parametrize(
    ("pattern", "fits", "misses"),
    [
        ("pkg", ["pkg"], ["pkgutil", "pkg.a"]),
        ("shop.*", ["shop.tools"], ["shop", "shop.a.b", "shopping.a"]),
        ("shop.**", ["shop.tools", "shop.a.b"], ["shop", "shopping.a"]),
        ("*", ["f"], ["_f", "__init__", "A.f", "f.<locals>.g"]),
        ("**", ["f", "A.f", "A.B.f"], ["A._f", "_A.f", "A.__init__", "f.<locals>.g"]),
        ("_*", ["_f", "f", "__f"][:1], ["__init__"]),
        ("A.__*", ["A.__init__", "A.__x"], ["A.f"]),
        ("f.<locals>.*", ["f.<locals>.g"], ["f.g", "f.<locals>._g"]),
    ],
)
def test_careful_globs_match_private_and_nested_names_only_if_written_out(pattern, fits, misses):
    glob = dotted_glob(pattern, careful=True)
    assert ([name for name in [*fits, *misses] if glob.fits(name)]) == fits


def test_paths_find_existing_values():
    value = {
        "content": [{"type": "text"}, {"type": "tool_use", "name": "f"}, {"type": "tool_use", "name": "g"}],
        "n": 1,
        "deep": {"x": {"y": True}},
    }
    cases = {
        "content.*[type=tool_use].name": ["f", "g"],
        "content.1.name": ["f"],
        "content.-1.name": ["g"],
        "content.9": [],
        "content.-4": [],
        "content.--1": [],
        "content.count": [],
        "deep.*.y": [True],
        "n.x": [],
        "deep[x=1]": [],
    }
    assert {path: list(find(value, parse_path(path))) for path in cases} == cases


FACTS = NameFacts("f", "A.f", "shop", model="gpt", caller="main", closure={"x": "cx"})


@pytest.mark.parametrize(
    ("text", "fixed", "formed"),
    [
        ("agent", "agent", "agent"),
        ("{__module__}.{__qualname__}-{__name__}", "shop.A.f-f", "shop.A.f-f"),
        ("{model}/{caller}", None, "gpt/main"),
        ("{closure.x}", None, "cx"),
        ("{tool}", None, "refund"),
        ("{spec.name}", None, "inner"),
        ("{request[kind]}{request['n']}", None, "k3"),
        ("{args[0]}", None, "first"),
        ("{fn.__name__}", None, "len"),
    ],
)
def test_names_are_formed_from_arguments_and_facts(text, fixed, formed):
    arguments = {
        "tool": "refund",
        "spec": SimpleNamespace(name="inner"),
        "request": {"kind": "k", "n": 3},
        "args": ("first",),
        "fn": len,
    }
    template = name_template(text)
    assert (template.fixed("f", "A.f", "shop"), template.form(arguments, FACTS)) == (fixed, formed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{gone}", "shop:A.f can't form `{gone}`: gone isn't there"),
        ("{a.b}", "shop:A.f can't form `{a.b}`: a.b isn't there"),
        ("{a}", "shop:A.f can't form `{a}`: a is of type list, and a name takes text or a number"),
        ("{empty}", "shop:A.f can't form `{empty}`: empty is empty"),
    ],
)
def test_a_name_that_cannot_be_formed_raises(text, message):
    with pytest.raises(RuleError) as caught:
        name_template(text).form({"a": [], "empty": ""}, FACTS)
    assert caught.value.message == message
