"""Replacements in a text, by offsets."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Span(Struct, gc=False, frozen=True):
    """One replacement, by offsets in the text."""

    start: int
    end: int
    text: str
    path: str


def apply(text: str, spans: Iterable[Span]) -> str:
    """Replace the spans."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], span.text)
        end = span.end
    parts.append(text[end:])
    return "".join(parts)
