"""Ollama's chat: one JSON object, or one a line."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime

from autochron.provider import chance
from autochron.provider.conversation import BadRequestError, Conversation, Json, Tool, items, told_by
from autochron.provider.reply import Reply
from autochron.provider.wire import JSON_LINES, WireForm, line


def _read(request: Json) -> Conversation:
    messages = items(request, "messages")
    if not messages:
        raise BadRequestError("messages must not be empty")
    users = [message for message in messages if message.get("role") == "user"]
    form = request.get("format")
    return Conversation(
        # A request that doesn't say so is answered by a stream.
        request={"stream": True, **request},
        user=str(users[-1].get("content") or "") if users else "",
        turn=sum(message.get("role") == "assistant" for message in messages),
        asked=messages[-1].get("role") == "user",
        tools=tuple(
            Tool(tool["function"]["name"], tool["function"].get("parameters") or {})
            for tool in request.get("tools") or ()
        ),
        schema=form if isinstance(form, dict) else None,
        told=told_by(
            messages, lambda message: message.get("content") if message.get("role") == "tool" else None
        ),
    )


def _whole(reply: Reply, conversation: Conversation, _rng: random.Random) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or ""}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    return {**_head(reply, conversation), "message": message, **_end(reply, conversation)}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    head = _head(reply, conversation)
    for piece in chance.pieces(reply.text or "", rng):
        yield line({**head, "message": {"role": "assistant", "content": piece}, "done": False})
    if reply.calls:
        message = {"role": "assistant", "content": "", "tool_calls": _calls(reply)}
        yield line({**head, "message": message, "done": False})
    yield line({**head, "message": {"role": "assistant", "content": ""}, **_end(reply, conversation)})


def _calls(reply: Reply) -> list[Json]:
    return [{"function": {"name": call.name, "arguments": _object(call.arguments)}} for call in reply.calls]


def _object(text: str) -> Json:
    """Return a call's arguments as the object that this form has for them; malformed ones can't be sent in it."""
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


FORM = WireForm("/api/chat", _read, _whole, _events, media=JSON_LINES)
