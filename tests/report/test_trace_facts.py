"""What a run was: the user's message, the models and the tokens, in the forms of each provider."""

import json

import pytest

from autochron.report.trace_facts import message_of, models, tokens, user_message
from autochron.store.glances import Glance

TEXT = "Please refund order 48213."

REQUESTS = {
    "openai chat": {
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": TEXT}]
    },
    "openai chat with parts": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": TEXT}],
            }
        ]
    },
    "openai responses": {"instructions": "Be kind.", "input": TEXT},
    "openai responses with turns": {
        "input": [
            {"type": "message", "role": "developer", "content": "Be kind."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TEXT}]},
        ]
    },
    "openai completions": {"model": "x", "prompt": TEXT},
    "anthropic": {
        "system": "Be kind.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": TEXT}]}],
    },
    "anthropic after a tool": {
        "messages": [
            {"role": "user", "content": TEXT},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "done"}]}
                ],
            },
        ]
    },
    "gemini": {
        "systemInstruction": {"role": "user", "parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": TEXT}]}],
    },
    "gemini without roles": {"contents": [{"parts": [{"text": TEXT}]}]},
    "bedrock": {
        "messages": [{"role": "user", "content": [{"text": TEXT}]}],
        "system": [{"text": "Be kind."}],
    },
    "bedrock titan": {"inputText": TEXT},
    "cohere 1": {"message": TEXT, "chat_history": [{"role": "USER", "message": "Hello."}]},
    "xai": {"messages": [{"messages": [{"role": "ROLE_USER", "content": [{"text": TEXT}]}]}]},
    "langchain": {"input": {"messages": [[{"type": "human", "content": TEXT}]]}},
    "an input of ours": {
        "body": {"messages": [{"role": "user", "content": TEXT}]},
        "method": "POST",
        "path": "/",
    },
    "history": {"messages": [{"role": "user", "content": "Hello."}, {"role": "user", "content": TEXT}]},
}


@pytest.mark.parametrize("form", REQUESTS)
def test_the_user_s_message_is_found(form):
    assert message_of(REQUESTS[form]) == TEXT


@pytest.mark.parametrize(
    "request_body",
    [
        None,
        7,
        [],
        {},
        {"messages": []},
        {"messages": [{"role": "system", "content": TEXT}]},
        {"tools": [{"role": "user", "content": TEXT}]},
        {"messages": [{"role": "user", "content": None}, {"role": 4}]},
        {"input": [[1, 2], [3]]},
    ],
    ids=str,
)
def test_where_there_is_no_message_there_is_none(request_body):
    assert message_of(request_body) is None


def test_the_input_is_read_where_the_request_is_not_kept():
    given = json.dumps(REQUESTS["openai chat"]).encode()
    assert user_message(Glance(requests=[(b"null", b"{}"), (b"null", given)])) == TEXT
    assert user_message(Glance(requests=[(b"{", b"\xff"), (b"[" * 9000, b"{" * 9000)])) is None
    assert user_message(Glance()) is None


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([], (None, None)),
        (
            [{"prompt_tokens": 3, "completion_tokens": 4}, {"prompt_tokens": 10, "completion_tokens": 20}],
            (13, 24),
        ),
        ([{"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 100}], (103, 4)),
        ([{"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 5}], (3, 9)),
        ([{"inputTokens": 3, "outputTokens": 4}], (3, 4)),
        ([{"prompt_eval_count": 3, "eval_count": 4}], (3, 4)),
        ([7, None, "x", {"input_tokens": "many", "output_tokens": True}], (None, None)),
        ([{"output_tokens": 4}], (None, 4)),
    ],
    ids=str,
)
def test_tokens_are_added_up(usages, expected):
    glance = Glance(metas=[json.dumps({"usage": usage}).encode() for usage in usages])
    assert tokens(glance) == expected


def test_models_are_named_once_in_order():
    named = [b'{"model":"b"}', b"{}", b'{"model":"a"}', b'{"model":"b"}', b'{"model":3}', b"[]", b"broken"]
    assert models(Glance(metas=named)) == ["b", "a"]
