"""What errors of gRPC hold, as data: the state of the call that failed, and the metadata of asyncio calls.

An error of a call that was read as a stream is that call itself, which can't be made again.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any

from autochron._runtime.bare import dictionary_of
from autochron._runtime.unpatched import RLock
from autochron.errors import CodecError

_STATE = ("code", "details", "debug_error_string", "initial_metadata", "trailing_metadata")


def describe_state(writer: Any, state: Any) -> dict[str, Any]:
    """Write the state of a call of a sync client: how it ended, without what it answered."""
    own = dictionary_of(state) or {}
    pairs = {name: own.get(name) for name in _STATE}
    for name in ("initial_metadata", "trailing_metadata"):
        pairs[name] = [tuple(pair) for pair in pairs[name] or ()]
    return {"$rpc": "state", **{name: writer.write(value) for name, value in pairs.items()}}


def describe_metadata(writer: Any, metadata: Any) -> dict[str, Any]:
    """Write the metadata of an asyncio call."""
    keys = (dictionary_of(metadata) or {}).get("_metadata") or {}
    return {"$rpc": "metadata", "pairs": writer.write([(key, value) for key in keys for value in keys[key]])}


def rebuild(node: dict[str, Any], read: Any) -> Any:
    """Make such an object again, without running code of grpc.

    Args:
        node: the tagged object.
        read: returns the value of a tree.

    Raises:
        CodecError: grpc isn't imported, or the object is of another kind.
    """
    if node["$rpc"] == "state":
        state: Any = object.__new__(_class("grpc._channel", "_RPCState"))
        own = {name: read(node[name]) for name in _STATE}
        for name in ("initial_metadata", "trailing_metadata"):
            own[name] = tuple(own[name])
        state.__dict__.update(
            own, condition=RLock(), due=set(), response=None, cancelled=False, callbacks=None, fork_epoch=0
        )
        return state
    if node["$rpc"] == "metadata":
        metadata: Any = object.__new__(_class("grpc.aio._metadata", "Metadata"))
        keys: OrderedDict[str, list[Any]] = OrderedDict()
        for key, value in read(node["pairs"]):
            keys.setdefault(key, []).append(value)
        metadata.__dict__["_metadata"] = keys
        return metadata
    raise CodecError(f"{node['$rpc']!r} is nothing of gRPC that this release knows")


def _class(module: str, name: str) -> Any:
    cls = getattr(sys.modules.get(module), name, None)
    if not isinstance(cls, type):
        raise CodecError(
            "an error of gRPC was recorded, but grpc isn't imported; import it before the replay"
        )
    return cls
