"""Non-deterministic calls that were found, and which of them matter."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Category: TypeAlias = Literal[
    "clock",
    "random",
    "uuid",
    "env",
    "host",
    "files",
    "network",
    "subprocess",
    "ordering",
    "set-order",
    "identity",
    "native",
]
"""What a non-deterministic call depends on."""

CATEGORIES: tuple[Category, ...] = (
    "clock",
    "random",
    "uuid",
    "env",
    "host",
    "files",
    "network",
    "subprocess",
    "ordering",
    "set-order",
    "identity",
    "native",
)

Tier: TypeAlias = Literal["direct", "library"]
"""`direct`: the project's own line makes the call; `library`: a library does that the line called."""

Covered: TypeAlias = Literal["boundary", "recorded", "ignored"]
"""Why a non-deterministic call is no gap: it is inside a boundary, its value is recorded, or a rule says so."""


class Site(Struct, frozen=True):
    """A line of project code."""

    file: str
    """Relative to the rules' root where it lies below it."""
    line: int
    """From 1."""
    qualname: str
    """Of the definition that it stands in; `<module>` for a module's own body."""
    hash: str
    """Of the stripped line: the first 12 hex digits of its SHA-256, so that it is found again when code moves; empty where
    there is no source."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Finding(Struct, frozen=True, kw_only=True):
    """A non-deterministic call at a site: outside every boundary, unless `covered` says otherwise."""

    site: Site
    category: Category
    call: str
    """The callable as the catalogue names it: `datetime.datetime.now`."""
    count: int
    """How often it ran."""
    tier: Tier
    via: str | None = None
    """The library function that the project's line called: `requests.api.get`."""
    ran: bool = True
    """False for one that only the scan of the source saw."""
    covered: Covered | None = None
    impact: str | None = None
    """What became of the run when the value was another one, where that was tried."""


class Effect(Struct, frozen=True):
    """The first thing that is not the same in two replays."""

    what: str
    """As in "changes plan[1] input"."""
    before: str
    after: str


class Impact(Struct, frozen=True, kw_only=True):
    """What became of a replay when the values of one site were others."""

    site: Site
    category: Category
    call: str
    count: int
    tier: Tier
    via: str | None = None
    variants: int = 0
    """How many other values were tried, up to the first one that changed something."""
    effect: Effect | None = None
    """None where nothing changed."""
    untried: str | None = None
    """Why no other value was tried."""

    @property
    def said(self) -> str:
        """What is known of it, in a few words."""
        if self.untried is not None:
            return f"not tried: {self.untried}"
        if self.effect is not None:
            return f"HARMFUL: {self.effect.what}"
        return f"no effect observed ({self.variants} variants)"


class Impacts(Struct, frozen=True, kw_only=True):
    """What `impact` found of a trace's sites."""

    trace: str
    sites: tuple[Impact, ...]
    replays: int
    problems: tuple[str, ...] = ()


class Unread(Struct, frozen=True):
    """A file that the scan could make nothing of."""

    file: str
    line: int
    reason: str


class Checked(Struct, frozen=True, kw_only=True):
    """What a check came to."""

    findings: tuple[Finding, ...]
    """In order of files and lines, with those that a boundary or an ignore covers."""
    unread: tuple[Unread, ...] = ()
    stale: tuple[str, ...] = ()
    """What is wrong with ignores, a line each."""
    files: int = 0
    lines: int = 0
    autochron: str = ""
    """Version of autochron."""
