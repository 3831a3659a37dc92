"""A crossing's name that contains text from a model is one printable line, with at most 200 characters per part."""

import pytest
from hypothesis import assume, given

from autochron.errors import RuleError
from autochron.rules.names import NameFacts, name_template
from tests.security.hostile import HOSTILE, texts, with_hostile

FACTS = NameFacts("act", "act", "agent")


def crossing_name(text):
    return name_template("call_{tool}").form({"tool": text}, FACTS)


@with_hostile
def test_a_name_is_one_printable_line(text):
    assume(text)
    name = crossing_name(text)
    assert name.isprintable()
    assert len(name.removeprefix("call_")) <= 200


@pytest.mark.parametrize("text", ["refund", "look up", "é", "[1]", "x" * 200, "a\\b", "kind:tool"])
def test_plain_text_is_used_unchanged(text):
    assert crossing_name(text) == f"call_{text}"


@given(texts(), texts())
def test_different_texts_have_different_names(first, second):
    assume(first and second and first != second)
    assert crossing_name(first) != crossing_name(second)


def test_hostile_texts_have_different_names():
    nonempty = [text for text in HOSTILE if text]
    assert len({crossing_name(text) for text in nonempty}) == len(nonempty)


@pytest.mark.parametrize("value", ["", None, 1.5, True, ["x"], {"name": "x"}, b"x"])
def test_a_value_that_makes_no_name_is_refused_in_one_line(value):
    with pytest.raises(RuleError) as refused:
        crossing_name(value)
    assert str(refused.value).isprintable()
