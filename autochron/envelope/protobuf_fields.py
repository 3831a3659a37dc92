"""Fields of a message that its type does not have, between the bytes of protocol buffers and JSON data.

A field is `[number, kind, value]`. The kind is that of the wire: 0 a number of any length, 1 and 5 numbers of eight and four
bytes, 2 text, or in base64 what is no text.
"""

from __future__ import annotations

import binascii
from struct import pack, unpack_from
from typing import Any

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FIXED = {_EIGHT: "<Q", _FOUR: "<I"}
_MORE = 0x80
_LONGEST = 10  # bytes of a number


def read(content: bytes) -> Any:
    """Return the fields in some bytes; all of it in base64 where it holds groups, which messages have not had for long."""
    fields: list[list[Any]] = []
    offset = 0
    while offset < len(content):
        tag, offset = _read_varint(content, offset)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value: Any
            value, offset = _read_varint(content, offset)
        elif kind == _BYTES:
            size, offset = _read_varint(content, offset)
            value, offset = _stored(content[offset : offset + size]), offset + size
        elif kind in _FIXED:
            (value,) = unpack_from(_FIXED[kind], content, offset)
            offset += 8 if kind == _EIGHT else 4
        else:
            return _stored(content)
        fields.append([number, kind, value])
    return fields


def write(fields: Any) -> bytes:
    """Return the bytes of such fields.

    Raises:
        ValueError, TypeError, KeyError: they are none.
    """
    if not isinstance(fields, list):
        return _restored(fields)
    written = bytearray()
    for number, kind, value in fields:
        written += _varint(number << 3 | kind)
        if kind == _VARINT:
            written += _varint(value)
        elif kind == _BYTES:
            restored = _restored(value)
            written += _varint(len(restored)) + restored
        else:
            written += pack(_FIXED[kind], value)
    return bytes(written)


def _stored(content: bytes) -> Any:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": binascii.b2a_base64(content, newline=False).decode()}


def _restored(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else binascii.a2b_base64(value["base64"])


def _read_varint(content: bytes, offset: int) -> tuple[int, int]:
    """Return a number and the offset behind it."""
    number = 0
    for place in range(_LONGEST):
        byte = content[offset + place]
        number |= (byte & ~_MORE) << 7 * place
        if byte < _MORE:
            return number, offset + place + 1
    raise ValueError("a number is longer than ten bytes")


def _varint(number: int) -> bytes:
    written = bytearray()
    while number >= _MORE:
        written.append(number & ~_MORE & 0xFF | _MORE)
        number >>= 7
    written.append(number)
    return bytes(written)
