"""OpenAI's wire form of chat completions."""

import random
from collections.abc import Iterator

from autochron.provider import generators
from autochron.provider.conversation import (
    BadRequestError,
    Conversation,
    Json,
    Tool,
    items,
    text_of,
    trailing_results,
)
from autochron.provider.reply import Reply
from autochron.provider.wire import WireForm, event


def _read(request: Json) -> Conversation:
    messages = items(request, "messages")
    if not messages:
        raise BadRequestError("'messages' must not be empty")
    user_messages = [message for message in messages if message.get("role") == "user"]
    functions = [tool["function"] for tool in request.get("tools") or () if tool.get("type") == "function"]
    choice = request.get("tool_choice") or "auto"
    response_format = request.get("response_format") or {}
    return Conversation(
        request=request,
        user=text_of(user_messages[-1].get("content")) if user_messages else "",
        turn=sum(message.get("role") == "assistant" for message in messages),
        ends_with_user=messages[-1].get("role") == "user",
        tools=tuple(Tool(function["name"], function.get("parameters") or {}) for function in functions),
        choice=choice if isinstance(choice, str) else choice.get("function", {}).get("name", "auto"),
        parallel=request.get("parallel_tool_calls") is not False,
        schema=response_format.get("json_schema", {}).get("schema"),
        tool_results=trailing_results(messages, _result),
    )


def _result(message: Json) -> str | None:
    return text_of(message.get("content")) if message.get("role") == "tool" else None


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    message: Json = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": _id(rng), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    body = {**_head(reply, conversation, "chat.completion"), "choices": [choice]}
    return {**body, "usage": usage(reply, conversation)}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    options = conversation.request.get("stream_options") or {}
    usage_field = {"usage": None} if options.get("include_usage") else {}
    head = {**_head(reply, conversation, "chat.completion.chunk"), **usage_field}
    deltas = [*_text_deltas(reply, rng), *_call_deltas(reply, rng)]
    for delta in ({"role": "assistant", "content": None if reply.calls else "", "refusal": None}, *deltas):
        yield event({**head, "choices": [_choice(delta, None)]})
    yield event({**head, "choices": [_choice({}, _finish(reply))]})
    if usage_field:
        yield event({**head, "choices": [], "usage": usage(reply, conversation)})
    yield event("[DONE]")


def _text_deltas(reply: Reply, rng: random.Random) -> Iterator[Json]:
    for piece in generators.pieces(reply.text or "", rng):
        yield {"content": piece}


def _call_deltas(reply: Reply, rng: random.Random) -> Iterator[Json]:
    for index, call in enumerate(reply.calls):
        opening = {"id": _id(rng), "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [{"index": index, **opening}]}
        for piece in generators.pieces(call.arguments, rng):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _choice(delta: Json, finish: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _head(reply: Reply, conversation: Conversation, kind: str) -> Json:
    base = {
        "id": f"chatcmpl-{reply.token}",
        "object": kind,
        "created": reply.created,
        "model": conversation.model,
    }
    return {**base, "service_tier": "default", "system_fingerprint": f"fp_{reply.token[:10]}"}


def usage(reply: Reply, conversation: Conversation) -> Json:
    """Return the sizes of a request and its reply in tokens."""
    sizes = {"prompt_tokens": conversation.tokens, "completion_tokens": reply.tokens}
    details = {
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    return {**sizes, "total_tokens": conversation.tokens + reply.tokens, **details}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _id(rng: random.Random) -> str:
    return f"call_{generators.token(rng)}"


FORM = WireForm("/v1/chat/completions", _read, _reply_body, _events)
