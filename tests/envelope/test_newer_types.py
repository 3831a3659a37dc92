"""Values of types that newer Pythons have: they are rebuilt there, and refused in one line where Python lacks them."""

import sys

import pytest

from autochron.envelope import codec
from autochron.errors import CodecError


def made(text):
    return eval(text)


@pytest.mark.skipif(sys.version_info < (3, 15), reason="frozendict is new in 3.15")
@pytest.mark.parametrize("text", ["{}", "{'a': 1, 2: (3, {4})}", "{'inner': frozendict(b=[1])}"])
def test_a_frozendict_is_rebuilt(text):
    value = made(f"frozendict({text})")
    restored = codec.decode(codec.encode(value).body)
    assert (type(restored), restored) == (type(value), value)
    assert [type(each) for each in restored.values()] == [type(each) for each in value.values()]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="template strings are new in 3.14")
@pytest.mark.parametrize(
    "text", ['t""', 't"plain"', 't"{1 + 1}"', "t\"a {(1, {2})!r:>10} b {'x':{3}}\"", 'rt"\\{1}"']
)
def test_a_template_string_is_rebuilt(text):
    value = made(text)
    restored = codec.decode(codec.encode(value).body)
    assert type(restored) is type(value)
    assert restored.strings == value.strings
    parts = ("value", "expression", "conversion", "format_spec")
    assert [[getattr(each, name) for name in parts] for each in restored.interpolations] == [
        [getattr(each, name) for name in parts] for each in value.interpolations
    ]


@pytest.mark.parametrize(
    ("body", "version", "message"),
    [
        (b'{"$frozendict":{"a":1}}', (3, 15), "it holds a frozendict, which Python has since 3.15"),
        (b'{"$template":["a"]}', (3, 14), "it holds a template string, which Python has since 3.14"),
        (
            b'{"$interpolation":[1,"1",null,""]}',
            (3, 14),
            "it holds a part of a template string, which Python has since 3.14",
        ),
    ],
    ids=["frozendict", "template", "interpolation"],
)
def test_an_older_python_says_what_is_missing(body, version, message):
    if sys.version_info >= version:
        codec.decode(body)
        return
    with pytest.raises(CodecError) as refused:
        codec.decode(body)
    assert message in str(refused.value)
