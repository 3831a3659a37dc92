"""A replay: the session that serves a record to crossings, and takes in what child processes report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from autochron._runtime.unpatched import os
from autochron.instrument.swap import Swap, Swapping
from autochron.isolation import denials
from autochron.isolation.background import senders
from autochron.isolation.effect_rules import AllowedEffects
from autochron.isolation.live_observation import IN_PROCESS, LiveObservation, StateScope
from autochron.isolation.refusals import Refusals, innermost, is_live
from autochron.isolation.replayed_effects import ReplayedEffects
from autochron.model import Divergence, Evidence, Finding, Replayed, ReplaySummary, Severity
from autochron.replaying.director import Director
from autochron.replaying.plan import FULL, ReplayPlan
from autochron.session.header import other_versions
from autochron.session.replay_guard import EFFECTS, EVERYWHERE, ReplayGuard
from autochron.session.replayed_processes import JoinedLane, ReplayedProcesses
from autochron.session.session import Session
from autochron.weaving import gate

if TYPE_CHECKING:
    from autochron.crossing.kernel import Kernel
    from autochron.crossing.kernels import Kernels
    from autochron.crossing.lanes import LaneRoot
    from autochron.instrument.activation import Activation
    from autochron.model import Footer
    from autochron.ports import Record
    from autochron.redaction.redactor import Redactor
    from autochron.replaying.traced_calls import TracedCalls
    from autochron.weaving.gate import Point


MAIN_MODULES = frozenset({"__main__", "__mp_main__"})
"""Names of the program's own file as a module while it runs; a test imports it by another name."""

_STATE_EFFECTS = frozenset({"file", "database"})


def _has_state(footer: Footer | None) -> bool:
    """Return whether the recorded run changed files or databases outside every boundary."""
    return footer is not None and any(effect.kind in _STATE_EFFECTS for effect in footer.effects)


class Replaying(Session):
    """A session that serves a trace, or in a child process its part of one; a `ports.Replayer`.

    Attributes:
        record: the record that is served.
        plan: what is live, and what is denied to it.
        director: serves, and notes divergences.
        swaps: functions that are replaced.
        broke: how the program crashed, if no refusal ended it.
        uncaught: type of the exception that ended the program.
        stopped: whether an error of autochron ended the program.
        calls: the calls of the function that the trace is of; None if no rule makes traces of calls.
        before_exec: called before the process is replaced.
        allowed: effects outside every boundary that the rules allow.
        processes: the child processes.
    """

    _changed_files = 0
    """Number of files and databases that were changed outside every boundary."""

    def __init__(
        self,
        activation: Activation,
        record: Record,
        redactor: Redactor,
        plan: ReplayPlan = FULL,
        joined: JoinedLane | None = None,
        *,
        swaps: tuple[Swap, ...] = (),
        scope: StateScope = IN_PROCESS,
    ) -> None:
        """Make one.

        Args:
            activation: the rules in force, and the project.
            record: the record that is served.
            redactor: masks inputs as in the recording.
            plan: what is live, and what is denied to it.
            joined: the part of the trace that this process serves; None in the first process.
            swaps: functions that are replaced.
            scope: what works on a scratch copy.
        """
        super().__init__(activation, redactor)
        self.record = record
        self.plan = plan
        self.director = Director(record, redactor, plan, activation.state_of)
        if any(rule.is_found for rule in activation.rules.boundaries):
            from autochron.finding.finder import ToolFinder  # lazy: few records have found tools

            self.listener = self.director.state.listener = ToolFinder(activation, self.problem)
        self.swaps = swaps
        self._joined = joined
        self._scope = scope = scope if joined is None else scope._replace(folder=joined.context.scratch)
        self.broke: str | None = None
        self.stopped = False
        self.uncaught: str | None = None
        self.calls: TracedCalls | None = None
        self.before_exec: Callable[[], None] | None = None
        self.allowed = AllowedEffects(activation.rules.effects, everything=scope.allows_effects)
        isolation = denials.Isolation(plan.deny, activation.project)
        refusals = self._make_refusals(isolation)
        self._live = LiveObservation(activation.project, self.director, refusals, scope)
        self.processes = ReplayedProcesses(
            self.director, record, plan, activation, refusals, swaps, self.problem
        )
        self._guard = self._make_guard(isolation, refusals)
        self.watched = isolation.events | (EVERYWHERE if scope.everywhere else frozenset())
        if scope.everywhere or not plan.is_full or _has_state(record.footer):
            self._set_up_state()
        self._set_up_processes()

    def _make_refusals(self, isolation: denials.Isolation) -> Refusals:
        activation = self.activation
        refusals = Refusals(isolation, self.director, self.record, activation.project)
        refusals.telemetry = lambda: senders(activation.rules.packs)
        refusals.allowed = self.allowed
        refusals.refuses_all = self.plan.is_full and self._scope.everywhere
        return refusals

    def _make_guard(self, isolation: denials.Isolation, refusals: Refusals) -> ReplayGuard:
        return ReplayGuard(
            refusals,
            isolation,
            self.processes,
            self.director,
            self.plan,
            self.activation,
            everywhere=self._scope.everywhere,
            is_joined=self._joined is not None,
        )

    def _set_up_processes(self) -> None:
        """Join the replay of another process, or have the child processes served that the program starts."""
        if self._joined is not None:
            self.processes.join(self, self._joined, self._forked)
        elif self.record.header.children and self.activation.rules.children:
            folders = [place.path for place in self._scope.places]
            self.processes.lay_out(self, folders, self._forked)
        self.children = self.processes.children

    def _set_up_state(self) -> None:
        """Make the scratch copy. If nothing is live, also compare what the program changes there with the record."""
        activation, record = self.activation, self.record
        root = activation.rules.root or os.getcwd()
        state = self._live.make_state(
            record, root, is_joined=self._joined is not None, denies_files="files" in self.plan.deny
        )
        self.watched |= EFFECTS
        if self.plan.is_full:
            outside = ReplayedEffects(
                state, activation.project, record.footer, root, self.allowed, lambda: activation.rules.packs
            )
            state.scratch.on_gone = outside.gone
            self._guard.outside = outside

    def audit_listener(self) -> Callable[[str, tuple[Any, ...]], None]:
        """Return the listener that refuses effects."""
        return self._guard.hear

    def begin(self) -> None:
        """Switch serving on."""
        self.redactor.load()  # now, since the program may break `open` or `__import__` before it is needed
        joined = self._joined
        invents = self._scope.observes and self._scope.everywhere and not self.plan.is_full
        if invents or self.record.header.ambient or self.activation.values is not None:
            values, cursor = self.activation.ambient_values(), self.director.state.cursor
            cursor.keeps_time = True
            values.replay(self.record, lambda: cursor.time, self.processes.is_alone)
            if invents:
                values.invent()
        self._live.begin(
            notes_missing=joined is None and not self.plan.is_full, denies_files="files" in self.plan.deny
        )
        if joined is None:
            self.start(self.director, self.director.transport)
            return
        self.processes.report_to_first(joined.lane)
        self.start(self.director, self.director.transport, lane=joined.lane, parent=joined.parent)

    def stop(self) -> None:
        """Switch serving off, and remove the patches that watch files."""
        super().stop()
        self._live.stop()

    def swallowed(self) -> tuple[str, ...]:
        """Return the crashes that the project's code caught itself."""
        return self._live.swallowed()

    def sources(self) -> tuple[str, ...]:
        """Return the project's modules that were imported, relative to the root."""
        return self._live.sources()

    def gather_evidence(self) -> tuple[Evidence, ...]:
        """Return what was observed of live crossings. Also works after the replay."""
        return self._live.evidence()

    def over(self, kernel: Kernel) -> Kernel | Kernels | Swapping:
        """Return the handler that woven code calls: the kernel, or what wraps it for traced calls and for swaps."""
        handler = self._of_calls(kernel)
        return Swapping(handler, self.swaps, self.activation) if self.swaps else handler

    def _of_calls(self, kernel: Kernel) -> Kernel | Kernels:
        """Return the kernel, or a handler that follows the calls of the function that the trace is of."""
        if not self.activation.rules.traces:
            return kernel
        from autochron.crossing.kernels import Kernels, TracedCallToken  # lazy: few rules are for services
        from autochron.replaying.traced_calls import TracedCalls

        footer = self.record.footer
        call = None if footer is None else footer.call
        calls = self.calls = TracedCalls(
            call,
            self.redactor,
            self.director.state.divergence_log.compare_call,
            typed=self.record.header.typed,
        )
        module, _, called = self.record.header.command.target.rpartition(":")
        file = "" if call is None or module not in MAIN_MODULES else call.site.partition(":")[0]
        project = self.activation.project

        def begin(point: Point, arguments: tuple[Any, ...]) -> TracedCallToken | None:
            if point.called != called or not (point.module == module or project.name(point.file) == file):
                return None
            return TracedCallToken(kernel, calls.begin(point, arguments))

        return Kernels(kernel, begin)

    def _forked(self, root: LaneRoot | None) -> None:
        """Go on in a forked process, in a lane of its own."""
        if root is None:
            self.leave_parent()
            return
        parent = self.processes.forked(root)
        self.begin_again(self.director, self.director.transport, lane=root.lane, parent=parent)

    def leave(self) -> None:
        """Report in a child process that it ends."""
        self.processes.leave(self.problems)

    def finish(self, *, whole: bool = True) -> Sequence[Divergence]:
        """Switch serving off; return the divergences.

        Args:
            whole: whether the program came to its end. If not, nothing is reported as missing.
        """
        if gate.is_on():
            self.stop()
        running = self.processes.gather()
        for swap in self.swaps if whole else ():
            failed = any(divergence.severity == "error" for divergence in self.director.divergences)
            if swap.fault or not (swap.calls or failed):
                self.director.note("missing", swap.old, swap.never_called())
        refusal = self.activation.cache_refusal
        if refusal:
            self.director.note("unsafe-cache", "", refusal, severity="notice")
        if whole:
            self.director.finish(running)
            self._compare_effects()
        self._live.discard()
        return self.director.divergences

    def excuse_refusals(self) -> None:
        """Turn refused connections from errors into notices, in a full replay.

        Only if the recorded run made these connections, too, and there is no other error.
        """
        divergences, footer = self.director.divergences, self.record.footer
        errors = [divergence for divergence in divergences if divergence.severity == "error"]
        if not errors or footer is None or not self.plan.is_full:
            return
        recorded = {connection.address for connection in footer.connections}
        if any(error.kind != "network" or error.path not in recorded for error in errors):
            return
        divergences[:] = [
            structs.replace(
                divergence,
                severity="notice",
                message=f"{divergence.message}; nothing that is compared depended on it",
            )
            if divergence.severity == "error"
            else divergence
            for divergence in divergences
        ]

    def _compare_effects(self) -> None:
        """Note differences in what the program changed outside every boundary."""
        outside = self._guard.outside
        if outside is None or self._joined is not None:
            return
        differences = outside.differences(has_children=self.processes.have_started)
        self._changed_files = outside.count()
        for difference in differences:
            severity: Severity = difference.severity
            # In a test's own process modules may have been imported before the replay, with what they change.
            if severity == "error" and not self._scope.everywhere:
                severity = "warning"
            effect = difference.effect
            self.director.note("effect", effect.site, difference.message, severity=severity, path=effect.what)

    def put_away(self) -> None:
        """Remove the folders of a replay that does not take place in this process."""
        self._live.discard()
        self.processes.remove()

    def pause(self, *, for_several: bool = False) -> None:
        """Pay no attention to child processes until a fork goes on in the place of this process.

        Args:
            for_several: whether several forks may go on at one time.
        """
        self.processes.pause(for_several=for_several)

    def take_over(self, scratch: str | None = None) -> None:
        """Go on in a fork, in the place of the process that paused.

        Args:
            scratch: path of its scratch folder; by default one beside that of the process that paused.
        """
        self.director.take_over()
        self._guard.take_over()
        if self._live.state is not None:
            self._live.state.scratch.fork(scratch)
        self.processes.resume()

    def clear(self) -> None:
        """Remove what a fork has left because it could not remove it."""
        if self._live.state is not None:
            self._live.state.scratch.discard_fork()
        self.processes.clear()

    def replayed(self) -> Iterator[Replayed]:
        """Yield the crossings so far, in order of start."""
        return (replayed for replayed, _ in self.director.each_replayed())

    def divergences(self) -> Sequence[Divergence]:
        """Return where replay and record disagree so far, in the order of notice."""
        return self.director.divergences

    def findings(self) -> tuple[Finding, ...]:
        """Return the non-deterministic calls so far; none if nobody asked to look for them."""
        return () if self.watching is None else self.watching.findings()

    def summary(self, status: int) -> ReplaySummary:
        """Summarize the replay.

        Args:
            status: exit status of the program.
        """
        divergences = tuple(self.director.divergences)
        same = not any(divergence.severity == "error" for divergence in divergences)
        versions = None if same else other_versions(self.record.header, self.record.footer)
        return ReplaySummary(
            trace=self.record.header.id,
            same=same,
            status=status,
            crossings=len(self.director.state.log),
            live=self.director.state.log.live(),
            opened=self.director.state.log.count("opened"),
            invented=self.director.state.log.count("invented"),
            complete=self.record.footer is not None,
            recorded_status=None if self.record.footer is None else self.record.footer.status,
            typed=self.record.header.typed,
            effects=self._changed_files,
            allowed=self.allowed.count,
            divergences=divergences,
            problems=(*self.problems, *([versions] if versions else ())),
            findings=() if self.watching is None else self.watching.new(self.record.footer),
            evidence=self.gather_evidence(),
            uncaught=self.uncaught,
            broke=self.broke,
            stopped=self.stopped,
            swallowed=self.swallowed(),
            sources=self.sources() if self._scope.observes else (),
        )

    def on_exec(self) -> None:
        """Call `before_exec`: the process is about to be replaced."""
        if self.before_exec is not None:
            self.before_exec()

    def is_live(self) -> bool:
        """Return whether the running code is live, which means that the innermost open crossing is."""
        return is_live(innermost())

    def live_of(self, crossing: Any) -> bool:
        """Return whether a crossing is live. Child processes get to know it."""
        return is_live(crossing)
