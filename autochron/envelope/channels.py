"""Streams between tasks that lead out of the process: all that goes through them is other crossings.

A rule says of a boundary that it gives such streams (`codec = "channel"`): a transport that starts a server and hands out
what is written to it and read from it. On replay nothing is started, and the streams are silent: what is sent is swallowed,
and nothing arrives. Never without the rule: the stream of anything else would be served without what was in it.
"""

# ruff: noqa: SLF001 - the other end is kept open without anyone who holds it

from __future__ import annotations

import math
import sys
from typing import Any

from autochron._runtime.unpatched import get_ident
from autochron.envelope import shapes, types
from autochron.errors import CodecError

_MODULE = "anyio.streams.memory"
_made: dict[int, list[Any]] = {}
"""The streams that a thread is rebuilding a value with, by its `get_ident`."""
_ENDS = {"MemoryObjectSendStream": "send", "MemoryObjectReceiveStream": "receive"}


def describe(value: Any) -> dict[str, Any] | None:
    """Write a stream, or a tuple of streams and nothing else; None for any other value."""
    if type(value) is not tuple:
        return _described(value)
    each = [_described(item) for item in value]
    return {"$tuple": each} if each and None not in each else None


def rebuild(channel: Any) -> Any:
    """Make one end of a stream whose other end is open and silent, in what stood around it."""
    if isinstance(channel, dict):
        cls = types.find(channel["type"])
        if (
            not isinstance(cls, type)
            or not _is_thin(cls)
            or not {channel["slot"], *channel["empty"]} <= _slots(cls)
        ):
            raise CodecError(f"{channel['type']} is no class around a stream")
        made: Any = object.__new__(cls)
        state = dict.fromkeys(channel["empty"]) | {channel["slot"]: rebuild(channel["channel"])}
        shapes.set_attributes(made, state)
        return made
    anyio = sys.modules.get("anyio")
    if anyio is None or channel not in _ENDS.values():
        raise CodecError(f"the {channel} end of a stream was recorded, and anyio isn't imported to make one")
    send, receive = anyio.create_memory_object_stream(math.inf)
    mine, other = (send, receive) if channel == "send" else (receive, send)
    # As if closed, so that it may be forgotten without a warning; but the count of open ends stays.
    other._closed = True
    _made.setdefault(get_ident(), []).append(mine)
    return mine


def settle(*, refused: bool) -> None:
    """Let go of the streams that one value was rebuilt with; where it was refused, they are forgotten without a warning."""
    for stream in _made.pop(get_ident(), ()) if _made else ():
        if refused:
            stream._closed = True


def _described(stream: Any) -> dict[str, Any] | None:
    kind = type(stream)
    if kind.__module__ == _MODULE and kind.__name__ in _ENDS:
        return {"$channel": _ENDS[kind.__name__]}
    if not _is_thin(kind):
        return None
    slots = shapes.attributes(stream, shapes.slots_of(kind))
    inner = {name: _described(value) for name, value in slots.items() if value is not None}
    if len(inner) != 1:
        return None
    [(slot, channel)] = inner.items()
    if channel is None:
        return None
    empty = [name for name in slots if name != slot]
    around = {"type": types.name_of(kind), "slot": slot, "channel": channel["$channel"], "empty": empty}
    return {"$channel": around}


def _is_thin(kind: type) -> bool:
    """Return whether a class has slots and nothing else, and is made and forgotten without its code."""
    return bool(_slots(kind)) and kind.__dictoffset__ == 0 and not hasattr(kind, "__del__")


def _slots(kind: type) -> set[str]:
    return {name for name, _ in shapes.slots_of(kind)}
