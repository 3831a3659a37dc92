"""Streams between tasks whose other end is outside the program: what goes through them is recorded as other crossings.

A rule says that a boundary hands out such streams (`codec = "channel"`): a transport that starts a server and hands out
what is written to the server and read from it. On a replay nothing is started, and the streams are silent: items that
are sent are dropped, and none arrive. Without the rule a stream is never treated so, since it would be served without
its items.
"""

# ruff: noqa: SLF001 - the other end has to stay open although nothing holds it

from __future__ import annotations

import math
import sys
from typing import Any

from autochron._runtime.unpatched import get_ident
from autochron.envelope import shapes, types
from autochron.errors import CodecError

_MODULE = "anyio.streams.memory"
_rebuilt: dict[int, list[Any]] = {}
"""By the identifier of a thread: the streams in the value that the thread is rebuilding."""
_ENDS = {"MemoryObjectSendStream": "send", "MemoryObjectReceiveStream": "receive"}


def describe(value: Any) -> dict[str, Any] | None:
    """Write a stream, or a tuple of streams and nothing else; return None for any other value."""
    if type(value) is not tuple:
        return _described(value)
    described = [_described(item) for item in value]
    return {"$tuple": described} if described and None not in described else None


def rebuild(channel: Any) -> Any:
    """Make one end of a stream whose other end is open and silent.

    Args:
        channel: `send` or `receive`; or a dictionary that names the class around a stream, and what is in its slots.

    Raises:
        CodecError: the class does not fit, or anyio isn't imported.
    """
    if isinstance(channel, dict):
        cls = types.find(channel["type"])
        if (
            not isinstance(cls, type)
            or not _is_thin(cls)
            or not {channel["slot"], *channel["empty"]} <= _slots(cls)
        ):
            raise CodecError(f"{channel['type']} is no class around a stream")
        wrapper: Any = object.__new__(cls)
        state = dict.fromkeys(channel["empty"]) | {channel["slot"]: rebuild(channel["channel"])}
        shapes.set_attributes(wrapper, state)
        return wrapper
    anyio = sys.modules.get("anyio")
    if anyio is None or channel not in _ENDS.values():
        raise CodecError(f"the {channel} end of a stream was recorded, and anyio isn't imported to make one")
    send, receive = anyio.create_memory_object_stream(math.inf)
    own_end, other_end = (send, receive) if channel == "send" else (receive, send)
    # Marked as closed, so that it may be collected without a warning. `close` would also lower the count of open ends.
    other_end._closed = True
    _rebuilt.setdefault(get_ident(), []).append(own_end)
    return own_end


def settle(*, refused: bool) -> None:
    """Forget the streams that this thread has rebuilt a value with.

    Args:
        refused: whether the value was refused; its streams are then collected without a warning.
    """
    for stream in _rebuilt.pop(get_ident(), ()) if _rebuilt else ():
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
    wrapper = {"type": types.name_of(kind), "slot": slot, "channel": channel["$channel"], "empty": empty}
    return {"$channel": wrapper}


def _is_thin(kind: type) -> bool:
    """Return whether a class has slots and nothing else, and no code that runs when an instance is collected."""
    return bool(_slots(kind)) and kind.__dictoffset__ == 0 and not hasattr(kind, "__del__")


def _slots(kind: type) -> set[str]:
    return {name for name, _ in shapes.slots_of(kind)}
