"""What a program's process and its store process tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from autochron._runtime.lazy import late_message_decoder
from autochron.model import ChildEnd, Envelope, Footer, Header
from autochron.store.database import Durability

Extension: TypeAlias = tuple[int, Sequence[bytes]]
"""(seq, items) that a stream was extended by."""


class Opening(Struct, frozen=True, tag="open", array_like=True):
    """A trace begins, or one that was begun is written by this process from now on."""

    sink: int
    """Names the sink from now on."""
    path: str
    """The store as the user wrote it."""
    file: str
    """The same, absolute."""
    durability: Durability
    header: Header | None
    """Of a trace that is to be begun."""
    trace: str
    """The id of the trace."""
    number: int = 0
    """The trace's number in the store, where it is known."""
    child: int | None = None
    """The row of the child process, for what it has to say at its end."""
    now: bool = False
    """Whether the trace is begun at once, and an `Opened` is waited for."""


class Batch(Struct, frozen=True, tag="put", array_like=True):
    """What was put into a sink, to be committed together."""

    sink: int
    operations: tuple[Envelope | Extension, ...]
    footer: Footer | None = None
    ending: ChildEnd | None = None
    child: int | None = None


class Closing(Struct, frozen=True, tag="close", array_like=True):
    """A sink is closed."""

    sink: int


class Retry(Struct, frozen=True, tag="retry", array_like=True):
    """What failed in a sink is tried again now: somebody waits for it."""

    sink: int


class Dropping(Struct, frozen=True, tag="drop", array_like=True):
    """Traces are dropped from a store."""

    sink: int
    """Who is told what goes wrong."""
    path: str
    file: str
    ids: tuple[str, ...]


Message: TypeAlias = Opening | Batch | Closing | Retry | Dropping


class Opened(Struct, frozen=True, tag="opened", array_like=True):
    """Whether a trace could be begun that is waited for."""

    sink: int
    number: int
    """The trace's number in the store."""
    fault: str | None = None
    """Why it could not be begun, in one line."""


class Dropped(Struct, frozen=True, tag="dropped", array_like=True):
    """Traces could not be dropped."""

    sink: int
    fault: str


class SinkReport(Struct, frozen=True, tag="report", array_like=True):
    """What the store process has to say of a sink."""

    sink: int
    lost: int
    """How much of what was put is not in the store."""
    waiting: int
    """How much of that is tried again."""
    fault: str | None
    """The first fault, in one line."""


encode = msgspec.msgpack.encode
message_decoder: Any = late_message_decoder(Message)
reply_decoder: Any = late_message_decoder(SinkReport | Opened | Dropped)


class GoneError(Exception):
    """The store process is not there any more."""
