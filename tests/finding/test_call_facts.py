"""What a request says of tools: which it declares, and of which calls it carries the results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from autochron.model import MetaPaths, Returned
from autochron.recording.call_facts import CallFacts, KnownResults

PATHS = MetaPaths(
    declared=("request.tools.*.function",),
    results=("request.messages.*[role=tool]",),
)
SCHEMA = {"type": "object", "properties": {"city": {}, "day": {}}, "required": ["city"]}


def facts(**request):
    return CallFacts(PATHS, b"{}", Returned(), None, encode(request))


@pytest.mark.parametrize(
    "parameters",
    [SCHEMA, encode(SCHEMA).decode(), {"json": SCHEMA}, {"json": encode(SCHEMA).decode()}],
    ids=["an object", "a text", "an object in an object", "a text in an object"],
)
def test_the_parameters_of_a_declared_tool_are_read(parameters):
    [tool] = facts(tools=[{"function": {"name": "weather", "parameters": parameters}}]).declared()
    assert (tool.name, tool.parameters, tool.required) == ("weather", {"city", "day"}, {"city"})


@pytest.mark.parametrize("parameters", ["{not JSON", "[1]", "text", 7, None])
def test_a_tool_without_a_schema_that_can_be_read_has_unknown_parameters(parameters):
    [tool] = facts(tools=[{"function": {"name": "weather", "parameters": parameters}}]).declared()
    assert (tool.name, tool.parameters) == ("weather", None)


def asked(*ids):
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": {}} for call_id in ids]}


def said(content, **fields):
    return {"role": "tool", "content": content, **fields}


@pytest.mark.parametrize(
    ("messages", "results"),
    [
        ([asked("a", "b"), said("1"), said("2")], [("a", "1"), ("b", "2")]),
        ([asked("a"), said("1"), asked("b"), said("2")], [("a", "1"), ("b", "2")]),
        ([asked("a"), {"role": "user", "content": "?"}, said("1")], [("a", "1")]),
        ([said("1"), asked("a")], [("", "1")]),
        ([asked("a"), said("1"), said("2")], [("a", "1"), ("", "2")]),
        ([asked("a"), said("1", name="weather")], [("", "1")]),
    ],
)
def test_results_that_name_no_call_are_those_of_the_last_calls_in_their_order(messages, results):
    found = facts(messages=messages).results()
    assert [(result.id, result.body["content"]) for result in found] == results


IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.one_of(
    st.builds(lambda ids: asked(*ids), st.lists(IDS, min_size=1, max_size=3)),
    st.builds(lambda content: said(content), st.sampled_from(["1", "2"])),
    st.builds(lambda content, call_id: said(content, tool_call_id=call_id), st.sampled_from(["1", "2"]), IDS),
    st.builds(lambda name: said("1", name=name), st.sampled_from(["weather", "news"])),
    st.builds(lambda size: {"role": "user", "content": "?" * size}, st.sampled_from([1, 20_000])),
)


@given(st.lists(st.lists(MESSAGES, max_size=8), min_size=1, max_size=5))
def test_the_results_of_a_request_do_not_depend_on_what_earlier_ones_had(conversations):
    known = KnownResults()
    for messages in conversations:
        for end in range(len(messages) + 1):
            request = facts(messages=messages[:end])
            assert request.results(known) == request.results()


def test_messages_that_an_earlier_request_had_are_not_read_again():
    known = KnownResults()
    messages = [asked("a"), said("1", tool_call_id="a")]
    [first] = facts(messages=messages).results(known)
    [again, last] = facts(messages=[*messages, said("2", tool_call_id="b")]).results(known)
    assert (again is first, last.body["content"]) == (True, "2")


def test_a_session_of_many_messages_keeps_few_results():
    known = KnownResults()
    for number in range(5_000):
        facts(messages=[said(str(number), tool_call_id="a")]).results(known)
    assert len(known) <= 1_025
