"""What a provider needs to know of a request, whichever form it came in."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class BadRequestError(ValueError):
    """The request is not one that this endpoint takes; it is answered with a 400."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may ask for; `schema` is the JSON schema of its arguments."""

    name: str
    schema: Json


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request in the terms that all forms share.

    `user`: text of the last user message. `turn`: assistant messages so far. `asked`: the last message is the
    user's, not a tool's. `choice`: `auto`, `none`, `required` or the name of one tool. `schema`: what the
    answer must be an instance of, if it must be JSON. `request`: the body as it came. `told`: what the tools gave that
    were called last, if their results end the request.
    """

    request: Json
    user: str
    turn: int
    asked: bool
    tools: tuple[Tool, ...] = ()
    choice: str = "auto"
    parallel: bool = True
    schema: Json | None = None
    told: str = ""

    @property
    def model(self) -> str:
        """Name the model that was asked for."""
        return str(self.request.get("model", "loopback"))

    @property
    def stream(self) -> bool:
        """Return whether the answer goes out as events."""
        return bool(self.request.get("stream"))

    @property
    def tokens(self) -> int:
        """Estimate the size of the prompt; four characters are about a token."""
        return len(str(self.request)) // 4


def items(request: Json, key: str) -> list[Json]:
    """Return the list of objects that a request must hold under a key."""
    found = request.get(key)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadRequestError(f"'{key}' must be a list of objects")
    return found


def told_by(said: Sequence[Json], result: Callable[[Json], object]) -> str:
    """Join the results of tools that end a list of messages or parts; `result` gives None for what is none."""
    results = takewhile(lambda each: each is not None, map(result, reversed(said)))
    texts = [each if isinstance(each, str) else json.dumps(each) for each in results]
    return "\n".join(reversed(texts))


def text_of(content: object) -> str:
    """Join the text of a message's content: a string, or parts of which some have text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return " ".join(str(part.get("text") or "") for part in content if isinstance(part, dict)).strip()
    return ""
