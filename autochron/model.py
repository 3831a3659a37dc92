"""The values that pass between stages: frozen, deeply immutable, and free of behaviour.

Bodies (`bytes` fields) are UTF-8 JSON text, masked already: what a store keeps and a trace file shows. `envelope`
makes them from live values and turns them back; nothing here knows how.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.json import decode

Kind: TypeAlias = Literal["model", "tool", "router", "ambient"]
"""What a boundary stands for."""

VALUE = "@ambient "
"""Begins the id of the rule by which an ambient value is a crossing: no module has a name with a space."""

KINDS: tuple[Kind, ...] = ("model", "tool", "router", "ambient")

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

Form: TypeAlias = Literal["value", "awaitable", "iterator", "async_iterator", "object", "future"]
"""The shape of what a call handed to its caller, so that a replay hands out the same.

`value` is the plain case, and also that of coroutine functions and generators, whose shape their code gives.
"""


# --- rules ---------------------------------------------------------------------------------------------------------


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


class Call(Struct, frozen=True, tag=True):
    """Call sites by a pattern of code, such as `TOOLS[$tool](...)`, and where they may stand.

    `within` is a module glob, or module glob and name glob of the enclosing definition; None is anywhere in the project.
    """

    pattern: str
    within: str | None = None

    def __str__(self) -> str:
        return self.pattern


Selector: TypeAlias = Target | Define | Decorated | Call | Http


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


# --- crossings -----------------------------------------------------------------------------------------------------


class Returned(Struct, gc=False, frozen=True, tag="returned"):
    """The call returned: the value in the typed codec, or the argument whose object it handed back.

    An argument is a parameter, or `args.0` and `kwargs.name` for what `*args` and `**kwargs` caught.
    """

    value: bytes = b"null"
    argument: str | None = None


class Raised(Struct, gc=False, frozen=True, tag="raised"):
    """The call raised: the exception in the typed codec."""

    error: bytes


class Abandoned(Struct, gc=False, frozen=True, tag="abandoned"):
    """The stream was neither finished nor closed before the run ended."""


class Closed(Struct, gc=False, frozen=True, tag="closed"):
    """The consumer closed the stream early."""


class Streamed(Struct, gc=False, frozen=True, tag="streamed"):
    """The call gave a stream: each item in the typed codec, and how it ended."""

    items: tuple[bytes, ...]
    end: Returned | Raised | Abandoned | Closed


Outcome: TypeAlias = Returned | Raised | Streamed


class Exchange(Struct, gc=False, frozen=True, kw_only=True):
    """One HTTP request and what came back: the last of its attempts."""

    method: str
    url: str
    request: bytes
    """Stored body (JSON text; see `envelope.bodies`), masked."""
    status: int = 0
    """0 where the transport raised."""
    headers: tuple[tuple[str, str], ...] = ()
    """Response headers, masked, without those of the transfer (content-encoding, transfer-encoding, …)."""
    body: bytes = b"null"
    """Stored body of the response."""
    error: bytes | None = None
    """What the transport raised instead, in the typed codec."""
    attempts: int = 1
    complete: bool = True
    """False where the body was not read to its end."""


class Envelope(Struct, gc=False, frozen=True, kw_only=True):
    """The record of one crossing."""

    seq: int
    """Order of start in the trace, from 1."""
    name: str
    nth: int
    """With the name the address: `place_order[1]`."""
    kind: Kind
    lane: str
    """`0` is the main lane; `0/fetch.2` the second task or thread that ran `fetch` and was started from it."""
    parent: int | None
    """`seq` of the enclosing crossing."""
    site: str
    """The definition that was crossed: `shop/tools.py:refund`, `openai._base_client:SyncAPIClient.request`; with an `@`
    in front where it was marked by hand."""
    input: bytes
    """Canonical JSON object: parameter to value, as it was before the call; `$types` has what JSON does not tell of them."""
    outcome: Outcome
    form: Form = "value"
    exchanges: tuple[Exchange, ...] = ()
    reenters: bool = False
    """Whether a replay runs the body again, with its exchanges served."""
    changed: bytes | None = None
    """Typed JSON object: the parameters whose value the call changed in place, as they were after it."""
    meta: bytes = b"{}"
    """JSON object: `model`, `sampling`, `usage`, `sdk`, `tools`, `printed`: what the body wrote to standard output, `prints`:
    the pieces of that, where others printed in between, `steps`: what it wrote and which arguments it had changed after so
    many items, `sent`: what was sent or thrown in after so many, `handed`: facts about the object that it gave, and `passed`:
    the site of what it was passed to, where a rule's `argument` is why it was woven."""
    started: int = 0
    """Nanoseconds since the trace began."""
    duration: int = 0
    """Nanoseconds."""
    masked: tuple[str, ...] = ()
    """Paths in the outcome that redaction masked: a replay serves the mask.

    What is below `items.*`, `return` or `changed` stands in a stream's items, its last value, or in `changed`.
    """
    opaque: tuple[str, ...] = ()
    """`path: type` of what can't be rebuilt, with the same beginnings; under `changed` also what can't be changed again.

    What is below `(input)` is compared by its type only.
    """

    @property
    def address(self) -> str:
        """Name and occurrence, as people write them: `place_order[1]`."""
        return f"{self.name}[{self.nth}]"

    @property
    def arguments(self) -> Any:
        """The input as JSON data, without types: parameter to value."""
        tree = decode(self.input)
        if isinstance(tree, dict):
            tree.pop("$types", None)
        return tree

    @property
    def is_value(self) -> bool:
        """Whether it is a value that a line of the project asked for, or that of a function marked by hand as ambient."""
        return self.kind == "ambient" and self.site.startswith("@")


# --- traces --------------------------------------------------------------------------------------------------------


class Command(Struct, frozen=True):
    """What was run: enough to run it again."""

    mode: Literal["script", "module", "console", "block"]
    """`block` is `with autochron.record(...)`, or a call that has a trace of its own."""
    target: str
    arguments: tuple[str, ...] = ()
    folder: str = ""
    """Working folder, relative to the rules' root."""


class Header(Struct, frozen=True, kw_only=True):
    """What was known when a trace began."""

    id: str
    """26 characters, sortable by time of creation (ULID)."""
    created: str
    """ISO 8601, UTC."""
    command: Command
    name: str | None = None
    python: str = ""
    autochron: str = ""
    """Version of autochron."""
    rules: str = ""
    """Digest of the rules."""
    children: bool = False
    """Whether the processes that the program started were to be recorded with it."""
    ambient: bool = False
    """Whether the rules asked for ambient values of the project's lines."""
    hash_seed: str = ""
    """`PYTHONHASHSEED` of the run, by which sets have their order; empty where it was chance's."""
    typed: bool = False
    """Whether inputs tell types and state; those of older versions are compared as JSON."""
    seal: str = ""
    """By the key of the user who recorded the command in this folder: who has it need not ask before it is run again."""


class Connection(Struct, frozen=True):
    """A network connection made outside every crossing."""

    address: str
    site: str
    """The project's line that led to it, or `?`."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """What a path held before the recorded run opened it."""

    path: str
    """Relative to the rules' root, with `/` between; absolute where it lies elsewhere."""
    kind: Literal["file", "sqlite", "absent", "folder", "link", "not-kept"]
    """`absent`: there was nothing. `folder`: the names that it had. `not-kept`: `reason` says why."""
    digest: str = ""
    """SHA-256 of the content that is kept, hex, which is also the name of the file that holds it."""
    size: int = 0
    """Bytes."""
    mode: int = 0
    """Permission bits."""
    modified: int = 0
    """When it was changed last, in nanoseconds since 1970."""
    names: tuple[str, ...] = ()
    """Of a folder."""
    target: str = ""
    """Where a symbolic link leads, as it says."""
    reason: str = ""
    at: int = 0
    """Nanoseconds since the trace began."""
    by_rule: bool = False
    """Whether a [[snapshot]] asked for it."""
    wrote: bool = False
    """Whether it was opened to be written inside a boundary, and not just read or written elsewhere."""


class FileRead(Struct, frozen=True):
    """A file that was read inside a boundary and is not kept."""

    path: str
    """As for a snapshot."""
    digest: str
    """SHA-256, hex."""


class StateEffect(Struct, frozen=True, order=True):
    """Something that was changed outside the program: a row, a line, a file."""

    path: str
    """The file, or the module and name of a global."""
    what: str
    """In words: `row added to refunds`, `line added`, `file created`, `changed at balance.eur`."""
    value: bytes = b"null"
    """JSON: the row, the line, the value."""


class Unwoven(Struct, frozen=True):
    """Something that a rule meant and that was not woven, or that a woven place could not carry, and why."""

    what: str
    reason: str
    slug: str


ADDRESS = "address-in-input"
"""The slug of a boundary whose input depends on where objects lie in memory."""

NOT_COMPARED = "not-compared"
"""The slug of a boundary with an input that is too large to be compared."""

UNTESTED = "untested-version"
"""The slug of a library whose version its pack was not tested with: it is woven all the same."""


class OutsideEffect(Struct, frozen=True, kw_only=True):
    """What a program did to the world outside every boundary, by one line of the project."""

    kind: Literal["file", "database", "program", "connection", "signal"]
    does: str
    """A verb: `writes`, `removes`, `starts`."""
    what: str
    """The path relative to the rules' root, the program or the address."""
    site: str
    """The project's line: `agent.py:31`."""
    function: str = ""
    """The function around that line, as `module:qualified name`."""
    digest: str = ""
    """Of what a file or database held in the end, hex; `absent`, `folder`, or empty where it is not compared."""
    rough: str = ""
    """The same without times of day and durations."""
    reason: str = ""
    """Why it is not compared."""
    near: str = ""
    """The rule that nearly fits the function, and why it does not."""


class Unprinted(Struct, frozen=True, array_like=True):
    """Lines of standard output that were written past Python's streams: by `os.write`, C code or a child process."""

    line: int
    """The first, counted from 0."""
    count: int
    during: tuple[int, ...] = ()
    """Crossings of tools that ran meanwhile, by their `seq`."""


class Secrets(Struct, frozen=True, array_like=True):
    """Digests of the lines of standard output that are masked, in their order, and the key that they were made with."""

    key: str
    digests: tuple[str, ...]


class Footer(Struct, frozen=True, kw_only=True):
    """What was known when a trace ended. A trace without one was cut off."""

    status: int | None = None
    """Exit status; None for a block."""
    error: str | None = None
    """Type of the exception that ended the program or the block."""
    stdout: bytes = b"null"
    """Stored body of what the program printed, masked."""
    said: bool = False
    """Whether `stdout` is all that was written to the descriptor, by whomever; else by Python's streams and `os.write`."""
    unprinted: tuple[Unprinted, ...] = ()
    """Lines of that which Python's streams did not print."""
    secrets: Secrets | None = None
    stderr: bytes | None = None
    """Stored body of what Python's own stream of standard error wrote, masked; None where the rules don't ask for it."""
    stdin: bytes = b"null"
    """Stored body of what the program read from standard input."""
    stdin_kind: str = ""
    """What standard input was: `file`, `pipe`, `terminal` or empty."""
    unwoven_tools: tuple[str, ...] = ()
    """Tools that the model asked for, that never crossed, and that no boundary is known to cover."""
    declined_tools: tuple[str, ...] = ()
    """Tools that the model asked for, that a boundary covers, and that the agent never called."""
    connections: tuple[Connection, ...] = ()
    ledger: tuple[Unwoven, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    """(distribution, version) of every library that a pack covers and the program imported."""
    environment: tuple[tuple[str, str], ...] = ()
    """The variables that change where or what those libraries call, masked."""
    credentials: tuple[str, ...] = ()
    """The credentials that were set; a replay fills in placeholders for these."""
    lost: int = 0
    """Envelopes that could not be written."""
    watched: bool = False
    """Whether calls were looked for that escape the record."""
    findings: tuple[Finding, ...] = ()
    """The non-deterministic calls that the watch saw, with those that a boundary or an ignore covers."""
    snapshots: tuple[Snapshot, ...] = ()
    """What files and databases held before the run opened them to write."""
    reads: tuple[FileRead, ...] = ()
    """The project's files that were read inside a boundary, and that no snapshot has."""
    effects: tuple[OutsideEffect, ...] = ()
    """What the program did to the world outside every boundary."""
    knows_effects: bool = False
    """Whether that was looked for."""
    call: Envelope | None = None
    """The call that the trace is of: its bound arguments and its outcome. None for other traces.

    Its `seq` is 0. Its `meta` has what the call is made again by: `arguments` (parameter to value in the typed codec; what is
    opaque or masked in them stands in `opaque` and `masked` below `arguments`), `attributes` (parameter to the attribute of a
    module that it was, `app:shop`), and of an HTTP request `request`: its `parameter`, `headers`, `scheme` and `root_path`;
    `app`, the application as an attribute of a module; `missing`, why its body is not kept. `response` is the status and the
    stored body of an HTTP response.
    """


class ChildEnd(Struct, frozen=True, kw_only=True):
    """What a child process had to say when it ended: its own last word, and what only the report tells."""

    footer: Footer
    opaque: tuple[str, ...] = ()
    by_type: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()
    """Ids of the rules that fitted something there."""


class Child(Struct, frozen=True):
    """A child process that was recorded into a trace."""

    lane: str
    """The lane that it began in."""
    end: ChildEnd | None
    """None while it goes on, and for ever if it was cut off or had nothing to say."""


class Trace(Struct, frozen=True):
    """The envelopes of one run, in order of start, with header and footer."""

    header: Header
    envelopes: tuple[Envelope, ...]
    footer: Footer | None


class Crossed(Struct, frozen=True):
    """A boundary at a place of the program, and how often it was crossed there in one trace."""

    name: str
    kind: Kind
    site: str
    count: int
    ruled: str
    """The site that a rule is for: that of what it was passed to as an argument, where it was woven for that."""


class TraceSummary(Struct, frozen=True):
    """One row of `traces list`."""

    header: Header
    crossings: int
    status: int | None
    complete: bool
    size: int
    """Bytes in the store."""


OUTSIDE = "(outside)"
"""The address of evidence of what was done outside of every live crossing."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a replay saw of one live crossing beside its outcome: what a verdict of an incident rests on."""

    address: str
    effects: tuple[StateEffect, ...] = ()
    crash: str | None = None
    """How it ended, where that is a crash and no refusal: `NameError: name 'limt' is not defined, at tools.py:12`."""
    refusal: str | None = None
    """The type of what it raised, where that is a refusal."""
    stale: tuple[str, ...] = ()
    """Files that it read, and that hold something else than when the trace was recorded."""
    unkept: tuple[str, ...] = ()
    """State that it used and of which no snapshot was kept, each with the reason."""
    opened_before: tuple[str, ...] = ()
    """Files and databases that were open before the replay began, so that it could not work on a copy."""
    left_running: tuple[str, ...] = ()
    """Threads and tasks that it started, and that were at work when it had ended."""


Severity: TypeAlias = Literal["error", "warning", "consequence", "notice"]
"""What a disagreement means: a failed replay; something to look at; what followed from a live crossing; a hint."""


class Divergence(Struct, frozen=True, kw_only=True):
    """One disagreement of replay and record."""

    kind: Literal[
        "missing",
        "extra",
        "reordered",
        "input",
        "outcome",
        "attempts",
        "output",
        "status",
        "network",
        "child",
        "denied",
        "stale-state",
        "invented",
        "unwatched",
        "not-compared",
        "effect",
    ]
    address: str
    message: str
    """Fact, place and remedy, one or more lines."""
    severity: Severity = "error"
    nearest: str | None = None
    path: str | None = None
    """The first field that differs."""
    recorded: str | None = None
    replayed: str | None = None


Mode: TypeAlias = Literal["served", "opened", "live", "invented"]
"""How a crossing went on a replay: from the record; its body ran because something live lies inside, or to be compared only;
for real; or, for an ambient value without a record, from the trace's own time and chance."""


class Replayed(Struct, frozen=True, kw_only=True):
    """One crossing of a replay."""

    mode: Mode
    envelope: Envelope
    """As it was in the replay: `seq` in order of start there, `parent` of the same numbering, and for what was recorded the
    address of its record."""
    recorded: Envelope | None
    """Its record; None where there is none."""


# --- what is told to people and programs -----------------------------------------------------------------------------


class RunSummary(Struct, frozen=True, kw_only=True):
    """What a recording came to."""

    trace: str
    """Id of the trace."""
    store: str
    counts: tuple[tuple[str, int], ...]
    """(boundary, crossings) of what is in the store, by name."""
    footer: Footer
    crossings: int = 0
    """How many there were, with those that were lost."""
    opaque: tuple[str, ...] = ()
    """What can't be rebuilt on replay: `boundary: path: type`."""
    by_type: tuple[str, ...] = ()
    """What of an input is compared by its type only: `boundary.path: type`."""
    masked: tuple[str, ...] = ()
    """What was masked in an outcome: `boundary: path`."""
    requests: int = 0
    """How many calls had a trace of their own."""
    problems: tuple[str, ...] = ()
    """What went wrong on our side, in one line each."""
    kept: bool = True
    """Whether the trace is in the store; not where only those of failed runs are kept."""
    stale: tuple[str, ...] = ()
    """What is wrong with ignores, a line each."""

    @property
    def stored(self) -> int:
        """How many crossings are in the store."""
        return sum(count for _, count in self.counts)

    @property
    def lost(self) -> int:
        """How many crossings could not be written, as far as it is known."""
        return max(0, self.crossings - self.stored) or self.footer.lost


class ReplaySummary(Struct, frozen=True, kw_only=True):
    """What a replay came to."""

    trace: str
    same: bool
    status: int
    """Exit status of the program."""
    crossings: int
    complete: bool
    """Whether the trace has an end to compare with."""
    live: tuple[str, ...] = ()
    """Addresses of what ran live."""
    divergences: tuple[Divergence, ...] = ()
    problems: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The non-deterministic calls outside every boundary that were not there when it was recorded."""
    evidence: tuple[Evidence, ...] = ()
    """What was seen of live crossings beside their outcomes."""
    swallowed: tuple[str, ...] = ()
    """Crashes in the project's code that it caught itself: `NameError: …, at agent.py:40`."""
    uncaught: str | None = None
    """The type of the exception that ended the program."""
    broke: str | None = None
    """How the program crashed, where it was no refusal that ended it: `ImportError: …, at tools.py:1`."""
    sources: tuple[str, ...] = ()
    """The project's modules that were imported, relative to the rules' root; only for who judges the replay."""
    typed: bool = True
    """Whether the trace tells the types of inputs; without them these are compared as JSON."""
    effects: int = 0
    """Files and databases that were changed outside every boundary, on the scratch copy."""
    allowed: int = 0
    """Programs, connections, signals and files that rules or `--allow-effects` let be."""

    @property
    def not_compared(self) -> int:
        """How many values nothing could be said of, because they are too large to be compared."""
        return sum(each.kind == "not-compared" for each in self.divergences)


class Incident(Struct, frozen=True, kw_only=True):
    """A folder with a trace, its rules and a test."""

    folder: str
    """As it was given."""
    trace: str
    files: tuple[str, ...]
    test: str
    """The file of the test."""
    waits: bool
    """Whether the test waits for someone to write in it how the agent is called."""
    raises: str | None = None
    """The type of the exception by which a test that makes a recorded call again fails, where that call raised."""
    warnings: tuple[str, ...] = ()
    root: str = ""
    """The folder that the trace's sites start from."""


class Tried(Struct, frozen=True):
    """What became of the test of an incident on today's code."""

    outcome: Literal["failed", "waits", "passed", "inconclusive", "broken", "untried"]
    """`failed` as it should; `inconclusive`: it can't be told; `broken`: it failed or ended in another way."""
    said: str
    notes: tuple[str, ...] = ()
    """What was found out by trying: fields that vary, what live tools did, state that is missing."""

    @property
    def is_right(self) -> bool:
        """Whether it is as it should be, as far as that was seen."""
        return self.outcome not in {"passed", "inconclusive", "broken"}


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


class Difference(Struct, frozen=True, kw_only=True):
    """One thing in which two traces differ."""

    kind: Literal[
        "command",
        "missing",
        "extra",
        "reordered",
        "input",
        "model",
        "sampling",
        "outcome",
        "changed",
        "exchange",
        "status",
        "output",
        "stdin",
        "end",
        "not-compared",
    ]
    address: str | None
    """Of the crossing, in the first trace if it is there; None where it is of the run as a whole."""
    message: str
    severity: Severity = "error"
    """`warning` is told and doesn't count."""
    path: str | None = None
    """The first field that differs."""
    first: str | None = None
    second: str | None = None


class Paired(Struct, frozen=True):
    """A crossing of one trace and what it is in another; None where it isn't there."""

    first: Envelope | None
    second: Envelope | None
    differences: tuple[Difference, ...] = ()


class Comparison(Struct, frozen=True, kw_only=True):
    """Two traces beside each other."""

    first: Header
    second: Header
    same: bool
    pairs: tuple[Paired, ...]
    """In order of start in the first trace, with what is extra where it was in the second. What lies inside a crossing
    that is missing or extra isn't listed."""
    run: tuple[Difference, ...] = ()
    """What is of the run as a whole."""


# --- findings ------------------------------------------------------------------------------------------------------

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
