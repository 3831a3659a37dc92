"""Parts of a long text that are searched one after the other, so that no search blocks the program for long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, AnyStr

from autochron._runtime.lazy import late
from autochron._runtime.pauses import pause
from autochron.redaction.encoded import is_packed

WINDOW = 1 << 20
"""Characters of a text from which on it is searched in parts."""
OVERLAP = 1 << 16
"""Characters that two neighbouring parts have in common, at most."""
LONGEST = 1 << 22
"""Characters of a token from which on it is searched in parts, too."""
END = late(r"""[\s"']""")
"""Separates tokens: a part begins and ends there."""
RAW_END = late(rb"""[\s"']""")


def windows(text: AnyStr, ending: re.Pattern[AnyStr]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the parts of a long text.

    Parts overlap by 64 KB, so that a secret of up to that length is in one of them together with its context. They
    begin and end between tokens. A token that is longer than a part is cut where its base64 can be decoded in parts. A
    compressed one is not cut.

    Args:
        text: the text.
        ending: `END` or `RAW_END`, which separates its tokens.
    """
    start, size = 0, len(text)
    while size - start > WINDOW + LONGEST:
        separator = ending.search(text, start + WINDOW, start + WINDOW + LONGEST)
        if separator is None:
            token = _last_separator(text, start, start + WINDOW) + 1 or start
            if is_packed(text[token : token + 4]):
                separator = ending.search(text, start + WINDOW + LONGEST)
                end = size if separator is None else separator.end()
            else:
                end = token + (start + WINDOW - token & ~3)  # four characters of base64 are decoded together
            following = end - OVERLAP
        else:
            end = separator.end()
            overlap = ending.search(text, end - OVERLAP, end)
            following = end - OVERLAP if overlap is None else overlap.start()
        yield start, end
        pause()
        start = following
    yield start, size


def _last_separator(text: AnyStr, start: int, end: int) -> int:
    """Return the offset of the last separator in a part of a text; -1 where there is none."""
    signs: Any = (" ", '"', "'", "\n")
    if not isinstance(text, str):
        signs = [sign.encode() for sign in signs]
    return max(text.rfind(sign, start, end) for sign in signs)
