"""The messages between a program's processes and their store process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from autochron._runtime.lazy import late_message_decoder
from autochron.model import ChildEnd, Envelope, Footer, Header
from autochron.store.database import Durability

Extension: TypeAlias = tuple[int, Sequence[bytes]]
"""(seq, items): items that were added to a stream."""


class Opening(Struct, frozen=True, tag="open", array_like=True):
    """Begin a trace, or write one that was begun elsewhere."""

    sink: int
    """The number of the sink in later messages."""
    path: str
    """The store as the user wrote it."""
    file: str
    """The absolute path of the store."""
    durability: Durability
    header: Header | None
    """The header of a trace to begin; None for one that exists."""
    trace: str
    """The id of the trace."""
    number: int = 0
    """The number of the trace in the store; 0 while it is unknown."""
    child: int | None = None
    """The id of the child process's row, which its end report is written to; None in the first process."""
    now: bool = False
    """Whether to begin the trace at once; the sender waits for an `Opened`."""


class Batch(Struct, frozen=True, tag="put", array_like=True):
    """Operations of one sink, to be committed together."""

    sink: int
    operations: tuple[Envelope | Extension, ...]
    footer: Footer | None = None
    ending: ChildEnd | None = None
    child: int | None = None


class Closing(Struct, frozen=True, tag="close", array_like=True):
    """Close a sink."""

    sink: int


class Retry(Struct, frozen=True, tag="retry", array_like=True):
    """Retry the failed operations of a sink now: somebody waits for them."""

    sink: int


class Dropping(Struct, frozen=True, tag="drop", array_like=True):
    """Drop traces from a store."""

    sink: int
    """The sink that a `Dropped` is sent to if this fails."""
    path: str
    file: str
    ids: tuple[str, ...]


Message: TypeAlias = Opening | Batch | Closing | Retry | Dropping


class Opened(Struct, frozen=True, tag="opened", array_like=True):
    """The answer to an `Opening` with `now`."""

    sink: int
    number: int
    """The number of the trace in the store; 0 if it could not be begun."""
    fault: str | None = None
    """Why it could not be begun, in one line."""


class Dropped(Struct, frozen=True, tag="dropped", array_like=True):
    """Report that traces could not be dropped."""

    sink: int
    fault: str


class SinkReport(Struct, frozen=True, tag="report", array_like=True):
    """The faults of a sink in the store process."""

    sink: int
    lost: int
    """The number of operations that are not in the store."""
    waiting: int
    """The number of those that will be retried."""
    fault: str | None
    """The first fault, in one line."""


encode = msgspec.msgpack.encode
message_decoder: Any = late_message_decoder(Message)
reply_decoder: Any = late_message_decoder(SinkReport | Opened | Dropped)


class GoneError(Exception):
    """The store process has ended, or does not answer."""
