"""The counts of a watch: which source was called at which line and how often, and how its value is recorded."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

from msgspec import Struct

from autochron.detect.catalogue import Source
from autochron.model import Tier

Through: TypeAlias = Callable[..., Any]
"""Calls a source so that its value is recorded or served. It takes the source and its arguments."""


class Origin(Struct, gc=False, frozen=True):
    """A line of project code, with its file as the code object names it."""

    file: str
    line: int
    qualname: str


def origin_of(frame: FrameType) -> Origin:
    """Return the line that a frame is executing."""
    code = frame.f_code
    return Origin(code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_qualname)


class SourceCount:
    """A source at a line, and how often it was called there: inside boundaries and outside of them."""

    __slots__ = ("file", "inside", "line", "outside", "qualname", "source", "through", "tier", "via")

    def __init__(self, source: Source, origin: Origin, tier: Tier, via: str | None) -> None:
        self.source = source
        self.file, self.line, self.qualname = origin.file, origin.line, origin.qualname
        self.tier = tier
        self.via = via
        self.outside = 0
        self.inside = 0
        self.through: Through | None = None
        """How it is called if its value is recorded or served; None if it is only counted."""
