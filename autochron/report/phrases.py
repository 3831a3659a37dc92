"""A crossing in a few words: what went in, what came out, how it ended and how long it took."""

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
"""What providers of all kinds call a piece of what a model said."""


def words(envelope: Envelope, room: int) -> str:
    """Say in a width what went into a crossing and what came out."""
    if room < _LEAST:
        return ""
    given, got = (clean(text) for text in _both(envelope))
    if not got:
        return cut(given, room)
    left = room - 3
    # What came out tells more, so that it gets what the other one doesn't need, and half of the room at least.
    head = cut(given, max(left - cells(got), left // 2)) if given else ""
    return f"{head} → {cut(got, left - cells(head))}".lstrip()


_LEAST = 8


def _both(envelope: Envelope) -> tuple[str, str]:
    if envelope.kind == "model":
        meta = _decoded(envelope.meta)
        meta = meta if isinstance(meta, dict) else {}
        given = str(meta.get("model") or "")
        return (given or _given(envelope)), _reply(envelope, meta)
    return _given(envelope), _got(envelope)


def _given(envelope: Envelope) -> str:
    value = split(_decoded(envelope.input))[0]
    if b'"request"' in envelope.meta and (request := _decoded(envelope.meta).get("request")):
        asked = value.pop(request["parameter"])
        query = f"?{asked['query']}" if asked["query"] else ""
        body = brief(read_body(encode(asked["body"]))) if asked["body"] is not None else ""
        rest = f", {brief(value, bare=True)}" if value else ""
        return f"{asked['method']} {asked['path']}{query} {body}".rstrip() + rest
    return brief(value, bare=True) if isinstance(value, dict) else brief(value)


def _got(envelope: Envelope) -> str:
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
    """Say what a model answered: the tools that it asked for, or the beginning of its text."""
    tools = meta.get("tools")
    if isinstance(tools, list) and tools:
        counted = Counter(str(tool) for tool in tools)
        return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counted.items())
    if envelope.exchanges:
        return _answer(envelope.exchanges[-1])
    outcome = envelope.outcome
    bodies = outcome.items if isinstance(outcome, Streamed) else ()
    if isinstance(outcome, Returned):
        bodies = (outcome.value,)
    text = _joined(piece for body in bodies for piece in _texts(_decoded(body)))
    return brief(text) if text else _got(envelope)


def _answer(exchange: Exchange) -> str:
    if not 0 < exchange.status < 400:
        return f"status {exchange.status}" if exchange.status else "no answer"
    text = _joined(_texts(read_body(exchange.body)))
    return brief(text) if text else f"status {exchange.status}"


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each[::-1]
        elif isinstance(each, dict):
            yield from (each[key] for key in _TEXTS if isinstance(each.get(key), str))
            waiting += [item for item in reversed(each.values()) if isinstance(item, dict | list)]


def _joined(pieces: Iterable[str]) -> str:
    """Join the pieces of a text until there is enough; the end of a stream may say all of it again."""
    text = ""
    for piece in pieces:
        if piece == text and len(text) > 1:
            break
        text += piece
        if len(text) > ENOUGH:
            break
    return text.strip()


def ending(envelope: Envelope) -> list[Part]:
    """Say what a crossing raised, and what of it is masked or can't be rebuilt."""
    outcome, found = envelope.outcome, list[Part]()
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised):
        found.append((f"raised {cut(clean(brief(_decoded(end.error))), 60)}", "red"))
    elif envelope.exchanges and not 0 < envelope.exchanges[-1].status < 400:
        found.append(("failed", "red"))
    if not envelope.exchanges and envelope.reenters:
        found.append(("no request", "yellow"))
    found += [
        (f"{len(paths)} {said}", "yellow")
        for paths, said in ((envelope.masked, "masked"), (envelope.opaque, "opaque"))
        if paths
    ]
    return found


def lasted(nanoseconds: int) -> str:
    """Write a duration: `35 µs`, `1.2 ms`, `850 ms`, `3.4 s`."""
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
    """Put a text into one line, without what a terminal would obey."""
    if text.isprintable():
        return text
    return visible(text.translate(_SPACES))


def cells(text: str) -> int:
    """Measure a text in columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells(each) for each in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, room: int) -> str:
    """Cut a text to a width, with `…` where something is left out."""
    if cells(text) <= room:
        return text
    kept = text[: max(room - 1, 0)]
    while kept and cells(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept}…" if room > 0 else ""
