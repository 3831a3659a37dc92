"""Observe the live crossings of a replay: their scratch copy, their changes to it, and their crashes."""

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
    """How much of a replay works on a scratch copy of the program's files.

    Attributes:
        places: the folders that are searched for the contents of snapshots.
        everywhere: whether the whole process works on the scratch copy, and not only its live crossings.
        observes: whether changes of modules' state and caught crashes are noted.
        folder: the scratch folder; None for a new one.
        allows_effects: whether programs, connections and signals outside every boundary are allowed.
    """

    places: tuple[SnapshotFolder, ...] = ()
    everywhere: bool = False
    observes: bool = False
    folder: str | None = None
    allows_effects: bool = False


IN_PROCESS = StateScope()
"""The scope of a replay inside a process that also does other work."""


class LiveObservation:
    """Observes live crossings. It implements `ports.LiveObserver`.

    Attributes:
        state: the scratch copy; None until `make_state`, which a replay may not need.
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
        """Make the scratch copy.

        Args:
            record: the replayed trace.
            root: the project's folder.
            is_joined: whether the scratch folder belongs to the parent process.
            denies_files: whether live crossings may change no files.

        Raises:
            StoreError: the content of a snapshot is damaged.
        """
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
            modules=ModuleState(project) if self._scope.observes else None,
            everywhere=self._scope.everywhere,
            folder=self._scope.folder,
            is_joined=is_joined,
            denies_files=denies_files,
        )
        self._refusals.state = self.state
        self._director.runs.observer = self
        return self.state

    def begin(self, *, notes_missing: bool, denies_files: bool) -> None:
        """Watch for crashes, redirect files to the scratch copy, and refuse changes of files if they are denied.

        Args:
            notes_missing: whether snapshots whose contents are not here are reported.
            denies_files: whether live crossings may change no files.
        """
        if self._scope.observes:
            from autochron.reproduction.crashwatch import CrashWatch  # lazy: only a judged replay needs it

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
        """Stop redirecting files and watching for crashes."""
        if self._crash_watch is not None:
            self._crash_watch.end()
        if self.state is not None:
            self.state.stop()
        if self._handles is not None:
            self._handles.put_back()
        while self._undo:
            self._undo.pop()()

    def _take_open_handles(self, state: LiveState) -> None:
        """Redirect files that are already open to the scratch copy, and refuse changes of databases that are."""
        from autochron.effects.open_handles import OpenHandles  # lazy: only if the trace has snapshots

        paths = [path for path, before in state.scratch.before.items() if before.kind != "folder"]
        self._handles = OpenHandles(state.scratch, paths)
        if self._handles.databases:
            state.opened_before = self._handles.databases
            self._undo.append(sqlite.guard_open(self._handles.databases, self._refusals.refuses_writing))

    def _note_missing_state(self, state: LiveState) -> None:
        """Report the snapshots whose contents are not here."""
        for snapshot in state.missing:
            if snapshot.digest:
                message = (
                    f"the content of {snapshot.path} before the recorded run is not here (snapshot {snapshot.digest[:12]}…),"
                    " so live crossings work on today's content; replay where it was recorded, or take the snapshots"
                    " along with --with-snapshots"
                )
                self._director.note("stale-state", snapshot.path, message, severity="warning")

    def _open_live(self) -> list[str]:
        """Return the addresses of the live crossings around the running code, innermost first."""
        return self._refusals.live_around(innermost())

    def entered(self, crossing: Crossing[Running]) -> None:
        """Note that a live crossing begins."""
        if self.state is not None and not crossing.rule.id.startswith(VALUE):
            self.state.entered(self._refusals.named(crossing)[0])

    def left(self, crossing: Crossing[Running], error: BaseException | None) -> None:
        """Note that a live crossing ends, and whether its exception is a crash or a refusal."""
        state = self.state
        if state is None or crossing.rule.id.startswith(VALUE):
            return
        address = self._refusals.named(crossing)[0]
        state.left(address)
        if error is not None and not isinstance(error, GeneratorExit):
            from autochron.reproduction.crashes import describe, is_crash

            project, seen = self._project, state.seen(address)
            if is_crash(error, project.owns):
                seen.crash = describe(error, project.name, project.owns)
            else:
                seen.refusal = type(error).__qualname__

    def swallowed(self) -> tuple[str, ...]:
        """Return descriptions of the crashes that the project's code caught itself."""
        return () if self._crash_watch is None else self._crash_watch.found()

    def sources(self) -> tuple[str, ...]:
        """Return the files of the project's imported modules, relative to the root, ordered."""
        project = self._project
        files = {str(module.__file__) for module in project_modules(project)}
        return tuple(sorted(project.name(file) for file in files))

    def evidence(self) -> tuple[Evidence, ...]:
        """Return what was seen of live crossings. After `discard` it is what was seen until then."""
        if self.state is not None and not self._is_discarded:
            self._evidence = self.state.evidence(self._director.state.inputs.mask)
        return self._evidence

    def discard(self) -> None:
        """Note the last changes, keep the evidence, and remove the scratch copy."""
        if self.state is not None and not self._is_discarded:
            self.state.left()
        self.evidence()
        self._is_discarded = True
        if self.state is not None and not self._is_joined:
            self.state.discard()
