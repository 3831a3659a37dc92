"""Non-deterministic calls: the ones that were found, and which of them change a run."""

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
"""`direct`: a line of the project makes the call; `library`: a library that the line called makes it."""

Covered: TypeAlias = Literal["boundary", "recorded", "ignored", "accepted", "harmless"]
"""Why a non-deterministic call is not reported: it is in a boundary, its value is recorded, a rule or a comment ignores it,
the baseline accepts it, or its value only reaches logs, metrics, sleeps, keys or names of temporary files."""


DestinationKind: TypeAlias = Literal["input", "output", "branch", "call", "error", "elsewhere"]
"""What a value reaches, the most telling first: the input of a boundary, text that is printed or written, a condition, an
argument of a call that the file does not define, an exception, or a name that other files may use."""

DESTINATION_KINDS: tuple[DestinationKind, ...] = ("input", "output", "branch", "call", "error", "elsewhere")


class Destination(Struct, frozen=True):
    """The most telling thing that the value of a call may reach in its file."""

    kind: DestinationKind
    line: int
    name: str = ""
    """The boundary, the callee, or the name that other files may use."""
    path: tuple[int, ...] = ()
    """The lines on the way, from the call's to the destination's."""


HARMFUL = "HARMFUL"
"""How `impact` begins what it says of a call with whose other values a run changes."""


class Site(Struct, frozen=True):
    """A line of project code."""

    file: str
    """Path relative to the rules' root if it is below the root; else absolute."""
    line: int
    """From 1."""
    qualname: str
    """Qualified name of the enclosing definition; `<module>` for a module's own body."""
    hash: str
    """The first 12 hex digits of the SHA-256 of the stripped line, by which it is found again when code moves; empty if there
    is no source."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Finding(Struct, frozen=True, kw_only=True):
    """A non-deterministic call at a site: outside every boundary, unless `covered` says otherwise."""

    site: Site
    category: Category
    call: str
    """The callable as the catalogue names it: `datetime.datetime.now`."""
    count: int
    """Number of times that the call ran."""
    tier: Tier
    via: str | None = None
    """The library function that the project's line called: `requests.api.get`."""
    ran: bool = True
    """False for a call that only the scan of the source found."""
    covered: Covered | None = None
    impact: str | None = None
    """How the run changed with other values, if `impact` has tried that."""
    reaches: Destination | None = None
    """What its value may reach, as far as its file tells; None for nothing, and where only a run has seen the call."""
    reads: tuple[int, ...] = ()
    """The lines of its file that read from what it has opened, or that run what it was told for, other than its own."""


class ValueChange(Struct, frozen=True):
    """Another value of a site with which a run changes."""

    before: str
    """The first value that the site had, as text."""
    after: str
    """The one that it got instead."""
    calls: int = 1
    """The number of calls whose values were replaced; 1 where that of the first one is enough."""


class Effect(Struct, frozen=True):
    """The first difference between two replays."""

    what: str
    """A predicate: "changes plan[1] input"."""
    before: str
    after: str


class Impact(Struct, frozen=True, kw_only=True):
    """How a replay changed with other values at one site."""

    site: Site
    category: Category
    call: str
    count: int
    tier: Tier
    via: str | None = None
    variants: int = 0
    """Number of other values that were tried, up to the first one that changed something."""
    effect: Effect | None = None
    """None if nothing changed."""
    change: ValueChange | None = None
    """The smallest change of its values that is known to have this effect."""
    untried: str | None = None
    """Why no other value was tried; None if one was."""

    @property
    def said(self) -> str:
        """The result in a few words, for reports."""
        if self.untried is not None:
            return f"not tried: {self.untried}"
        if self.effect is not None:
            return f"{HARMFUL}: {self.effect.what}"
        return f"no effect observed ({self.variants} variants)"


class Impacts(Struct, frozen=True, kw_only=True):
    """The results of `impact` for the sites of a trace."""

    trace: str
    sites: tuple[Impact, ...]
    replays: int
    problems: tuple[str, ...] = ()


class ImpactFix(Struct, frozen=True, kw_only=True):
    """The rules that `impact --fix` has written, and what is left."""

    file: str
    """The rule file."""
    added: int
    """The number of rules that were added to it; 0 where no rule can help."""
    left: tuple[str, ...] = ()
    """The sites that are harmful with these rules, too."""
    replays: int = 0
    """The number of replays with these rules."""
    problem: str | None = None
    """Why the trace could not be tried with them."""


class Unread(Struct, frozen=True):
    """A file that the scan could not parse."""

    file: str
    line: int
    reason: str


class Checked(Struct, frozen=True, kw_only=True):
    """The result of `check`."""

    findings: tuple[Finding, ...]
    """In order of files and lines, including those that a boundary or an ignore covers."""
    unread: tuple[Unread, ...] = ()
    stale: tuple[str, ...] = ()
    """Messages about ignores that don't apply any more, one line each."""
    files: int = 0
    lines: int = 0
    read: frozenset[str] = frozenset()
    """The files that were read, as sites name them."""
    gone: int | None = None
    """How many findings of the baseline are there no more; None without a baseline."""
    autochron: str = ""
    """Version of autochron."""
    root: str = ""
    """The absolute folder that the paths of sites start from; empty if that is not known."""
