"""A replay: what a session's crossings are served by, and what became of its processes."""

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
from autochron.model import Divergence, Evidence, Finding, Replayed, ReplaySummary
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
"""What the program's own file is called while it runs, and under another name in a test."""

_STATE_EFFECTS = frozenset({"file", "database"})


def _has_state(footer: Footer | None) -> bool:
    """Return whether files or databases were changed outside every boundary in the recorded run."""
    return footer is not None and any(each.kind in _STATE_EFFECTS for each in footer.effects)


class Replaying(Session):
    """A session that serves a trace, or to a child process its part of one; a `ports.Replayer`."""

    _changed_files = 0
    """How many files and databases were changed outside every boundary."""

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
        super().__init__(activation, redactor)
        self.record = record
        self.plan = plan
        self.director = Director(record, redactor, plan, activation.state_of)
        self.swaps = swaps
        """Functions in whose place others run."""
        self._joined = joined
        self._scope = scope = scope if joined is None else scope._replace(folder=joined.handing.scratch)
        self.broke: str | None = None
        """How the program crashed, where no refusal ended it."""
        self.uncaught: str | None = None
        """The type of the exception that ended the program."""
        self.calls: TracedCalls | None = None
        """The calls of the function that the trace is of; None where no rule makes traces of calls."""
        self.before_exec: Callable[[], None] | None = None
        """What is done before the process is replaced."""
        self.allowed = AllowedEffects(activation.rules.effects, everything=scope.allows_effects)
        isolation = denials.Isolation(plan.deny, activation.project)
        refusals = Refusals(isolation, self.director, record, activation.project)
        refusals.telemetry = lambda: senders(activation.rules.packs)
        refusals.allowed = self.allowed
        refusals.refuses_all = plan.is_full and scope.everywhere
        self._live = LiveObservation(activation.project, self.director, refusals, scope)
        self.processes = ReplayedProcesses(
            self.director, record, plan, activation, refusals, swaps, self.problem
        )
        self._guard = ReplayGuard(
            refusals,
            isolation,
            self.processes,
            self.director,
            plan,
            activation,
            everywhere=scope.everywhere,
            is_joined=joined is not None,
        )
        self.watched = isolation.events | (EVERYWHERE if scope.everywhere else frozenset())
        if scope.everywhere or not plan.is_full or _has_state(record.footer):
            self._set_up_state()
        if joined is not None:
            self.processes.join(self, joined, self._forked)
        elif record.header.children and activation.rules.children:
            self.processes.lay_out(self, [each.path for each in scope.places], self._forked)
        self.children = self.processes.children

    def _set_up_state(self) -> None:
        """Make the scratch copy, and where all is served, compare what the program changes there."""
        activation, record = self.activation, self.record
        root = activation.rules.root or os.getcwd()
        state = self._live.make_state(
            record, root, is_joined=self._joined is not None, denies_files="files" in self.plan.deny
        )
        self.watched |= EFFECTS
        if self.plan.is_full:
            outside = ReplayedEffects(state, activation.project, record.footer, root, self.allowed)
            state.scratch.on_gone = outside.gone
            self._guard.outside = outside

    def audit_listener(self) -> Callable[[str, tuple[Any, ...]], None]:
        """Return what refuses."""
        return self._guard.hear

    def begin(self) -> None:
        """Switch serving on."""
        self.redactor.load()  # not when it is needed: the program may break `open` or `__import__` until then
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
        """Switch serving off, and take off what files are watched by."""
        super().stop()
        self._live.stop()

    def swallowed(self) -> tuple[str, ...]:
        """Return the crashes that the project's code caught itself."""
        return self._live.swallowed()

    def sources(self) -> tuple[str, ...]:
        """Return the project's modules that were imported, relative to the root."""
        return self._live.sources()

    def gather_evidence(self) -> tuple[Evidence, ...]:
        """Return what was seen of live crossings, also once the replay is over."""
        return self._live.evidence()

    def over(self, kernel: Kernel) -> Kernel | Kernels | Swapping:
        """Return what woven code calls: the trace of a call begins where that call does."""
        whole = self._of_calls(kernel)
        return Swapping(whole, self.swaps, self.activation) if self.swaps else whole

    def _of_calls(self, kernel: Kernel) -> Kernel | Kernels:
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
        """Report in a child process that it has come to its end."""
        self.processes.leave(self.problems)

    def finish(self, *, whole: bool = True) -> Sequence[Divergence]:
        """Switch serving off; return the divergences. `whole` says whether the program came to its end."""
        if gate.is_on():
            self.stop()
        running = self.processes.gather()
        for swap in self.swaps if whole else ():
            failed = any(each.severity == "error" for each in self.director.divergences)
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
        """Take refused connections for notes where the recorded run made them, too, and nothing that is compared differs."""
        divergences, footer = self.director.divergences, self.record.footer
        errors = [each for each in divergences if each.severity == "error"]
        if not errors or footer is None or not self.plan.is_full:
            return
        known = {each.address for each in footer.connections}
        if any(each.kind != "network" or each.path not in known for each in errors):
            return
        divergences[:] = [
            structs.replace(
                each, severity="notice", message=f"{each.message}; nothing that is compared depended on it"
            )
            if each.severity == "error"
            else each
            for each in divergences
        ]

    def _compare_effects(self) -> None:
        """Note what the program did otherwise outside every boundary."""
        outside = self._guard.outside
        if outside is None or self._joined is not None:
            return
        differences = outside.differences(has_children=self.processes.have_started)
        self._changed_files = outside.count()
        for each in differences:
            # In a test's own process modules may have been imported before the replay, with what they change.
            severity = "warning" if each.severity == "error" and not self._scope.everywhere else each.severity
            self.director.note(
                "effect", each.effect.site, each.message, severity=severity, path=each.effect.what
            )

    def put_away(self) -> None:
        """Remove what was laid out for a replay that does not take place in this process."""
        self._live.discard()
        self.processes.remove()

    def pause(self) -> None:
        """Hear of no process until a fork goes on in the place of this one."""
        self.processes.pause()

    def take_over(self) -> None:
        """Go on in a fork in the place of the process that paused."""
        self.director.take_over()
        if self._live.state is not None:
            self._live.state.scratch.fork()
        self.processes.resume()

    def clear(self) -> None:
        """Remove what such a fork has left that could not."""
        if self._live.state is not None:
            self._live.state.scratch.discard_fork()
        self.processes.clear()

    def replayed(self) -> Iterator[Replayed]:
        """Yield the crossings so far, in order of start."""
        return (each for each, _ in self.director.each_replayed())

    def divergences(self) -> Sequence[Divergence]:
        """Return where replay and record disagree so far, in the order in which it was noticed."""
        return self.director.divergences

    def findings(self) -> tuple[Finding, ...]:
        """Return the non-deterministic calls that were made so far; none where nobody looks for them."""
        return () if self.watching is None else self.watching.findings()

    def summary(self, status: int) -> ReplaySummary:
        """Say what the replay came to."""
        divergences = tuple(self.director.divergences)
        same = not any(each.severity == "error" for each in divergences)
        versions = None if same else other_versions(self.record.header, self.record.footer)
        return ReplaySummary(
            trace=self.record.header.id,
            same=same,
            status=status,
            crossings=len(self.director.state.log),
            live=self.director.state.log.live(),
            complete=self.record.footer is not None,
            typed=self.record.header.typed,
            effects=self._changed_files,
            allowed=self.allowed.count,
            divergences=divergences,
            problems=(*self.problems, *([versions] if versions else ())),
            findings=() if self.watching is None else self.watching.new(self.record.footer),
            evidence=self.gather_evidence(),
            uncaught=self.uncaught,
            broke=self.broke,
            swallowed=self.swallowed(),
            sources=self.sources() if self._scope.observes else (),
        )

    def on_exec(self) -> None:
        """Do what is to be done before the process is replaced."""
        if self.before_exec is not None:
            self.before_exec()

    def is_live(self) -> bool:
        """Return whether what runs now is live: the innermost open crossing is."""
        return is_live(innermost())

    def live_of(self, crossing: Any) -> bool:
        """Return whether a crossing is live, for child processes."""
        return is_live(crossing)
