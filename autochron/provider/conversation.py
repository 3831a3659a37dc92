"""Requests in terms that all wire forms share."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class BadRequestError(ValueError):
    """The request is invalid for its endpoint; the provider answers with status 400."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may ask for; `schema` is the JSON schema of its arguments."""

    name: str
    schema: Json


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request in terms that all wire forms share.

    Attributes:
        request: the body as it came, with the parameters of its path.
        user: the text of the last user message.
        turn: the number of assistant messages so far.
        ends_with_user: whether the last message is the user's and not the result of a tool.
        tools: the tools that the request declares.
        choice: `auto`, `none`, `required` or the name of one tool.
        parallel: whether the model may call several tools at once.
        schema: the JSON schema of the answer; None if it need not be JSON.
        tool_results: the results of tools with which the request ends; empty if there are none.
    """

    request: Json
    user: str
    turn: int
    ends_with_user: bool
    tools: tuple[Tool, ...] = ()
    choice: str = "auto"
    parallel: bool = True
    schema: Json | None = None
    tool_results: str = ""

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return str(self.request.get("model", "loopback"))

    @property
    def stream(self) -> bool:
        """Whether the answer is to be a stream."""
        return bool(self.request.get("stream"))

    @property
    def tokens(self) -> int:
        """The size of the prompt in tokens, estimated at four characters a token."""
        return len(str(self.request)) // 4


def items(request: Json, key: str) -> list[Json]:
    """Return the list of objects under a key of a request.

    Raises:
        BadRequestError: the request has no such list.
    """
    objects = request.get(key)
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise BadRequestError(f"'{key}' must be a list of objects")
    return objects


def trailing_results(messages: Sequence[Json], result: Callable[[Json], object]) -> str:
    """Join the results of tools at the end of a list of messages or parts.

    Args:
        messages: the messages or parts.
        result: returns the result in a message or part; None if it has none.
    """
    results = takewhile(lambda value: value is not None, map(result, reversed(messages)))
    texts = [value if isinstance(value, str) else json.dumps(value) for value in results]
    return "\n".join(reversed(texts))


def text_of(content: object) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return " ".join(str(part.get("text") or "") for part in content if isinstance(part, dict)).strip()
    return ""
