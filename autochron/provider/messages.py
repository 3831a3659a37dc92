"""Anthropic's wire form of messages: content blocks, streamed from message_start to message_stop."""

import json
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

_CHOICES = {"any": "required", "none": "none"}


def _read(request: Json) -> Conversation:
    messages = items(request, "messages")
    if not messages:
        raise BadRequestError("messages: at least one message is required")
    if "max_tokens" not in request:
        raise BadRequestError("max_tokens: field required")
    user_messages = [message for message in messages if message.get("role") == "user"]
    # A tool's result has the role `user`, too. The user's own message is the last one with text.
    user_texts = [text for message in user_messages if (text := text_of(message.get("content")))]
    tools = [tool for tool in request.get("tools") or () if "input_schema" in tool]
    choice = request.get("tool_choice") or {}
    output_format = (request.get("output_config") or {}).get("format") or request.get("output_format") or {}
    return Conversation(
        request=request,
        user=user_texts[-1] if user_texts else "",
        turn=sum(message.get("role") == "assistant" for message in messages),
        ends_with_user=messages[-1].get("role") == "user" and not _is_result(messages[-1]),
        tools=tuple(Tool(tool["name"], tool["input_schema"]) for tool in tools),
        choice=choice.get("name") or _CHOICES.get(choice.get("type", ""), "auto"),
        parallel=not choice.get("disable_parallel_tool_use"),
        schema=output_format.get("schema"),
        tool_results=trailing_results(_parts(messages[-1]), _result),
    )


def _is_result(message: Json) -> bool:
    return any(_result(part) is not None for part in _parts(message))


def _parts(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _result(part: Json) -> str | None:
    return text_of(part.get("content")) if part.get("type") == "tool_result" else None


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    ending = {"content": _content(reply, rng), "stop_reason": _stop_reason(reply)}
    return {**_message(reply, conversation), **ending, "usage": _usage(conversation, reply.tokens)}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    def typed(kind: str, **fields: object) -> bytes:
        return event({"type": kind, **fields}, kind)

    yield typed("message_start", message=_message(reply, conversation))
    for index, block in enumerate(_content(reply, rng)):
        key, text = _streamed(block)
        opening = {**block, key: "" if key == "text" else {}}
        kind, field = ("text_delta", "text") if key == "text" else ("input_json_delta", "partial_json")
        yield typed("content_block_start", index=index, content_block=opening)
        if not index:
            yield typed("ping")
        for piece in generators.pieces(text, rng):
            yield typed("content_block_delta", index=index, delta={"type": kind, field: piece})
        yield typed("content_block_stop", index=index)
    ending = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield typed("message_delta", delta=ending, usage={"output_tokens": reply.tokens})
    yield typed("message_stop")


def _streamed(block: Json) -> tuple[str, str]:
    """Return the field of a block that is streamed in pieces, and its whole text."""
    return ("text", block["text"]) if block["type"] == "text" else ("input", json.dumps(block["input"]))


def _content(reply: Reply, rng: random.Random) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": reply.text, "citations": None}] if reply.text else []
    for call in reply.calls:
        ids = {"type": "tool_use", "id": f"toolu_{generators.token(rng)}", "name": call.name}
        blocks.append({**ids, "input": _arguments(call.arguments), "caller": {"type": "direct"}})
    return blocks


def _arguments(text: str) -> object:
    """Return a call's arguments as JSON data; malformed ones as a string, because this form can't carry them."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _message(reply: Reply, conversation: Conversation) -> Json:
    head = {"id": f"msg_{reply.token}", "type": "message", "role": "assistant", "model": conversation.model}
    body: Json = {**head, "content": [], "stop_reason": None, "stop_sequence": None}
    return {**body, "usage": _usage(conversation, 1)}


def _usage(conversation: Conversation, output: int) -> Json:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "service_tier": "standard"}
    return {"input_tokens": conversation.tokens, "output_tokens": output, **cache}


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"


FORM = WireForm("/v1/messages", _read, _reply_body, _events)
