"""Describe the crossing that raised last, for the report of a run that ended with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.json import decode

from autochron.model import Envelope, Raised, Streamed

if TYPE_CHECKING:
    from autochron.model import Exchange


def error_of(envelope: Envelope) -> bytes | None:
    """Return the encoded exception that a crossing raised; None if it raised none."""
    end = envelope.outcome.end if isinstance(envelope.outcome, Streamed) else envelope.outcome
    return end.error if isinstance(end, Raised) else None


def is_same_failure(inner: Envelope, outer: Envelope) -> bool:
    """Return whether a crossing raised what a crossing directly inside it had raised."""
    first, second = error_of(inner), error_of(outer)
    if inner.parent != outer.seq or first is None or second is None:
        return False
    return first == second or _head(first) == _head(second)


def describe_failure(envelope: Envelope) -> str:
    """Return the address of a crossing that raised, its exception, and how the provider answered its last request."""
    # lazy: most runs end without an error
    from autochron.envelope.brief import brief

    error = error_of(envelope)
    shown = "an error" if error is None else _short(brief(decode(error)))
    answer = _answer(envelope.exchanges[-1]) if envelope.exchanges else ""
    return f"{envelope.address} ended with {shown}{answer}"


def _answer(exchange: Exchange) -> str:
    """Return words for the answer to a request that failed; none if the request was answered as usual."""
    from urllib.parse import urlsplit  # lazy: most runs end without an error

    parts = urlsplit(exchange.url)
    server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if exchange.error is not None:
        name = _head(exchange.error)[0].rpartition(":")[2]
        if "Connect" in name and "Timeout" not in name:
            return f"; nothing answered at {server}"
        return f"; no whole answer came from {server} ({name})"
    return f"; {server} answered with status {exchange.status}" if exchange.status >= 400 else ""


def _head(error: bytes) -> tuple[str, str]:
    """Return the type and the arguments of an encoded exception, as text."""
    value = decode(error)
    return (str(value.get("$error", "")), str(value.get("args"))) if isinstance(value, dict) else ("", "")


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


_SHOWN = 200
"""The most characters of an exception that are shown."""
