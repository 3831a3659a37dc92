"""The tokens of JSON text, or of a part of it, by index. No tree is built, so offsets remain those of the text."""

from __future__ import annotations

import binascii
import re
import sys
from collections.abc import Collection, Iterator
from itertools import islice

import msgspec

from autochron._runtime.lazy import late
from autochron._runtime.pauses import pause

# An unterminated string is one token: the text is then no JSON, or a part of a JSON text.
_TOKEN = late(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{},:]|[^\s"\[\]{},:]++', re.DOTALL)
AT_ONCE = 256
"""Tokens that are read between two pauses."""
MANY = 4096
"""Tokens from which on there are pauses: a small body is to be written soon."""
BYTES_TAGS = frozenset({"$bytes", "$bytearray"})
"""Keys under which the codec writes bytes in base64."""
_MOST_MEMBERS = 6
_decode = msgspec.json.Decoder().decode


class JsonTokens:
    """The tokens of a text of Latin-1 characters.

    Attributes:
        text: the text.
        spans: the start and the end of each token in it.
    """

    __slots__ = ("spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: list[tuple[int, int]] = []
        matches = _TOKEN.finditer(text)
        while spans := [match.span() for match in islice(matches, AT_ONCE)]:
            self.spans += spans
            if len(self.spans) > MANY:
                pause()

    def __len__(self) -> int:
        return len(self.spans)

    def sign(self, at: int) -> str:
        """Return the first character of a token; '' where there is no token."""
        return self.text[self.spans[at][0]] if 0 <= at < len(self.spans) else ""

    def raw(self, at: int) -> str:
        """Return the text of a token; '' past the end."""
        return self.text[slice(*self.spans[at])] if at < len(self.spans) else ""

    def string(self, at: int) -> str:
        """Return the string that a token is, decoded if possible."""
        start, end = self.spans[at]
        try:
            return str(_decode(self.text[start:end].encode("latin-1")))
        except (msgspec.DecodeError, UnicodeError):
            return self.text[start + 1 : end - 1]

    def key(self, at: int) -> str:
        """Return the key that a token is; '' where it is no key."""
        return self.string(at) if self.sign(at) == '"' and self.sign(at + 1) == ":" else ""

    def skip(self, at: int, limit: int = sys.maxsize) -> int:
        """Return the index of the token after a container.

        Args:
            at: the token that opens the container.
            limit: how many tokens are passed over, at most.
        """
        depth = 0
        stop = min(len(self.spans), at + limit)
        while at < stop:
            sign = self.sign(at)
            depth += (sign in "{[") - (sign in "}]")
            at += 1
            if not depth:
                break
        return at

    def element(self, at: int) -> tuple[str | None, int | None]:
        """Read an element of an array.

        Returns:
            (text, index of the next token) for a string or bytes, (None, that index) for a number, (None, None) for all
                else.
        """
        sign = self.sign(at)
        if sign == '"':
            return self.string(at), at + 1
        if sign == "{":
            signs = [self.sign(at + step) for step in (1, 2, 3, 4)]
            if signs != ['"', ":", '"', "}"] or self.string(at + 1) not in BYTES_TAGS:
                return None, None
            try:
                return binascii.a2b_base64(self.string(at + 3), strict_mode=True).decode(), at + 5
            except (binascii.Error, ValueError):
                return None, at + 5
        return (None, None) if sign in "[]},:" else (None, at + 1)

    def members_beside(self, at: int, keys: Collection[str]) -> Iterator[int]:
        """Yield the nearest string with one of the keys after a value and before it, at most six plain members away."""
        for step in (4, -4):
            here = at
            for _ in range(_MOST_MEMBERS):
                comma = here + 1 if step > 0 else here - 3
                here += step
                if self.sign(comma) != "," or self.sign(here - 1) != ":" or self.sign(here) in "{[":
                    break
                if self.sign(here) == '"' and self.string(here - 2) in keys:
                    yield here
                    break
