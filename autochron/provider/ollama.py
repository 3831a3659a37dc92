"""Ollama's wire form of chat: one JSON object, or a stream with one object per line."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime

from autochron.provider import generators
from autochron.provider.conversation import BadRequestError, Conversation, Json, Tool, items, trailing_results
from autochron.provider.reply import Reply
from autochron.provider.wire import JSON_LINES, WireForm, line


def _read(request: Json) -> Conversation:
    messages = items(request, "messages")
    if not messages:
        raise BadRequestError("messages must not be empty")
    user_messages = [message for message in messages if message.get("role") == "user"]
    schema = request.get("format")
    return Conversation(
        # Streaming is the default of this form.
        request={"stream": True, **request},
        user=str(user_messages[-1].get("content") or "") if user_messages else "",
        turn=sum(message.get("role") == "assistant" for message in messages),
        ends_with_user=messages[-1].get("role") == "user",
        tools=tuple(
            Tool(tool["function"]["name"], tool["function"].get("parameters") or {})
            for tool in request.get("tools") or ()
        ),
        schema=schema if isinstance(schema, dict) else None,
        tool_results=trailing_results(
            messages, lambda message: message.get("content") if message.get("role") == "tool" else None
        ),
    )


def _reply_body(reply: Reply, conversation: Conversation, _rng: random.Random) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or ""}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    return {**_head(reply, conversation), "message": message, **_end(reply, conversation)}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    head = _head(reply, conversation)
    for piece in generators.pieces(reply.text or "", rng):
        yield line({**head, "message": {"role": "assistant", "content": piece}, "done": False})
    if reply.calls:
        message = {"role": "assistant", "content": "", "tool_calls": _calls(reply)}
        yield line({**head, "message": message, "done": False})
    yield line({**head, "message": {"role": "assistant", "content": ""}, **_end(reply, conversation)})


def _calls(reply: Reply) -> list[Json]:
    return [{"function": {"name": call.name, "arguments": _object(call.arguments)}} for call in reply.calls]


def _object(text: str) -> Json:
    """Return a call's arguments as an object; empty for malformed ones, which this form can't carry."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _head(reply: Reply, conversation: Conversation) -> Json:
    created = datetime.fromtimestamp(reply.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"model": conversation.model, "created_at": created}


def _end(reply: Reply, conversation: Conversation) -> Json:
    spent = {"total_duration": 1_000_000 + reply.tokens, "load_duration": 1000}
    prompt = {"prompt_eval_count": conversation.tokens, "prompt_eval_duration": 1000 + conversation.tokens}
    answer = {"eval_count": reply.tokens, "eval_duration": 1000 + reply.tokens}
    return {"done": True, "done_reason": "stop", **spent, **prompt, **answer}


FORM = WireForm("/api/chat", _read, _reply_body, _events, media=JSON_LINES)
