"""What the forms have in common: the shape of a form, the framing of streams, the bodies and headers of errors."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus

from autochron.provider.conversation import Conversation, Json
from autochron.provider.reply import Reply

_OPENAI_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC_TYPES = {**_OPENAI_TYPES, 403: "permission_error", 529: "overloaded_error"}
_GOOGLE_STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_AMAZON_TYPES = {
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
_SERVER_ERROR = 500


SSE = "text/event-stream"
JSON_LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class WireForm:
    """One wire form: how to read a request, and how to write a reply as one body or as events.

    `path` may hold parameters, such as `/model/{model}/converse`: they are added to the request. `stream` says which of
    the two ways a path has, where the request doesn't; `media` is the type of a stream.
    """

    path: str
    read: Callable[[Json], Conversation]
    whole: Callable[[Reply, Conversation, random.Random], Json]
    events: Callable[[Reply, Conversation, random.Random], Iterator[bytes]]
    stream: bool | None = None
    media: str = SSE


def event(data: Json | str, name: str | None = None) -> bytes:
    """Write one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def line(data: Json) -> bytes:
    """Write one of JSON lines."""
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def error_body(path: str, status: int, message: str) -> Json:
    """Write an error as the owner of that path does."""
    for start, write in _ERRORS.items():
        if re.match(start, path):
            return write(status, message)
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= _SERVER_ERROR else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_headers(path: str, status: int) -> dict[str, str]:
    """Return what the owner of that path says of an error in its headers."""
    if not path.startswith("/model/"):
        return {}
    kind = _AMAZON_TYPES.get(
        status, "InternalServerException" if status >= _SERVER_ERROR else "ValidationException"
    )
    return {"x-amzn-errortype": kind}


def _anthropic(status: int, message: str) -> Json:
    kind = _ANTHROPIC_TYPES.get(status, "api_error" if status >= _SERVER_ERROR else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}


def _google(status: int, message: str) -> Json:
    known = _GOOGLE_STATUSES.get(status, "INTERNAL" if status >= _SERVER_ERROR else "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": message, "status": known}}


def _mistral(status: int, message: str) -> Json:
    kind = HTTPStatus(status).phrase.lower().replace(" ", "_")
    return {"object": "error", "message": message, "type": kind, "param": None, "code": str(status)}


_ERRORS: dict[str, Callable[[int, str], Json]] = {
    "/v1/messages": _anthropic,
    r"/\w+/models/[^/]+:\w+": _google,
    "/mistral/": _mistral,
    "/api/": lambda _status, message: {"error": message},
    "/model/": lambda _status, message: {"message": message},
}
