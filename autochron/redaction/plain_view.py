"""Raw JSON text as the quick test reads it: bytes of the codec as their text, and keys of its pairs judged."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable

import msgspec

from autochron._runtime.lazy import late
from autochron.redaction.encoded import unpack

# Escapes that can hide a letter, a sign or a slash of a secret from a search of raw text.
_HIDING = late(r"\\u00[2-7]|\\/")
_BYTES = late(r'\{\s*"\$(?:bytes|bytearray)"\s*:\s*"([^"\\]*+)"\s*\}')
# The first of several items. In the list of a `$dict` it may be a key.
_FIRST = late(r'\[\s*"((?:[^"\\]|\\.)*+)"\s*,', re.DOTALL)
_OF_BYTES = tuple(f"${kind}{end}" for kind in ("bytes", "bytearray") for end in ('"', "\\"))
_OF_PAIRS, _OF_ESCAPED_PAIRS = '$dict"', "$dict\\"


class _CompressedError(Exception):
    """Bytes are compressed, and the quick test does not read what they hold."""


def hides_letters(text: str) -> bool:
    """Return whether escapes may hide a part of a secret."""
    return "\\" in text and _HIDING.search(text) is not None


def hides_bytes(text: str) -> bool:
    """Return whether a text has bytes that the codec wrote."""
    return "$" in text and any(tag in text for tag in _OF_BYTES)


def reveal(text: str, is_any_secret: Callable[[set[str]], bool]) -> str | None:
    """Return a text with its bytes decoded; None where the quick test is not enough.

    Args:
        text: JSON text or a plain string; raw text is read as Latin-1.
        is_any_secret: returns whether one of some keys, as they stand in raw text, is a secret name.
    """
    if "$" in text:
        if hides_bytes(text):
            try:
                text = _BYTES.sub(_as_string, text)
            except _CompressedError:
                return None
            if hides_bytes(text):
                return None
        if _OF_ESCAPED_PAIRS in text or (_OF_PAIRS in text and is_any_secret(set(_FIRST.findall(text)))):
            return None
    return None if hides_letters(text) else text


def _as_string(match: re.Match[str]) -> str:
    """Return bytes as the JSON string of their text; an empty string where they are no text."""
    try:
        raw = binascii.a2b_base64(match[1], strict_mode=True)
        if unpack(raw) is not None:
            raise _CompressedError
        return msgspec.json.encode(raw.decode()).decode("latin-1")
    except ValueError:  # also of base64, and of UTF-8
        return '""'
