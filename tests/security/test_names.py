"""The name of a crossing that is formed from what a model chose is one printable line of at most 200 characters a part."""

import pytest
from hypothesis import assume, given

from autochron.errors import RuleError
from autochron.rules.names import NameFacts, name_template
from tests.security.hostile import HOSTILE, texts, with_hostile

FACTS = NameFacts("act", "act", "agent")


def formed(text):
    return name_template("call_{tool}").form({"tool": text}, FACTS)


@with_hostile
def test_a_name_is_one_printable_line(text):
    assume(text)
    name = formed(text)
    assert name.isprintable()
    assert len(name.removeprefix("call_")) <= 200


@pytest.mark.parametrize("text", ["refund", "look up", "é", "[1]", "x" * 200, "a\\b", "kind:tool"])
def test_plain_text_is_the_name_itself(text):
    assert formed(text) == f"call_{text}"


@given(texts(), texts())
def test_two_texts_have_two_names(one, other):
    assume(one and other and one != other)
    assert formed(one) != formed(other)


def test_hostile_texts_have_names_of_their_own():
    chosen = [each for each in HOSTILE if each]
    assert len({formed(each) for each in chosen}) == len(chosen)


@pytest.mark.parametrize("value", ["", None, 1.5, True, ["x"], {"name": "x"}, b"x"])
def test_what_is_no_name_is_refused_in_one_line(value):
    with pytest.raises(RuleError) as refused:
        formed(value)
    assert str(refused.value).isprintable()
