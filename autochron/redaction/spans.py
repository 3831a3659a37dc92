"""Replacements in a text, by offsets."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Span(Struct, gc=False, frozen=True):
    """One replacement.

    Attributes:
        start, end: offsets in the text.
        text: the replacement.
        path: the path of the value in JSON, for reports.
    """

    start: int
    end: int
    text: str
    path: str


def apply(text: str, spans: Iterable[Span]) -> str:
    """Return a text with spans replaced.

    Args:
        text: the text.
        spans: in the order of their offsets; they don't overlap.
    """
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], span.text)
        end = span.end
    parts.append(text[end:])
    return "".join(parts)
