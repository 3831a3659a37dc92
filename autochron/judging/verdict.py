"""What a model must answer: a score and a reason, found in what it said; one that says something else is asked once more."""

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
"""For endpoints that take one. Without the score's bounds, which not all that take a schema take in it."""

_SHOWN = 120

_TRIES = 1_000
"""Braces that are looked at: each that begins no object costs the length of the reply."""


class JudgeReply(Struct, frozen=True):
    """What a model said, and what it cost."""

    text: str
    usage: dict[str, int] = {}


Say: TypeAlias = Callable[[str], JudgeReply]
"""Says something to a model in a conversation that it remembers."""


class JudgeVerdict(Struct, frozen=True):
    """A score from 0 to 1, and why."""

    score: float
    reason: str
    usage: dict[str, int] = {}


class _ComplaintError(Exception):
    """What is wrong with a reply, as the model is told it."""


def ask(say: Say, prompt: str, model: str) -> JudgeVerdict:
    """Ask until there is a verdict: twice at most; VerdictError says what was wrong with the last reply."""
    reply = say(prompt)
    usage = dict(reply.usage)
    try:
        return _read(reply.text, usage)
    except _ComplaintError as complaint:
        said = (
            f"That was no verdict: {complaint}. Answer again with one JSON object and nothing else: "
            '{"reason": "<one to three sentences>", "score": <number from 0 to 1>}.'
        )
    reply = say(said)
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
    found = [each for each in _objects(text) if "score" in each]
    if not found:
        raise _ComplaintError("there is no JSON object with a score in it" if text.strip() else "it is empty")
    if any(each != found[0] for each in found):
        raise _ComplaintError("there is more than one JSON object with a score in it, and they differ")
    score, reason = found[0]["score"], found[0].get("reason")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise _ComplaintError(f"the score is {json.dumps(score)}, which is no number")
    if not 0 <= score <= 1:
        raise _ComplaintError(f"the score is {score}, which is not from 0 to 1")
    if not isinstance(reason, str) or not reason.strip():
        raise _ComplaintError("there is no reason")
    return JudgeVerdict(float(score), reason.strip(), usage)


def _objects(text: str) -> list[dict[str, Any]]:
    """Find the JSON objects in a text, outermost ones only: a model may put words or a fence around them."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.find("{")
    for _ in range(_TRIES):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found
