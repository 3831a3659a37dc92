"""Cohere's wire form of chat, version 2: a plan beside the tool calls, and events with a type of their own for each part."""

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

_CHOICES = {"REQUIRED": "required", "NONE": "none"}


def _read(request: Json) -> Conversation:
    messages = items(request, "messages")
    if not messages:
        raise BadRequestError("messages must be at least 1 element long.")
    user_messages = [message for message in messages if message.get("role") == "user"]
    functions = [tool["function"] for tool in request.get("tools") or () if tool.get("type") == "function"]
    return Conversation(
        request=request,
        user=text_of(user_messages[-1].get("content")) if user_messages else "",
        turn=sum(message.get("role") == "assistant" for message in messages),
        ends_with_user=messages[-1].get("role") == "user",
        tools=tuple(Tool(function["name"], function.get("parameters") or {}) for function in functions),
        choice=_CHOICES.get(str(request.get("tool_choice")), "auto"),
        schema=(request.get("response_format") or {}).get("json_schema"),
        tool_results=trailing_results(messages, _result),
    )


def _result(message: Json) -> str | None:
    if message.get("role") != "tool":
        return None
    content = message.get("content")
    documents = (
        [part["document"] for part in content if "document" in part] if isinstance(content, list) else []
    )
    return text_of(content) + "\n".join(str(document.get("data", "")) for document in documents)


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    message: Json = {"role": "assistant"}
    if reply.calls:
        message |= {"tool_plan": reply.text or "", "tool_calls": _calls(reply, rng)}
    else:
        message["content"] = [{"type": "text", "text": reply.text or ""}]
    return {
        "id": reply.token,
        "finish_reason": _finish(reply),
        "message": message,
        "usage": _usage(reply, conversation),
    }


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    opening = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield _event("message-start", {"message": opening}, id=reply.token)
    if reply.calls:
        for piece in generators.pieces(reply.text or "", rng):
            yield _event("tool-plan-delta", {"message": {"tool_plan": piece}})
        for index, call in enumerate(_calls(reply, rng)):
            arguments = call["function"]["arguments"]
            started = {**call, "function": {**call["function"], "arguments": ""}}
            yield _event("tool-call-start", {"message": {"tool_calls": started}}, index=index)
            for piece in generators.pieces(arguments, rng):
                delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
                yield _event("tool-call-delta", delta, index=index)
            yield _event("tool-call-end", None, index=index)
    else:
        yield _event("content-start", {"message": {"content": {"type": "text", "text": ""}}}, index=0)
        for piece in generators.pieces(reply.text or "", rng):
            yield _event("content-delta", {"message": {"content": {"text": piece}}}, index=0)
        yield _event("content-end", None, index=0)
    yield _event("message-end", {"finish_reason": _finish(reply), "usage": _usage(reply, conversation)})
    yield event("[DONE]")


def _event(kind: str, delta: Json | None, **fields: object) -> bytes:
    return event({"type": kind, **fields, **({} if delta is None else {"delta": delta})}, kind)


def _calls(reply: Reply, rng: random.Random) -> list[Json]:
    return [
        {
            "id": f"{call.name}_{generators.token(rng, 12)}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in reply.calls
    ]


def _usage(reply: Reply, conversation: Conversation) -> Json:
    sizes = {"input_tokens": conversation.tokens, "output_tokens": reply.tokens}
    return {"billed_units": sizes, "tokens": sizes, "cached_tokens": 0}


def _finish(reply: Reply) -> str:
    return "TOOL_CALL" if reply.calls else "COMPLETE"


FORM = WireForm("/v2/chat", _read, _reply_body, _events)
