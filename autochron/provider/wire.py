"""Common parts of the wire forms: the type of a form, the framing of streams, and the bodies and headers of errors."""

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

    Attributes:
        path: the path template. Its parameters, as in `/model/{model}/converse`, are added to the request.
        read: reads a request.
        body: writes a reply as one JSON body.
        events: writes a reply as the events of a stream.
        stream: whether the path always or never streams; None if the request decides.
        media: the content type of a stream.
    """

    path: str
    read: Callable[[Json], Conversation]
    body: Callable[[Reply, Conversation, random.Random], Json]
    events: Callable[[Reply, Conversation, random.Random], Iterator[bytes]]
    stream: bool | None = None
    media: str = SSE


def event(data: Json | str, name: str | None = None) -> bytes:
    """Return one server-sent event; `name` is its type, if it has one."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def line(data: Json) -> bytes:
    """Return an object as one line of JSON."""
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def error_body(path: str, status: int, message: str) -> Json:
    """Return the body of an error in the format of the API that has this path."""
    for start, write in _ERRORS.items():
        if re.match(start, path):
            return write(status, message)
    kind = _OPENAI_TYPES.get(status, "server_error" if status >= _SERVER_ERROR else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_headers(path: str, status: int) -> dict[str, str]:
    """Return the headers of an error in the API that has this path."""
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
    "/v2/chat": lambda _status, message: {"message": message},
    r"/\w+/models/[^/]+:\w+": _google,
    "/mistral/": _mistral,
    "/api/": lambda _status, message: {"error": message},
    "/model/": lambda _status, message: {"message": message},
}
