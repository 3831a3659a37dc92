"""Secrets in base64, hexadecimal, percent-encoding and gzip, one level deep: the encoded text is masked as a whole.

Decoded text counts only if it is printable UTF-8. Text that merely looks encoded almost never decodes to that.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import Protocol

from autochron._runtime.lazy import late
from autochron.redaction.secret_patterns import MASK

_SHORTEST = 16
"""Characters of encoded text below which a name and a value don't fit in."""
_MOST_SLASHES = 4
_MOST_KNOWN = 4096
_KNOWN_LENGTH = 64
_LEAST_UNPACKED = 65_536
_MOST_RATIO = 32
"""How many times its compressed length a text is unpacked to, at most: a bomb takes no longer than other text."""
_SIGNS = b"+/_-"
_ENCODING = bytes(1 if code < 128 and (chr(code).isalnum() or code in _SIGNS) else 0 for code in range(256))
_RUN = b"\1" * _SHORTEST
_LINE = b"\1" * 48
_BASE64 = late(r"[A-Za-z0-9+/_\-]{16,}+={0,2}", re.ASCII)
_WRAPPED = late(r"(?:[A-Za-z0-9+/]{48,76}\r?\n)++[A-Za-z0-9+/]{1,76}={0,2}", re.ASCII)
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_PRINTABLE = bytes((9, 10, 12, 13, 27, *range(32, 127)))
_PACKED = (b"H4sI", b"eJ", b"eN", b"eA", b"eF")
"""How data of gzip and zlib begins in base64."""
_PARTS = late(r"([/_\-]|0x)", re.ASCII)
_RAW_PARTS = late(rb"[/_\-]|0x")
_PERCENT = late(r"%([0-9A-Fa-f]{2})", re.ASCII)
_PERCENT_RUN = late(r"""[A-Za-z0-9%+._~*!()\-]++""", re.ASCII)
_PERCENT_WORD = late(r"""[^\s"'<>`\\]++""", re.ASCII)
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


class DecodedLooker(Protocol):
    """The scanner, as this module calls it: it judges text that was decoded."""

    runs: set[bytes]
    """Runs that are no encoded secret. Most bodies have the runs of the body before."""

    def suspicious_decoded(self, text: str) -> bool:
        """Return whether a decoded text may hold a secret."""

    def mask_decoded(self, text: str, nesting: int = 0) -> str:
        """Mask the secrets in a decoded text."""


def may_be_in(text: str, looker: DecodedLooker) -> bool:
    """Return whether raw text may hold an encoded secret."""
    if "%" in text and _PERCENT.search(text) and looker.suspicious_decoded(_unquoted(text)):
        return True
    raw = text.encode("utf-8", "surrogatepass")
    kinds = raw.translate(_ENCODING)
    position = kinds.find(_RUN)
    if position < 0:
        return False
    if kinds.find(_LINE, position) >= 0 and _is_wrapped(raw, kinds):
        return True
    while position >= 0:
        end = kinds.find(b"\0", position)
        end = len(raw) if end < 0 else end
        run = raw[position:end]
        if run in looker.runs:
            position = kinds.find(_RUN, end)
            continue
        # After a backslash the letter of an escape (`\n`, `\u000a`) is no part of the run.
        for cut in (0, 1, 5) if position and raw[position - 1] == 0x5C else (0,):
            for decoded in _readings(run[cut:]):
                if looker.suspicious_decoded(decoded):
                    return True
        if len(looker.runs) >= _MOST_KNOWN:
            looker.runs.clear()
        if len(run) <= _KNOWN_LENGTH:
            looker.runs.add(run)
        position = kinds.find(_RUN, end)
    return False


def is_packed(head: str | bytes) -> bool:
    """Return whether base64 with this beginning is compressed. Then its parts can't be decoded one by one."""
    return (head.encode("latin-1", "replace") if isinstance(head, str) else head).startswith(_PACKED)


def _is_wrapped(raw: bytes, kinds: bytes) -> bool:
    """Return whether a line break, escaped or not, follows 48 encoded characters."""
    for newline, feed in ((b"\n", b"\r"), (b"\\n", b"\\r")):
        position = raw.find(newline)
        while position >= 0:
            end = position - len(feed) if raw.endswith(feed, 0, position) else position
            if kinds.endswith(_LINE, 0, end):
                return True
            position = raw.find(newline, position + 1)
    return False


def mask(text: str, looker: DecodedLooker) -> str:
    """Mask the encoded parts of a decoded string that hold a secret."""
    if "%" in text and _PERCENT.search(text):
        text = _mask_percent(text, looker)
    if "\n" in text:
        text = _WRAPPED.sub(lambda match: _masked(match, looker), text)
    return _BASE64.sub(lambda match: _masked(match, looker), text)


def unpack(raw: bytes) -> bytes | None:
    """Return the content of bytes that gzip or zlib has compressed, or its beginning; None for all other bytes."""
    if raw[:2] != b"\x1f\x8b" and raw[:2] not in {b"\x78\x9c", b"\x78\xda", b"\x78\x01", b"\x78\x5e"}:
        return None
    import zlib  # lazy: hardly any text holds what is compressed

    try:
        return zlib.decompressobj(47).decompress(raw, max(_LEAST_UNPACKED, _MOST_RATIO * len(raw)))
    except zlib.error:
        return None


def _masked(match: re.Match[str], looker: DecodedLooker) -> str:
    text = match[0]
    joined = text.replace("\n", "").replace("\r", "").rstrip("=")
    if _is_secret(joined, looker):
        return MASK
    slash = -1
    for _ in range(_MOST_SLASHES):
        slash = text.find("/", slash + 1)
        if slash < 0:
            break
        if _is_secret(text[slash + 1 :].rstrip("="), looker):
            return text[: slash + 1] + MASK
    pieces = _PARTS.split(text)
    if len(pieces) == 1:
        return text
    return "".join(MASK if _is_secret(piece.rstrip("="), looker) else piece for piece in pieces)


def _is_secret(run: str, looker: DecodedLooker) -> bool:
    if "\n" in run or "\r" in run:
        run = run.replace("\n", "").replace("\r", "")
    if len(run) < _SHORTEST:
        return False
    return any(looker.mask_decoded(decoded) != decoded for decoded in _decodings(run.encode()))


def _readings(run: bytes) -> Iterator[str]:
    """Yield what a run may decode to: as a whole, and in the parts that it has as a path or after a prefix."""
    yield from _decodings(run)
    if _RAW_PARTS.search(run):
        for part in _parts(run.decode()):
            if len(part) >= _SHORTEST:
                yield from _decodings(part.encode())


def _parts(run: str) -> list[str]:
    """Return what follows each of the first slashes of a run, and its pieces."""
    segments = run.split("/", _MOST_SLASHES)
    return [*("/".join(segments[index:]) for index in range(1, len(segments))), *_PARTS.split(run)]


def _decodings(run: bytes) -> Iterator[str]:
    """Yield the readable texts that a run decodes to."""
    size = len(run)
    if size < _SHORTEST:
        return
    if size % 2 == 0 and not run.strip(_HEX_DIGITS):
        text = _readable(binascii.unhexlify(run))
        if text is not None:
            yield text
    if size % 4 == 1:
        return
    standard = run.translate(_TO_STANDARD)
    try:
        if not standard.startswith(_PACKED) and not _begins_text(binascii.a2b_base64(standard[:16])):
            return
        text = _readable(binascii.a2b_base64(standard + b"=" * (-size % 4)))
    except binascii.Error:  # the run is no base64
        return
    if text is not None:
        yield text


def _begins_text(head: bytes) -> bool:
    """Return whether text may begin with some bytes. Most base64 holds no text, and this detects it early."""
    if head.isascii():
        return not head.translate(None, _PRINTABLE)
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4
    return True


def _readable(raw: bytes) -> str | None:
    """Return bytes, compressed or not, as text; None where they are no text."""
    unpacked = unpack(raw)
    if unpacked is not None:
        raw = unpacked
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text or not (text.isprintable() or text.translate(_BLANKS).isprintable()):
        return None
    return text


_BLANKS = {9: " ", 10: " ", 13: " ", 12: " ", 27: " "}


def _unquoted(text: str) -> str:
    """Decode percent-encoding in raw text. Blanks become line breaks first, so that only decoded blanks join words."""
    text = text.replace(" ", "\n").replace("+", " ")
    return _PERCENT.sub(lambda match: chr(int(match[1], 16)), text)


def _mask_percent(text: str, looker: DecodedLooker) -> str:
    """Mask percent-encoded secrets: the encoded run, or else everything between the blanks around it."""

    def check(match: re.Match[str]) -> str:
        if "%" not in match[0]:
            return match[0]
        plain = _as_text(match[0])
        return MASK if plain is not None and looker.mask_decoded(plain) != plain else match[0]

    text = _PERCENT_RUN.sub(check, text)
    return _PERCENT_WORD.sub(check, text)


def _as_text(quoted: str) -> str | None:
    if not _PERCENT.search(quoted):
        return None
    raw = _PERCENT.sub(lambda match: chr(int(match[1], 16)), quoted.replace("+", " "))
    try:
        return raw.encode("latin-1").decode()
    except UnicodeError:
        return raw
