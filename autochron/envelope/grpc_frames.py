"""The frames of gRPC (`application/grpc+proto`): each message has a byte that says whether it is packed, and its length."""

from __future__ import annotations

from collections.abc import Iterable
from struct import error as StructError  # noqa: N812 - it is named so in lower case
from struct import pack, unpack_from

_HEAD = 5


def read_frames(content: bytes) -> list[bytes]:
    """Return the messages of a body.

    Raises:
        ValueError: the body is none of these, or ends within a message.
    """
    messages = []
    offset = 0
    try:
        while offset < len(content):
            packed, size = unpack_from(">BI", content, offset)
            offset += _HEAD + size
            if packed or offset > len(content):
                raise ValueError("a message is packed, or is cut off")
            messages.append(content[offset - size : offset])
    except StructError as error:
        raise ValueError(str(error)) from None
    return messages


def write_frames(messages: Iterable[bytes]) -> bytes:
    """Return a body of these messages."""
    return b"".join(pack(">BI", 0, len(message)) + message for message in messages)
