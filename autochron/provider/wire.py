"""What the forms have in common: the shape of a form, server-sent events, the bodies of errors."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autochron.provider.conversation import Conversation, Json
from autochron.provider.reply import Reply

_OPENAI_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC_TYPES = {**_OPENAI_TYPES, 403: "permission_error", 529: "overloaded_error"}
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Form:
    """One wire form: how to read a request, and how to write a reply as one body or as events."""

    path: str
    read: Callable[[Json], Conversation]
    whole: Callable[[Reply, Conversation, random.Random], Json]
    events: Callable[[Reply, Conversation, random.Random], Iterator[bytes]]


def event(data: Json | str, name: str | None = None) -> bytes:
    """Write one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def error_body(path: str, status: int, message: str) -> Json:
    """Write an error as the owner of that path does."""
    if path.startswith("/v1/messages"):
        kind = _ANTHROPIC_TYPES.get(
            status, "api_error" if status >= _SERVER_ERROR else "invalid_request_error"
        )
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= _SERVER_ERROR else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
