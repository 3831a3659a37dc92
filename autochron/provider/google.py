"""Google's generateContent: one object, or server-sent events of such objects."""

import json
import random
from collections.abc import Iterator

from autochron.provider import chance
from autochron.provider.conversation import BadRequestError, Conversation, Json, Tool, items, text_of, told_by
from autochron.provider.reply import Reply
from autochron.provider.wire import WireForm, event

_CHOICES = {"ANY": "required", "NONE": "none"}


def _read(request: Json) -> Conversation:
    contents = items(request, "contents")
    if not contents:
        raise BadRequestError("contents is not specified")
    # A tool's result comes in a content of the user's, too; what the user said is the last one that has text.
    said = [
        text
        for content in contents
        if content.get("role", "user") == "user" and (text := text_of(content.get("parts")))
    ]
    declared = [
        each for tool in request.get("tools") or () for each in tool.get("functionDeclarations") or ()
    ]
    config = (request.get("toolConfig") or {}).get("functionCallingConfig") or {}
    form = request.get("generationConfig") or {}
    return Conversation(
        request=request,
        user=said[-1] if said else "",
        turn=sum(content.get("role") == "model" for content in contents),
        asked=not any("functionResponse" in part for part in contents[-1].get("parts") or ()),
        tools=tuple(Tool(each["name"], _schema(each)) for each in declared),
        choice=_CHOICES.get(config.get("mode", ""), "auto"),
        schema=_lowered(form.get("responseJsonSchema") or form.get("responseSchema")),
        told=told_by(contents[-1].get("parts") or [], lambda part: part.get("functionResponse")),
    )


def _schema(declared: Json) -> Json:
    return _lowered(declared.get("parametersJsonSchema") or declared.get("parameters")) or {}


def _lowered(schema: Json | None) -> Json | None:
    """Write a schema's types as JSON schema has them: this API spells them in capitals."""
    if schema is None:
        return None
    inner = {
        key: {name: _lowered(each) for name, each in value.items()}
        if key == "properties"
        else _lowered(value)
        for key, value in schema.items()
        if key in ("properties", "items")
    }
    kind = {"type": schema["type"].lower()} if isinstance(schema.get("type"), str) else {}
    return {**schema, **inner, **kind}


def _whole(reply: Reply, conversation: Conversation, _rng: random.Random) -> Json:
    text: list[Json] = [{"text": reply.text}] if reply.text or not reply.calls else []
    return _body(reply, conversation, [*text, *_calls(reply)], last=True)


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    for piece in chance.pieces(reply.text or "", rng):
        yield event(_body(reply, conversation, [{"text": piece}], last=False))
    yield event(_body(reply, conversation, [{"text": ""}, *_calls(reply)], last=True))


def _calls(reply: Reply) -> list[Json]:
    return [{"functionCall": {"name": call.name, "args": _object(call.arguments)}} for call in reply.calls]


def _object(text: str) -> Json:
    """Return a call's arguments as the object that this form has for them; malformed ones can't be sent in it."""
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


FORM = WireForm("/{version}/models/{model}:generateContent", _read, _whole, _events, stream=False)
STREAM = WireForm("/{version}/models/{model}:streamGenerateContent", _read, _whole, _events, stream=True)
