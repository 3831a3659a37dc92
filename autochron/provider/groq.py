"""Groq's wire form of chat completions: OpenAI's, but a stream tells its usage, and an id of the request, in `x_groq`.

It is served at `/openai/v1/…`, which Groq's SDK adds to the origin.
"""

import json
import random
from collections.abc import Iterator

from autochron.provider import chat
from autochron.provider.conversation import Conversation, Json
from autochron.provider.reply import Reply
from autochron.provider.wire import WireForm, event

_DONE = b"data: [DONE]\n\n"
_PREFIX = b"data: "


def _reply_body(reply: Reply, conversation: Conversation, rng: random.Random) -> Json:
    return {**chat.FORM.body(reply, conversation, rng), "x_groq": {"id": f"req_{reply.token}"}}


def _events(reply: Reply, conversation: Conversation, rng: random.Random) -> Iterator[bytes]:
    events = [text for text in chat.FORM.events(reply, conversation, rng) if text != _DONE]
    usage = chat.usage(reply, conversation)
    for index, text in enumerate(events):
        notes: Json = {} if index not in {0, len(events) - 1} else {"x_groq": {"id": f"req_{reply.token}"}}
        if index == len(events) - 1:
            notes["x_groq"]["usage"] = usage
        yield event({**json.loads(text.removeprefix(_PREFIX)), **notes})
    yield _DONE


FORM = WireForm("/openai/v1/chat/completions", chat.FORM.read, _reply_body, _events)
