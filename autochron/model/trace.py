"""What a trace holds: envelopes, exchanges, header and footer."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.json import decode

from autochron.model.findings import Finding
from autochron.model.rules import Kind

Form: TypeAlias = Literal["value", "awaitable", "iterator", "async_iterator", "object", "future"]
"""The shape of what a call handed to its caller, so that a replay hands out the same.

`value` is the plain case, and also that of coroutine functions and generators, whose shape their code gives.
"""


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
