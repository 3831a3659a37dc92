"""Facts of a run that tell what it was: the user's message, the models, the tokens.

They are read from the requests and answers of every provider that the packs cover, by the names that these use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode

from autochron.envelope.bodies import read_body
from autochron.store.glances import Glance

_USERS = frozenset({"user", "human", "USER", "ROLE_USER", "HumanMessage"})
"""What stands in `role` or `type` of the user's turn: chat, Responses, Messages, Gemini, Bedrock; LangChain; Cohere; xAI."""

_CONTENTS = ("content", "parts", "text", "message")
"""Where the text of a turn is, or the list of its parts."""

_PROMPTS = ("input", "prompt", "message", "inputText", "contents")
"""Where the user's text is if a request has no turns."""

_DEEP = 8
"""How deep a request is searched for turns."""

_IN = (
    "prompt_tokens",
    "input_tokens",
    "promptTokenCount",
    "prompt_token_count",
    "inputTokens",
    "prompt_eval_count",
    "inputTextTokenCount",
    "total_input_tokens",
)
_OUT = (
    "completion_tokens",
    "output_tokens",
    "candidatesTokenCount",
    "candidates_token_count",
    "outputTokens",
    "eval_count",
    "total_output_tokens",
)
_BESIDE_IN = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Of Anthropic's messages: tokens of the request that `input_tokens` does not count."""

_BESIDE_OUT = ("thoughtsTokenCount",)
"""Of Gemini: tokens of the answer that `candidatesTokenCount` does not count."""


def user_message(glance: Glance) -> str | None:
    """Return what the user said in the first request to a model; None where that is not known.

    A request repeats the conversation before it, so the user's last turn is taken.
    """
    for request, given in glance.requests:
        for content in (_content(request), _decoded(given)):
            if text := message_of(content):
                return text
    return None


def message_of(request: Any) -> str | None:
    """Return the text of the user's last turn in a request; None without one."""
    if isinstance(request, dict) and isinstance(said := request.get("message"), str) and said.strip():
        return said.strip()  # Cohere's chat, beside its history
    texts = [text for turn in _turns(request, _DEEP) if (text := _text_of(turn))]
    if texts:
        return texts[-1]
    return _prompt(request)


def models(glance: Glance) -> list[str]:
    """Return the models that were called, each once, in the order of their first calls."""
    return list(dict.fromkeys(meta["model"] for meta in _metas(glance) if isinstance(meta.get("model"), str)))


def tokens(glance: Glance) -> tuple[int | None, int | None]:
    """Return how many tokens the requests and the answers had; None where no answer tells."""
    return tokens_of([meta["usage"] for meta in _metas(glance) if "usage" in meta])


def tokens_of(usages: Sequence[Any]) -> tuple[int | None, int | None]:
    """Return how many tokens the requests and the answers had, of which these are the usages; None where none tells."""
    return _sum(usages, _IN, _BESIDE_IN), _sum(usages, _OUT, _BESIDE_OUT)


def _sum(usages: Sequence[Any], names: Sequence[str], beside: Sequence[str]) -> int | None:
    """Add up the first of these names that each usage has, and what it does not count."""
    total = None
    for usage in usages:
        if not isinstance(usage, dict):  # the tokens of a request that was only counted
            continue
        main = next((usage[name] for name in names if _is_count(usage.get(name))), None)
        if main is not None:
            total = (total or 0) + main
            total += sum(usage[name] for name in beside if _is_count(usage.get(name)))
    return total


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _metas(glance: Glance) -> Iterator[dict[str, Any]]:
    yield from (meta for text in glance.metas if isinstance(meta := _decoded(text), dict))


def _content(body: bytes) -> Any:
    """Return the content of a stored body; None where it can't be read."""
    try:
        return read_body(body)
    except (RecursionError, ValueError, TypeError):
        return None


def _decoded(text: bytes) -> Any:
    try:
        return decode(text)
    except (DecodeError, RecursionError):
        return None


def _turns(value: Any, deep: int) -> Iterator[dict[str, Any]]:
    """Yield the user's turns anywhere in a request, in order."""
    if not deep:
        return
    if isinstance(value, dict):
        role = value.get("role", value.get("type"))
        if isinstance(role, str) and role in _USERS:
            yield value
            return
        for name, inner in value.items():
            if name not in {"tools", "$types", "functions", "tool_config"}:
                yield from _turns(inner, deep - 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _turns(inner, deep - 1)


def _text_of(turn: Any) -> str:
    """Return the text of a turn, without what is no text: pictures, results of tools."""
    if isinstance(turn, str):
        return turn.strip()
    if isinstance(turn, list):
        return " ".join(filter(None, map(_text_of, turn)))
    if isinstance(turn, dict):
        for name in _CONTENTS:
            if name in turn and turn.get("type") not in {"tool_result", "function_response"}:
                return _text_of(turn[name])
    return ""


def _prompt(request: Any) -> str | None:
    """Return the text of a request without turns: its prompt, or a list of texts; also one level below (`body`)."""
    if not isinstance(request, dict):
        return None
    for holder in (request, *(inner for inner in request.values() if isinstance(inner, dict))):
        for name in _PROMPTS:
            value = holder.get(name)
            if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
                value = " ".join(value)
            if isinstance(value, list):  # Gemini's contents, and parts of Responses, may leave the role out
                value = _text_of(value)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return None
