"""The frames of Amazon's event streams (`application/vnd.amazon.eventstream`), between bytes and (headers, payload).

A frame is: its length and that of its headers, four bytes each; a checksum of these; the headers; the payload; a
checksum of all before. Only headers of text are read: streams of models have no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import error as StructError  # noqa: N812 - it is named so in lower case
from struct import pack, unpack_from
from zlib import crc32

_PRELUDE, _CRC = 12, 4
_TEXT = 7


def read_frames(content: bytes) -> tuple[list[tuple[dict[str, str], bytes]], bytes]:
    """Read the frames of an event stream.

    Returns:
        (headers, payload) of each frame, and the bytes after the last complete one.

    Raises:
        ValueError: the content is no event stream, or has a header that is not text.
    """
    frames = []
    offset = 0
    try:
        while len(content) - offset >= _PRELUDE:
            size, headers_size = unpack_from(">II", content, offset)
            end = offset + size
            if size < _PRELUDE + headers_size + _CRC:
                raise ValueError("a frame is shorter than its headers")
            if end > len(content):
                break
            start = offset + _PRELUDE
            headers = _read_headers(content[start : start + headers_size])
            frames.append((headers, content[start + headers_size : end - _CRC]))
            offset = end
    except StructError as error:
        raise ValueError(str(error)) from None
    return frames, content[offset:]


def write_frames(frames: Iterable[tuple[dict[str, str], bytes]]) -> bytes:
    """Return the bytes of frames, each of which is (headers, payload)."""
    return b"".join(_write_frame(headers, payload) for headers, payload in frames)


def _read_headers(content: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    offset = 0
    while offset < len(content):
        (length,) = unpack_from(">B", content, offset)
        name = content[offset + 1 : offset + 1 + length].decode()
        offset += 1 + length
        kind, size = unpack_from(">BH", content, offset)
        if kind != _TEXT or name in headers:
            raise ValueError("a header is not text, or stands twice")
        offset += 3
        headers[name] = content[offset : offset + size].decode()
        offset += size
    return headers


def _write_frame(headers: dict[str, str], payload: bytes) -> bytes:
    written = b"".join(_write_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = pack(">II", _PRELUDE + len(written) + len(payload) + _CRC, len(written))
    message = lengths + pack(">I", crc32(lengths)) + written + payload
    return message + pack(">I", crc32(message))


def _write_header(name: bytes, value: bytes) -> bytes:
    return pack(">B", len(name)) + name + pack(">BH", _TEXT, len(value)) + value
