"""The patterns of a project's own secrets, from `[redact]` in its rule file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from autochron._runtime.lazy import late
from autochron.redaction.secret_patterns import MASK

_STRING = late(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_MOST_NESTING = 20
_decode = msgspec.json.Decoder().decode


class OwnPatterns:
    """Regular expressions that are tried on decoded strings."""

    __slots__ = ("_patterns",)

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(re.compile(pattern) for pattern in patterns)

    def may_be_in(self, text: str) -> bool:
        """Return whether a pattern matches in a plain string, or in a string of JSON text, also in JSON in JSON."""
        return bool(self._patterns) and self._may_be_in(text, 0)

    def _may_be_in(self, text: str, nesting: int) -> bool:
        if any(pattern.search(text) for pattern in self._patterns):
            return True
        if '"' not in text:
            return False
        if nesting > _MOST_NESTING:
            return True
        return any(
            self._may_be_in(inner, nesting + 1)
            for token in _STRING.findall(text)
            for inner in _decoded(token)
        )

    def mask(self, text: str) -> str:
        """Mask the matches in a decoded string. Masks that are there stay."""
        for pattern in self._patterns:
            if pattern.search(text):
                text = MASK.join(pattern.sub(_masked, part) for part in text.split(MASK))
        return text


def _decoded(token: str) -> Iterator[str]:
    """Yield what a token means as a part of JSON text, whose bytes are read as Latin-1, and of a plain string."""
    yield token[1:-1]
    for encoding in ("latin-1", "utf-8"):
        try:
            yield str(_decode(token.encode(encoding)))
        except (msgspec.DecodeError, UnicodeError):
            continue


def _masked(match: re.Match[str]) -> str:
    if "secret" not in match.re.groupindex or match["secret"] is None:
        return MASK
    start, end = match.span("secret")
    return match.string[match.start() : start] + MASK + match.string[end : match.end()]
