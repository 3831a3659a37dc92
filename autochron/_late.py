"""Make a pattern or a decoder when it is first used: most runs use a few of them, and all took 4 ms of every start."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, TypeVar

from msgspec.json import Decoder

T = TypeVar("T")


class _Late:
    """Stands for what is made late; what is asked of it is kept, so that the next time takes no detour."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        self._make = (make, given)

    def __getattr__(self, name: str) -> Any:
        make, given = self._make
        value = getattr(make(*given), name)
        setattr(self, name, value)
        return value


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Give a pattern that is compiled when it is first used."""
    return _Late(re.compile, pattern, flags)  # type: ignore[return-value]  # does all that a pattern does


def late_decoder(wanted: type[T]) -> Decoder[T]:
    """Give a decoder of JSON that is made when it is first used: it looks at every field of a type, and of theirs."""
    return _Late(Decoder, wanted)  # type: ignore[return-value]  # does all that a decoder does


def late_message_decoder(wanted: Any) -> Any:
    """Return such a decoder of MessagePack."""
    return _Late(_message_decoder, wanted)


def _message_decoder(wanted: Any) -> Any:
    from msgspec.msgpack import Decoder as MessageDecoder  # lazy: few processes need one

    return MessageDecoder(wanted)
