"""Outcomes and effects of crossings: as data to compare, and in words for people."""

from __future__ import annotations

from typing import Any

from msgspec.json import decode

from autochron.envelope.brief import brief
from autochron.model import Envelope, Raised, Returned, StateEffect, Streamed


def outcome_of(envelope: Envelope) -> Any:
    """Return a crossing's outcome as JSON data, under the key `outcome`.

    A returned value is the value itself. Other outcomes have marks: `$raised`, `$items` with `$end`, `$end` alone for an
    outcome without a value, or `$status` and `$body` for a model call whose HTTP exchanges were recorded.
    """
    return {"outcome": _outcome(envelope)}


def _outcome(envelope: Envelope) -> Any:
    outcome = envelope.outcome
    if envelope.reenters and envelope.exchanges:
        return {"$status": envelope.exchanges[-1].status, "$body": decode(envelope.exchanges[-1].body)}
    if isinstance(outcome, Streamed):
        end = outcome.end
        return {"$items": [decode(item) for item in outcome.items], "$end": _end(end, envelope)}
    return _end(outcome, envelope)


def _end(end: Any, envelope: Envelope) -> Any:
    if isinstance(end, Returned):
        return _argument(end.argument, envelope) if end.argument else decode(end.value)
    if isinstance(end, Raised):
        return {"$raised": _bare(decode(end.error))}
    return {"$end": type(end).__name__.lower()}


def _argument(path: str, envelope: Envelope) -> Any:
    """Return the argument at a path, as it was after the call: the crossing returned this argument."""
    name, _, member = path.partition(".")
    value = {**envelope.arguments, **({} if envelope.changed is None else decode(envelope.changed))}.get(name)
    if member and isinstance(value, dict):
        return value.get(member)
    if member and isinstance(value, list) and member.isdecimal() and int(member) < len(value):
        return value[int(member)]
    return value


def _bare(error: Any) -> Any:
    """Return an encoded exception without its traceback, cause, context and notes, which change as code is edited."""
    if not isinstance(error, dict):
        return error
    return {
        key: value for key, value in error.items() if key not in {"traceback", "cause", "context", "notes"}
    }


def arguments_words(envelope: Envelope) -> str:
    """Return the arguments of a crossing in brief; `nothing` if it had none."""
    arguments = envelope.arguments
    return brief(arguments, bare=True) if isinstance(arguments, dict) and arguments else "nothing"


def outcome_words(envelope: Envelope) -> str:
    """Return how a crossing ended as a phrase that begins with a verb: `gave {"id":1}`, `raised ValueError`."""
    return " ".join(outcome_phrase(envelope))


def outcome_phrase(envelope: Envelope) -> tuple[str, str]:
    """Return how a crossing ended, as a phrase that begins with a verb, and the value that follows it."""
    end = envelope.outcome
    if envelope.exchanges and not isinstance(end, Raised):
        return "was answered with status", str(envelope.exchanges[-1].status)
    if isinstance(end, Streamed):
        return "gave", f"{len(end.items)} items"
    if isinstance(end, Raised):
        return "raised", brief(decode(end.error))
    return ("gave its argument", end.argument) if end.argument else ("gave", brief(decode(end.value)))


def shown(effect: StateEffect) -> str:
    """Return an effect in words: `pay.db: row added to refunds: amount: 5000, order: "A1"`."""
    value = decode(effect.value)
    description = f"{effect.path}: {effect.what}"
    if value is None:
        return description
    return f"{description}: {brief(value, bare=isinstance(value, dict))}"
