"""A recording: the session that writes crossings into a store, and the footer at its end."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, structs

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.bare import identity
from autochron._runtime.lazy import late_modules
from autochron._runtime.signals import is_interruption
from autochron._runtime.std_streams import listen_to_prints_anywhere
from autochron._runtime.unpatched import os
from autochron.crossing.crossing import Crossing
from autochron.crossing.kernel import Kernel
from autochron.crossing.lane_hooks import MADE_INTERPRETERS
from autochron.crossing.lanes import MAIN, LaneRoot, Remote
from autochron.effects.undisturbed import undisturbed
from autochron.errors import AutochronError, MaskKeyError
from autochron.instrument.activation import Activation
from autochron.model import (
    Footer,
    Header,
    RunSummary,
    Unwoven,
)
from autochron.recording.envelope_prep import Tally
from autochron.recording.failed_call import describe_failure
from autochron.recording.recorder import Recorder
from autochron.recording.stored_trace import StoredTrace
from autochron.redaction.redactor import Redactor
from autochron.session.children import ChildContext, Children, Numbers
from autochron.session.preparation import Preparation
from autochron.session.recorded_effects import RecordedEffects
from autochron.session.session import Session
from autochron.stdio.transcript import EMPTY_TRANSCRIPT, Transcript
from autochron.store.processes import TAKEN
from autochron.store.writer import Writer
from autochron.weaving import gate

if TYPE_CHECKING:
    from autochron.crossing.kernels import Kernels
    from autochron.ports import Sink, Store
    from autochron.recording.calls import CallDraft
    from autochron.redaction.mask_key import MaskKey
    from autochron.session import service_traces as requests
    from autochron.store import keeping, memory
    from autochron.store.keeping import Keeper
    from autochron.weaving.gate import Point
else:
    late_modules(
        globals(),
        "autochron.store.keeping",
        "autochron.store.memory",
        requests="autochron.session.service_traces",
    )


_recording: Recording | None = None
"""The recording of this process, and not of a call in it."""
_forks_noted = False


def _leave_parent() -> None:
    """Stop recording in a forked process if children are not recorded."""
    if _recording is not None and _recording.children is None:
        _recording.leave_parent()


class Joined(Struct, frozen=True):
    """The place in a trace of a child process that records.

    Attributes:
        first: first sequence number of the range that is reserved for this process.
    """

    sink: Sink
    lane: str
    first: int
    context: ChildContext


class Recording(Session):
    """A session that records into a store, or the part of one that a child process has.

    Attributes:
        requests: the traces of calls; None if no rule makes any.
        report: called with a problem on our side. In the recording of a call, it is that of the process's recording.
        is_guarded: whether the caller ensures that `flush` runs before the process ends.
        before_exec: called in the place of `flush` before the process is replaced.
        effects: what the program does outside every boundary.
        call, outer, is_part, is_joined: see `preparation.RecordedProcess`.
    """

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
        self.is_part, self.is_joined = is_part, joined is not None
        self.outer: Recording | None = None
        self.call: CallDraft | None = None
        self.report = self.problem
        self.header = header
        self.is_guarded = False
        self.before_exec: Callable[[], None] | None = None
        self._durability: Literal["group", "sync"] = durability
        self._store = store
        self._joined = joined
        self._lane = MAIN if joined is None else joined.lane
        began = unpatched.perf_counter_ns() if joined is None else joined.context.began
        self._sink: Sink = store.begin(header) if joined is None else joined.sink
        if header.children and store.url is not None:
            is_sync = durability == "sync"
            context = _context(activation, store.url, header, began, self._lane, sync=is_sync)
            self.children = Children(self, context, _seq_of, self._forked)
        self.effects = RecordedEffects(activation, store.url, began, self.problem, is_part=is_part)
        self.effects.children = self.children
        self.watched = self.effects.watched
        self._preparation = Preparation(self, self._sink, began, self._reserve)
        self.writer: Writer | Keeper
        if store.url is None and isinstance(self._sink, memory.MemorySink):
            self.writer = keeping.Keeper(self._sink, self._preparation.prepare, self.problem)
        else:
            self.writer = Writer(
                self._sink,
                self._preparation.prepare,
                durability=durability,
                report=self.problem,
                load=self.redactor.load,
            )
        self.recorder = self.effects.recorder = Recorder(self.writer.submit, self.problem)
        self.listen(self.recorder.requests)
        if isinstance(self.writer, Writer):
            self.recorder.weigh = self.writer.weigh
        self.requests = self._make_requests() if activation.rules.traces and not is_part else None

    @cached_property
    def stored(self) -> StoredTrace:
        """The trace as it is in the store."""
        return StoredTrace(self._store, self.header)

    @property
    def tally(self) -> Tally:
        """The counts and notes of the crossings."""
        return self._preparation.tally

    def _make_requests(self) -> requests.Requests:
        call_traces = requests.Requests(self.activation, self.problem, self._open_part)
        self.effects.of_call = call_traces.effects_of_call
        return call_traces

    def mask_key(self) -> MaskKey | None:
        """Return the user's key for masks; None, with a problem noted, if there is none."""
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
            parent = joined.context.parent
            self.start(
                self.recorder, self.recorder.transport, lane=joined.lane, parent=parent, numbers=numbers
            )
        if not _forks_noted and hasattr(os, "register_at_fork"):
            _forks_noted = True
            os.register_at_fork(after_in_child=_leave_parent)
        _recording = self

    def over(self, kernel: Kernel) -> Kernel | Kernels:
        """Return the handler that woven code calls."""
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
            self.children.context = structs.replace(self.children.context, only_failed=True)

    def watch(self, *, probes: bool = False) -> None:
        """Look for calls that escape the record, in this process and those that it starts; at values only in this one."""
        super().watch(probes=probes)
        if self.children is not None:
            self.children.context = structs.replace(self.children.context, watch=True)

    def _open_part(self, header: Header) -> Recording:
        part = Recording(
            self.activation, self._store, header, self.redactor, durability=self._durability, is_part=True
        )
        part.report = self.problem
        part.outer = self
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
        """Drop the recorded call because noting it failed on our side, and report the error."""
        self.call = None
        self.report(
            f"the call that a trace of {self.header.command.target} is of could not be noted: {type(error).__name__}: {error}"
            " (no-call)"
        )

    def close_part(self, error: str | None) -> None:
        """Close the trace of a call."""
        self._close(None, error, EMPTY_TRANSCRIPT)

    def _reserve(self) -> int:
        """Reserve another range of sequence numbers in the store; return the first one."""
        reserve: Any = self._sink.reserve  # type: ignore[attr-defined]  # of stores that other processes join
        return int(reserve(self._lane)[1])

    def _forked(self, root: LaneRoot | None) -> None:
        """Go on in a forked process, in a lane of its own."""
        if root is None or not isinstance(self.writer, Writer):
            self.leave_parent()
            return
        self.recorder.forget()
        self._preparation.begin_again()
        self.problems.clear()
        self.effects.forget()
        self._lane = root.lane
        self.recorder = self.effects.recorder = Recorder(self.writer.submit, self.problem)
        self.listen(self.recorder.requests)
        if self.requests is not None:
            only_failed = self.requests.only_failed
            self.requests = self._make_requests()
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
        """Note text that is printed, or written by `os.write`, with the present recorder: a fork has one of its own."""
        self.recorder.stdio.printed(text, is_written=is_written)

    def hear(self) -> None:
        """Note what is printed inside crossings, also while the program replaces standard output by another stream."""
        self.recorder.stdio.heard = identity(sys.stdout)
        self.recorder.stdio.listen = listen_to_prints_anywhere

    def taken(self, kind: str, count: int) -> None:
        """Note how much the program takes from standard input, and in which unit."""
        self.recorder.stdio.taken(kind, count)

    def take_no_time(self) -> None:
        """Write everything at once from now on: the parent may kill this process once it has what it asked for."""
        if isinstance(self.writer, Writer):
            self.writer.be_sync()

    @property
    def is_child(self) -> bool:
        """Whether this process is not the first one of the trace."""
        return self._lane != MAIN

    def step_aside(self) -> None:
        """Stop, in a child process that begins a session of its own."""
        reason = "a session of its own began there, and from then on it is not recorded here"
        self.effects.noted[Unwoven(f"the process of lane {self._lane}", reason, "child-process")] = None
        self.flush(None)
        self.leave_parent()

    def finish(
        self, status: int | None, error: str | None, transcript: Transcript = EMPTY_TRANSCRIPT
    ) -> Footer:
        """Switch recording off, write the footer, and return it."""
        self.end(status, error, transcript)
        if self.footer is None:  # it could not be made, and the writer has noted why
            self._preparation.footer = Footer(status=status, error=error, lost=self.lost)
        footer = self.footer
        assert footer is not None  # noqa: S101 - see above
        return footer

    def end(self, status: int | None, error: str | None, transcript: Transcript = EMPTY_TRANSCRIPT) -> None:
        """Switch recording off, and have the footer written. A recording in memory makes it when somebody reads it."""
        global _recording  # noqa: PLW0603 - forks belong to the process
        _recording = None
        if gate.is_on():
            self.stop()
        if self.requests is not None:
            self.requests.finish()
        self._close(status, error, transcript)

    def _close(self, status: int | None, error: str | None, transcript: Transcript) -> None:
        for address in self.recorder.close():
            reason = "it had not ended when the run did, so it is not in the trace"
            self.effects.noted[Unwoven(address, reason, "open")] = None
        if MADE_INTERPRETERS:
            reason = (
                "what ran in other interpreters of this process is not recorded, and a replay does it again"
            )
            self.effects.noted[Unwoven("subinterpreters", reason, "subinterpreter")] = None
        self.writer.end(self._preparation.ending(status, error, transcript))

    @property
    def footer(self) -> Footer | None:
        """The footer, once the recording has ended."""
        if self._preparation.footer is None:
            self.writer.flush()
        return self._preparation.footer

    def flush(self, status: int | None, transcript: Transcript = EMPTY_TRANSCRIPT) -> None:
        """Write everything that waits, and a footer in case the process ends now."""
        if self.requests is not None:
            self.requests.flush()
        self.recorder.submit_open()
        self.writer.flush()
        self.writer.submit(self._preparation.ending(status, None, transcript))
        self.writer.flush()

    def audit_listener(self) -> Callable[[str, tuple[Any, ...]], None]:
        """Return the listener that notes connections, child processes, and changes outside every crossing."""
        return self.effects.hear

    def on_exec(self) -> None:
        """Write everything that waits: the process is about to be replaced."""
        if self.before_exec is None:
            self.flush(None)
        else:
            self.before_exec()

    @property
    def lost(self) -> int:
        """How many crossings are not in the store."""
        return self.recorder.lost + self.writer.lost

    def summary(self, store: str) -> RunSummary:
        """Summarize the recording, once it is finished.

        Args:
            store: where the trace is, as the user is told.
        """
        footer = self.footer
        assert footer is not None  # noqa: S101 - finished
        tally = self.tally
        ends = self.stored.ended_children() if self.has_started else []
        counts = tally.counts
        ended_count = sum(counts.values()) - self._open()
        if self.lost or self.has_started or self.stored.count() != ended_count or self._open():
            counts, footer = self.stored.counts(footer)
        return RunSummary(
            trace=self.header.id,
            store=store,
            counts=tuple(sorted(counts.items())),
            crossings=max(ended_count, sum(counts.values()) + footer.lost),
            footer=footer,
            opaque=_all(tally.opaque, [end.opaque for end in ends]),
            by_type=_all(tally.by_type, [end.by_type for end in ends]),
            requests=self._count_requests(),
            masked=_all(tally.masked, [end.masked for end in ends]),
            problems=_all(self.problems, [end.problems for end in ends]),
            stale=self._stale(),
            failed=describe_failure(tally.failed) if footer.status and tally.failed is not None else "",
        )

    def _stale(self) -> tuple[str, ...]:
        """Return a message for each rule of a single line that has no effect any more."""
        values = self.activation.values
        ignores = () if self.watching is None else self.watching.stale()
        return ignores if values is None else (*ignores, *values.requested.stale)

    def _count_requests(self) -> int:
        """Count the traces of calls, also those of child processes."""
        if self.requests is None or not self.has_started:
            return 0 if self.requests is None else self.requests.count
        names = {str(rule.target) for rule in self.activation.rules.traces}
        count = self.stored.count_traces(names)
        return self.requests.count if count is None else count

    def drop(self) -> bool:
        """Drop the trace; return whether that succeeded."""
        try:
            self._store.drop([self.header.id])
        except AutochronError as error:
            self.problem(str(error))
            return False
        return True

    @property
    def has_started(self) -> bool:
        """Whether the program has started any process."""
        return self.children is not None and self.children.has_started

    def _open(self) -> int:
        """Count the crossings that had not ended when the run did, and that `tally.counts` includes.

        It includes one if a later crossing of the same name has ended, since it keeps the highest occurrence.
        """
        addresses = (
            entry.what.rstrip("]").rpartition("[") for entry in self.effects.noted if entry.slug == "open"
        )
        return sum(int(nth) < self.tally.counts.get(name, 0) for name, _, nth in addresses)


def _context(
    activation: Activation, url: str, header: Header, began: int, lane: str, *, sync: bool
) -> ChildContext:
    """Return the context of the processes that a recorded program starts."""
    rules = activation.rules
    return ChildContext(
        mode="record",
        process=unpatched.getpid(),
        place=url,
        trace=header.id,
        rules=rules.file,
        root=rules.root,
        digest=header.rules,
        program=activation.program,
        project=rules.project,
        began=began,
        lane=lane,
        sync=sync,
    )


def _seq_of(crossing: Crossing[Any] | Remote | None) -> int | None:
    return None if crossing is None else crossing.seq


def _all(own: Iterable[str], lists: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*own, *(text for texts in lists for text in texts)]))
