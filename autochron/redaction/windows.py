"""Parts of a long text that are searched one by one, so that no search holds up the program for long."""

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
LONGEST = 1 << 22
"""Characters of a token from which on it is searched in parts, too."""
END = late(r"""[\s"']""")
"""What ends a part of a text."""
RAW_END = late(rb"""[\s"']""")


def windows(text: AnyStr, ending: re.Pattern[AnyStr]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of a long text.

    They overlap by 64 KB, so a secret of up to that length stands in one of them with what tells it.
    They end and begin where no token does. A token that is longer than a part is cut where its base64 can be decoded from,
    but not where that is compressed.
    """
    start, size = 0, len(text)
    while size - start > WINDOW + LONGEST:
        found = ending.search(text, start + WINDOW, start + WINDOW + LONGEST)
        if found is None:
            last = _last_sign(text, start, start + WINDOW) + 1 or start
            if is_packed(text[last : last + 4]):
                found = ending.search(text, start + WINDOW + LONGEST)
                end = size if found is None else found.end()
            else:
                end = last + (start + WINDOW - last & ~3)
            following = end - OVERLAP
        else:
            end = found.end()
            back = ending.search(text, end - OVERLAP, end)
            following = end - OVERLAP if back is None else back.start()
        yield start, end
        pause()
        start = following
    yield start, size


def _last_sign(text: AnyStr, start: int, end: int) -> int:
    """Return where a part of a text has the last sign that is in no token; -1 where it has none."""
    signs: Any = (" ", '"', "'", "\n")
    if not isinstance(text, str):
        signs = [sign.encode() for sign in signs]
    return max(text.rfind(sign, start, end) for sign in signs)
