"""OpenAI's wire form of responses: a list of messages and function calls, streamed as typed events."""

import random
from collections.abc import Iterator
from itertools import count

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

_BY_MODEL = ("function_call", "reasoning")
_DEFAULTS: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
}


def _read(request: Json) -> Conversation:
    argument = request.get("input")
    input_items = (
        [{"role": "user", "content": argument}] if isinstance(argument, str) else items(request, "input")
    )
    if not input_items:
        raise BadRequestError("'input' must not be empty")
    user_items = [item for item in input_items if item.get("role") == "user"]
    tools = [tool for tool in request.get("tools") or () if tool.get("type") == "function"]
    choice = request.get("tool_choice") or "auto"
    text_format = (request.get("text") or {}).get("format") or {}
    return Conversation(
        request=request,
        user=text_of(user_items[-1].get("content")) if user_items else "",
        turn=_turns(input_items),
        ends_with_user=input_items[-1].get("role") == "user",
        tools=tuple(Tool(tool["name"], tool.get("parameters") or {}) for tool in tools),
        choice=choice if isinstance(choice, str) else choice.get("name", "auto"),
        parallel=request.get("parallel_tool_calls") is not False,
        schema=text_format.get("schema"),
        tool_results=trailing_results(input_items, _result),
    )


def _result(item: Json) -> str | None:
    return text_of(item.get("output")) if item.get("type") == "function_call_output" else None


def _turns(input_items: list[Json]) -> int:
    """Return the number of the model's turns. Consecutive items of the model are one turn."""
    by_model = [item.get("role") == "assistant" or item.get("type") in _BY_MODEL for item in input_items]
    return sum(
        current and not previous for previous, current in zip([False, *by_model], by_model, strict=False)
    )


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    return _response(reply, conversation, "completed", _output(reply, rng))


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    order = count()
    output = _output(reply, rng)

    def typed(kind: str, **fields: object) -> bytes:
        return event({"type": kind, "sequence_number": next(order), **fields}, kind)

    started = _response(reply, conversation, "in_progress", [])
    yield typed("response.created", response=started)
    yield typed("response.in_progress", response=started)
    for index, item in enumerate(output):
        parts = _message_parts(item, rng) if item["type"] == "message" else _call_parts(item, rng)
        empty: Json = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield typed(
            "response.output_item.added", output_index=index, item={**item, **empty, "status": "in_progress"}
        )
        for kind, fields in parts:
            yield typed(kind, item_id=item["id"], output_index=index, **fields)
        yield typed("response.output_item.done", output_index=index, item=item)
    yield typed("response.completed", response=_response(reply, conversation, "completed", output))


def _message_parts(item: Json, rng: random.Random) -> Iterator[tuple[str, Json]]:
    part = item["content"][0]
    yield "response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}}
    for piece in generators.pieces(part["text"], rng):
        yield "response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {"content_index": 0, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {"content_index": 0, "part": part}


def _call_parts(item: Json, rng: random.Random) -> Iterator[tuple[str, Json]]:
    for piece in generators.pieces(item["arguments"], rng):
        yield "response.function_call_arguments.delta", {"delta": piece}
    yield "response.function_call_arguments.done", {"name": item["name"], "arguments": item["arguments"]}


def _output(reply: Reply, rng: random.Random) -> list[Json]:
    output: list[Json] = []
    if reply.text is not None or not reply.calls:
        part = {"type": "output_text", "text": reply.text or "", "annotations": [], "logprobs": []}
        message = {
            "type": "message",
            "id": f"msg_{generators.token(rng)}",
            "role": "assistant",
            "status": "completed",
        }
        output.append({**message, "content": [part]})
    for call in reply.calls:
        ids = {
            "id": f"fc_{generators.token(rng)}",
            "call_id": f"call_{generators.token(rng)}",
            "status": "completed",
        }
        output.append({"type": "function_call", **ids, "name": call.name, "arguments": call.arguments})
    return output


def _response(reply: Reply, conversation: Conversation, status: str, output: list[Json]) -> Json:
    request = conversation.request
    is_done = status == "completed"
    echo = {key: default if request.get(key) is None else request[key] for key, default in _DEFAULTS.items()}
    head = {"id": f"resp_{reply.token}", "object": "response", "created_at": reply.created, "status": status}
    body = {**head, "model": conversation.model, "error": None, "incomplete_details": None, "output": output}
    return {**body, **echo, "usage": _usage(reply, conversation) if is_done else None}


def _usage(reply: Reply, conversation: Conversation) -> Json:
    return {
        "input_tokens": conversation.tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": reply.tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": conversation.tokens + reply.tokens,
    }


FORM = WireForm("/v1/responses", _read, _reply_body, _events)
