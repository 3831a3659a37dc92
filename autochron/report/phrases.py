"""Short descriptions of a crossing: its input, its result, how it ended and how long it took."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import DecodeError
from msgspec.json import decode, encode

from autochron.envelope.bodies import read_body
from autochron.envelope.brief import ENOUGH, brief
from autochron.envelope.type_trees import split
from autochron.escaping import visible
from autochron.model import Envelope, Exchange, Raised, Returned, Streamed
from autochron.report.text import plural

Part: TypeAlias = tuple[str, str | None]
"""A piece of a line and its style."""

_TEXTS = ("text", "content")
"""The fields in which providers put the text of a model's answer."""


def words(envelope: Envelope, room: int) -> str:
    """Return a crossing's input and result, as `input → result`, cut to `room` columns; empty below 8 columns."""
    if room < _LEAST:
        return ""
    input_text, result_text = (clean(text) for text in _input_and_result(envelope))
    if not result_text:
        return cut(input_text, room)
    left = room - 3
    # The result tells more than the input. It gets the room that the input doesn't need, and at least half.
    head = cut(input_text, max(left - cells(result_text), left // 2)) if input_text else ""
    return f"{head} → {cut(result_text, left - cells(head))}".lstrip()


_LEAST = 8
"""Columns below which nothing is written."""


def _input_and_result(envelope: Envelope) -> tuple[str, str]:
    if envelope.kind == "model":
        meta = _decoded(envelope.meta)
        meta = meta if isinstance(meta, dict) else {}
        model = str(meta.get("model") or "")
        return (model or _input_text(envelope)), _reply(envelope, meta)
    return _input_text(envelope), _result_text(envelope)


def _input_text(envelope: Envelope) -> str:
    value = split(_decoded(envelope.input))[0]
    if b'"request"' in envelope.meta and (request := _decoded(envelope.meta).get("request")):
        http_request = value.pop(request["parameter"])
        query = f"?{http_request['query']}" if http_request["query"] else ""
        body = brief(read_body(encode(http_request["body"]))) if http_request["body"] is not None else ""
        rest = f", {brief(value, bare=True)}" if value else ""
        return f"{http_request['method']} {http_request['path']}{query} {body}".rstrip() + rest
    return brief(value, bare=True) if isinstance(value, dict) else brief(value)


def _result_text(envelope: Envelope) -> str:
    outcome = envelope.outcome
    if b'"response"' in envelope.meta and (response := _decoded(envelope.meta).get("response")):
        text = brief(read_body(encode(response["body"])))
        return f"status {response['status']}" + (f": {text}" if response["body"] is not None else "")
    if isinstance(outcome, Returned):
        return f"its argument {outcome.argument}" if outcome.argument else brief(_decoded(outcome.value))
    if isinstance(outcome, Streamed):
        return _stream(outcome)
    return ""


def _stream(outcome: Streamed) -> str:
    end = outcome.end
    how = "" if isinstance(end, Returned | Raised) else f", {type(end).__name__.lower()}"
    first = f": {brief(_decoded(outcome.items[0]))}" if outcome.items else ""
    return f"{plural(len(outcome.items), 'item')}{how}{first}"


def _reply(envelope: Envelope, meta: dict[str, Any]) -> str:
    """Return a model's answer: the tools that it asked for, or the beginning of its text."""
    tools = meta.get("tools") or meta.get("inside")
    if isinstance(tools, list) and tools:
        counted = Counter(str(tool) for tool in tools)
        return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counted.items())
    if envelope.exchanges:
        return _answer(envelope.exchanges[-1])
    outcome = envelope.outcome
    bodies = outcome.items if isinstance(outcome, Streamed) else ()
    if isinstance(outcome, Returned):
        bodies = (outcome.value,)
    text = _join_texts(piece for body in bodies for piece in _texts_in(_decoded(body)))
    return brief(text) if text else _result_text(envelope)


def _answer(exchange: Exchange) -> str:
    if not 0 < exchange.status < 400:
        return f"status {exchange.status}" if exchange.status else "no answer"
    text = _join_texts(_texts_in(read_body(exchange.body)))
    return brief(text) if text else f"status {exchange.status}"


def _texts_in(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part[::-1]
        elif isinstance(part, dict):
            yield from (part[key] for key in _TEXTS if isinstance(part.get(key), str))
            waiting += [item for item in reversed(part.values()) if isinstance(item, dict | list)]


def _join_texts(pieces: Iterable[str]) -> str:
    """Join pieces of text until there is enough. A piece that repeats all before it, as a stream's end may, is left out."""
    text = ""
    for piece in pieces:
        if piece == text and len(text) > 1:
            break
        text += piece
        if len(text) > ENOUGH:
            break
    return text.strip()


def ending(envelope: Envelope) -> list[Part]:
    """Return labels for a crossing that raised, failed, or has masked or opaque values."""
    outcome, parts = envelope.outcome, list[Part]()
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised):
        parts.append((f"raised {cut(clean(brief(_decoded(end.error))), 60)}", "red"))
    elif envelope.exchanges and not 0 < envelope.exchanges[-1].status < 400:
        parts.append(("failed", "red"))
    if not envelope.exchanges and envelope.reenters:
        parts.append(("no request", "yellow"))
    parts += [
        (f"{len(paths)} {label}", "yellow")
        for paths, label in ((envelope.masked, "masked"), (envelope.opaque, "opaque"))
        if paths
    ]
    return parts


def duration_text(nanoseconds: int) -> str:
    """Return a duration in a readable unit: `35 µs`, `1.2 ms`, `850 ms`, `3.4 s`."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{nanoseconds // 1000} µs"


def _decoded(body: bytes) -> Any:
    try:
        return decode(body)
    except DecodeError:
        return "?"


# --- width ---------------------------------------------------------------------------------------------------------


_SPACES = str.maketrans("\n\r\t", "   ")


def clean(text: str) -> str:
    """Return a text as one line, with control characters escaped."""
    if text.isprintable():
        return text
    return visible(text.translate(_SPACES))


def cells(text: str) -> int:
    """Return the width of a text in terminal columns: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, room: int) -> str:
    """Return a text cut to `room` terminal columns, with `…` for the rest."""
    if cells(text) <= room:
        return text
    kept = text[: max(room - 1, 0)]
    while kept and cells(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept}…" if room > 0 else ""
