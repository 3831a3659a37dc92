"""Google's wire form generateContent: one JSON object, or a stream of such objects as server-sent events."""

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

_CHOICES = {"ANY": "required", "NONE": "none"}


def _read(request: Json) -> Conversation:
    contents = items(request, "contents")
    if not contents:
        raise BadRequestError("contents is not specified")
    # A tool's result has the role `user`, too. The user's own message is the last one with text.
    user_texts = [
        text
        for content in contents
        if content.get("role", "user") == "user" and (text := text_of(content.get("parts")))
    ]
    declarations = [
        declaration
        for tool in request.get("tools") or ()
        for declaration in tool.get("functionDeclarations") or ()
    ]
    config = (request.get("toolConfig") or {}).get("functionCallingConfig") or {}
    generation = request.get("generationConfig") or {}
    return Conversation(
        request=request,
        user=user_texts[-1] if user_texts else "",
        turn=sum(content.get("role") == "model" for content in contents),
        ends_with_user=not any("functionResponse" in part for part in contents[-1].get("parts") or ()),
        tools=tuple(Tool(declaration["name"], _schema(declaration)) for declaration in declarations),
        choice=_CHOICES.get(config.get("mode", ""), "auto"),
        schema=_with_lower_types(generation.get("responseJsonSchema") or generation.get("responseSchema")),
        tool_results=trailing_results(
            contents[-1].get("parts") or [], lambda part: part.get("functionResponse")
        ),
    )


def _schema(declaration: Json) -> Json:
    return _with_lower_types(declaration.get("parametersJsonSchema") or declaration.get("parameters")) or {}


def _with_lower_types(schema: Json | None) -> Json | None:
    """Return a schema with its types in lower case, as in JSON schema: this API writes them in capitals."""
    if schema is None:
        return None
    inner = {
        key: {name: _with_lower_types(property_schema) for name, property_schema in value.items()}
        if key == "properties"
        else _with_lower_types(value)
        for key, value in schema.items()
        if key in ("properties", "items")
    }
    kind = {"type": schema["type"].lower()} if isinstance(schema.get("type"), str) else {}
    return {**schema, **inner, **kind}


def _reply_body(reply: Reply, conversation: Conversation, _rng: random.Random) -> Json:
    text: list[Json] = [{"text": reply.text}] if reply.text or not reply.calls else []
    return _body(reply, conversation, [*text, *_calls(reply)], last=True)


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    for piece in generators.pieces(reply.text or "", rng):
        yield event(_body(reply, conversation, [{"text": piece}], last=False))
    yield event(_body(reply, conversation, [{"text": ""}, *_calls(reply)], last=True))


def _calls(reply: Reply) -> list[Json]:
    return [{"functionCall": {"name": call.name, "args": _object(call.arguments)}} for call in reply.calls]


def _object(text: str) -> Json:
    """Return a call's arguments as an object; empty for malformed ones, which this form can't carry."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _body(reply: Reply, conversation: Conversation, parts: list[Json], *, last: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    answer = reply.tokens if last else 0
    usage = {"promptTokenCount": conversation.tokens, "candidatesTokenCount": answer}
    usage["totalTokenCount"] = conversation.tokens + answer
    ids = {"modelVersion": conversation.model, "responseId": reply.token}
    return {"candidates": [candidate], "usageMetadata": usage, **ids}


FORM = WireForm("/{version}/models/{model}:generateContent", _read, _reply_body, _events, stream=False)
STREAM = WireForm("/{version}/models/{model}:streamGenerateContent", _read, _reply_body, _events, stream=True)
