"""A replay: what a session's crossings are served by, and what became of its processes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from autochron._runtime import unpatched
from autochron._runtime.unpatched import getframe, os
from autochron.crossing import processes
from autochron.crossing.lanes import Remote, Root
from autochron.effects.events import SIGNAL_EVENTS, STATE_EVENTS, TEMPORARY_EVENTS
from autochron.effects.live_state import LiveState, is_temporary
from autochron.effects.module_state import ModuleState, project_modules
from autochron.errors import UnwovenToolError
from autochron.instrument.activation import Activation
from autochron.isolation import denials, network, sqlite
from autochron.isolation.background import senders
from autochron.isolation.effect_rules import AllowedEffects
from autochron.isolation.refusals import Refusals, innermost, is_live
from autochron.isolation.replayed_effects import ReplayedEffects
from autochron.model import VALUE, Evidence, ReplaySummary
from autochron.redaction.redactor import Redactor
from autochron.replaying.child_reports import ChildEvent, ChildReport, read_lanes
from autochron.replaying.director import Director
from autochron.replaying.lookup import parent_of
from autochron.replaying.plan import FULL, ReplayPlan
from autochron.session.children import (
    UNKNOWN,
    Children,
    Handing,
    Started,
    find_line,
    spawned_by_fork,
    strangers,
    takes_part,
)
from autochron.session.header import other_versions
from autochron.session.replay_dir import ReplayFolder
from autochron.session.session import Session
from autochron.session.swap import Swap, Swapping
from autochron.weaving import gate

if TYPE_CHECKING:
    from types import FrameType

    from autochron.crossing.kernel import Crossing, Kernel
    from autochron.crossing.kernels import Kernels
    from autochron.effects.open_handles import OpenHandles
    from autochron.effects.snapshots import SnapshotFolder
    from autochron.model import Footer
    from autochron.ports import Record
    from autochron.replaying.traced_calls import TracedCalls
    from autochron.reproduction.crashwatch import CrashWatch
    from autochron.weaving.gate import Point


SHORT = 20_000
"""Crossings of a record up to which what did not happen is drawn in its place."""

MAIN_MODULES = frozenset({"__main__", "__mp_main__"})
"""What the program's own file is called while it runs, and under another name in a test."""


_EXEC = "os.exec"
_NATIVE = "ctypes.dlopen"

_EFFECTS = STATE_EVENTS | TEMPORARY_EVENTS | SIGNAL_EVENTS

_STATE_EFFECTS = frozenset({"file", "database"})


def _has_state(footer: Footer | None) -> bool:
    """Return whether files or databases were changed outside every boundary in the recorded run."""
    return footer is not None and any(each.kind in _STATE_EFFECTS for each in footer.effects)


class StateScope(NamedTuple):
    """How far a replay works on a scratch copy of what the program's files hold.

    Attributes:
        places: where the contents of snapshots are looked for.
        everywhere: whether the whole process does, and not only its live crossings.
        observes: whether it is noted what live crossings do to the state of modules.
        folder: the scratch folder; None for one of its own.
        allows_effects: whether programs, connections and signals outside every boundary are let be.
    """

    places: tuple[SnapshotFolder, ...] = ()
    everywhere: bool = False
    observes: bool = False
    folder: str | None = None
    allows_effects: bool = False


IN_PROCESS = StateScope()

_UNWATCHED = (
    "a crash that the code catches itself is not seen, because another tool traces this process (coverage, a debugger); a fix"
    " that crashes can look as if it refused"
)


class Serving(NamedTuple):
    """What a child process of a replay serves: its lane."""

    lane: str
    handing: Handing
    """What the processes are told that it starts."""
    parent: Remote | None
    """The crossing that it was started in."""


class Replaying(Session):
    """A session that serves a trace, or to a child process its part of one."""

    _changed_files = 0
    """How many files and databases were changed outside every boundary."""

    def __init__(
        self,
        activation: Activation,
        record: Record,
        redactor: Redactor,
        plan: ReplayPlan = FULL,
        joined: Serving | None = None,
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
        self.isolation = denials.Isolation(plan.deny, activation.project)
        self.watched = self.isolation.events
        self._refusals = Refusals(self.isolation, self.director, record, activation.project)
        self._refusals.telemetry = lambda: senders(activation.rules.packs)
        self.state: LiveState | None = None
        """The scratch copy that is worked on; None where nothing is live in a process that is not only a replay's."""
        self.allowed = self._refusals.allowed = AllowedEffects(
            activation.rules.effects, everything=scope.allows_effects
        )
        self._effects = 0
        self.outside: ReplayedEffects | None = None
        """What the program changes outside everything live, where that is compared."""
        self._set_up_state(scope, joined)
        self._places = scope.places
        self.evidence: tuple[Evidence, ...] = ()
        self._is_discarded = False
        self._scope = scope
        self.broke: str | None = None
        """How the program crashed, where no refusal ended it."""
        self._crash_watch: CrashWatch | None = None
        self._handles: OpenHandles | None = None
        self.uncaught: str | None = None
        """The type of the exception that ended the program."""
        self.calls: TracedCalls | None = None
        """The calls of the function that the trace is of; None where no rule makes traces of calls."""
        self._process = unpatched.getpid()
        self._unwatch: list[Callable[[], None]] = []
        self._joined = joined
        self._folder: ReplayFolder | None = None
        """What the child processes find; of the first process only."""
        self._strangers: set[tuple[str, str]] = set()
        if joined is not None:
            self.children = Children(self, joined.handing, parent_of, self._forked)
        elif record.header.children and activation.rules.children:
            self._folder = ReplayFolder(record, plan, swaps)
            handing = self._handing(self._folder)
            self.children = Children(self, handing, parent_of, self._forked)
            self.children.before_first = self._folder.fill
        self._report: ChildReport | None = None
        self.before_exec: Callable[[], None] | None = None
        """What is done before the process is replaced."""

    def _set_up_state(self, scope: StateScope, joined: Serving | None) -> None:
        """Make the scratch copy where something may be changed."""
        record, plan, activation = self.record, self.plan, self.activation
        if scope.everywhere or not plan.is_full or _has_state(record.footer):
            self.state = self._refusals.state = self._live_state(scope, joined)
            self.director.runs.observer = self
            self.watched |= STATE_EVENTS | TEMPORARY_EVENTS | SIGNAL_EVENTS
            if plan.is_full:
                root = activation.rules.root or os.getcwd()
                self.outside = ReplayedEffects(
                    self.state, activation.project, record.footer, root, self.allowed
                )
                self.state.scratch.on_gone = self.outside.gone
                self._refusals.refuses_all = scope.everywhere
        if scope.everywhere:
            self.watched |= {_EXEC, _NATIVE}

    def begin(self) -> None:
        """Switch serving on."""
        self.redactor.load()  # not when it is needed: the program may break `open` or `__import__` until then
        joined = self._joined
        invents = self._scope.observes and self._scope.everywhere and not self.plan.is_full
        if invents or self.record.header.ambient or self.activation.values is not None:
            values, cursor = self.activation.ambient_values(), self.director.state.cursor
            cursor.keeps_time = True
            values.replay(self.record, lambda: cursor.time, self._is_alone)
            if invents:
                values.invent()
        if self._scope.observes:
            from autochron.reproduction.crashwatch import CrashWatch  # lazy: for who judges the replay

            project = self.activation.project
            self._crash_watch = CrashWatch(project.owns, project.name)
            if not self._crash_watch.begin():
                self.director.note("unwatched", "", _UNWATCHED, severity="notice")
        if self.state is not None:
            if not self._scope.everywhere and self.state.scratch.before:
                self._take_open_handles(self.state)
            self.state.on_attach = self._refusals.refuse_attached
            self.state.begin()
            if joined is None and not self.plan.is_full:
                self._note_missing_state(self.state)
        if "files" in self.plan.deny:
            self._unwatch = [denials.watch_nodes(), sqlite.watch(self._refusals.refuses_writing)]
        if joined is None:
            self.start(self.director, self.director.transport)
            return
        self._tell(joined.lane)
        self.start(self.director, self.director.transport, lane=joined.lane, parent=joined.parent)

    def _take_open_handles(self, state: LiveState) -> None:
        """Have files that are open already written on the scratch copy, and changes of open databases refused."""
        from autochron.effects.open_handles import OpenHandles  # lazy: where the trace has state

        paths = [path for path, found in state.scratch.before.items() if found.kind != "folder"]
        self._handles = OpenHandles(state.scratch, paths)
        if self._handles.databases:
            state.opened_before = self._handles.databases
            self._unwatch.append(sqlite.guard_open(self._handles.databases, self._refusals.refuses_writing))

    def _note_missing_state(self, state: LiveState) -> None:
        """Say what the program held before the recorded run that is not here."""
        for each in state.missing:
            if each.digest:
                message = (
                    f"what {each.path} held before the recorded run is not here (snapshot {each.digest[:12]}…), so what is"
                    " live works on what it holds today; replay where it was recorded, or take the snapshots along with"
                    " --with-snapshots"
                )
                self.director.note("stale-state", each.path, message, severity="warning")

    def _is_alone(self) -> bool:
        """Return whether the program has started no process."""
        return self.children is None or not self.children.started

    def stop(self) -> None:
        """Switch serving off, and take off what files are watched by."""
        super().stop()
        if self._crash_watch is not None:
            self._crash_watch.end()
        if self.state is not None:
            self.state.stop()
        if self._handles is not None:
            self._handles.put_back()
        while self._unwatch:
            self._unwatch.pop()()

    def _handing(self, folder: ReplayFolder) -> Handing:
        """Say what the processes are told that the replayed program starts."""
        scratch = None if self.state is None else self.state.scratch.folder
        return folder.handing(self.activation, self.record, scratch, [each.path for each in self._places])

    def _live_state(self, scope: StateScope, joined: Serving | None) -> LiveState:
        """Make the scratch copy, or share that of the process that this one is a child of."""
        footer, project = self.record.footer, self.activation.project
        root = self.activation.rules.root or os.getcwd()
        return LiveState(
            () if footer is None else footer.snapshots,
            () if footer is None else footer.reads,
            root,
            scope.places,
            open_live=self._open_live,
            name=project.name,
            modules=ModuleState(project.owns, project.name) if scope.observes else None,
            everywhere=scope.everywhere,
            folder=scope.folder if joined is None else joined.handing.scratch,
            is_joined=joined is not None,
            denies_files="files" in self.plan.deny,
        )

    def _open_live(self) -> list[str]:
        """Return the addresses of the live crossings around what runs now, innermost first."""
        return self._refusals.live_around(innermost())

    def entered(self, crossing: Crossing) -> None:
        """Note what was done before a live crossing."""
        if self.state is not None and not crossing.rule.id.startswith(VALUE):
            self.state.entered(self._refusals.named(crossing)[0])

    def left(self, crossing: Crossing, error: BaseException | None) -> None:
        """Note what a live crossing has done, and whether what it raised is a crash."""
        state = self.state
        if state is None or crossing.rule.id.startswith(VALUE):
            return
        own = self._refusals.named(crossing)[0]
        state.left(own)
        if error is not None and not isinstance(error, GeneratorExit):
            from autochron.reproduction.crashes import describe, is_crash

            project, seen = self.activation.project, state.seen(own)
            if is_crash(error, project.owns):
                seen.crash = describe(error, project.name, project.owns)
            else:
                seen.refusal = type(error).__qualname__

    def swallowed(self) -> tuple[str, ...]:
        """Return the crashes that the project's code caught itself."""
        return () if self._crash_watch is None else self._crash_watch.found()

    def sources(self) -> tuple[str, ...]:
        """Return the project's modules that were imported, relative to the root."""
        project = self.activation.project
        files = {str(module.__file__) for module in project_modules(project.owns)}
        return tuple(sorted(project.name(each) for each in files))

    def gather_evidence(self) -> tuple[Evidence, ...]:
        """Return what was seen of live crossings, also once the replay is over."""
        if self.state is not None and not self._is_discarded:
            self.evidence = self.state.evidence(self.director.state.inputs.mask)
        return self.evidence

    def _discard(self) -> None:
        """Remove the scratch copy; what was seen there is kept, also what was done there at the very end."""
        if self.state is not None and not self._is_discarded:
            self.state.left()
        self.gather_evidence()
        self._is_discarded = True
        if self.state is not None and self._joined is None:
            self.state.discard()

    def over(self, kernel: Kernel) -> Kernel | Kernels | Swapping:
        """Return what woven code calls: the trace of a call begins where that call does."""
        whole = self._of_calls(kernel)
        return Swapping(whole, self.swaps, self.activation) if self.swaps else whole

    def _of_calls(self, kernel: Kernel) -> Kernel | Kernels:
        if not self.activation.rules.traces:
            return kernel
        from autochron.crossing.kernels import Kernels, Part  # lazy: few rules are for services
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

        def begin(point: Point, arguments: tuple[Any, ...]) -> Part | None:
            if point.called != called or not (point.module == module or project.name(point.file) == file):
                return None
            return Part(kernel, calls.begin(point, arguments))

        return Kernels(kernel, begin)

    def _tell(self, lane: str) -> None:
        """Have what is noted in this process told to the first one."""
        assert self.children is not None  # noqa: S101 - what it is a child of
        self._report = ChildReport(self.children.handing.place, lane)
        self.director.serve_child(self._report, lane)

    def _forked(self, root: Root | None) -> None:
        """Go on in a forked process, in a lane of its own."""
        if root is None:
            self.leave_parent()
            return
        self._tell(root.lane)
        if self.state is not None:
            self.state.scratch.is_shared = True
        if self.children is not None:
            self.children.started.clear()
        seq = parent_of(root.parent)
        parent = None if seq is None else Remote(seq, collapses=root.collapses, live=is_live(root.parent))
        self.begin_again(self.director, self.director.transport, lane=root.lane, parent=parent)

    def leave(self) -> None:
        """Say in a child process that it has come to its end."""
        if self._report is not None:
            self.director.state.end_streams()
            for problem in self.problems:
                self._report.tell(ChildEvent(kind="problem", text=problem))
            for swap in self.swaps:
                if swap.fault:
                    self.director.note("missing", swap.old, swap.fault, severity="error")
                if swap.calls:
                    self._report.tell(ChildEvent(kind="swapped", text=swap.old))
            if self.children is not None:
                self._note_strangers(self.children.started, read_lanes(self.children.handing.place))
            self._report.tell(ChildEvent(kind="ended"))

    def finish(self, *, whole: bool = True) -> Sequence[Any]:
        """Switch serving off; give the divergences. `whole` tells whether the program came to its end."""
        if gate.is_on():
            self.stop()
        running = self._gather() if self._folder is not None else ()
        for each in self.swaps if whole else ():
            failed = any(told.severity == "error" for told in self.director.divergences)
            if each.fault or not (each.calls or failed):
                self.director.note("missing", each.old, each.never_called())
        refusal = self.activation.cache_refusal
        if refusal:
            self.director.note("unsafe-cache", "", refusal, severity="notice")
        if whole:
            self.director.finish(running)
            self._compare_effects()
        self._discard()
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
        if self.outside is None or self._joined is not None:
            return
        has_children = self.children is not None and self.children.has_started
        found = self.outside.differences(has_children=has_children)
        self._changed_files = self.outside.count()
        for each in found:
            # In a test's own process modules may have been imported before the replay, with what they change.
            severity = "warning" if each.severity == "error" and not self._scope.everywhere else each.severity
            self.director.note(
                "effect", each.effect.site, each.message, severity=severity, path=each.effect.what
            )

    def put_away(self) -> None:
        """Remove what was laid out for child processes of a replay that does not take place here."""
        self._discard()
        if self._folder is not None:
            self._folder.remove()

    def stand(self) -> None:
        """Hear of no process until a fork has taken over: forks are no part of the program here, and get a folder anew."""
        if self._folder is not None and self.children is not None:
            self._folder.remove()
            self._folder = ReplayFolder(self.record, self.plan, self.swaps)
            self.children.handing = self._handing(self._folder)
            self.children.before_first = self._folder.fill
            self.children.begin()
            processes.attend(None)

    def take_over(self) -> None:
        """Go on in a fork in the place of the process that was forked."""
        self.director.take_over()
        if self.state is not None:
            self.state.scratch.fork()
        if self.children is not None:
            processes.attend(self.children)

    def clear(self) -> None:
        """Remove what a fork has left that could not: a process that it started may still have written there."""
        if self.state is not None:
            self.state.scratch.discard_fork()
        if self._folder is not None:
            self._folder.clear()

    def _gather(self) -> tuple[str, ...]:
        """Take in what the child processes told; gives the lanes of those that are still at work."""
        folder, children = self._folder, self.children
        if folder is None or children is None or not children.has_started:
            if folder is not None:
                folder.remove()
            return ()
        expected = [each.lane for each in children.started if not each.by and self._is_recorded(each.lane)]
        reports, running = folder.gather(expected)
        for told in reports:
            self.director.merge(told)
            for each in told:
                if each.kind == "problem":
                    self.problem(each.text)
                for swap in self.swaps if each.kind == "swapped" else ():
                    swap.calls += swap.old == each.text
        self._note_strangers(children.started, {told[0].lane for told in reports})
        for lane in running:
            message = f"the process of lane {lane} was still running when the program ended, so its rest was not compared"
            self.director.note("child", lane, message, severity="warning")
        folder.remove()
        return tuple(f"{lane}/" for lane in running)

    def _refuse_stranger(self, child: str, lane: str) -> None:
        """Refuse to start a process that was recorded and would now do for real what it did."""
        if find_line() is None and self._is_recorded(lane):
            place = self.place()
            message = (
                f"{child} would be started for real at {place}: it was recorded, and autochron is not installed here so that"
                " it is found by programs that are started (no folder of sys.path has autochron_children.pth); install it"
            )
            self.director.note("child", place, message)
            raise UnwovenToolError(message)

    def _is_recorded(self, lane: str) -> bool:
        return any(f"{each.lane}/".startswith(f"{lane}/") for each in self.record)

    def _note_strangers(self, started: Iterable[Started], lanes: Collection[str]) -> None:
        for each in strangers(started, lanes):
            if each.by:
                self._note_unwatched(each.by, f"starts {each.what}", each.place)
            else:
                self._note_stranger(each.what, each.place)

    def _note_stranger(self, child: str, place: str) -> None:
        message = f"{child} was started again for real at {place}; make the call a boundary, and record again"
        if (child, place) not in self._strangers:
            self._strangers.add((child, place))
            self.director.note("child", place, message, severity="warning")

    def _note_unwatched(self, by: str, does: str, place: str) -> None:
        """Say that something is denied to a process that can't be kept from it."""
        denied = " and ".join(sorted(self.plan.deny))
        message = (
            f"{by} {does} at {place}, where it is not seen whether it reaches for what is denied ({denied}): only"
            " Python processes that take part in the replay are kept from it; deny subprocess, too, or have it served"
        )
        if (by, message) not in self._strangers:
            self._strangers.add((by, message))
            self.director.note("child", by, message, severity="notice")

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

    def on_network(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what reaches out of the process outside what is live, and inside what is denied.

        A child process that takes part is let start.
        """
        crossing = innermost()
        live = is_live(crossing)
        if event in TEMPORARY_EVENTS:
            self._note_temporary(arguments)
        if live and self.plan.deny:
            self._deny(crossing, event, arguments, getframe(2))
        if event == _NATIVE:
            self._note_native()
            return
        if event in _EFFECTS:
            self._guard_effect(crossing, event, arguments, live=live)
            return
        if event == _EXEC:
            self._guard_exec(arguments, live=live)
            return
        child = network.child_of(event, arguments)
        if child is not None:
            self._guard_child(crossing, event, arguments, child, live=live)
        elif not live and network.is_network(event):
            address = network.address_of(event, arguments)
            if address is not None:
                self._refusals.refuse_connection(self.place(), address)

    def _guard_effect(self, crossing: Any, event: str, arguments: tuple[Any, ...], *, live: bool) -> None:
        """Refuse changes of files that get past the scratch copy, and signals; note what goes to the copy."""
        if self.outside is not None and not live:
            self.outside.heard(event, arguments)
        if event in SIGNAL_EVENTS:
            if not live and self._scope.everywhere:
                self._refusals.refuse_signal(self.place(), event, arguments)
        elif event in STATE_EVENTS and "files" not in self.plan.deny:
            self._refusals.guard_state(crossing, event, arguments, live=live)

    def _note_native(self) -> None:
        """Say once that a line of the project calls into C, where nobody sees what is changed."""
        frame: Any = getframe(3)
        while frame is not None and str(frame.f_globals.get("__name__")).startswith(
            ("ctypes", "autochron._runtime.audit")
        ):
            frame = frame.f_back
        project = self.activation.project
        if frame is None or not project.owns(frame.f_code.co_filename):
            return
        place = f"{project.name(frame.f_code.co_filename)}:{frame.f_lineno}"
        if (_NATIVE, place) not in self._strangers:
            self._strangers.add((_NATIVE, place))
            message = (
                f"{place} calls a library of C by ctypes: what that changes is not seen, and happens for real"
            )
            self.director.note("unwatched", place, message, severity="warning")

    def _guard_exec(self, arguments: tuple[Any, ...], *, live: bool) -> None:
        """Refuse that a forked process becomes another program, as `os.spawnvp` has it."""
        is_fork = self._joined is not None or unpatched.getpid() != self._process
        if not live and is_fork and not takes_part(_EXEC, arguments) and network.can_run(arguments[0]):
            name = os.path.basename(network.text_of(arguments[0]))
            self._refusals.refuse_program(self.place(), f"a child process of {name}")

    def _guard_child(
        self, crossing: Any, event: str, arguments: tuple[Any, ...], child: str, *, live: bool
    ) -> None:
        """Let a process start that takes part, or that something live starts."""
        if live:
            comes = self.children is not None and find_line() is not None and "python" in child
            if not comes:
                self._refusals.guard_words(crossing, event, arguments, child)
        elif self._scope.everywhere:
            spawned = spawned_by_fork(event)
            if spawned is not None:
                child = f"a child process of {os.path.basename(network.text_of(spawned[0]))}"
            if self.children is None:
                self._refusals.refuse_program(self.place(), child)
                return  # it is let be
            if not takes_part(*((event, arguments) if spawned is None else ("os.posix_spawn", spawned))):
                self._start_stranger(event, arguments, child)
                return
        self._start_child(event, arguments, child, by=self._refusals.named(crossing)[0] if live else None)

    def _start_stranger(self, event: str, arguments: tuple[Any, ...], child: str) -> None:
        """Let a program start that starts Python processes which were recorded, such as a shell; refuse every other."""
        assert self.children is not None  # noqa: S101 - see who calls
        if self.state is not None:
            self.state.scratch.is_shared = True
        lane = self.children.start(event, arguments, child, told_of=False)
        if lane is not None:
            self._refuse_stranger(child, lane)
            if self._is_recorded(lane) or any(f"{lane}/{UNKNOWN}" in each.lane for each in self.record):
                return
        self._refusals.refuse_program(self.place(), child)

    def _deny(self, crossing: Any, event: str, arguments: tuple[Any, ...], frame: FrameType | None) -> None:
        """Refuse what is denied to a live crossing; it is an error whatever becomes of the exception."""
        reached = self.isolation.reached(event, arguments, frame)
        if reached is None:
            if event == "os.exec" and self.isolation.is_partial and network.can_run(arguments[0]):
                does = denials.started(event, arguments)
                self._note_unwatched(self._refusals.named(crossing)[0], str(does), self.place())
            return
        raise self._refusals.refusal(crossing, reached)

    def _note_temporary(self, arguments: tuple[Any, ...]) -> None:
        """Leave a temporary file where it is, unless it is made in the project."""
        path = os.fsdecode(arguments[0])
        if self.state is not None and is_temporary(path, (self.activation.rules.root, os.curdir)):
            self.state.scratch.leave_alone(os.path.realpath(path))

    def _start_child(self, event: str, arguments: tuple[Any, ...], child: str, *, by: str | None) -> None:
        """Let a child process start; `by` is the live crossing that it starts in."""
        if self.state is not None:
            self.state.scratch.is_shared = True
        told_of = by is None and not self.is_inside()
        watched = by if by is not None and self.isolation.is_partial else None
        # A shell does what it does itself, whatever it starts.
        if watched is not None and (self.children is None or event == "os.system"):
            self._note_unwatched(watched, f"starts {child}", self.place())
            watched = None
        if self.children is not None:
            lane = self.children.start(
                event, arguments, child, told_of=told_of or watched is not None, by=watched or ""
            )
            if lane is not None and by is None:
                self._refuse_stranger(child, lane)
        elif told_of:
            self._note_stranger(child, self.place())
