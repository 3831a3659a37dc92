"""What is read in a module: its marks, what changes, and what can't be taken out."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from autochron.adopt.edits import Edits
from autochron.adopt.modules import ApiUse, Definition, Module
from autochron.model import Kind


@dataclass(frozen=True)
class FunctionMark:
    """A function that was marked, and the rule that takes the mark's place."""

    definition: Definition
    name: str
    kind: Kind
    line: int
    capture: tuple[str, ...] = ()


@dataclass(frozen=True)
class SdkMark:
    """A client of a library that was wrapped: the library's pack, and the name of the crossings."""

    pack: str
    name: str
    line: int


@dataclass(frozen=True)
class LineNote:
    """Something about a line that the user should know."""

    line: int
    text: str


class Refused(Exception):  # noqa: N818 - it is caught where the mark is read, and becomes a line of a list
    """A mark can't be taken out. The message is the reason."""

    def __init__(self, reason: str, line: int | None = None, *nodes: cst.CSTNode) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.nodes = nodes


@dataclass
class Reading:
    """What is read in one module."""

    module: Module
    marks: list[FunctionMark] = field(default_factory=list)
    sdks: list[SdkMark] = field(default_factory=list)
    notes: list[LineNote] = field(default_factory=list)
    refusals: list[LineNote] = field(default_factory=list)
    edits: Edits = field(default_factory=Edits)
    extractors: list[tuple[Module, cst.FunctionDef | cst.Assign]] = field(default_factory=list)
    """Functions that only marks use, by their modules."""
    open_uses: list[ApiUse] = field(default_factory=list)
    """Uses that are no marks."""
    refused: set[cst.CSTNode] = field(default_factory=set)
    """Marks and extractors that are refused, so that what is in them needs no further reason."""
