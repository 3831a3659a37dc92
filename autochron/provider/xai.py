"""xAI's messages, which go through gRPC, as JSON with the names of their fields: chat completions, whole and streamed."""

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
from autochron.provider.wire import JSON_LINES, WireForm, line

_CHOICES = {"TOOL_MODE_NONE": "none", "TOOL_MODE_REQUIRED": "required"}
_CLIENT_SIDE = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"


def _read(request: Json) -> Conversation:
    messages = items(request, "messages") if "messages" in request else []
    if not messages:
        raise BadRequestError("'messages' must not be empty")
    user_messages = [message for message in messages if message.get("role") == "ROLE_USER"]
    functions = [tool["function"] for tool in request.get("tools") or () if "function" in tool]
    choice = request.get("tool_choice") or {}
    response_format = request.get("response_format") or {}
    return Conversation(
        request=request,
        user=text_of(user_messages[-1].get("content")) if user_messages else "",
        turn=sum(message.get("role") == "ROLE_ASSISTANT" for message in messages),
        ends_with_user=messages[-1].get("role") == "ROLE_USER",
        tools=tuple(
            Tool(function["name"], _schema(function.get("parameters")) or {}) for function in functions
        ),
        choice=choice.get("function_name") or _CHOICES.get(choice.get("mode", ""), "auto"),
        parallel=request.get("parallel_tool_calls") is not False,
        schema=_schema(response_format.get("schema")),
        tool_results=trailing_results(messages, _result),
    )


def _schema(text: str | None) -> Json | None:
    """Return the schema in a text of JSON; None where there is none."""
    schema = json.loads(text) if text else None
    return schema if isinstance(schema, dict) else None


def _result(message: Json) -> str | None:
    return text_of(message.get("content")) if message.get("role") == "ROLE_TOOL" else None


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    outputs = [
        {"index": index, "finish_reason": _finish(reply), "message": _message(reply, reply.text or "", rng)}
        for index in range(int(conversation.request.get("n") or 1))
    ]
    return {**_head(reply, conversation), "outputs": outputs, "usage": _usage(reply, conversation)}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    head, usage = _head(reply, conversation), _usage(reply, conversation)
    for piece in generators.pieces(reply.text or "", rng):
        delta = {"role": "ROLE_ASSISTANT", "content": piece}
        yield line({**head, "outputs": [{"index": 0, "delta": delta}]})
    # All calls of tools come in one piece.
    last = {"index": 0, "finish_reason": _finish(reply), "delta": _message(reply, "", rng)}
    yield line({**head, "outputs": [last], "usage": usage})


def _message(reply: Reply, text: str, rng: random.Random) -> Json:
    message: Json = {"role": "ROLE_ASSISTANT", "content": text}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{generators.token(rng)}",
                "type": _CLIENT_SIDE,
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ]
    return message


def _head(reply: Reply, conversation: Conversation) -> Json:
    return {
        "id": reply.token,
        "model": conversation.model,
        "created": f"{_moment(reply.created)}Z",
        "system_fingerprint": f"fp_{reply.token[:10]}",
    }


def _moment(seconds: int) -> str:
    from datetime import UTC, datetime  # lazy: no other form writes moments as text

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _usage(reply: Reply, conversation: Conversation) -> Json:
    sizes = {"prompt_tokens": conversation.tokens, "completion_tokens": reply.tokens}
    return {
        **sizes,
        "prompt_text_tokens": conversation.tokens,
        "total_tokens": conversation.tokens + reply.tokens,
    }


def _finish(reply: Reply) -> str:
    return "REASON_TOOL_CALLS" if reply.calls else "REASON_STOP"


FORM = WireForm("/xai_api.Chat/GetCompletion", _read, _reply_body, _events, stream=False)
DEFERRED = WireForm("/xai_api.Chat/StartDeferredCompletion", _read, _reply_body, _events, stream=False)
STREAM = WireForm(
    "/xai_api.Chat/GetCompletionChunk", _read, _reply_body, _events, stream=True, media=JSON_LINES
)
FORMS = (FORM, DEFERRED, STREAM)
