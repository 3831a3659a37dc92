"""The frames of Amazon's event streams (`application/vnd.amazon.eventstream`), between bytes and (headers, payload).

A frame is: its length and that of its headers, four bytes each; a checksum of these; the headers; the payload; a checksum of
all before. Of the types of header only text is read here; streams of models have no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import error as StructError  # noqa: N812 - it is named so in lower case
from struct import pack, unpack_from
from zlib import crc32

_PRELUDE, _CRC = 12, 4
_TEXT = 7


def read_frames(content: bytes) -> tuple[list[tuple[dict[str, str], bytes]], bytes]:
    """Return (headers, payload) of each frame, and the rest after the last whole one; ValueError on anything else."""
    frames = []
    at = 0
    try:
        while len(content) - at >= _PRELUDE:
            size, of_headers = unpack_from(">II", content, at)
            end = at + size
            if size < _PRELUDE + of_headers + _CRC:
                raise ValueError("a frame is shorter than its headers")
            if end > len(content):
                break
            start = at + _PRELUDE
            headers = _read_headers(content[start : start + of_headers])
            frames.append((headers, content[start + of_headers : end - _CRC]))
            at = end
    except StructError as error:
        raise ValueError(str(error)) from None
    return frames, content[at:]


def write_frames(frames: Iterable[tuple[dict[str, str], bytes]]) -> bytes:
    """Return the bytes of frames."""
    return b"".join(_write_frame(headers, payload) for headers, payload in frames)


def _read_headers(content: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    at = 0
    while at < len(content):
        (length,) = unpack_from(">B", content, at)
        name = content[at + 1 : at + 1 + length].decode()
        at += 1 + length
        kind, size = unpack_from(">BH", content, at)
        if kind != _TEXT or name in headers:
            raise ValueError("a header is not text, or stands twice")
        at += 3
        headers[name] = content[at : at + size].decode()
        at += size
    return headers


def _write_frame(headers: dict[str, str], payload: bytes) -> bytes:
    written = b"".join(_write_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = pack(">II", _PRELUDE + len(written) + len(payload) + _CRC, len(written))
    message = lengths + pack(">I", crc32(lengths)) + written + payload
    return message + pack(">I", crc32(message))


def _write_header(name: bytes, value: bytes) -> bytes:
    return pack(">B", len(name)) + name + pack(">BH", _TEXT, len(value)) + value
