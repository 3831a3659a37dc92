"""Every meta path of every pack, on bodies as providers send them: plain and streamed, with tool calls."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from autochron import provider
from autochron.envelope.bodies import store_body
from autochron.envelope.canonical import canonical
from autochron.envelope.paths import read_steps
from autochron.envelope.redaction import Redactor
from autochron.model import BoundaryRule, Exchange, Returned
from autochron.recording import drafts
from autochron.rules import load_pack, pack_index
from autochron.rules.paths import parse_path

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK = [{"role": "user", "content": "How is the weather?"}]
CHAT = {
    "model": "m-1",
    "messages": ASK,
    "tools": [
        {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("weather", "news")
    ],
    "temperature": 0.5,
    "response_format": {"type": "text"},
}
RESPONSES = {
    "model": "m-1",
    "input": "How is the weather?",
    "tools": [{"type": "function", "name": name, "parameters": SCHEMA} for name in ("weather", "news")],
    "temperature": 0.5,
    "text": {"format": {"type": "text"}},
}
MESSAGES = {
    "model": "m-1",
    "max_tokens": 99,
    "messages": ASK,
    "tools": [{"name": name, "input_schema": SCHEMA} for name in ("weather", "news")],
    "temperature": 0.5,
}
FORMS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "openai.chat": (
        "/v1/chat/completions",
        CHAT,
        {"stream_options": {"include_usage": True}},
    ),
    "openai.responses": ("/v1/responses", RESPONSES, {}),
    "anthropic.messages": ("/v1/messages", MESSAGES, {}),
    "litellm.completion": ("/v1/chat/completions", CHAT, {"stream_options": {"include_usage": True}}),
    "litellm.responses": ("/v1/responses", RESPONSES, {}),
}
OTHER_FORMS = {"litellm.completion": ("anthropic.messages",)}
"""What a rule whose calls go to several providers meets besides."""


@pytest.fixture(scope="module")
def model() -> Iterator[provider.Provider]:
    steps = provider.Script(
        (
            provider.Step(
                text="Let me see.", calls=(provider.Call("weather", '{"city":"Bonn"}'), provider.Call("news"))
            ),
        )
    )
    with provider.serve(script=steps, seed=1) as serving:
        yield serving


def ask(model: provider.Provider, path: str, request: dict[str, Any]) -> tuple[bytes, str]:
    """Give the body of a response, and its type."""
    connection = http.client.HTTPConnection(model.origin.removeprefix("http://"), timeout=30)
    headers = {"content-type": "application/json", "authorization": "Bearer x", "x-api-key": "x"}
    connection.request("POST", path, json.dumps(request), headers)
    response = connection.getresponse()
    content, content_type = response.read(), response.headers["content-type"]
    connection.close()
    assert response.status == 200, content
    return content, content_type


def rule_of(name: str) -> BoundaryRule:
    rules = {rule.id: rule for pack in pack_index() for rule in load_pack(pack).boundaries}
    return rules[name]


def meta_of(name: str, request: dict[str, Any], content: bytes, content_type: str) -> dict[str, Any]:
    """Give what the recorder notes of an exchange."""
    path = FORMS[name][0] if name in FORMS else "/"
    body = Redactor().mask(store_body(content, content_type))
    given = canonical(("body", "method", "path"), (request, "POST", path))
    last = Exchange(method="POST", url=f"http://h.invalid{path}", request=b"null", status=200, body=body)
    return drafts._Meta(rule_of(name).meta, given, Returned(), last).read()


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", FORMS)
def test_model_sampling_usage_and_tools_are_found(
    name: str, streamed: bool, model: provider.Provider
) -> None:
    path, request, of_stream = FORMS[name]
    if streamed:
        request = {**request, "stream": True, **of_stream}
    content, content_type = ask(model, path, request)
    assert ("event-stream" in content_type) is streamed
    meta = meta_of(name, request, content, content_type)
    assert meta["model"] == "m-1"
    assert meta["sampling"]["temperature"] == 0.5
    assert meta["tools"] == ["weather", "news"]
    counts = [value for key, value in meta["usage"].items() if key in ("prompt_tokens", "input_tokens")]
    counts += [value for key, value in meta["usage"].items() if key in ("completion_tokens", "output_tokens")]
    assert len(counts) == 2
    # What the answer took, and not the 1 of a stream's first event.
    assert min(counts) > 1


CUSTOM = {"type": "custom", "custom": {"name": "sell", "input": "x"}}
BODIES: dict[str, tuple[str, ...]] = {
    # What the provider of the tests doesn't send.
    "openai.chat": (
        json.dumps({"choices": [{"message": {"tool_calls": [CUSTOM], "function_call": {"name": "old"}}}]}),
        f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [CUSTOM], 'function_call': {'name': 'old'}}}]})}\n\n",
    ),
    "openai.responses": (
        json.dumps({"output": [{"type": "custom_tool_call", "name": "sell"}]}),
        (
            'event: response.output_item.done\ndata: {"type": "response.output_item.done", '
            '"item": {"type": "custom_tool_call", "name": "sell"}}\n\n'
        ),
    ),
    "openai.completions": (
        '{"usage": {"total_tokens": 3}}',
        'data: {"usage": null}\n\ndata: {"usage": {"total_tokens": 3}}\n\n',
    ),
    "openai.embeddings": ('{"data": [], "usage": {"total_tokens": 3}}',),
    "openai.images": ('{"data": [], "usage": {"total_tokens": 3}}',),
    "openai.audio": ('{"text": "x", "usage": {"total_tokens": 3}}',),
    "openai": ('{"usage": {"total_tokens": 3}}',),
    "anthropic.count_tokens": ('{"input_tokens": 3}',),
    "litellm.text_completion": (
        '{"usage": {"total_tokens": 3}}',
        'data: {"usage": null}\n\ndata: {"usage": {"total_tokens": 3}}\n\n',
    ),
    "litellm.embedding": ('{"data": [], "usage": {"total_tokens": 3}}',),
}
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("temperature", "top_p", "top_k", "seed", "n", "best_of", "stop", "top_logprobs"), 1),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens", "max_tool_calls"), 1),
    **dict.fromkeys(("presence_penalty", "frequency_penalty", "logit_bias", "max_tokens_to_sample"), 1),
    **dict.fromkeys(
        ("reasoning_effort", "verbosity", "tool_choice", "parallel_tool_calls", "service_tier"), "x"
    ),
    **dict.fromkeys(("reasoning", "truncation", "dimensions", "encoding_format", "speed", "thinking"), "x"),
    "model": "m-1",
    "stop_sequences": ["x"],
    "response_format": {"type": "text"},
    "text": {"verbosity": "low", "format": {"type": "text"}},
    "output_config": {"effort": "low", "format": {"type": "json"}},
}
RULES = [rule.id for pack in pack_index() for rule in load_pack(pack).boundaries]


@pytest.mark.parametrize("name", RULES)
def test_every_meta_path_of_every_pack_finds_something(name: str, model: provider.Provider) -> None:
    named = {"model": "m-1"}
    given = {"body": OPTIONS, "options": {"json_data": named}, "kwargs": named, **named}
    bodies = [
        (body.encode(), "text/event-stream" if "data: " in body else "application/json")
        for body in BODIES.get(name, ())
    ]
    for form in (*({name} & set(FORMS)), *OTHER_FORMS.get(name, ())):
        path, request, of_stream = FORMS[form]
        bodies += [ask(model, path, {**request, **more}) for more in ({}, {"stream": True, **of_stream})]
    sources = [{"request": OPTIONS, "input": given}]
    sources += [{"response": drafts.bodies.read_body(store_body(*body))} for body in bodies]
    meta = rule_of(name).meta
    for path in (*meta.model, *meta.sampling, *meta.usage, *meta.tools):
        found = [
            each for source in sources for each in read_steps(source, parse_path(path)) if each is not None
        ]
        assert found, path


@pytest.mark.parametrize(
    "body", ['data:{"usage":{"total_tokens":3}}', ': ping\n\ndata: {"usage": {"total_tokens": 3}}']
)
@pytest.mark.parametrize("content_type", ["text/event-stream", "text/plain", ""])
def test_streams_that_are_written_otherwise_are_read_too(body: str, content_type: str) -> None:
    assert meta_of("openai.chat", CHAT, f"{body}\n\n".encode(), content_type)["usage"] == {"total_tokens": 3}
