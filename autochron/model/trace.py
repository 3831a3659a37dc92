"""The parts of a trace: header, envelopes with exchanges, and footer."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal, TypeAlias

from msgspec import Struct, json
from msgspec.json import decode

from autochron.model.findings import Finding
from autochron.model.rules import Kind

Form: TypeAlias = Literal["value", "awaitable", "iterator", "async_iterator", "object", "future"]
"""The form of the object that a call returned to its caller, so that a replay returns the same.

`value` is the usual case, and also that of coroutine functions and generators, whose form is known from their code.
"""


class Returned(Struct, gc=False, frozen=True, tag="returned"):
    """The call returned a value, encoded by the typed codec, or the object of one of its arguments.

    An argument is named by its parameter, or as `args.0` and `kwargs.name` if `*args` and `**kwargs` contain it.
    """

    value: bytes = b"null"
    argument: str | None = None


class Raised(Struct, gc=False, frozen=True, tag="raised"):
    """The call raised an exception, encoded by the typed codec."""

    error: bytes


class Abandoned(Struct, gc=False, frozen=True, tag="abandoned"):
    """The stream was neither finished nor closed before the run ended."""


class Closed(Struct, gc=False, frozen=True, tag="closed"):
    """The consumer closed the stream early."""


class Streamed(Struct, gc=False, frozen=True, tag="streamed"):
    """The call returned a stream: each item encoded by the typed codec, and how the stream ended."""

    items: tuple[bytes, ...]
    end: Returned | Raised | Abandoned | Closed


Outcome: TypeAlias = Returned | Raised | Streamed


class Exchange(Struct, gc=False, frozen=True, kw_only=True):
    """One HTTP request and its response, of the last attempt."""

    method: str
    url: str
    request: bytes
    """Stored body of the request (JSON text; see `envelope.bodies`), masked."""
    status: int = 0
    """0 if the transport raised."""
    headers: tuple[tuple[str, str], ...] = ()
    """Response headers, masked, without those of the transfer (content-encoding, transfer-encoding, …)."""
    body: bytes = b"null"
    """Stored body of the response."""
    error: bytes | None = None
    """The exception of the transport, encoded by the typed codec; None if there is a response."""
    attempts: int = 1
    complete: bool = True
    """False if the response's body was not read to its end."""


class Envelope(Struct, gc=False, frozen=True, kw_only=True):
    """The record of one crossing."""

    seq: int
    """Number of the crossing in the trace, by order of start, from 1."""
    name: str
    nth: int
    """Occurrence of the name, from 1. Name and occurrence are the address: `place_order[1]`."""
    kind: Kind
    lane: str
    """`0` is the main lane. `0/fetch.2` is the second task or thread that ran `fetch` and was started from the main lane."""
    parent: int | None
    """`seq` of the enclosing crossing; None if there is none."""
    site: str
    """The definition that was crossed: `shop/tools.py:refund`, `openai._base_client:SyncAPIClient.request`; with an `@`
    in front if it was marked by hand."""
    input: bytes
    """Canonical JSON object of the arguments before the call, by parameter. `$types` has the type information that JSON
    lacks."""
    outcome: Outcome
    form: Form = "value"
    exchanges: tuple[Exchange, ...] = ()
    reenters: bool = False
    """Whether a replay runs the body again and serves its exchanges."""
    changed: bytes | None = None
    """Typed JSON object of the arguments that the call changed in place, as they were after it, by parameter."""
    meta: bytes = b"{}"
    """JSON object with these keys: `model`, `sampling`, `usage`, `sdk`, `tools`; `printed`: what the body wrote to standard
    output; `prints`: the pieces of that, if others printed in between; `steps`: by number of items, what the body wrote and
    which arguments it changed; `sent`: by number of items, what was sent or thrown in; `handed`: facts about the returned
    object; `passed`: the site of the call that got this function as an argument, if a rule's `argument` led to it."""
    started: int = 0
    """Nanoseconds since the trace began."""
    duration: int = 0
    """Nanoseconds."""
    masked: tuple[str, ...] = ()
    """Paths in the outcome that redaction masked. A replay serves the mask.

    Paths that begin with `items.*`, `return` or `changed` lead into a stream's items, its return value, or `changed`.
    """
    opaque: tuple[str, ...] = ()
    """`path: type` of each value that can't be rebuilt, or changed again. The paths begin as in `masked`.

    Values at paths that begin with `(input)` are compared by their type only.
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
        """Whether it is an ambient value that a line of the project read, or a function marked as ambient by hand."""
        return self.kind == "ambient" and self.site.startswith("@")


class Command(Struct, frozen=True):
    """The command that was run, with all that is needed to run it again."""

    mode: Literal["script", "module", "console", "block"]
    """`block` is `with autochron.record(...)`, or a call that has a trace of its own."""
    target: str
    arguments: tuple[str, ...] = ()
    folder: str = ""
    """Working folder, relative to the rules' root."""


class InputForm(IntEnum):
    """How inputs are written: each form has all of the one before it."""

    UNTYPED = 0
    """As JSON. Traces of formats 1 and 2 have it."""
    TYPED = 1
    """With types and state. Traces of format 3 have it."""
    NUMBERED = 2
    """A part that lies on a cycle is written once, and by its number where it occurs again."""


class Header(Struct, frozen=True, kw_only=True):
    """The facts about a trace that were known when it began."""

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
    """Whether child processes of the program were to be recorded with it."""
    ambient: bool = False
    """Whether rules record ambient values of the project's lines."""
    hash_seed: str = ""
    """`PYTHONHASHSEED` of the run, which the order of sets depends on; empty if it was random."""
    typed: bool = False
    """Whether inputs have types and state. Inputs of older versions don't, and are compared as JSON."""
    numbered: bool = False
    """Whether a part of an input that lies on a cycle is written once, and by its number where it occurs again."""
    seal: str = ""
    """A signature of the command and its folder with the key of the user who recorded it. A command with a valid seal of the
    user's runs again without a question."""

    @property
    def input_form(self) -> InputForm:
        """The form of the inputs."""
        if not self.typed:
            return InputForm.UNTYPED
        return InputForm.NUMBERED if self.numbered else InputForm.TYPED


class Connection(Struct, frozen=True):
    """A network connection made outside every crossing."""

    address: str
    site: str
    """The project's line that led to it, or `?`."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """The state of a path before the recorded run opened it."""

    path: str
    """Relative to the rules' root, with `/`; absolute if it is elsewhere."""
    kind: Literal["file", "sqlite", "absent", "folder", "link", "not-kept"]
    """`absent`: the path did not exist. `folder`: only the names in it are kept. `not-kept`: `reason` says why."""
    digest: str = ""
    """SHA-256 of the content that is kept, in hex, which is also the name of the file with the content."""
    size: int = 0
    """Bytes."""
    mode: int = 0
    """Permission bits."""
    modified: int = 0
    """Time of the last change, in nanoseconds since 1970."""
    names: tuple[str, ...] = ()
    """The names in a folder."""
    target: str = ""
    """The target of a symbolic link, as the link has it."""
    reason: str = ""
    at: int = 0
    """Nanoseconds since the trace began."""
    by_rule: bool = False
    """Whether a `[[snapshot]]` table is the reason to keep it."""
    wrote: bool = False
    """Whether it was opened for writing inside a boundary, and not just read or written elsewhere."""


class FileRead(Struct, frozen=True):
    """A file that was read inside a boundary and has no snapshot."""

    path: str
    """The path, as in a snapshot."""
    digest: str
    """SHA-256 of its content, in hex."""


class StateEffect(Struct, frozen=True, order=True):
    """A change of the state outside the program, or of a global: a row, a line, a file, a value."""

    path: str
    """The file, or the module and name of a global."""
    what: str
    """The change in words: `row added to refunds`, `line added`, `file created`, `changed at balance.eur`."""
    value: bytes = b"null"
    """JSON of the row, the line or the value."""


class Unwoven(Struct, frozen=True):
    """Something that a rule fits and that was not woven, or that a woven place does not support, and the reason."""

    what: str
    reason: str
    slug: str


ADDRESS = "address-in-input"
"""The slug of a boundary whose input depends on the memory addresses of objects."""

NOT_COMPARED = "not-compared"
"""The slug of a boundary with an input that is too large to be compared."""

UNTESTED = "untested-version"
"""The slug of a library whose pack was not tested with the installed version. It is woven nevertheless."""


NOT_CALLED = "not-called"
"""The slug of a function that has the name of a tool and did not run. It counts only if nothing else answered the tool."""


class OutsideEffect(Struct, frozen=True, kw_only=True):
    """An effect outside every boundary, of one line of the project."""

    kind: Literal["file", "database", "program", "connection", "signal"]
    does: str
    """A verb: `writes`, `removes`, `starts`."""
    what: str
    """The path relative to the rules' root, the program, or the address."""
    site: str
    """The project's line: `agent.py:31`."""
    function: str = ""
    """The enclosing function, as `module:qualified name`."""
    digest: str = ""
    """Digest of the final content of a file or database, in hex; `absent`, `folder`, or empty if it is not compared."""
    rough: str = ""
    """The digest without times of day and durations."""
    reason: str = ""
    """Why it is not compared; empty if it is."""
    near: str = ""
    """The rule that nearly fits the function, and why it does not."""


class Unprinted(Struct, frozen=True, array_like=True):
    """Lines of standard output that were not written by Python's streams but by `os.write`, C code or a child process."""

    line: int
    """The first line, counted from 0."""
    count: int
    """The number of lines."""
    during: tuple[int, ...] = ()
    """`seq` of the tools' crossings that ran meanwhile."""


class Secrets(Struct, frozen=True, array_like=True):
    """Keyed digests of the lines of standard output that are masked, in order, and their key."""

    key: str
    digests: tuple[str, ...]


class FoundTool(Struct, frozen=True):
    """A tool that was found in the program: a definition that no rule names, and that ran when the model had asked for it."""

    tool: str
    """The name by which the model asks for it."""
    module: str
    qualname: str
    file: str
    """Relative to the rules' root, with `/`."""
    line: int
    """The first line of the definition."""
    how: Literal["by name", "by value"]
    is_confirmed: bool
    """Whether a later request of the model carried what it returned."""
    capture: tuple[str, ...] = ()
    """The parameters that are its input, if the framework passes objects of its own beside them."""
    changes: tuple[str, ...] | None = None
    """What it may change of its arguments; None for all."""

    def table(self) -> str:
        """Return the `[[boundary]]` table that names it."""
        target = json.encode(f"{self.module}:{self.qualname}").decode()
        table = f'[[boundary]]\nname = {json.encode(self.tool).decode()}\nkind = "tool"\ntarget = {target}'
        for key, paths in (("capture", self.capture), ("changes", self.changes or ())):
            table += f"\n{key} = [{', '.join(json.encode(path).decode() for path in paths)}]" if paths else ""
        return table


class Footer(Struct, frozen=True, kw_only=True):
    """The facts about a trace that were known when it ended. A trace without a footer was cut off."""

    status: int | None = None
    """Exit status; None for a block."""
    error: str | None = None
    """Type of the exception that ended the program or the block."""
    stdout: bytes = b"null"
    """Stored body of what the program printed, masked."""
    said: bool = False
    """Whether `stdout` is everything that was written to the descriptor; else only what Python's streams and `os.write`
    wrote."""
    unprinted: tuple[Unprinted, ...] = ()
    """The lines of `stdout` that Python's streams did not print."""
    secrets: Secrets | None = None
    stderr: bytes | None = None
    """Stored body of what Python's stream of standard error wrote, masked; None if the rules don't ask for it."""
    stdin: bytes = b"null"
    """Stored body of what the program read from standard input."""
    stdin_kind: str = ""
    """The kind of standard input: `file`, `pipe`, `terminal` or empty."""
    unwoven_tools: tuple[str, ...] = ()
    """Tools that the model requested, that have no crossing, and that no boundary is known to cover."""
    declined_tools: tuple[str, ...] = ()
    """Tools that the model requested, that a boundary covers, and that the agent never called."""
    output_forms: tuple[str, ...] = ()
    """Tools that are types of data, which the model had to fill in: no function runs where it asks for them."""
    found_tools: tuple[FoundTool, ...] = ()
    """The found tools that crossed a boundary."""
    connections: tuple[Connection, ...] = ()
    ledger: tuple[Unwoven, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    """(distribution, version) of every library that a pack covers and the program imported."""
    environment: tuple[tuple[str, str], ...] = ()
    """(name, value) of the environment variables that change where or what those libraries call, masked."""
    credentials: tuple[str, ...] = ()
    """Names of the credentials that were set; a replay sets placeholders for them."""
    lost: int = 0
    """Number of envelopes that could not be written."""
    watched: bool = False
    """Whether the run was watched for non-deterministic calls."""
    findings: tuple[Finding, ...] = ()
    """The non-deterministic calls that the watch found, including those that a boundary or an ignore covers."""
    snapshots: tuple[Snapshot, ...] = ()
    """The state of files and databases before the run opened them for writing."""
    reads: tuple[FileRead, ...] = ()
    """The project's files that were read inside a boundary and have no snapshot."""
    effects: tuple[OutsideEffect, ...] = ()
    """The effects outside every boundary."""
    knows_effects: bool = False
    """Whether effects were recorded."""
    call: Envelope | None = None
    """For the trace of one call: the call, with its bound arguments and its outcome. None for other traces.

    Its `seq` is 0. Its `meta` has what is needed to repeat the call: `arguments` (by parameter, encoded by the typed codec;
    the paths in `opaque` and `masked` begin with `arguments`), `attributes` (by parameter, the attribute of a module that the
    argument was: `app:shop`). For an HTTP request it has `request` (its `parameter`, `headers`, `scheme` and `root_path`;
    `app`, the application as an attribute of a module; `missing`, why its body is not kept) and `response` (the status and
    the stored body).
    """

    def unconfirmed_tools(self) -> tuple[FoundTool, ...]:
        """Return the found tools of which no function is known to be the tool. A replay refuses them."""
        confirmed = {tool.tool for tool in self.found_tools if tool.is_confirmed}
        return tuple(tool for tool in self.found_tools if tool.tool not in confirmed)


class ChildEnd(Struct, frozen=True, kw_only=True):
    """The report of a child process at its end: its footer, and facts that only the report of the run has."""

    footer: Footer
    opaque: tuple[str, ...] = ()
    by_type: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()
    """Ids of the rules that fit something in the child process."""


class Child(Struct, frozen=True):
    """A child process that was recorded into a trace."""

    lane: str
    """The lane in which it was started."""
    end: ChildEnd | None
    """None while it runs, or if it was cut off or reported nothing."""


class Trace(Struct, frozen=True):
    """The envelopes of one run, in order of start, with header and footer. The footer is None if the run was cut off."""

    header: Header
    envelopes: tuple[Envelope, ...]
    footer: Footer | None


class Crossed(Struct, frozen=True):
    """A boundary at one site, and the number of its crossings in one trace."""

    name: str
    kind: Kind
    site: str
    count: int
    ruled: str
    """The site that a rule fits: usually `site`; for a function that was woven as an argument, that of the call."""


class TraceSummary(Struct, frozen=True):
    """One row of `traces list`."""

    header: Header
    crossings: int
    status: int | None
    complete: bool
    size: int
    """Bytes in the store."""
