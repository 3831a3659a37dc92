"""`with autochron.record(...)` and `with autochron.replay(...)`: sessions around a block of a program."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.json import decode

from autochron._runtime import std_streams, unpatched
from autochron._runtime.unpatched import os
from autochron.config import default_store, find_rule_file
from autochron.crossing.processes import attending
from autochron.errors import UnconfirmedToolError, UnwovenToolError, UsageError
from autochron.instrument.activation import activate
from autochron.model import Command, Finding, Footer, Rules, Trace
from autochron.ports import Store
from autochron.rules.loading import load_rules
from autochron.session import header as facts
from autochron.session.children import Children
from autochron.session.recording import Recording
from autochron.store import open_store, read_durability
from autochron.weaving import gate

if TYPE_CHECKING:
    from autochron.ports import Record
    from autochron.recording.recorder import Recorder
    from autochron.store.database import Durability

_rules: dict[tuple[str | None, int, str], Rules] = {}


def rules_for(rules: Rules | str | os.PathLike[str] | None) -> Rules:
    """Return the rules: those passed, those of a file, or those of the nearest rule file.

    The nearest is looked for in the working folder and above. Rules are loaded again only after their file has
    changed.

    Raises:
        RuleError: the rules are invalid, or the file can't be read.
    """
    if isinstance(rules, Rules):
        return rules
    file = os.fspath(rules) if rules is not None else _nearest_rule_file()
    try:
        changed = 0 if file is None else os.stat(file).st_mtime_ns
    except (OSError, ValueError):  # loading reports it
        changed = -1
    key = (file, changed, "" if file is not None and os.path.isabs(file) else os.getcwd())
    loaded = _rules.get(key)
    if loaded is None:
        loaded = _rules[key] = load_rules(file)
    return loaded


_LOOK_AGAIN = 500_000_000
"""Nanoseconds after which the nearest rule file is looked for again. A suite may begin thousands of sessions a second."""

_nearest: dict[str, tuple[int, str | None]] = {}
"""By working folder: when the nearest rule file was looked for, and its path."""


def _nearest_rule_file() -> str | None:
    folder, nanoseconds = os.getcwd(), unpatched.perf_counter_ns()
    entry = _nearest.get(folder)
    if entry is None or nanoseconds - entry[0] > _LOOK_AGAIN:
        entry = _nearest[folder] = (nanoseconds, find_rule_file())
    return entry[1]


def store_for(store: Store | str | None, rules: Rules) -> Store:
    """Return the store: the one passed, the one at a URL or path, or the default one of the rules."""
    if store is None:
        return open_store(default_store(rules.file))
    return open_store(os.fspath(store)) if isinstance(store, str | os.PathLike) else store


class record:  # noqa: N801 - reads as a verb: `with autochron.record(...)`
    """Record what crosses the boundaries while a block runs: `with autochron.record("run-1") as recording:`.

    Nothing is recorded before the block is entered. An exception of the block is noted in the trace and goes on. A fault of
    the recording never breaks the block; it is listed in `problems`.

    Args:
        name: a name for the trace. `replay(name)` finds the latest one of this name.
        store: a URL (`sqlite:///traces.db`, `memory:`), a path, or an open store; default
            `.autochron/traces.db` beside the rules.
        rules: the path of a rule file, or rules that were loaded; default `autochron.toml`, or a `pyproject.toml` with a
            `[tool.autochron]` table, found upward from the working folder.
        durability: `group` makes envelopes durable within 50 ms; `sync` before the crossing's caller goes on.
        watch: whether to look for non-deterministic calls outside every boundary, for `findings`. It takes milliseconds.

    Raises:
        RuleError: on entering the block, if the rules are invalid.
        StoreError: on entering the block, if the store can't be opened.
        UsageError: there is no such durability; or on entering the block, if another recording or replay is under way in this
            process.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        store: Store | str | None = None,
        rules: Rules | str | os.PathLike[str] | None = None,
        durability: Durability = "group",
        watch: bool = False,
    ) -> None:
        self._name = name
        self._store = store
        self._rules = rules
        self._durability = read_durability(durability)
        self._watch = watch
        self._recording: Recording | None = None
        self._stop_listening: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        refuse_second()
        rules = rules_for(self._rules)
        activation = activate(rules)
        self.store = store_for(self._store, rules)
        command = Command("block", "", (), facts.folder_of(rules))
        children = rules.children and self.store.url is not None
        header = facts.header(rules, command, self._name, children=children)
        self._recording = Recording(activation, self.store, header, durability=self._durability)
        self._recording.begin()
        if self._watch:
            self._recording.watch()
        self._stop_listening = std_streams.listen_to_prints(self._recording.printed, any_stream=True)
        self._recording.hear()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        recording = self._recording
        if self._stop_listening is not None:
            self._stop_listening()
        if recording is not None and recording.watching is not None:
            recording.watching.end()
        if recording is not None:
            recording.end(None, None if kind is None else kind.__qualname__)

    @property
    def id(self) -> str:
        """The id of the trace."""
        return self._session.header.id

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The non-deterministic calls so far, including those that a boundary or an ignore covers.

        Raises:
            UsageError: the recording began without `watch=True`.
        """
        watching = self._session.watching
        if watching is None:
            raise UsageError("this recording does not look for findings; begin it with watch=True")
        return watching.findings()

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong on our side, one line each. If empty, everything was recorded."""
        self._session.writer.flush()
        return tuple(self._session.problems)

    @property
    def footer(self) -> Footer | None:
        """The footer of the trace, once the block has ended."""
        return self._session.footer

    def trace(self) -> Trace:
        """Read the trace back."""
        self._session.writer.flush()
        return self.store.load(self.id)

    @property
    def recorder(self) -> Recorder:
        """The recorder, which notes the crossings."""
        return self._session.recorder

    @property
    def _session(self) -> Recording:
        assert self._recording is not None, "the block has not begun"  # noqa: S101 - a mistake of the caller
        return self._recording


def refuse_second() -> None:
    """Refuse to begin while another recording or replay is under way.

    A session that this process has joined as a child of another process gives way. The new one then runs as it would
    alone.

    Raises:
        UsageError: another recording or replay is under way in this process.
    """
    children = attending()
    if isinstance(children, Children) and children.owner.is_child:
        children.owner.step_aside()
    if gate.is_on():
        raise UsageError(
            "a recording or replay is under way in this process; end it before the next one begins"
        )


def refuse_unwoven(
    record: Record, rules: Rules | None = None, *, remedy: str = ", or say --allow-unwoven"
) -> None:
    """Refuse a trace in which the model asked for tools that never crossed, or that are not known for certain.

    Args:
        record: the trace.
        rules: the rules of today. With them, the message has the tables of what the tools may be.
        remedy: what else the user could do, for the message.

    Raises:
        UnwovenToolError: there is such a tool.
    """
    footer = record.footer
    if footer is None:
        _refuse_cut_off(record, rules, remedy)
        return
    unsure = footer.unconfirmed_tools()
    if unsure:
        places = ", ".join(f"{tool.tool} ({tool.file}:{tool.line})" for tool in unsure)
        raise UnconfirmedToolError(
            f"trace {record.header.id}: {places} was found {unsure[0].how}, and no result that the model got holds what it "
            f"returned, so the tool may be another function; if it is this one, write its table and record again{remedy}"
            f"{_as_end([tool.table() for tool in unsure])}{_tables(record, rules)}"
        )
    if footer.unwoven_tools:
        tools = ", ".join(footer.unwoven_tools)
        raise UnwovenToolError(
            f"trace {record.header.id}: the model asked for {tools}, which no crossing answers and no boundary is known to "
            f"cover, so a replay may run it for real; add a [[boundary]] for it and record again{remedy}"
            f"{_tables(record, rules)}"
        )


def _refuse_cut_off(record: Record, rules: Rules | None, remedy: str) -> None:
    """Refuse a trace that was cut off if the model asked in it for a tool that never crossed, and no rule is known to cover.

    Such a trace does not say which tools no boundary covered, or were found.
    """
    crossed = {name for boundary in record.boundaries() for name in (boundary.name, _last(boundary.site))}
    asked = [name for name in _asked_for(record) if name not in crossed]
    if not asked or rules is None:
        return
    from autochron.diagnostics import suggest  # lazy: few traces are cut off

    missing = suggest.uncovered_tools(asked, rules, rules.root or os.getcwd())
    if missing:
        raise UnwovenToolError(
            f"trace {record.header.id} was cut off before its end: the model asked for {', '.join(missing)}, which no "
            f"crossing answers and no boundary is known to cover, so a replay may run it for real; add a [[boundary]] for it "
            f"and record again{remedy}"
        )


def _asked_for(record: Record) -> list[str]:
    """Return the names of the tools that models asked for."""
    metas = [
        decode(envelope.meta)
        for envelope in record
        if envelope.kind == "model" and b'"tools":' in envelope.meta
    ]
    return list(dict.fromkeys(name for meta in metas for name in meta.get("tools", ())))


def _last(site: str) -> str:
    return site.rpartition(":")[2].rpartition(".")[2]


def _tables(record: Record, rules: Rules | None) -> str:
    """Return the tables of what the unknown tools of a trace may be, for the end of a message."""
    if rules is None:
        return ""
    from autochron.diagnostics import suggest  # lazy: a replay that is refused

    folder = rules.root or os.getcwd()
    suggestions = [
        entry for entry in suggest.suggest_tools(record, rules, folder) if entry.group == "blocking"
    ]
    tables = [f"# {entry.reason}\n{suggest.text(entry)}".rstrip() for entry in suggestions]
    return _as_end(tables)


def _as_end(tables: list[str]) -> str:
    """Return tables as the end of a message, which its slug follows."""
    return "\n\n" + "\n\n".join(tables) + "\n\n" if tables else ""
