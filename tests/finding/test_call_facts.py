"""What a request says of tools: which it declares, and of which calls it carries the results."""

import pytest
from msgspec.json import encode

from autochron.model import MetaPaths, Returned
from autochron.recording.call_facts import CallFacts

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
