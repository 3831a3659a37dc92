"""A session: one recording or one replay, from switching the gate on to the last word."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

from autochron import _originals
from autochron.crossing import lanes
from autochron.crossing.kernel import Crossing, Kernel
from autochron.crossing.lanes import CURRENT, MAIN, Root
from autochron.envelope import bodies, types
from autochron.envelope.redaction import Redactor
from autochron.errors import NetworkRefusedError
from autochron.model import Connection, Footer, Header, ReplaySummary, RunSummary, Trace, Unwoven
from autochron.ports import CrossingHandler, Sink, Store
from autochron.recording.drafts import Begun, Item
from autochron.recording.recorder import Recorder
from autochron.replaying.director import Director
from autochron.session import facts, network
from autochron.session.activation import Activation
from autochron.session.marking import marked
from autochron.session.project import line_of_project
from autochron.session.tally import Tally
from autochron.store.keeping import Keeper
from autochron.store.memory import MemorySink
from autochron.store.writer import Writer
from autochron.weaving import gate


class Session:
    """What recording and replaying share: a kernel in force, lanes, and an eye on the network."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation
        self.problems: list[str] = []
        self.connections: dict[Connection, None] = {}
        self.kernel: Kernel
        self._token: Any = None

    def problem(self, message: str) -> None:
        """Note what is wrong on our side, once."""
        if message not in self.problems:
            self.problems.append(message)

    def start(self, handler: CrossingHandler, transport: Callable[..., Any]) -> None:
        """Put the handler in force."""
        types.set_root(self.activation.rules.root)
        self.activation.hold()
        self.kernel = Kernel(handler, self.problem)
        self.kernel.transport = transport
        self.kernel.pass_in = self.activation.planner.passing.weave
        self._token = CURRENT.set(Root(self.kernel, MAIN))
        lanes.carry(self.kernel.current)
        network.watch(self.on_network, self.on_exec, self.activation.runners.note)
        gate.switch_on(self.kernel)

    def stop(self) -> None:
        """Take the handler out of force."""
        gate.switch_off()
        network.watch(None, None)
        lanes.carry(None)
        try:
            CURRENT.reset(self._token)
        except ValueError:  # ended in another context than it began in
            CURRENT.set(None)

    def on_network(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Hear of a network event."""

    def on_exec(self) -> None:
        """Hear that the process is about to be replaced."""

    def is_inside(self) -> bool:
        """Tell whether a crossing is open around what runs now that a replay would not run."""
        current = CURRENT.get(None)
        crossing = current if current is None or type(current) is Crossing else current.parent
        while crossing is not None and crossing.boundary.runs:
            crossing = crossing.parent
        return crossing is not None

    def place(self) -> str:
        """Name the project's line that runs now."""
        return line_of_project(self.activation.project, 4) or "?"


_recording: Recording | None = None
_forks_noted = False


def _leave_parent() -> None:
    """Stop recording in a forked child: its crossings would take the parent's places in the trace."""
    if _recording is not None:
        gate.switch_off()
        network.watch(None, None)
        lanes.carry(None)


class Recording(Session):
    """A session that records into a store."""

    def __init__(
        self,
        activation: Activation,
        store: Store,
        header: Header,
        redactor: Redactor | None = None,
        *,
        durability: Literal["group", "sync"] = "group",
    ) -> None:
        super().__init__(activation)
        self.header = header
        self.before_exec: Callable[[], None] = lambda: self.flush(None)
        """What is done before the process is replaced."""
        self._store = store
        self._footer: Footer | None = None
        self._redactor = redactor or Redactor()
        self._began = _originals.perf_counter_ns()
        self._sink: Sink = store.begin(header)
        self.writer: Writer | Keeper
        if isinstance(self._sink, MemorySink):
            self.writer = Keeper(self._sink, self._prepare, self.problem)
        else:
            self.writer = Writer(self._sink, self._prepare, durability=durability, report=self.problem)
        self.recorder = Recorder(self.writer.submit, self.problem)
        self._noted: dict[Unwoven, None] = {}

    @cached_property
    def tally(self) -> Tally:
        """What the crossings came to; made by who prepares the first one, which in memory may be never."""
        return Tally(self.activation.project, self._redactor, self._began)

    def begin(self) -> None:
        """Switch recording on."""
        global _forks_noted, _recording  # noqa: PLW0603 - forks belong to the process
        self.start(self.recorder, self.recorder.transport)
        if not _forks_noted and hasattr(os, "register_at_fork"):
            _forks_noted = True
            os.register_at_fork(after_in_child=_leave_parent)
        _recording = self

    def finish(
        self, status: int | None, error: str | None, stdout: bytes = b"", stdin: bytes = b""
    ) -> Footer:
        """Switch recording off, write the last word and give it."""
        self.end(status, error, stdout, stdin)
        footer = self.footer
        assert footer is not None  # noqa: S101 - it is written
        return footer

    def end(self, status: int | None, error: str | None, stdout: bytes = b"", stdin: bytes = b"") -> None:
        """Switch recording off, and have the last word written; in memory that waits for a reader."""
        global _recording  # noqa: PLW0603 - forks belong to the process
        _recording = None
        if gate.is_on():
            self.stop()
        for address in self.recorder.close():
            reason = "it had not ended when the run did, so it is not in the trace"
            self._noted[Unwoven(address, reason, "open")] = None
        self.writer.end(_Ending(self._make_footer(status, error, stdout, stdin)))

    @property
    def footer(self) -> Footer | None:
        """The last word, once the recording has ended."""
        if self._footer is None:
            self.writer.flush()
        return self._footer

    def flush(self, status: int | None, stdout: bytes = b"", stdin: bytes = b"") -> None:
        """Write all that waits, and the last word in case it is the last."""
        self.recorder.hand_over()
        self.writer.flush()
        self.writer.submit(_Ending(self._make_footer(status, None, stdout, stdin)))
        self.writer.flush()

    def on_network(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a connection outside every crossing, and a child process."""
        if self.is_inside():
            return
        child = network.child_of(event, arguments)
        if child is not None:
            reason = f"what it does is not recorded, and a replay starts it again (started at {self.place()})"
            self._noted[Unwoven(child, reason, "child-process")] = None
        elif network.is_network(event):
            address = network.address_of(event, arguments)
            if address is not None and event != "socket.getaddrinfo":
                self.connections[Connection(address, self.place())] = None

    def on_exec(self) -> None:
        """Write all that waits."""
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
        kept = self._count_kept() if self.lost else tally.counts
        return RunSummary(
            trace=self.header.id,
            store=store,
            counts=tuple(sorted(kept.items())),
            crossings=max(sum(tally.counts.values()), sum(kept.values()) + self.recorder.lost),
            footer=footer,
            opaque=tuple(tally.opaque),
            by_type=tuple(tally.by_type),
            masked=tuple(tally.masked),
            problems=tuple(self.problems),
        )

    def _count_kept(self) -> dict[str, int]:
        """Count what is in the store, by name: what is lost was counted as well."""
        try:
            return Counter(envelope.name for envelope in self._store.load(self.header.id).envelopes)
        except Exception:  # whatever keeps it from being read, the report is not to fail
            return {}

    def _make_footer(
        self, status: int | None, error: str | None, stdout: bytes, stdin: bytes
    ) -> Callable[[], Footer]:
        """Note what is known now; the footer is made when all crossings are prepared."""
        rules = self.activation.rules
        ledger = self.ledger()
        versions = facts.versions(rules)
        environment = facts.environment(rules, self._redactor)
        credentials = facts.credentials(rules)

        def make() -> Footer:
            return Footer(
                status=status,
                error=error,
                stdout=self._redactor.mask_outcome(bodies.store_body(stdout, "text/plain"))[0],
                stdin=self._redactor.mask_outcome(bodies.store_body(stdin, "text/plain"))[0],
                unwoven_tools=self.tally.unwoven_tools(),
                connections=tuple(self.connections),
                ledger=ledger,
                versions=versions,
                environment=environment,
                credentials=credentials,
                lost=self.lost,
            )

        return make

    def ledger(self) -> tuple[Unwoven, ...]:
        """Give what was not woven, with the rules that matched nothing."""
        planner = self.activation.planner
        unmatched = tuple(
            Unwoven(str(rule.selector), f"{rule.place}: {why}", "rule-without-match")
            for rule, why in planner.unmatched()
        )
        untested = facts.untested(self.activation.rules)
        return (*untested, *self.activation.ledger.unwoven, *marked.unwoven, *self._noted, *unmatched)

    def _prepare(self, submitted: Crossing | Begun | Item | _Ending) -> Any:
        """Make of what was submitted what the sink keeps; on the writer's thread."""
        if isinstance(submitted, Crossing):
            return self.tally.envelope(submitted)
        if isinstance(submitted, Begun):
            return self.tally.envelope(submitted.crossing, begun=True)
        if isinstance(submitted, Item):
            seq, body = submitted.seq, self.tally.item(submitted)
            return lambda sink: sink.extend(seq, (body,))
        footer = self._footer = submitted.make()
        return lambda sink: sink.end(footer)


class _Ending:
    """The last word, on its way to the sink; made when all crossings before it are prepared."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Footer]) -> None:
        self.make = make


class Replaying(Session):
    """A session that serves a trace."""

    def __init__(self, activation: Activation, trace: Trace, redactor: Redactor) -> None:
        super().__init__(activation)
        self.trace = trace
        self.redactor = redactor
        self.director = Director(trace, redactor, self.problem)
        self._children: set[tuple[str, str]] = set()
        self.before_exec: Callable[[], None] | None = None
        """What is done before the process is replaced."""

    def begin(self) -> None:
        """Switch serving on."""
        self.start(self.director, self.director.transport)

    def finish(self, *, whole: bool = True) -> Sequence[Any]:
        """Switch serving off; give the divergences. `whole` tells whether the program came to its end."""
        if gate.is_on():
            self.stop()
        if whole:
            self.director.finish()
        return self.director.divergences

    def summary(self, status: int) -> ReplaySummary:
        """Say what the replay came to."""
        divergences = tuple(self.director.divergences)
        return ReplaySummary(
            trace=self.trace.header.id,
            same=not any(each.severity == "error" for each in divergences),
            status=status,
            crossings=self.director.crossings,
            complete=self.trace.footer is not None,
            divergences=divergences,
            problems=tuple(self.problems),
        )

    def on_exec(self) -> None:
        """Do what is to be done before the process is replaced."""
        if self.before_exec is not None:
            self.before_exec()

    def on_network(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse a connection: nothing is live. A child process is let start, and told of."""
        child = None if self.is_inside() else network.child_of(event, arguments)
        if child is not None:
            place = self.place()
            message = (
                f"{child} was started again for real at {place}; make the call a boundary, and record again"
            )
            if (child, place) not in self._children:
                self._children.add((child, place))
                self.director.note("child", place, message, severity="warning")
            return
        address = network.address_of(event, arguments) if network.is_network(event) else None
        if address is None:
            return
        place = self.place()
        of = "multiprocessing's socket " if f"{os.sep}pymp-" in address else ""
        message = (
            f"{place} reaches for {of}{address} outside every live crossing;"
            " let a rule make the call a boundary, and record again"
        )
        self.director.note("network", place, message)
        raise NetworkRefusedError(message)
