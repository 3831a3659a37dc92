"""Verdicts: a score and a reason, read from a model's reply. A model whose reply holds no verdict is asked once more."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from autochron.errors import VerdictError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number"}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
"""The JSON schema of a verdict, for endpoints that take one. The score has no bounds, as some endpoints refuse them."""

_SHOWN = 120
"""Characters of a reply that an error message quotes."""

_TRIES = 1_000
"""How many opening braces are tried. Each that begins no object costs time proportional to the length of the reply."""


class JudgeReply(Struct, frozen=True):
    """A model's reply with its usage: numbers of tokens by name."""

    text: str
    usage: dict[str, int] = {}


SendPrompt: TypeAlias = Callable[[str], JudgeReply]
"""Sends a prompt to a model in a conversation and returns the reply."""


class JudgeVerdict(Struct, frozen=True):
    """A score from 0 to 1 with a reason, and the usage of the calls."""

    score: float
    reason: str
    usage: dict[str, int] = {}


class _ComplaintError(Exception):
    """Why a reply is no verdict, as the model is told."""


def ask(send: SendPrompt, prompt: str, model: str) -> JudgeVerdict:
    """Ask a model for a verdict, and once more if its first reply holds none.

    Args:
        send: sends a prompt in a new conversation.
        prompt: the question.
        model: the model's name, for the error message.

    Returns:
        The verdict, with the usage of both calls.

    Raises:
        VerdictError: the second reply holds no verdict either.
    """
    reply = send(prompt)
    usage = dict(reply.usage)
    try:
        return _read(reply.text, usage)
    except _ComplaintError as complaint:
        second_prompt = (
            f"That was no verdict: {complaint}. Answer again with one JSON object and nothing else: "
            '{"reason": "<one to three sentences>", "score": <number from 0 to 1>}.'
        )
    reply = send(second_prompt)
    for name, count in reply.usage.items():
        usage[name] = usage.get(name, 0) + count
    try:
        return _read(reply.text, usage)
    except _ComplaintError as complaint:
        text = " ".join(reply.text.split())
        shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
        raise VerdictError(
            f"{model} gave no verdict, also when asked again: {complaint}; it said {shown!r}; "
            "make the rubric plainer, or take another model"
        ) from None


def _read(text: str, usage: dict[str, int]) -> JudgeVerdict:
    candidates = [candidate for candidate in _objects(text) if "score" in candidate]
    if not candidates:
        raise _ComplaintError("there is no JSON object with a score in it" if text.strip() else "it is empty")
    if any(candidate != candidates[0] for candidate in candidates):
        raise _ComplaintError("there is more than one JSON object with a score in it, and they differ")
    score, reason = candidates[0]["score"], candidates[0].get("reason")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise _ComplaintError(f"the score is {json.dumps(score)}, which is no number")
    if not 0 <= score <= 1:
        raise _ComplaintError(f"the score is {score}, which is not from 0 to 1")
    if not isinstance(reason, str) or not reason.strip():
        raise _ComplaintError("there is no reason")
    return JudgeVerdict(float(score), reason.strip(), usage)


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects in a text. A model may put words or a code fence around them."""
    decoder = json.JSONDecoder()
    objects: list[dict[str, Any]] = []
    start = text.find("{")
    for _ in range(_TRIES):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            objects.append(value)
        start = text.find("{", end)
    return objects
