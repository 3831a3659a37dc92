"""The scratch copy that live crossings of a replay work on, and what they were seen to do there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from autochron.effects.live_state import LiveState, recorded_state
from autochron.effects.module_state import ModuleState, project_modules
from autochron.isolation import denials, sqlite
from autochron.isolation.refusals import innermost
from autochron.model import VALUE, Evidence

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.effects.open_handles import OpenHandles
    from autochron.effects.snapshots import SnapshotFolder
    from autochron.isolation.refusals import Refusals
    from autochron.ports import Record
    from autochron.project import Project
    from autochron.replaying.director import Director
    from autochron.replaying.running import Running
    from autochron.reproduction.crashwatch import CrashWatch

_UNWATCHED = (
    "a crash that the code catches itself is not seen, because another tool traces this process (coverage, a debugger); a fix"
    " that crashes can look as if it refused"
)


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


class LiveObservation:
    """Observes live crossings; a `ports.LiveObserver`.

    Attributes:
        state: the scratch copy; None where nothing is live in a process that is not only a replay's.
    """

    def __init__(self, project: Project, director: Director, refusals: Refusals, scope: StateScope) -> None:
        self.state: LiveState | None = None
        self._project = project
        self._director = director
        self._refusals = refusals
        self._scope = scope
        self._is_joined = False
        self._crash_watch: CrashWatch | None = None
        self._handles: OpenHandles | None = None
        self._evidence: tuple[Evidence, ...] = ()
        self._is_discarded = False
        self._undo: list[Callable[[], None]] = []

    def make_state(self, record: Record, root: str, *, is_joined: bool, denies_files: bool) -> LiveState:
        """Make the scratch copy, or share that of the process that this one is a child of; `root` is the project's folder."""
        footer, project = record.footer, self._project
        self._is_joined = is_joined
        recorded = recorded_state(
            () if footer is None else footer.snapshots,
            () if footer is None else footer.reads,
            root,
            self._scope.places,
        )
        self.state = LiveState(
            recorded,
            open_live=self._open_live,
            name=project.name,
            modules=ModuleState(project.owns, project.name) if self._scope.observes else None,
            everywhere=self._scope.everywhere,
            folder=self._scope.folder,
            is_joined=is_joined,
            denies_files=denies_files,
        )
        self._refusals.state = self.state
        self._director.runs.observer = self
        return self.state

    def begin(self, *, notes_missing: bool, denies_files: bool) -> None:
        """Watch for crashes, have files redirected to the scratch copy, and writes refused where they are denied.

        Args:
            notes_missing: whether it is noted what the program held before the recorded run that is not here.
            denies_files: whether live crossings may change no files.
        """
        if self._scope.observes:
            from autochron.reproduction.crashwatch import CrashWatch  # lazy: for who judges the replay

            project = self._project
            self._crash_watch = CrashWatch(project.owns, project.name)
            if not self._crash_watch.begin():
                self._director.note("unwatched", "", _UNWATCHED, severity="notice")
        if self.state is not None:
            if not self._scope.everywhere and self.state.scratch.before:
                self._take_open_handles(self.state)
            self.state.on_attach = self._refusals.refuse_attached
            self.state.begin()
            if notes_missing:
                self._note_missing_state(self.state)
        if denies_files:
            self._undo = [denials.watch_nodes(), sqlite.watch(self._refusals.refuses_writing)]

    def stop(self) -> None:
        """Take off what files and crashes are watched by."""
        if self._crash_watch is not None:
            self._crash_watch.end()
        if self.state is not None:
            self.state.stop()
        if self._handles is not None:
            self._handles.put_back()
        while self._undo:
            self._undo.pop()()

    def _take_open_handles(self, state: LiveState) -> None:
        """Have files that are open already written on the scratch copy, and changes of open databases refused."""
        from autochron.effects.open_handles import OpenHandles  # lazy: where the trace has state

        paths = [path for path, before in state.scratch.before.items() if before.kind != "folder"]
        self._handles = OpenHandles(state.scratch, paths)
        if self._handles.databases:
            state.opened_before = self._handles.databases
            self._undo.append(sqlite.guard_open(self._handles.databases, self._refusals.refuses_writing))

    def _note_missing_state(self, state: LiveState) -> None:
        """Note what the program held before the recorded run that is not here."""
        for each in state.missing:
            if each.digest:
                message = (
                    f"what {each.path} held before the recorded run is not here (snapshot {each.digest[:12]}…), so what is"
                    " live works on what it holds today; replay where it was recorded, or take the snapshots along with"
                    " --with-snapshots"
                )
                self._director.note("stale-state", each.path, message, severity="warning")

    def _open_live(self) -> list[str]:
        """Return the addresses of the live crossings around what runs now, innermost first."""
        return self._refusals.live_around(innermost())

    def entered(self, crossing: Crossing[Running]) -> None:
        """Note what was done before a live crossing."""
        if self.state is not None and not crossing.rule.id.startswith(VALUE):
            self.state.entered(self._refusals.named(crossing)[0])

    def left(self, crossing: Crossing[Running], error: BaseException | None) -> None:
        """Note what a live crossing has done, and whether what it raised is a crash."""
        state = self.state
        if state is None or crossing.rule.id.startswith(VALUE):
            return
        own = self._refusals.named(crossing)[0]
        state.left(own)
        if error is not None and not isinstance(error, GeneratorExit):
            from autochron.reproduction.crashes import describe, is_crash

            project, seen = self._project, state.seen(own)
            if is_crash(error, project.owns):
                seen.crash = describe(error, project.name, project.owns)
            else:
                seen.refusal = type(error).__qualname__

    def swallowed(self) -> tuple[str, ...]:
        """Return the crashes that the project's code caught itself."""
        return () if self._crash_watch is None else self._crash_watch.found()

    def sources(self) -> tuple[str, ...]:
        """Return the project's modules that were imported, relative to the root."""
        project = self._project
        files = {str(module.__file__) for module in project_modules(project.owns)}
        return tuple(sorted(project.name(each) for each in files))

    def evidence(self) -> tuple[Evidence, ...]:
        """Return what was seen of live crossings, also once the replay is over."""
        if self.state is not None and not self._is_discarded:
            self._evidence = self.state.evidence(self._director.state.inputs.mask)
        return self._evidence

    def discard(self) -> None:
        """Remove the scratch copy; what was seen there is kept, also what was done there at the very end."""
        if self.state is not None and not self._is_discarded:
            self.state.left()
        self.evidence()
        self._is_discarded = True
        if self.state is not None and not self._is_joined:
            self.state.discard()
