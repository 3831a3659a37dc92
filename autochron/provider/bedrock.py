"""Amazon Bedrock's wire forms: converse and converse-stream, and invoke with the body of an Anthropic model.

Streams consist of frames with checksums (`application/vnd.amazon.eventstream`).
"""

import base64
import json
import random
import struct
import zlib
from collections.abc import Iterator

from autochron.provider import generators, messages
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
from autochron.provider.wire import WireForm

FRAMES = "application/vnd.amazon.eventstream"
_TEXT = 7  # the type of a header value that is text


def _read(request: Json) -> Conversation:
    turns = items(request, "messages")
    if not turns:
        raise BadRequestError("messages must not be empty")
    user_texts = [
        text
        for message in turns
        if message.get("role") == "user" and (text := text_of(message.get("content")))
    ]
    config = request.get("toolConfig") or {}
    choice = config.get("toolChoice") or {}
    specs = [tool["toolSpec"] for tool in config.get("tools") or () if "toolSpec" in tool]
    return Conversation(
        request=request,
        user=user_texts[-1] if user_texts else "",
        turn=sum(message.get("role") == "assistant" for message in turns),
        ends_with_user=not any("toolResult" in part for part in turns[-1].get("content") or ()),
        tools=tuple(Tool(spec["name"], spec["inputSchema"].get("json") or {}) for spec in specs),
        choice=(choice.get("tool") or {}).get("name") or ("required" if "any" in choice else "auto"),
        tool_results=trailing_results(turns[-1].get("content") or [], lambda part: part.get("toolResult")),
    )


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    blocks: list[Json] = [{"text": reply.text}] if reply.text or not reply.calls else []
    for call in reply.calls:
        use = {"toolUseId": _id(rng), "name": call.name, "input": json.loads(call.arguments)}
        blocks.append({"toolUse": use})
    output = {"message": {"role": "assistant", "content": blocks}}
    return {
        "output": output,
        "stopReason": _stop_reason(reply),
        "usage": _usage(reply, conversation),
        "metrics": {"latencyMs": 1},
    }


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    yield _event("messageStart", role="assistant")
    index = 0
    if reply.text or not reply.calls:
        for piece in generators.pieces(reply.text or "", rng):
            yield _event("contentBlockDelta", delta={"text": piece}, contentBlockIndex=0)
        yield _event("contentBlockStop", contentBlockIndex=0)
        index = 1
    for position, call in enumerate(reply.calls, index):
        start = {"toolUse": {"toolUseId": _id(rng), "name": call.name}}
        yield _event("contentBlockStart", start=start, contentBlockIndex=position)
        for piece in generators.pieces(call.arguments, rng):
            yield _event("contentBlockDelta", delta={"toolUse": {"input": piece}}, contentBlockIndex=position)
        yield _event("contentBlockStop", contentBlockIndex=position)
    yield _event("messageStop", stopReason=_stop_reason(reply))
    yield _event("metadata", usage=_usage(reply, conversation), metrics={"latencyMs": 1})


def _invoked(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    """Yield the events of the model's own API, each as the bytes of a chunk."""
    for model_event in messages.FORM.events(reply, conversation, rng):
        data = model_event.partition(b"data: ")[2].strip()
        yield _event("chunk", bytes=base64.b64encode(data).decode())


def _event(kind: str, **payload: object) -> bytes:
    return frame(
        {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, payload
    )


def frame(headers: dict[str, str], payload: Json) -> bytes:
    """Return one frame: the lengths and their CRC, the headers, the payload, and the CRC of the whole."""
    head = b"".join(
        struct.pack(">B", len(name)) + name + struct.pack(">BH", _TEXT, len(value)) + value
        for name, value in ((name.encode(), value.encode()) for name, value in headers.items())
    )
    body = json.dumps(payload, separators=(",", ":")).encode()
    lengths = struct.pack(">II", 16 + len(head) + len(body), len(head))
    message = lengths + struct.pack(">I", zlib.crc32(lengths)) + head + body
    return message + struct.pack(">I", zlib.crc32(message))


def _id(rng: random.Random) -> str:
    return f"tooluse_{generators.token(rng)}"


def _usage(reply: Reply, conversation: Conversation) -> Json:
    sizes = {"inputTokens": conversation.tokens, "outputTokens": reply.tokens}
    return {**sizes, "totalTokens": conversation.tokens + reply.tokens}


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"


_OWN = messages.FORM
CONVERSE = WireForm("/model/{model}/converse", _read, _reply_body, _events, stream=False)
CONVERSE_STREAM = WireForm(
    "/model/{model}/converse-stream", _read, _reply_body, _events, stream=True, media=FRAMES
)
INVOKE = WireForm("/model/{model}/invoke", _OWN.read, _OWN.body, _invoked, stream=False)
INVOKE_STREAM = WireForm(
    "/model/{model}/invoke-with-response-stream", _OWN.read, _OWN.body, _invoked, stream=True, media=FRAMES
)
FORMS = (CONVERSE, CONVERSE_STREAM, INVOKE, INVOKE_STREAM)
