"""A conversation is shown as messages in the format of every provider that has a pack, whole and streamed."""

import json

import pytest

from autochron.model import Exchange, Footer, Trace
from tests.viewing.conftest import page_of
from tests.viewing.traces import HEADER, PIXEL, crossing, to_json

pytestmark = pytest.mark.slow

ARGUMENTS = {"city": "Rome"}
TEXT = json.dumps(ARGUMENTS)
RESULT = "sunny, 30 degrees"

CHAT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": TEXT}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": RESULT},
    ]
}
BLOCKS = {
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": ARGUMENTS}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": RESULT}]}
            ],
        },
    ],
}
ITEMS = {
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": TEXT},
        {"type": "function_call_output", "call_id": "c1", "output": RESULT},
    ],
}
PARTS = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "weather", "args": ARGUMENTS}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": {"result": RESULT}}}],
        },
    ],
}
CONVERSE = {
    "system": [{"text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": ARGUMENTS}}],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": RESULT}]}}]},
    ],
}
DELTAS = [
    {"index": 0, "delta": {"role": "assistant", "content": "Su"}},
    {"index": 0, "delta": {"content": "nny."}},
    {
        "index": 0,
        "delta": {
            "tool_calls": [{"index": 0, "id": "c2", "function": {"name": "pack", "arguments": '{"hat"'}}]
        },
    },
    {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ": true}"}}]}},
]
USE = {"type": "tool_use", "id": "c2", "name": "pack", "input": {}}
OLLAMA_CALL = {"function": {"name": "pack", "arguments": {"hat": True}}}
PACK = {"id": "c2", "function": {"name": "pack", "arguments": '{"hat": true}'}}

CASES = {
    "chat": (CHAT, {"json": {"choices": [{"message": {"role": "assistant", "content": "Sunny.", "tool_calls": [PACK]}}]}}),
    "chat streamed": (CHAT, {"events": [{"data": {"choices": [delta]}} for delta in DELTAS] + [{"data": "[DONE]"}]}),
    "anthropic": (
        BLOCKS,
        {"json": {"role": "assistant", "content": [
            {"type": "text", "text": "Sunny."}, {"type": "tool_use", "id": "c2", "name": "pack", "input": {"hat": True}},
        ]}},
    ),
    "anthropic streamed": (
        BLOCKS,
        {"events": [{"event": data["type"], "data": data} for data in (
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Sun"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ny."}},
            {"type": "content_block_start", "index": 1, "content_block": USE},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"hat": '}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "true}"}},
            {"type": "message_stop"},
        )]},
    ),
    "responses": (
        ITEMS,
        {"json": {"output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]},
            {"type": "function_call", "call_id": "c2", "name": "pack", "arguments": '{"hat": true}'},
        ]}},
    ),
    "responses streamed": (
        ITEMS,
        {"events": [
            {"data": {"type": "response.output_text.delta", "output_index": 0, "delta": "Sun"}},
            {"data": {"type": "response.completed", "response": {"output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]},
                {"type": "function_call", "call_id": "c2", "name": "pack", "arguments": '{"hat": true}'},
            ]}}},
        ]},
    ),
    "gemini": (
        PARTS,
        {"json": {"candidates": [{"content": {"role": "model", "parts": [
            {"text": "Sunny."}, {"functionCall": {"id": "c2", "name": "pack", "args": {"hat": True}}},
        ]}}]}},
    ),
    "gemini streamed": (
        PARTS,
        {"events": [{"data": {"candidates": [{"content": {"role": "model", "parts": [part]}}]}} for part in (
            {"text": "Sun"}, {"text": "ny."}, {"functionCall": {"id": "c2", "name": "pack", "args": {"hat": True}}},
        )]},
    ),
    "bedrock": (
        CONVERSE,
        {"json": {"output": {"message": {"role": "assistant", "content": [
            {"text": "Sunny."}, {"toolUse": {"toolUseId": "c2", "name": "pack", "input": {"hat": True}}},
        ]}}}},
    ),
    "bedrock streamed": (
        CONVERSE,
        {"frames": [{"headers": {}, "payload": payload} for payload in (
            {"role": "assistant"},
            {"contentBlockIndex": 0, "delta": {"text": "Sun"}},
            {"contentBlockIndex": 0, "delta": {"text": "ny."}},
            {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "c2", "name": "pack"}}},
            {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"hat": true}'}}},
        )]},
    ),
    "ollama streamed": (
        CHAT,
        {"lines": [
            {"message": {"role": "assistant", "content": "Sun"}, "done": False},
            {"message": {"role": "assistant", "content": "ny."}, "done": False},
            {"message": {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]}},
        ]},
    ),
    "cohere": (
        CHAT,
        {"json": {"message": {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}], "tool_calls": [PACK]}}},
    ),
}  # fmt: skip

MESSAGES = """[...document.querySelectorAll('.message')].map((each) => [
  each.querySelector('h4').firstChild.textContent,
  [...each.querySelectorAll(':scope > .say')].map((say) => say.textContent).join(''),
  [...each.querySelectorAll(':scope > .call')].map((call) => [
    call.querySelector('code').textContent, call.querySelector('.json').textContent.replace('copy', ''),
    call.querySelector('.result')?.textContent ?? '',
  ]),
])"""


@pytest.fixture(scope="module")
def shown(running_browser, tmp_path_factory):
    """Return the messages of each case, from one page."""
    from autochron.viewing.page import write_page

    calls = [
        crossing(
            seq, "model", "model", nth=seq, given={"body": request},
            exchanges=(Exchange(method="POST", url="http://127.0.0.1/", request=b"null", status=200, body=to_json(answer)),),
        )
        for seq, (request, answer) in enumerate(CASES.values(), 1)
    ]  # fmt: skip
    file = tmp_path_factory.mktemp("pages") / "page.html"
    write_page(page_of(Trace(HEADER, tuple(calls), Footer(status=0))), str(file))
    tab = running_browser
    tab.session = None
    tab.open(file.as_uri())
    tab.wait("document.readyState === 'complete' && !!window.viewer")
    return {name: tab.js(f"(viewer.open(0, {at}), {MESSAGES})") for at, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_the_messages_are_those_of_the_conversation(shown, name):
    system, user, asks, *answers = shown[name]
    assert (system, user) == (["system", "Be brief.", []], ["user", "Weather?", []])
    [[tool, given, result]] = asks[2]
    assert (asks[0], tool, '"Rome"' in given, RESULT in result) == ("assistant", "weather", True, True)
    assert [role for role, _, _ in answers] == ["assistant"] * len(answers)
    assert "".join(said for _, said, _ in answers) == "Sunny."
    [[tool, given, result]] = [call for _, _, calls in answers for call in calls]
    assert (tool, "hat: true" in given, result) == ("pack", True, "")


def test_images_of_other_types_than_pictures_are_not_shown(opened):
    blocks = [
        {"type": "image", "source": {"type": "base64", "media_type": mime, "data": PIXEL}}
        for mime in ("image/png", "image/svg+xml", "text/html")
    ]
    request = {"messages": [{"role": "user", "content": blocks}]}
    tab = opened(page_of(Trace(HEADER, (crossing(1, "model", "model", given={"body": request}),), None)))
    tab.js("viewer.open(0, 0)")
    assert tab.js("document.querySelectorAll('.message img').length") == 1
    assert tab.js("document.querySelector('.message').innerText.match(/can't be shown/g).length") == 2
