"""Mistral's wire form of chat completions: like OpenAI's, but ids have nine characters, and tool calls are not streamed.

It is served at `/mistral/v1/…`, because its own path is also OpenAI's.
"""

import random
from collections.abc import Iterator

from autochron.provider import chat, generators
from autochron.provider.conversation import Conversation, Json
from autochron.provider.reply import Reply
from autochron.provider.wire import WireForm, event

_CHOICES = {"any": "required"}


def _read(request: Json) -> Conversation:
    choice = request.get("tool_choice")
    return chat.FORM.read(
        {**request, "tool_choice": _CHOICES.get(choice, choice) if isinstance(choice, str) else choice}
    )


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    message = {"role": "assistant", "content": reply.text or "", "tool_calls": _calls(reply, rng)}
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    head = _head(reply, conversation, "chat.completion")
    return {**head, "choices": [choice], "usage": _usage(reply, conversation)}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    head = _head(reply, conversation, "chat.completion.chunk")
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in generators.pieces(reply.text or "", rng)]
    for delta in deltas:
        yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    last: Json = {"content": "", "tool_calls": _calls(reply, rng)}
    last_choice = {"index": 0, "delta": last, "finish_reason": _finish(reply)}
    yield event({**head, "choices": [last_choice], "usage": _usage(reply, conversation)})
    yield event("[DONE]")


def _calls(reply: Reply, rng: random.Random) -> list[Json] | None:
    calls = [
        {
            "id": generators.token(rng, 9),
            "function": {"name": call.name, "arguments": call.arguments},
            "index": index,
        }
        for index, call in enumerate(reply.calls)
    ]
    return calls or None


def _head(reply: Reply, conversation: Conversation, kind: str) -> Json:
    return {"id": reply.token, "object": kind, "created": reply.created, "model": conversation.model}


def _usage(reply: Reply, conversation: Conversation) -> Json:
    sizes = {"prompt_tokens": conversation.tokens, "completion_tokens": reply.tokens}
    return {**sizes, "total_tokens": conversation.tokens + reply.tokens}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


FORM = WireForm("/mistral/v1/chat/completions", _read, _reply_body, _events)
