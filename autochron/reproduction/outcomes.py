"""How a crossing ended and what it did, as data that is compared and in words for people."""

from __future__ import annotations

from typing import Any

from msgspec.json import decode

from autochron.envelope.brief import brief
from autochron.model import Envelope, Raised, Returned, StateEffect, Streamed


def outcome_of(envelope: Envelope) -> Any:
    """Return how a crossing ended as data: under `outcome` what it gave or raised."""
    return {"outcome": _outcome(envelope)}


def _outcome(envelope: Envelope) -> Any:
    outcome = envelope.outcome
    if envelope.reenters and envelope.exchanges:
        return {"$status": envelope.exchanges[-1].status, "$body": decode(envelope.exchanges[-1].body)}
    if isinstance(outcome, Streamed):
        end = outcome.end
        return {"$items": [decode(each) for each in outcome.items], "$end": _end(end, envelope)}
    return _end(outcome, envelope)


def _end(end: Any, envelope: Envelope) -> Any:
    if isinstance(end, Returned):
        return _argument(end.argument, envelope) if end.argument else decode(end.value)
    if isinstance(end, Raised):
        return {"$raised": _bare(decode(end.error))}
    return {"$end": type(end).__name__.lower()}


def _argument(path: str, envelope: Envelope) -> Any:
    """Return an argument that was returned, as it was after the call."""
    name, _, member = path.partition(".")
    value = {**envelope.arguments, **({} if envelope.changed is None else decode(envelope.changed))}.get(name)
    if member and isinstance(value, dict):
        return value.get(member)
    if member and isinstance(value, list) and member.isdecimal() and int(member) < len(value):
        return value[int(member)]
    return value


def _bare(error: Any) -> Any:
    """Leave out where an exception was raised, and from what: code moves."""
    if not isinstance(error, dict):
        return error
    return {
        key: value for key, value in error.items() if key not in {"traceback", "cause", "context", "notes"}
    }


def arguments_words(envelope: Envelope) -> str:
    """Return the arguments of a crossing in a few words; `nothing` where it had none."""
    arguments = envelope.arguments
    return brief(arguments, bare=True) if isinstance(arguments, dict) and arguments else "nothing"


def outcome_words(envelope: Envelope) -> str:
    """Say how a crossing ended, beginning with a verb."""
    end = envelope.outcome
    if envelope.exchanges and not isinstance(end, Raised):
        return f"was answered with status {envelope.exchanges[-1].status}"
    if isinstance(end, Streamed):
        return f"gave {len(end.items)} items"
    if isinstance(end, Raised):
        return f"raised {brief(decode(end.error))}"
    return f"gave its argument {end.argument}" if end.argument else f"gave {brief(decode(end.value))}"


def shown(effect: StateEffect) -> str:
    """Write an effect as people would: `pay.db: row added to refunds: amount: 5000, order: "A1"`."""
    value = decode(effect.value)
    what = f"{effect.path}: {effect.what}"
    if value is None:
        return what
    return f"{what}: {brief(value, bare=isinstance(value, dict))}"
