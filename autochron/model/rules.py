"""Rules as they are read from TOML, and reports about what they fit."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from autochron.model.findings import Category

Kind: TypeAlias = Literal["model", "tool", "router", "ambient"]
"""The kind of a boundary."""

FOUND = "found "
"""The prefix of the ids of rules for tools that were found in a recorded program. It can't be that of another id, because
of the space."""

VALUE = "@ambient "
"""The prefix of the ids of rules for ambient values. It can't be that of another id, because of the space."""

KINDS: tuple[Kind, ...] = ("model", "tool", "router", "ambient")


class Place(Struct, frozen=True):
    """A line of a text file, counted from 1."""

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
    """Definitions by pattern: a module glob, a glob of qualified names, and globs of the names to exclude.

    `*` matches within one component, and `**` matches one or more components. Globs skip imports, dunders, private and nested
    definitions unless a pattern spells them out.
    """

    modules: str
    qualnames: str
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.modules}:{self.qualnames}"


class Decorated(Struct, frozen=True, tag=True):
    """Definitions with a decorator, which is named as imports resolve it: `shop.registry.tool`."""

    decorator: str

    def __str__(self) -> str:
        return f"@{self.decorator}"


class Http(Struct, frozen=True, tag=True):
    """Requests of an HTTP client: a method (`*` is any) and a glob over the URL without its query."""

    method: str
    url: str

    def __str__(self) -> str:
        return f"{self.method} {self.url}"


class CallSelector(Struct, frozen=True, tag="Call"):  # the tag is part of the rules' digest in old traces
    """Call sites by a pattern of code, such as `TOOLS[$tool](...)`, and where they are looked for.

    `within` is a module glob, or a module glob and a name glob of the enclosing definition; None is the whole project.
    """

    pattern: str
    within: str | None = None

    def __str__(self) -> str:
        return self.pattern


Selector: TypeAlias = Target | Define | Decorated | CallSelector | Http


class MetaPaths(Struct, frozen=True):
    """Where the model, the sampling parameters, the usage and the requested tools are, as dotted paths with `*`.

    Paths that start with `request.` or `response.` read the HTTP exchange, `path.` the parts of its URL's path (`path.1` is
    the second), `input.` the bound arguments, `outcome.` the result and `item.` each item of a stream. The first path that
    leads to a value counts; for `sampling` and `tools` all do.
    """

    model: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    sdk: str | None = None
    """The distribution whose version is recorded, such as `openai`."""
    declared: tuple[str, ...] | UnsetType = UNSET
    """Where a request declares tools: paths to objects with `name` and a JSON schema of the parameters. `UNSET` where there
    are none, so that the digest of rules without them is that of earlier versions."""
    results: tuple[str, ...] | UnsetType = UNSET
    """Where a request has the results of tool calls: paths to objects with the id of the call, or the name of the tool."""
    forced: tuple[str, ...] | UnsetType = UNSET
    """Where a request says which tool the model has to call: paths to its name, or to a word that says that it is any."""
    inside: tuple[str, ...] | UnsetType = UNSET
    """Where a stream names tools that ran at its other end: they are served with it, and can't be live."""


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
    """(path into the bound arguments, glob) pairs. If one does not fit, the call is no crossing."""
    capture: tuple[str, ...] = ()
    changes: tuple[str, ...] | None = None
    """Paths to the objects in the arguments that a call may change, and that a replay changes again; None: all arguments."""
    redact: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    meta: MetaPaths = MetaPaths()
    codec: Literal["auto", "http", "value", "channel", "dialog"] = "auto"
    """How the outcome is kept. `http`: as the HTTP exchanges of the call. `value`: as the value. `auto`: as exchanges for a
    pack's models, else as the value. `channel`: the outcome is streams that lead out of the process, and a replay returns
    silent ones. `dialog`: as the value, a stream of answers to what the program sends meanwhile; a replay hands out each item
    once the crossings have ended that ended before it."""
    observe: bool = False
    state: str | None = None
    argument: str | None = None
    outcome: str | None = None

    @property
    def keeps_exchanges(self) -> bool:
        """Whether the HTTP exchanges beneath a crossing are noted."""
        return self.kind == "model" and self.codec in ("auto", "http")

    @property
    def is_found(self) -> bool:
        """Whether the tool was found in the program, and no table of a file names it."""
        return self.id.startswith(FOUND)


class TraceRule(Struct, frozen=True):
    """One `[[trace]]` table: each call of the target is a trace of its own."""

    target: Target
    place: Place


class SnapshotRule(Struct, frozen=True):
    """One `[[snapshot]]` table: a file, a folder or a glob whose state before the run is kept."""

    path: str
    """The path as it is written, relative to the rules' root."""
    place: Place


class OutputRule(Struct, frozen=True):
    """One `[[output]]` table: a part of the standard output that is not compared."""

    pattern: str
    """A regular expression. Text that matches it in a line is not compared."""
    reason: str
    place: Place


class EffectRule(Struct, frozen=True):
    """One `[[effect]]` table: an effect outside every boundary that a replay allows.

    Exactly one of `program`, `host` and `path` is not None.
    """

    reason: str
    place: Place
    program: str | None = None
    """The name of a program, or a glob: `git`."""
    host: str | None = None
    """`host:port`, a host, or a glob."""
    path: str | None = None
    """A file that is not compared, or a glob; relative to the rules' root."""
    site: str | None = None
    """`shop/agent.py:31`, or the file alone."""


class SwapRule(Struct, frozen=True):
    """A function that a replay replaces by another one. It is woven, whether it is a boundary or not."""

    target: Target
    place: Place


class IgnoreRule(Struct, frozen=True):
    """One `[[ignore]]` table: a finding that is accepted. `call`, `category` or both are not None."""

    call: str | None
    """The dotted callable: `time.perf_counter`, also with `()` behind it."""
    site: str
    """`shop/agent.py:31`, or the file alone; relative to the rules' root."""
    reason: str
    place: Place
    hash: str | None = None
    """The line's hash or its first digits, by which the line is found wherever it moves to in its file."""
    category: Category | None = None


class AmbientRule(Struct, frozen=True, kw_only=True):
    """One `[[boundary]]` table of kind `ambient` with a `site`: the values of one call at one line are recorded."""

    call: str
    """The dotted callable, as findings name it: `datetime.date.today`."""
    site: str
    """`shop/agent.py:31`; relative to the rules' root."""
    place: Place
    hash: str | None = None
    """The line's hash or its first digits, by which the line is found wherever it moves to in its file."""
    name: str | None = None
    """The name of the crossings; by default the call and the calling function, `time.time@agent.plan`."""


class SourceRule(Struct, frozen=True, kw_only=True):
    """One `[[source]]` table: callables whose value the program doesn't determine."""

    calls: tuple[str, ...]
    """Dotted names, as imports resolve to them: `acme.clock.now`. One that ends with `.*` stands for all methods."""
    category: Category
    reaches: str | None = None
    """The known source that they reach: `time.time`. None if each is a source itself."""
    determined_by: str | None = None
    """The keyword that determines the value, if it is passed and not None."""
    position: int | None = None
    """The position of that argument, from 0 and without `self`; None if it is passed by keyword only."""
    only_with: str | None = None
    """The keyword without which nothing is asked for."""
    only_with_position: int | None = None
    harmless: tuple[str, ...] = ()
    """First arguments with which nothing is asked for."""
    if_keyword: str | None = None
    """The keyword that some call of the module has to pass, or nothing is asked for."""
    if_text: str | None = None
    """The text that the module has to have written out, or nothing is asked for."""
    if_attribute: str | None = None
    """The attribute that the module has to read, or nothing is asked for."""
    if_concurrent: bool = False
    """Whether the module has to import what starts threads, tasks or processes, or nothing is asked for."""
    if_call: str | None = None
    """The last name of a call that the module has to make, or nothing is asked for; several names with `|` between them."""
    unless_call: str | None = None
    """The last name of a call with which the module replaces what would be asked."""
    only_of: tuple[str, ...] = ()
    """The classes of a first argument with one of which alone something is asked for; none for any argument."""
    unless_of: str | None = None
    """The class of a first argument with which nothing is asked for."""
    opens: bool = False
    """Whether what the call returns is read later."""
    example: str | None = None
    """Code in which the scan finds the calls."""
    place: Place = Place("", 0)


class ContextRule(Struct, frozen=True):
    """One `[[context]]` table of a pack: what of its own context the library lets a tool change.

    Attributes:
        cls: the class of the context, as MODULE:NAME.
        changes: paths into such an object.
    """

    cls: str
    changes: tuple[str, ...]


class Pack(Struct, frozen=True):
    """The shipped rules for one library."""

    name: str
    modules: tuple[str, ...]
    """Modules whose import adds the pack to the rules, with `packs = ["auto"]`."""
    distribution: str
    tested: tuple[str, ...]
    """Versions of the distribution that the pack was tested with."""
    credentials: tuple[str, ...]
    """Environment variables that the SDK requires; a replay sets placeholders."""
    environment: tuple[str, ...]
    """Environment variables that change where or what the SDK calls; recorded in the trace's footer."""
    boundaries: tuple[BoundaryRule, ...]
    telemetry: tuple[str, ...] = ()
    """Modules of the library that send telemetry. To refuse their connections does not change a replay."""
    bookkeeping: tuple[str, ...] = ()
    """Modules of the library that write caches and records of runs. What they change outside boundaries is not compared."""
    contexts: tuple[ContextRule, ...] = ()
    """The classes of the objects that the library passes to tools beside the model's arguments."""


class RedactRule(Struct, frozen=True):
    """The project's own secrets, in addition to what is a secret everywhere.

    Attributes:
        patterns: regular expressions. The whole match is masked, or only the group `secret` if there is one.
        names: names of fields whose values are masked.
    """

    patterns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Rules(Struct, frozen=True, kw_only=True):
    """The validated content of a rule file."""

    boundaries: tuple[BoundaryRule, ...] = ()
    """The project's own boundaries."""
    packs: tuple[Pack, ...] = ()
    """The packs that are in force, without the boundaries that `disable` names."""
    auto: bool = True
    """Whether packs are added when their library is imported."""
    disable: tuple[str, ...] = ()
    """Ids of disabled rules of packs; also for packs that are added later."""
    project: tuple[str, ...] = ()
    """Absolute paths of files and folders of the user's own code; if there are none, it is the program's folder."""
    traces: tuple[TraceRule, ...] = ()
    swaps: tuple[SwapRule, ...] = ()
    """The swaps of one replay. They are not in a rule file."""
    ignores: tuple[IgnoreRule, ...] = ()
    ambient: tuple[Category, ...] = ()
    """Categories of which every value is recorded that a line of the project asks for."""
    ambients: tuple[AmbientRule, ...] = ()
    sources: tuple[SourceRule, ...] = ()
    snapshots: tuple[SnapshotRule, ...] = ()
    effects: tuple[EffectRule, ...] = ()
    outputs: tuple[OutputRule, ...] = ()
    redact: RedactRule = RedactRule()
    snapshot: bool = True
    """Whether small files and databases of the project are kept before a boundary writes them, without a `[[snapshot]]`."""
    children: bool = True
    """Whether the processes that the program starts are recorded with it."""
    stderr: bool = False
    """Whether standard error is recorded and compared as well."""
    find: bool = True
    """Whether tools are found that a model call declares and that no rule names."""
    root: str = ""
    """The absolute folder that paths start from: the rule file's folder by default, or the working folder without a file."""
    file: str | None = None
    digest: str = ""
    """SHA-256 of the normalised rules, in hex."""

    @property
    def file_digest(self) -> str:
        """The digest of the rules as they are written, without the swaps and the found tools of one replay."""
        return self.digest.partition("+")[0]


class Fit(Struct, frozen=True):
    """A definition or a call that a rule fits."""

    place: str
    qualname: str
    """The definition's qualified name; for a call that of the enclosing definition, and the rule's pattern."""
    crossed: int | None = None
    """Number of crossings by this rule in the latest trace; None if there is no trace, or if other rules that fit the same
    place give their crossings the same name."""
    place_crossed: int | None = None
    """Number of crossings of the place in the latest trace, by whichever rule; None if there is no trace."""


class Considered(Struct, frozen=True):
    """One rule at one place, and whether it fits."""

    rule: BoundaryRule
    fits: bool
    reason: str
    """Why it doesn't fit, or what only a run of the program can decide."""


class Explained(Struct, frozen=True):
    """A call or a definition, and which rules fit it."""

    place: str
    what: str
    """`call of TOOLS[name]`, `definition of Agent.act`."""
    considered: tuple[Considered, ...]
    crossed: int | None = None
    """Number of crossings in the latest trace; None if there is no trace."""


class Surveyed(Struct, frozen=True):
    """One rule and all that it fits."""

    rule: BoundaryRule
    fits: tuple[Fit, ...]
    remark: str | None = None
    is_installed: bool = True
    """False for a target in a library that is not installed."""
