"""Rules as they are read from TOML, and what is told of how they fit."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.model.findings import Category

Kind: TypeAlias = Literal["model", "tool", "router", "ambient"]
"""What a boundary stands for."""

VALUE = "@ambient "
"""Begins the id of the rule by which an ambient value is a crossing: no module has a name with a space."""

KINDS: tuple[Kind, ...] = ("model", "tool", "router", "ambient")


class Place(Struct, frozen=True):
    """Where something stands in a text file; lines from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Target(Struct, frozen=True, tag=True):
    """One definition: `openai._base_client:SyncAPIClient.request`."""

    module: str
    qualname: str

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}"


class Define(Struct, frozen=True, tag=True):
    """Definitions by pattern: a module glob, a qualified-name glob and what they leave out.

    In a module glob `*` stays within one component and `**` crosses dots; in a name glob `*` stays within one
    component too. Globs skip imports, dunders, private and nested definitions unless a pattern spells them out.
    """

    modules: str
    qualnames: str
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.modules}:{self.qualnames}"


class Decorated(Struct, frozen=True, tag=True):
    """Definitions under a decorator, named as it resolves through imports: `shop.registry.tool`."""

    decorator: str

    def __str__(self) -> str:
        return f"@{self.decorator}"


class Http(Struct, frozen=True, tag=True):
    """Requests of an HTTP client: a method (`*` is any) and a glob over the URL without its query."""

    method: str
    url: str

    def __str__(self) -> str:
        return f"{self.method} {self.url}"


class CallSelector(Struct, frozen=True, tag="Call"):  # what a trace says of its rules keeps its form
    """Call sites by a pattern of code, such as `TOOLS[$tool](...)`, and where they may stand.

    `within` is a module glob, or module glob and name glob of the enclosing definition; None is anywhere in the project.
    """

    pattern: str
    within: str | None = None

    def __str__(self) -> str:
        return self.pattern


Selector: TypeAlias = Target | Define | Decorated | CallSelector | Http


class MetaPaths(Struct, frozen=True):
    """Where model, sampling parameters, usage and the tools asked for stand, as dotted paths with `*`.

    Paths starting with `request.` or `response.` read the HTTP exchange, `path.` the parts of its URL's path (`path.1` is
    the second), `input.` the bound arguments and `outcome.` the result. The first path that is there wins; `sampling` and
    `tools` take all.
    """

    model: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    sdk: str | None = None
    """The distribution whose version is noted, such as `openai`."""


class BoundaryRule(Struct, frozen=True, kw_only=True):
    """One `[[boundary]]` table."""

    id: str
    """`openai.chat` in a pack; `autochron.toml:12` in a project."""
    name: str
    """A literal or a template: `{__name__}`, `{__qualname__}`, `{model}`, `{argument}`, `{argument.attribute}`."""
    kind: Kind
    selector: Selector
    place: Place
    pack: str | None = None
    when: tuple[tuple[str, str], ...] = ()
    """(path into the bound arguments, glob) pairs; all must fit or the call is no crossing."""
    capture: tuple[str, ...] = ()
    changes: tuple[str, ...] | None = None
    """Paths to what of the arguments a call may change, so that a replay changes it again; None: all of them."""
    redact: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    meta: MetaPaths = MetaPaths()
    codec: Literal["auto", "http", "value", "channel"] = "auto"
    """`http` leaves the outcome to the exchanges beneath, `value` never does; `auto` does for a pack's models. `channel`: it
    is streams between tasks that lead out of the process, and a replay gives silent ones."""
    observe: bool = False
    state: str | None = None
    argument: str | None = None
    outcome: str | None = None


class TraceRule(Struct, frozen=True):
    """One `[[trace]]` table: each call of the target is a trace of its own."""

    target: Target
    place: Place


class SnapshotRule(Struct, frozen=True):
    """One `[[snapshot]]` table: a file, a folder or a glob that is kept as it was before the run opened it."""

    path: str
    """As it is written; relative to the rules' root."""
    place: Place


class OutputRule(Struct, frozen=True):
    """One `[[output]]` table: what of the standard output is not compared."""

    pattern: str
    """A regular expression: what fits it in a line counts for nothing."""
    reason: str
    place: Place


class EffectRule(Struct, frozen=True):
    """One `[[effect]]` table: an effect outside every boundary that a replay lets be. One of the first three is given."""

    reason: str
    place: Place
    program: str | None = None
    """Its name, or a glob: `git`."""
    host: str | None = None
    """`host:port` or a host, or a glob."""
    path: str | None = None
    """A file or a glob, from the rules' root: it is not compared."""
    site: str | None = None
    """`shop/agent.py:31`, or the file alone."""


class SwapRule(Struct, frozen=True):
    """A function in whose place a replay runs another one: it is woven, whether it is a boundary or not."""

    target: Target
    place: Place


class IgnoreRule(Struct, frozen=True):
    """One `[[ignore]]` table: a finding that is meant to be there.

    Of `call` and `category` one is given, or both.
    """

    call: str | None
    """The dotted callable: `time.perf_counter`, also with `()` behind it."""
    site: str
    """`shop/agent.py:31`, or the file alone; relative to the rules' root."""
    reason: str
    place: Place
    hash: str | None = None
    """Of the line, or how that begins: then it is found wherever it moves to in its file."""
    category: Category | None = None


class AmbientRule(Struct, frozen=True, kw_only=True):
    """One `[[boundary]]` table of kind `ambient` with a `site`: the values of one call at one line are recorded."""

    call: str
    """The dotted callable, as findings name it: `datetime.date.today`."""
    site: str
    """`shop/agent.py:31`; relative to the rules' root."""
    place: Place
    hash: str | None = None
    """Of the line, or how that begins: then it is found wherever it moves to in its file."""
    name: str | None = None
    """Of the crossings; by default the call and where it is made, `time.time@agent.plan`."""


class Pack(Struct, frozen=True):
    """The shipped rules for one library."""

    name: str
    modules: tuple[str, ...]
    """Top-level modules whose import makes `packs = ["auto"]` take the pack."""
    distribution: str
    tested: tuple[str, ...]
    """Versions of the distribution that the pack was tested with."""
    credentials: tuple[str, ...]
    """Environment variables which the SDK demands; a replay fills in placeholders."""
    environment: tuple[str, ...]
    """Environment variables that change where or what the SDK calls; kept in the trace's header."""
    boundaries: tuple[BoundaryRule, ...]
    telemetry: tuple[str, ...] = ()
    """Modules of the library that send what nobody waits for: a replay that refuses them is the same."""


class RedactRule(Struct, frozen=True):
    """What is a secret in this project beside what is one everywhere.

    Attributes:
        patterns: regular expressions; of one with a group `secret` that group is masked, else the whole match.
        names: names of fields.
    """

    patterns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Rules(Struct, frozen=True, kw_only=True):
    """Everything that a rule file says, validated."""

    boundaries: tuple[BoundaryRule, ...] = ()
    """The project's own."""
    packs: tuple[Pack, ...] = ()
    """The packs that are in force, without the boundaries that `disable` names."""
    auto: bool = True
    """Whether a pack waits until its library is imported."""
    disable: tuple[str, ...] = ()
    """Ids of the pack rules that are switched off, for packs that are still waiting."""
    project: tuple[str, ...] = ()
    """Files and folders of the user's own code, absolute; empty: the program's folder."""
    traces: tuple[TraceRule, ...] = ()
    swaps: tuple[SwapRule, ...] = ()
    """Of one replay; no rule file has them."""
    ignores: tuple[IgnoreRule, ...] = ()
    ambient: tuple[Category, ...] = ()
    """Categories of which every value is recorded that project code asks for itself."""
    ambients: tuple[AmbientRule, ...] = ()
    snapshots: tuple[SnapshotRule, ...] = ()
    effects: tuple[EffectRule, ...] = ()
    outputs: tuple[OutputRule, ...] = ()
    redact: RedactRule = RedactRule()
    snapshot: bool = True
    """Whether small files and databases of the project are kept before a boundary writes them, without a table."""
    children: bool = True
    """Whether the processes that the program starts are recorded with it."""
    stderr: bool = False
    """Whether standard error is kept and compared as well."""
    root: str = ""
    """The folder of the rule file, absolute; the working folder where there is none."""
    file: str | None = None
    digest: str = ""
    """SHA-256 over the normalised rules, hex."""


class Fit(Struct, frozen=True):
    """A definition or a call that a rule fits."""

    place: str
    qualname: str
    """Of a definition; for a call site the one that it stands in, and the rule's pattern."""
    crossed: int | None = None
    """How often it was crossed in the latest trace; None where there is none."""


class Considered(Struct, frozen=True):
    """One rule at one place."""

    rule: BoundaryRule
    fits: bool
    reason: str
    """Why it doesn't fit, or what is still to be seen when the program runs."""


class Explained(Struct, frozen=True):
    """A call or a definition, and what each rule makes of it."""

    place: str
    what: str
    """`call of TOOLS[name]`, `definition of Agent.act`."""
    considered: tuple[Considered, ...]
    crossed: int | None = None
    """How often it was crossed in the latest trace; None where there is none."""


class Surveyed(Struct, frozen=True):
    """One rule and what it fits."""

    rule: BoundaryRule
    fits: tuple[Fit, ...]
    remark: str | None = None
