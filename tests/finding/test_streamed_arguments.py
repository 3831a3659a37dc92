"""The arguments of calls that a stream sends in parts, as the provider sends them."""

import pytest

from autochron.finding.streamed_arguments import with_arguments
from autochron.recording.requested_tools import RequestedCall

PARTS = ['{"ci', 'ty": "Pa', 'ris"}']


def chat(index, **call):
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, **call}]}}]}


CHAT = [
    chat(0, id="c1", function={"name": "look", "arguments": ""}),
    chat(1, id="c2", function={"name": "look", "arguments": ""}),
    *(chat(index, function={"arguments": part}) for part in PARTS for index in (0, 1)),
]
MESSAGES = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "input": {}},
    },
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "c2", "input": {}},
    },
    *(
        {
            "type": "content_block_delta",
            "index": index,
            "delta": {"type": "input_json_delta", "partial_json": part},
        }
        for part in PARTS
        for index in (1, 2)
    ),
]


@pytest.mark.parametrize("events", [CHAT, MESSAGES], ids=["chat", "messages"])
def test_parts_are_joined_by_call(events):
    calls = [
        RequestedCall("look", None, "c1"),
        RequestedCall("look", {}, "c2"),
        RequestedCall("look", {"n": 1}, "c3"),
    ]
    joined = with_arguments(calls, {"events": [{"data": event} for event in events]})
    assert [call.decoded() for call in joined] == [{"city": "Paris"}, {"city": "Paris"}, {"n": 1}]


@pytest.mark.parametrize(
    "content", [None, {"choices": []}, {"events": "none"}, {"events": [{"data": {"index": "x"}}]}]
)
def test_an_answer_that_is_no_stream_leaves_the_calls_as_they_are(content):
    calls = (RequestedCall("look", None, "c1"),)
    assert with_arguments(calls, content) == calls
