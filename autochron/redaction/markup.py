"""Secrets in XML and HTML: the text of an element, or an attribute's value, that belongs to a secret name."""

from __future__ import annotations

import re

from autochron._runtime.lazy import late
from autochron.redaction.harmless_values import is_harmless

_MOST_TAG = 300
_OPEN = late(r"""(?:\s[^<>]{0,500})?(?<!/)>\s{0,200}(?:<!\[CDATA\[)?""")
_TEXT = late(r"""[^<\]]{1,4000}""")
_VALUE = late(
    r"""\b(?:value|content|default|val|data)\s{0,4}=\s{0,4}(?:"([^"<>]{1,4000})"|'([^'<>]{1,4000})')""",
    re.ASCII,
)
_NEXT = late(r"""</\w{1,40}>\s{0,200}<\w{1,40}>([^<]{1,4000})""", re.ASCII)


def find_markup(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the bounds of the value that belongs to a name: the name of an element, or the value of an attribute.

    Args:
        text: the text.
        start: where the name begins.
        end: where it ends.
    """
    low = max(0, start - _MOST_TAG)
    opening = text.rfind("<", low, start)
    if opening < 0:
        return None
    closed = text.rfind(">", opening, start)
    if closed >= 0:
        return _of_next(text, end) if closed == start - 1 else None
    head = text[opening + 1 : start]
    if not head or (head.endswith(":") and head[:-1].isidentifier()):
        inside = _OPEN.match(text, end)
        return None if inside is None else _content(text, inside.end())
    if text[start - 1] in "\"'" and text[end : end + 1] == text[start - 1]:
        return _of_tag(text, opening, end)
    return None


def _of_tag(text: str, opening: int, end: int) -> tuple[int, int] | None:
    """Return the bounds of the value in the same tag as a name, else of the text of its element."""
    close = text.find(">", end, end + 3 * _MOST_TAG)
    if close < 0:
        return None
    value = _VALUE.search(text, opening, close)
    if value is not None:
        bounds = value.span(value.lastindex or 0)
        return None if is_harmless(text[slice(*bounds)]) else bounds
    return None if text[close - 1] == "/" else _content(text, close + 1)


def _of_next(text: str, end: int) -> tuple[int, int] | None:
    """Return the bounds of the text of the next element: `<key>password</key><string>x</string>`."""
    behind = _NEXT.match(text, end)
    return None if behind is None or is_harmless(behind[1]) else behind.span(1)


def _content(text: str, at: int) -> tuple[int, int] | None:
    if text.startswith("<![CDATA[", at):
        at += len("<![CDATA[")
    inside = _TEXT.match(text, at)
    if inside is None or is_harmless(inside[0]):
        return None
    bare = inside[0].strip()
    begin = at + inside[0].find(bare)
    return begin, begin + len(bare)
