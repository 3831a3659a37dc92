"""A recording: what a session's crossings are written by, and its last word."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, structs

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.bare import identity
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron._runtime.std_streams import listen_to_prints_anywhere
from autochron._runtime.unpatched import os
from autochron.crossing.kernel import Crossing, Kernel
from autochron.crossing.lanes import MAIN, Remote, Root
from autochron.effects.events import LISTS, SIGNAL_EVENTS, STATE_EVENTS, TEMPORARY_EVENTS
from autochron.effects.undisturbed import is_busy, undisturbed
from autochron.errors import AutochronError, MaskKeyError
from autochron.instrument.activation import Activation
from autochron.instrument.decorators import marked
from autochron.isolation import network
from autochron.model import (
    ADDRESS,
    NOT_COMPARED,
    Child,
    ChildEnd,
    Connection,
    Envelope,
    Footer,
    Header,
    OutsideEffect,
    RunSummary,
    Unwoven,
)
from autochron.project import function_of_project
from autochron.recording.envelope_prep import Tally
from autochron.recording.recorder import Recorder
from autochron.redaction.redactor import Redactor
from autochron.session import header as facts
from autochron.session.children import Children, Handing, Numbers, strangers
from autochron.session.footer import Ending, stranger
from autochron.session.session import Session
from autochron.stdio.transcript import NOTHING_SAID, Said
from autochron.store.processes import TAKEN
from autochron.store.writer import Writer
from autochron.weaving import gate

if TYPE_CHECKING:
    from autochron.crossing.kernels import Kernels
    from autochron.effects.keeper import StateKeeper
    from autochron.effects.outside import OutsideEffects
    from autochron.ports import Sink, Store
    from autochron.recording import drafts
    from autochron.recording.calls import CallDraft
    from autochron.recording.drafts import Begun, Item
    from autochron.redaction.mask_key import MaskKey
    from autochron.session import service_traces as requests
    from autochron.store import keeping, memory
    from autochron.store.keeping import Keeper
    from autochron.weaving.gate import Point
else:
    late_modules(
        globals(),
        "autochron.recording.drafts",
        "autochron.store.keeping",
        "autochron.store.memory",
        requests="autochron.session.service_traces",
    )

_NOTHING: frozenset[object] = frozenset()

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


_recording: Recording | None = None
_forks_noted = False


def _leave_parent() -> None:
    """Stop recording in a forked process where children are not recorded."""
    if _recording is not None and _recording.children is None:
        _recording.leave_parent()


class Joined(Struct, frozen=True):
    """What a child process records into."""

    sink: Sink
    lane: str
    first: int
    """The first seq of ours."""
    handing: Handing


class Recording(Session):
    """A session that records into a store, or a child process's part in one.

    Attributes:
        unseen: from the paths of standard streams that are not known at their descriptors to what they are.
    """

    unseen: Mapping[Any, str] = MappingProxyType({})
    _looked_up: frozenset[tuple[str, str]] = frozenset()
    """Lines that have looked up a name, with the port."""

    def __init__(
        self,
        activation: Activation,
        store: Store,
        header: Header,
        redactor: Redactor | None = None,
        *,
        durability: Literal["group", "sync"] = "group",
        joined: Joined | None = None,
        is_part: bool = False,
    ) -> None:
        super().__init__(activation, redactor)
        self._is_part = is_part
        self._outer: Recording | None = None
        """The recording that a call's trace is part of."""
        self.report = self.problem
        """Told what is wrong on our side; of the trace of a call by the process's own recording."""
        self._durability: Literal["group", "sync"] = durability
        self.requests = (
            requests.Requests(self.activation, self.problem, self._open_part)
            if activation.rules.traces and not is_part
            else None
        )
        """The traces that calls have of their own."""
        self.header = header
        self.is_guarded = False
        """Whether somebody sees to it that what waits is written before the process ends."""
        self.before_exec: Callable[[], None] | None = None
        """What is done before the process is replaced, in the place of `flush`."""
        self._store = store
        self._footer: Footer | None = None
        self._joined = joined
        self._lane = MAIN if joined is None else joined.lane
        self._had = _NOTHING
        """What this process had to say before it was forked: its parent says that."""
        self._began = unpatched.perf_counter_ns() if joined is None else joined.handing.began
        self._sink: Sink = store.begin(header) if joined is None else joined.sink
        if header.children and store.url is not None:
            handing = _handing(
                activation, store.url, header, self._began, self._lane, sync=durability == "sync"
            )
            self.children = Children(self, handing, _seq_of, self._forked)
        self.writer: Writer | Keeper
        if store.url is None and isinstance(self._sink, memory.MemorySink):
            self.writer = keeping.Keeper(self._sink, self._prepare, self.problem)
        else:
            self.writer = Writer(
                self._sink,
                self._prepare,
                durability=durability,
                report=self.problem,
                load=self.redactor.load,
            )
        self.recorder = Recorder(self.writer.submit, self.problem)
        if isinstance(self.writer, Writer):
            self.recorder.weigh = self.writer.weigh
        rules = activation.rules
        self._keeps_state = store.url is not None and (rules.snapshot or bool(rules.snapshots))
        self._keeper: StateKeeper | None = None
        """Who keeps what files hold that the program is about to write; None as long as it opens none."""
        if self._keeps_state:
            self.watched = STATE_EVENTS
        self._outside: OutsideEffects | None = None
        """What the program changes outside every boundary; None as long as it changes nothing."""
        self._knows_effects = store.url is not None and not is_part
        if self._knows_effects:
            self.watched = STATE_EVENTS | TEMPORARY_EVENTS | SIGNAL_EVENTS
        self._noted: dict[Unwoven, None] = {}
        self._words: tuple[int, ...] = ()
        """How much a child process had to say so far."""
        self.call: CallDraft | None = None
        """The call that the trace is of, where it is one's."""

    @cached_property
    def tally(self) -> Tally:
        """What the crossings came to; made by who prepares the first one, which in memory may be never."""
        return Tally(self.activation.project, self.redactor, self._began, self._mask_key)

    def _mask_key(self) -> MaskKey | None:
        from autochron.redaction.mask_key import mask_key  # lazy: few inputs are masked

        try:
            with undisturbed():
                return mask_key(create=self._store.url is not None)
        except MaskKeyError as error:
            self.problem(str(error))
            return None

    def begin(self) -> None:
        """Switch recording on."""
        global _forks_noted, _recording  # noqa: PLW0603 - forks belong to the process
        joined = self._joined
        if self.activation.values is not None:
            self.activation.values.record()
        if joined is None:
            self.start(self.recorder, self.recorder.transport)
        else:
            numbers = Numbers(self._reserve, TAKEN, joined.first)
            parent = joined.handing.parent
            self.start(
                self.recorder, self.recorder.transport, lane=joined.lane, parent=parent, numbers=numbers
            )
        if not _forks_noted and hasattr(os, "register_at_fork"):
            _forks_noted = True
            os.register_at_fork(after_in_child=_leave_parent)
        _recording = self

    def over(self, kernel: Kernel) -> Kernel | Kernels:
        """Return what woven code calls."""
        return kernel if self.requests is None else self.requests.over(kernel)

    def make_kernel(self) -> Kernel:
        """Make the kernel of a trace that is one call's."""
        self.kernel = Kernel(self.recorder, self.problem)
        self.kernel.mask_name = self.redactor.mask_name
        self.kernel.transport = self.recorder.transport
        self.kernel.pass_in = self.activation.planner.passing.weave
        return self.kernel

    def keep_failed(self) -> None:
        """Drop the traces of calls that returned, in this process and those that it starts."""
        if self.requests is not None:
            self.requests.only_failed = True
        if self.children is not None:
            self.children.handing = structs.replace(self.children.handing, only_failed=True)

    def watch(self) -> None:
        """Look for calls that escape the record, in this process and those that it starts."""
        super().watch()
        if self.children is not None:
            self.children.handing = structs.replace(self.children.handing, watch=True)

    def _open_part(self, header: Header) -> Recording:
        part = Recording(
            self.activation, self._store, header, self.redactor, durability=self._durability, is_part=True
        )
        part.report = self.problem
        part._outer = self
        return part

    def note_call(self, point: Point, arguments: tuple[Any, ...]) -> None:
        """Note the arguments of the call that the trace is of."""
        from autochron.recording.calls import CallDraft  # lazy: with the first call

        try:
            self.call = CallDraft(point, arguments)
        except Exception as error:
            if is_interruption(error):
                raise
            self.forget_call(error)

    def forget_call(self, error: Exception) -> None:
        """Go on without the call that the trace is of, and say why: noting it failed on our side."""
        self.call = None
        self.report(
            f"the call that a trace of {self.header.command.target} is of could not be noted: {type(error).__name__}: {error}"
            " (no-call)"
        )

    def close_part(self, error: str | None) -> None:
        """Close the trace of a call."""
        self._close(None, error, NOTHING_SAID)

    def _reserve(self) -> int:
        """Take another run of seqs from the store."""
        reserve: Any = self._sink.reserve  # type: ignore[attr-defined]  # of a store that others join, too
        return int(reserve(self._lane)[1])

    def _forked(self, root: Root | None) -> None:
        """Go on in a forked process, in a lane of its own."""
        if root is None or not isinstance(self.writer, Writer):
            self.leave_parent()
            return
        self.recorder.forget()
        self._had = frozenset((*self._ledger(), *self.activation.planner.matched))
        self.problems.clear()
        self.connections.clear()
        self._noted.clear()
        self.__dict__.pop("tally", None)
        self._footer = None
        self._keeper = None
        self._outside = None
        self._lane, self._words = root.lane, ()
        self.recorder = Recorder(self.writer.submit, self.problem)
        if self.requests is not None:
            only_failed = self.requests.only_failed
            self.requests = requests.Requests(self.activation, self.problem, self._open_part)
            self.requests.only_failed = only_failed
        if self.children is not None:
            self.children.started.clear()
            self.children.has_started = False
        parent = None if root.parent is None else Remote(root.parent.seq, collapses=root.collapses)
        numbers = Numbers(self._reserve, TAKEN)
        self.begin_again(
            self.recorder, self.recorder.transport, lane=root.lane, parent=parent, numbers=numbers
        )
        self.take_no_time()
        if not self.is_guarded:
            exit_hooks.guard(self.flush, signals=False)
            atexit.register(self.flush, None)

    def printed(self, text: str, *, is_written: bool = False) -> None:
        """Note what is printed, or written by `os.write`; a forked process has another recorder."""
        self.recorder.stdio.printed(text, is_written=is_written)

    def hear(self) -> None:
        """Have told what is printed inside crossings also where another stream stands in the place of standard output."""
        self.recorder.stdio.heard = identity(sys.stdout)
        self.recorder.stdio.listen = listen_to_prints_anywhere

    def taken(self, kind: str, count: int) -> None:
        """Note how much is taken from standard input."""
        self.recorder.stdio.taken(kind, count)

    def take_no_time(self) -> None:
        """Let nothing wait from now on: who started this process may kill it as soon as it has what it asked for."""
        if isinstance(self.writer, Writer):
            self.writer.be_sync()

    @property
    def is_child(self) -> bool:
        """Whether this process is not the first one of the trace."""
        return self._lane != MAIN

    def step_aside(self) -> None:
        """Stop in a child process that begins a session of its own."""
        reason = "a session of its own began there, and from then on it is not recorded here"
        self._noted[Unwoven(f"the process of lane {self._lane}", reason, "child-process")] = None
        self.flush(None)
        self.leave_parent()

    def finish(self, status: int | None, error: str | None, said: Said = NOTHING_SAID) -> Footer:
        """Switch recording off, write the last word and give it."""
        self.end(status, error, said)
        if self.footer is None:  # it could not be made, and the writer has told why
            self._footer = Footer(status=status, error=error, lost=self.lost)
        footer = self.footer
        assert footer is not None  # noqa: S101 - see above
        return footer

    def end(self, status: int | None, error: str | None, said: Said = NOTHING_SAID) -> None:
        """Switch recording off, and have the last word written; in memory that waits for a reader."""
        global _recording  # noqa: PLW0603 - forks belong to the process
        _recording = None
        if gate.is_on():
            self.stop()
        if self.requests is not None:
            self.requests.finish()
        self._close(status, error, said)

    def _close(self, status: int | None, error: str | None, said: Said) -> None:
        for address in self.recorder.close():
            reason = "it had not ended when the run did, so it is not in the trace"
            self._noted[Unwoven(address, reason, "open")] = None
        self.writer.end(self._end_with(status, error, said))

    @property
    def footer(self) -> Footer | None:
        """The last word, once the recording has ended."""
        if self._footer is None:
            self.writer.flush()
        return self._footer

    def flush(self, status: int | None, said: Said = NOTHING_SAID) -> None:
        """Write all that waits, and the last word in case it is the last."""
        if self.requests is not None:
            self.requests.flush()
        self.recorder.hand_over()
        self.writer.flush()
        self.writer.submit(self._end_with(status, None, said))
        self.writer.flush()

    def audit_listener(self) -> Callable[[str, tuple[Any, ...]], None]:
        """Return what notes connections, child processes and changes outside every crossing."""
        return self.on_network

    def on_network(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a connection outside every crossing, and a child process."""
        if event in self.watched:
            if self._knows_effects and event not in LISTS:
                self._note_effect(event, arguments)
            if event in STATE_EVENTS and self._keeps_state:
                self._keep_state(event, arguments)
            return
        child = None if is_busy() else network.child_of(event, arguments)
        if child is not None and self.children is not None:
            try:
                self.children.start(event, arguments, child, told_of=not self.is_inside())
            except Exception as error:  # the program starts what it starts, whatever is wrong with us
                self.problem(f"{child} is not recorded: {type(error).__name__}: {error}")
        elif self.is_inside():
            return
        elif child is not None:
            self._noted[Unwoven(child, stranger(self.place()), "child-process")] = None
        elif network.is_network(event):
            address = network.address_of(event, arguments)
            if address is not None:
                self._note_connection(event, address)

    def _note_connection(self, event: str, address: str) -> None:
        """Note a connection or a look-up outside every crossing; what a look-up of the same line has named is noted once."""
        place, port = self.place(), address.rpartition(":")[2]
        if event == "socket.getaddrinfo":
            self._looked_up |= {(place, port)}
        elif (place, port) in self._looked_up and address[:1].isdigit():
            return
        self.connections[Connection(address, place)] = None

    def _note_effect(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note what is about to be changed outside every boundary."""
        if is_busy():
            return
        if event == "open":
            path, _, flags = (*arguments, None, 0)[:3]
            if self.unseen and path in self.unseen:
                self._note_unseen(self.unseen[path])
                return
            if not (flags or 0) & _WRITES or "__pycache__" in str(path):
                return
        try:
            with undisturbed():
                inside = self.is_inside()
                if self._outside is None and not inside:
                    self._outside = self._make_outside()
                if self._outside is not None:
                    self._outside.heard(event, arguments, inside=inside)
        except Exception as error:  # the program changes what it changes, whatever is wrong with us
            self.problem(
                f"an effect outside every boundary is not noted: {type(error).__name__}: {error} (no-effect)"
            )

    def _note_unseen(self, stream: str) -> None:
        reason = f"opened anew at {self.place()}: what passes there is not recorded"
        self._noted[Unwoven(stream, reason, "unseen-stream")] = None

    def _make_outside(self) -> OutsideEffects:
        from autochron.effects.outside import (
            OutsideEffects,
        )  # lazy: most programs change nothing outside a boundary

        project, url = self.activation.project, self._store.url or ""
        made = OutsideEffects(
            project.name, lambda: function_of_project(project), own=[url.removeprefix("sqlite:///")]
        )
        self.recorder.outside = made
        return made

    def _keep_state(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Keep what a file holds that the program is about to write, and note what it reads inside a boundary."""
        if is_busy():
            return
        if self._keeper is None and not self.activation.rules.snapshots and not self.is_inside():
            # Outside every boundary only what may be written inside one later matters: a database, a file left open.
            if event == "open":
                path, _, flags = (*arguments, None, 0)[:3]
                if not (flags or 0) & _WRITES or "__pycache__" in str(path):
                    return
            elif event in LISTS:
                return
        part = None if self.requests is None else self.requests.under_way()
        try:
            with undisturbed():
                keeper = (self if part is None else part).keeper()
            keeper.heard(event, arguments)
        except Exception as error:  # the program opens what it opens, whatever is wrong with us
            self.problem(
                f"what it was about to change is not kept: {type(error).__name__}: {error} (no-snapshot)"
            )

    def keeper(self) -> StateKeeper:
        """Return who keeps the state of this trace."""
        if self._keeper is None:
            from autochron.effects.keeper import StateKeeper  # lazy: most programs open no file to write
            from autochron.effects.snapshots import folder_of_store

            rules, url = self.activation.rules, self._store.url
            folder = folder_of_store(url)
            assert url is not None and folder is not None  # noqa: S101, PT018 - else nothing is kept
            self._keeper = StateKeeper(
                folder,
                rules.root or os.getcwd(),
                rules=rules.snapshots,
                automatic=rules.snapshot,
                own=[url.removeprefix("sqlite:///")],
                is_inside=self.is_inside,
                began=self._began,
            )
        return self._keeper

    def on_exec(self) -> None:
        """Write all that waits."""
        if self.before_exec is None:
            self.flush(None)
        else:
            self.before_exec()

    @property
    def lost(self) -> int:
        """How many crossings are not in the store."""
        return self.recorder.lost + self.writer.lost

    def summary(self, store: str) -> RunSummary:
        """Say what the recording came to; once it is finished."""
        footer = self.footer
        assert footer is not None  # noqa: S101 - finished
        tally = self.tally
        parted = self._ended_children()
        kept = tally.counts
        ended = sum(kept.values()) - self._open()
        if self.lost or self._has_started() or self._stored() != ended or self._open():
            kept, footer = self._kept(footer)
        return RunSummary(
            trace=self.header.id,
            store=store,
            counts=tuple(sorted(kept.items())),
            crossings=max(ended, sum(kept.values()) + footer.lost),
            footer=footer,
            opaque=_all(tally.opaque, [end.opaque for end in parted]),
            by_type=_all(tally.by_type, [end.by_type for end in parted]),
            requests=self._count_requests(),
            masked=_all(tally.masked, [end.masked for end in parted]),
            problems=_all(self.problems, [end.problems for end in parted]),
            stale=self._stale(),
        )

    def _stale(self) -> tuple[str, ...]:
        """Name the rules of single lines that are for nothing any more."""
        values = self.activation.values
        ignores = () if self.watching is None else self.watching.stale()
        return ignores if values is None else (*ignores, *values.asked.stale)

    def _count_requests(self) -> int:
        """Count the traces of calls, those of child processes too."""
        if self.requests is None or not self._has_started():
            return 0 if self.requests is None else self.requests.count
        names = {str(rule.target) for rule in self.activation.rules.traces}
        try:
            headers = [summary.header for summary in self._store.summaries()]
        except Exception:  # whatever keeps it from being read, the report is not to fail
            return self.requests.count
        return sum(header.name in names and header.created >= self.header.created for header in headers)

    def drop(self) -> bool:
        """Drop the trace; tell whether that is done."""
        try:
            self._store.drop([self.header.id])
        except AutochronError as error:
            self.problem(str(error))
            return False
        return True

    def _has_started(self) -> bool:
        return self.children is not None and self.children.has_started

    def _open(self) -> int:
        """Count the crossings that had not ended when the run did, and after which others of their names had ended."""
        addresses = (each.what.rstrip("]").rpartition("[") for each in self._noted if each.slug == "open")
        return sum(int(nth) < self.tally.counts.get(name, 0) for name, _, nth in addresses)

    def _stored(self) -> int:
        """Read back how many crossings are in the store; -1 where that can't be read."""
        try:
            return self._store.count(self.header.id)
        except Exception:  # told by whoever reads more of it
            return -1

    def _kept(self, footer: Footer) -> tuple[dict[str, int], Footer]:
        """Count what is in the store by name, where some is lost or of others; give the last word of all, too."""
        try:
            counts = self._store.counts(self.header.id)
            return counts, self._store.outline(self.header.id)[1] or footer
        except Exception:  # whatever keeps it from being read, the report is not to fail
            return {}, footer

    def _ended_children(self) -> list[ChildEnd]:
        return [child.end for child in self._come() if child.end is not None]

    def _come(self) -> list[Child]:
        """Return the child processes that came; none where none was started, or the store can't be read."""
        if not self._has_started():
            return []
        try:
            return self._store.children(self.header.id)
        except Exception:  # the writer tells of the store
            return []

    def _end_with(self, status: int | None, error: str | None, said: Said) -> Ending:
        """Note what is known now; the footer is made when all crossings are prepared."""
        rules = self.activation.rules
        had = self._had
        is_whole = not (self.is_child or self._is_part)
        return Ending(
            status,
            error,
            said,
            tuple(entry for entry in self._ledger() if entry not in had) if had else self._ledger(),
            self.activation.planner.unmatched() if is_whole else [],
            () if self.children is None else tuple(self.children.started),
            facts.versions(rules),
            facts.environment(rules, self.redactor),
            facts.credentials(rules),
            None if self.watching is None else self.watching.findings(),
            () if self._keeper is None else self._keeper.snapshots(),
            () if self._keeper is None else self._keeper.reads(),
            self._effects(),
            self._knows_effects,
        )

    def _effects(self) -> tuple[OutsideEffect, ...]:
        """Return what was changed outside every boundary, each with the rule that nearly fits."""
        if self._outside is None:
            return ()
        from autochron.diagnostics.near_rules import (
            near_rule,
        )  # lazy: most programs change nothing outside a boundary

        rules = self.activation.rules
        try:
            found = self._outside.effects()
        except Exception as error:  # a function of `os` that the program has put in the place of Python's
            self.problem(
                f"what changed outside of boundaries is not known: {type(error).__name__}: {error} (unlooked)"
            )
            return ()
        return tuple(structs.replace(each, near=near_rule(rules, each.function)) for each in found)

    def _make_footer(self, ending: Ending) -> Footer:
        unwoven, declined = self._unanswered(ending)
        for name, address in self.tally.addresses.items():
            reason = (
                f"its input has an address in memory ({address}), another in every run; give the object a repr of its own, or"
                " name the place under `volatile`"
            )
            ending = structs.replace(ending, ledger=(*ending.ledger, Unwoven(name, reason, ADDRESS)))
        for name, (path, site) in self.tally.beyond.items():
            reason = f"{path or 'its input'} is too large to be compared, at {site}; name what of it matters with `capture`"
            ending = structs.replace(ending, ledger=(*ending.ledger, Unwoven(name, reason, NOT_COMPARED)))
        footer = ending.footer(
            self.redactor, self._come(), unwoven, declined, self.connections, self.lost, self._mask_key
        )
        footer = self.redactor.mask_texts(footer)
        if self.call is not None:
            try:
                call = self.call.envelope(self.redactor, self.tally.site, self._began)
                footer = structs.replace(footer, call=call)
            except Exception as error:  # the crossings are kept, whatever is wrong with the call
                self.forget_call(error)
        return footer

    def _unanswered(self, ending: Ending) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tools with a call that no crossing answers: those that may have run unwoven, and the declined ones."""
        missing = self.tally.unanswered()
        if not missing:
            return (), ()
        declined: frozenset[str] = frozenset()
        if self._has_seen_all(ending):
            from autochron.diagnostics.declined_calls import (
                declined_tools,  # lazy: most runs answer every call
            )

            open_names = {each.what.partition("[")[0] for each in tuple(self._noted) if each.slug == "open"}
            asked = [each for each in missing if each.name not in open_names]
            declined = declined_tools(asked, self.activation, self.tally.answering())
        return (
            tuple(each.label for each in missing if each.name not in declined),
            tuple(each.label for each in missing if each.name in declined),
        )

    def _has_seen_all(self, ending: Ending) -> bool:
        """Return whether whatever was called would have crossed here: no crossing was lost, and no process ran unseen."""
        whole = self if self._outer is None else self._outer
        if self.is_child or self.lost or any(each.slug == "child-process" for each in tuple(whole._noted)):  # noqa: SLF001
            return False
        if whole is not self:
            return not whole._has_started()  # noqa: SLF001 - a recording, too
        return not strangers(ending.started, {child.lane for child in self._come()})

    def _ledger(self) -> tuple[Unwoven, ...]:
        """Return what was not woven."""
        untested = facts.untested(self.activation.rules)
        return (*untested, *self.activation.ledger.unwoven, *marked.unwoven, *self._noted, *self._unkept())

    def _unkept(self) -> list[Unwoven]:
        """Return the [[snapshot]] tables that are for nothing."""
        rules = self.activation.rules.snapshots
        if not rules or not self._keeps_state or self.is_child or self._is_part:
            return []
        reason = "there is nothing of that name, and nothing opened it; write the path from the rules' folder"
        return [
            Unwoven(f"[[snapshot]] {each.path}", f"{each.place}: {reason}", "snapshot-without-match")
            for each in self.keeper().unmatched()
        ]

    def _prepare(self, submitted: Crossing | Begun | Item | Ending) -> Any:
        """Make of what was submitted what the sink keeps; on the writer's thread."""
        if isinstance(submitted, Crossing):
            rest = self.tally.rest(submitted.seq) if submitted.seq in self.tally.streams() else []
            envelope = self.tally.envelope(submitted)
            self.recorder.written(submitted)
            prepared = self._with_words(envelope) if self.is_child else envelope
            return _after_items({submitted.seq: rest}, prepared) if rest else prepared
        if not isinstance(submitted, Ending):
            if isinstance(submitted, drafts.Begun):
                return self.tally.envelope(submitted.crossing, begun=True)
            seq, items = submitted.seq, self.tally.item(submitted)
            return (lambda sink: sink.extend(seq, items)) if items else None
        rests = self.tally.rests()
        footer = self._footer = self._make_footer(submitted)
        last = self._parting(footer) if self.is_child else lambda sink: sink.end(footer)
        return _after_items(rests, last) if rests else last

    def _with_words(self, envelope: Envelope) -> Any:
        """Return the envelope of a child process, with what it has to say if that is more: it may be killed at any moment."""
        activation, tally = self.activation, self.tally
        kept = (
            activation.planner.matched,
            activation.ledger.unwoven,
            self._noted,
            self.connections,
            self.problems,
            tally.opaque,
            tally.by_type,
            tally.masked,
            self._keeper or (),
        )
        words = (self.lost, *(len(each) for each in kept))
        if words == self._words:
            return envelope
        self._words = words
        parting = self._parting(self._make_footer(self._end_with(None, None, NOTHING_SAID)))

        def put(sink: Sink) -> None:
            sink.put(envelope)
            if parting is not None:
                parting(sink)

        return put

    def _parting(self, footer: Footer) -> Callable[[Sink], None] | None:
        """Return what a child process has to say at its end; a fork that did nothing says nothing."""
        tally = self.tally
        end = ChildEnd(
            footer=structs.replace(
                footer, stdout=b"null", stdin=b"null", unprinted=(), secrets=None, stderr=None
            ),
            opaque=tuple(tally.opaque),
            by_type=tuple(tally.by_type),
            masked=tuple(tally.masked),
            problems=tuple(self.problems),
            matched=tuple(rule for rule in self.activation.planner.matched if rule not in self._had),
        )
        told = (
            footer.ledger,
            footer.connections,
            footer.unwoven_tools,
            footer.lost,
            footer.snapshots,
            footer.reads,
            end.problems,
            end.matched,
        )
        if not any(told) and not tally.counts and self._joined is None:
            return None
        if self._sink.is_unknown:  # type: ignore[attr-defined]  # of a store that others join, too
            self._reserve()
        return lambda sink: sink.end(end)


def _handing(
    activation: Activation, url: str, header: Header, began: int, lane: str, *, sync: bool
) -> Handing:
    """Say what the processes are told that a recorded program starts."""
    rules = activation.rules
    return Handing(
        mode="record",
        process=unpatched.getpid(),
        place=url,
        trace=header.id,
        rules=rules.file,
        root=rules.root,
        digest=header.rules,
        program=activation.program,
        began=began,
        lane=lane,
        sync=sync,
    )


def _seq_of(crossing: Crossing | Remote | None) -> int | None:
    return None if crossing is None else crossing.seq


def _all(own: Iterable[str], others: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*own, *(each for several in others for each in several)]))


def _after_items(items: dict[int, list[bytes]], prepared: Any) -> Callable[[Sink], None]:
    """Return what adds items to streams before it does what was prepared."""

    def put(sink: Sink) -> None:
        for seq, bodies in items.items():
            sink.extend(seq, bodies)
        if isinstance(prepared, Envelope):
            sink.put(prepared)
        elif prepared is not None:
            prepared(sink)

    return put
