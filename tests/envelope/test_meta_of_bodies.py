"""Every meta path of every pack finds a value in bodies as providers send them: plain and streamed, with tool calls."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from autochron import provider
from autochron.envelope.bodies import read_body, store_body
from autochron.envelope.canonical import canonical
from autochron.model import BoundaryRule, Exchange, Returned
from autochron.recording.call_facts import CallFacts
from autochron.redaction.json_paths import read_steps
from autochron.redaction.redactor import Redactor
from autochron.rules.packs import load_pack, pack_index
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
    "mistralai.chat": ("/mistral/v1/chat/completions", CHAT, {}),
    "groq.chat": ("/openai/v1/chat/completions", CHAT, {}),
    "cohere.chat": ("/v2/chat", CHAT, {}),
    "google_genai.generate": (
        "/v1beta/models/m-1:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "How is the weather?"}]}],
            "tools": [{"functionDeclarations": [{"name": "weather"}, {"name": "news"}]}],
            "generationConfig": {"temperature": 0.5},
        },
        {"path": "/v1beta/models/m-1:streamGenerateContent?alt=sse"},
    ),
    "bedrock.converse": (
        "/model/m-1/converse",
        {
            "messages": [{"role": "user", "content": [{"text": "How is the weather?"}]}],
            "toolConfig": {
                "tools": [
                    {"toolSpec": {"name": name, "inputSchema": {"json": SCHEMA}}}
                    for name in ("weather", "news")
                ]
            },
            "inferenceConfig": {"temperature": 0.5},
        },
        {"path": "/model/m-1/converse-stream"},
    ),
    "bedrock.invoke": ("/model/m-1/invoke", MESSAGES, {"path": "/model/m-1/invoke"}),
    "ollama.chat": ("/api/chat", {**CHAT, "stream": False, "options": {"temperature": 0.5}}, {}),
    "litellm.completion": ("/v1/chat/completions", CHAT, {"stream_options": {"include_usage": True}}),
    "litellm.responses": ("/v1/responses", RESPONSES, {}),
}
OTHER_FORMS = {"litellm.completion": ("anthropic.messages",)}
"""Further formats for rules whose calls go to several providers."""


COUNTS = (
    *("prompt_tokens", "input_tokens", "prompt_eval_count", "promptTokenCount", "inputTokens"),
    *("completion_tokens", "output_tokens", "eval_count", "candidatesTokenCount", "outputTokens"),
)
"""The keys of prompt and completion tokens, in the terms of each API."""


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
    """Return the body of a response, and its type."""
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
    """Return the meta that the recorder derives from an exchange."""
    path = FORMS[name][0] if name in FORMS else "/"
    body = Redactor().mask(store_body(content, content_type))
    call_input = canonical(("body", "method", "path"), (request, "POST", path))
    last = Exchange(method="POST", url=f"http://h.invalid{path}", request=b"null", status=200, body=body)
    return CallFacts(rule_of(name).meta, call_input, Returned(), last).read()


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", [name for name in FORMS if name != "bedrock.invoke"])
def test_model_sampling_usage_and_tools_are_found(
    name: str, streamed: bool, model: provider.Provider
) -> None:
    path, request, of_stream = FORMS[name]
    if streamed:
        request = {**request, "stream": True, **of_stream}
        path = request.pop("path", path)
    content, content_type = ask(model, path, request)
    assert (content_type != "application/json") is streamed
    meta = meta_of(name, request, content, content_type)
    assert meta["model"] == "m-1"
    assert meta["sampling"]["temperature"] == 0.5
    assert meta["tools"] == ["weather", "news"]
    counts = [meta["usage"][key] for key in COUNTS if key in meta["usage"]]
    assert len(counts) == 2
    # The tokens of the whole answer, and not the 1 in a stream's first event.
    assert min(counts) > 1


NAMED = {"type": "function", "function": {"name": "news"}}
FORCED: dict[str, tuple[tuple[dict[str, Any], dict[str, Any]], ...]] = {
    # Each pair: what names one of two tools, and what leaves no other choice where there is only one.
    "openai.chat": (({"tool_choice": NAMED}, {"tool_choice": "required"}),),
    "openai.responses": (
        ({"tool_choice": {"type": "function", "name": "news"}}, {"tool_choice": "required"}),
    ),
    "anthropic.messages": (
        ({"tool_choice": {"type": "tool", "name": "news"}}, {"tool_choice": {"type": "any"}}),
    ),
    "groq.chat": (({"tool_choice": NAMED}, {"tool_choice": "required"}),),
    "mistralai.chat": (({"tool_choice": NAMED}, {"tool_choice": "any"}),),
    "cohere.chat": (({}, {"tool_choice": "REQUIRED"}),),
    "google_genai.generate": (({}, {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),),
    "litellm.completion": (
        ({"tool_choice": NAMED}, {"tool_choice": "required"}),
        ({"tool_choice": {"type": "tool", "name": "news"}}, {"tool_choice": {"type": "any"}}),
    ),
    "litellm.responses": (
        ({"tool_choice": {"type": "function", "name": "news"}}, {"tool_choice": "required"}),
    ),
}


def forced(name: str, request: dict[str, Any]) -> frozenset[str]:
    facts = CallFacts(rule_of(name).meta, b"{}", Returned(), None, json.dumps(request).encode())
    return facts.forced(frozenset(tool.name for tool in facts.declared()))


def first_tool_alone(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request that declares only the first of its tools."""
    tools = request["tools"]
    if "functionDeclarations" in tools[0]:
        return {**request, "tools": [{"functionDeclarations": tools[0]["functionDeclarations"][:1]}]}
    return {**request, "tools": tools[:1]}


@pytest.mark.parametrize(
    ("name", "named", "only"), [(name, *pair) for name, pairs in FORCED.items() for pair in pairs]
)
def test_the_tool_that_a_request_makes_the_model_call_is_known(
    name: str, named: dict[str, Any], only: dict[str, Any]
) -> None:
    _, request, _ = FORMS[name]
    assert forced(name, request | named) == ({"news"} if named else frozenset())
    assert forced(name, request | only) == frozenset()
    assert forced(name, first_tool_alone(request) | only) == {"weather"}
    for free in ("auto", {"type": "auto"}, "none"):
        assert forced(name, first_tool_alone(request) | {"tool_choice": free}) == frozenset()


def test_bedrock_names_the_tool_that_the_model_has_to_call() -> None:
    _, request, _ = FORMS["bedrock.converse"]
    config = {**request["toolConfig"], "toolChoice": {"tool": {"name": "news"}}}
    assert forced("bedrock.converse", request) == frozenset()
    assert forced("bedrock.converse", {**request, "toolConfig": config}) == {"news"}


SOLD = {"tool_calls": [{"type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", "function": {"name": "sell"}}]}
"""Of a message of xAI's, as it is stored."""
COUNTED = {"usage": {"total_tokens": 3}}
CUSTOM = {"type": "custom", "custom": {"name": "sell", "input": "x"}}
BODIES: dict[str, tuple[str, ...]] = {
    # Bodies that the provider of the tests doesn't send.
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
    "bedrock.embed": ('{"inputTextTokenCount": 3}',),
    "google_genai.count_tokens": ('{"totalTokens": 3}',),
    "google_genai.interactions": (
        '{"steps": [{"type": "function_call", "name": "sell"}], "usage": {"total_tokens": 3}}',
        (
            "event: step.start\n"
            'data: {"event_type": "step.start", "step": {"type": "function_call", "name": "sell"}}\n\n'
            'event: interaction.completed\ndata: {"interaction": {"usage": {"total_tokens": 3}}}\n\n'
        ),
    ),
    "mistralai.conversations": (
        '{"outputs": [{"type": "function.call", "name": "sell"}], "usage": {"total_tokens": 3}}',
        (
            'event: function.call.delta\ndata: {"type": "function.call.delta", "name": "sell"}\n\n'
            "event: conversation.response.done\n"
            'data: {"type": "conversation.response.done", "usage": {"total_tokens": 3}}\n\n'
        ),
    ),
    # Groq tells the usage of a stream under OpenAI's name, too, where it was asked for.
    "groq.chat": ('data: {"usage": {"total_tokens": 3}}\n\n',),
    "groq.embeddings": ('{"data": [], "usage": {"total_tokens": 3}}',),
    "groq": ('{"usage": {"total_tokens": 3}}',),
    "cohere.v1": (
        '{"tool_calls": [{"name": "sell"}], "meta": {"tokens": {"input_tokens": 3}}}',
        (
            '{"event_type": "tool-calls-generation", "tool_calls": [{"name": "sell"}]}\n'
            '{"event_type": "stream-end", "response": {"meta": {"tokens": {"input_tokens": 3}}}}\n'
        ),
    ),
    "cohere.embeddings": ('{"embeddings": {}, "meta": {"billed_units": {"input_tokens": 3}}}',),
    "cohere.rerank": ('{"results": [], "meta": {"billed_units": {"search_units": 1}}}',),
    "mistralai.embeddings": ('{"data": [], "usage": {"total_tokens": 3}}',),
    "mistralai": ('{"usage": {"total_tokens": 3}}',),
    "ollama.generate": (
        '{"response": "x", "prompt_eval_count": 3, "eval_count": 3}',
        '{"response": "x"}\n{"prompt_eval_count": 3, "eval_count": 3}\n',
    ),
    "ollama.embed": ('{"prompt_eval_count": 3}',),
    "litellm.text_completion": (
        '{"usage": {"total_tokens": 3}}',
        'data: {"usage": null}\n\ndata: {"usage": {"total_tokens": 3}}\n\n',
    ),
    "litellm.embedding": ('{"data": [], "usage": {"total_tokens": 3}}',),
    "xai.chat": (
        json.dumps({"messages": [{"outputs": [{"message": SOLD}], **COUNTED}]}),
        json.dumps({"messages": [{"outputs": [{"delta": SOLD}]}, COUNTED]}),
        json.dumps({"messages": [{"response": {"outputs": [{"message": SOLD}], **COUNTED}}]}),
    ),
    "xai": (json.dumps({"messages": [COUNTED]}),),
}
ITEMS: dict[str, tuple[Any, ...]] = {
    "claude_agent_sdk.read": (
        {"type": "system", "subtype": "init", "model": "m-1"},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}},
        {"type": "result", "usage": {"output_tokens": 3}},
    )
}
"""Items of streams, where rules read these."""
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("temperature", "top_p", "top_k", "seed", "n", "best_of", "stop", "top_logprobs"), 1),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens", "max_tool_calls"), 1),
    **dict.fromkeys(("presence_penalty", "frequency_penalty", "logit_bias", "max_tokens_to_sample"), 1),
    **dict.fromkeys(
        ("reasoning_effort", "verbosity", "tool_choice", "parallel_tool_calls", "service_tier"), "x"
    ),
    **dict.fromkeys(("reasoning", "truncation", "dimensions", "encoding_format", "speed", "thinking"), "x"),
    **dict.fromkeys(("min_tokens", "repetition_penalty", "random_seed", "repeat_penalty"), 1),
    **dict.fromkeys(("num_predict", "num_ctx", "output_dimension", "p", "k", "max_turns"), 1),
    **dict.fromkeys(("reasoning_format", "include_reasoning", "strict_tools", "safety_mode"), "x"),
    **dict.fromkeys(("embedding_types", "input_type"), "x"),
    **dict.fromkeys(("safe_prompt", "output_dtype", "think", "agent_id", "agent"), "x"),
    **dict.fromkeys(("topP", "topK", "candidateCount", "maxOutputTokens"), 1),
    **dict.fromkeys(("presencePenalty", "frequencyPenalty"), 1),
    **dict.fromkeys(("stopSequences", "responseMimeType", "thinkingConfig"), "x"),
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}, "toolChoice": {"any": {}}},
    "inferenceConfig": {"temperature": 1, "topP": 1, "maxTokens": 1, "stopSequences": ["x"]},
    "additionalModelRequestFields": {"top_k": 1},
    "requests": [{"model": "m-1"}],
    "model": "m-1",
    "stop_sequences": ["x"],
    "response_format": {"type": "text", "format_type": "FORMAT_TYPE_TEXT"},
    "text": {"verbosity": "low", "format": {"type": "text"}},
    "output_config": {"effort": "low", "format": {"type": "json"}},
}
OPTIONS |= {key: dict(OPTIONS) for key in ("options", "completion_args", "generationConfig")}
RULES = [rule.id for pack in pack_index() for rule in load_pack(pack).boundaries]


def _type_of(body: str) -> str:
    if "data: " in body:
        return "text/event-stream"
    return "application/x-ndjson" if body.endswith("\n") else "application/json"


@pytest.mark.parametrize("name", RULES)
def test_every_meta_path_of_every_pack_finds_a_value(name: str, model: provider.Provider) -> None:
    model_argument = {"model": "m-1"}
    call_input = {
        "body": OPTIONS,
        "options": {"json_data": model_argument},
        "json": model_argument,
        "kwargs": model_argument,
        "request": model_argument,
        **model_argument,
    }
    bodies = [(body.encode(), _type_of(body)) for body in BODIES.get(name, ())]
    for form in (*({name} & set(FORMS)), *OTHER_FORMS.get(name, ())):
        path, request, of_stream = FORMS[form]
        bodies.append(ask(model, path, request))
        extra = {"stream": True, **of_stream}
        bodies.append(ask(model, extra.pop("path", path), {**request, **extra}))
    sources = [{"request": OPTIONS, "input": call_input, "path": {"0": "model", "1": "m-1"}}]
    sources += [{"response": read_body(store_body(*body))} for body in bodies]
    sources += [{"item": item} for item in ITEMS.get(name, ())]
    meta = rule_of(name).meta
    for path in (*meta.model, *meta.sampling, *meta.usage, *meta.tools):
        values = [
            value for source in sources for value in read_steps(source, parse_path(path)) if value is not None
        ]
        assert values, path


@pytest.mark.parametrize(
    "body", ['data:{"usage":{"total_tokens":3}}', ': ping\n\ndata: {"usage": {"total_tokens": 3}}']
)
@pytest.mark.parametrize("content_type", ["text/event-stream", "text/plain", ""])
def test_event_streams_of_other_layouts_are_read(body: str, content_type: str) -> None:
    assert meta_of("openai.chat", CHAT, f"{body}\n\n".encode(), content_type)["usage"] == {"total_tokens": 3}
