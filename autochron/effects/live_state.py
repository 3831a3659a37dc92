"""Redirect live crossings of a replay to a scratch copy of the files, and note what they change there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects import redirect
from autochron.effects.changes import ScratchWatch, digest_of
from autochron.effects.module_state import ModuleState
from autochron.effects.running import at_work
from autochron.effects.scratch import Before, Scratch
from autochron.effects.undisturbed import is_busy, undisturbed
from autochron.model import OUTSIDE, Evidence, FileRead, Snapshot, StateEffect

if TYPE_CHECKING:
    from autochron.effects.snapshots import SnapshotFolder

_MOST = 500
"""Most effects that are kept of one crossing."""


class RecordedState(NamedTuple):
    """What the trace says about the files of the recorded run, by absolute path.

    Attributes:
        before: what the files held before the run.
        missing: the snapshots whose contents are not here.
        missing_reasons: why the content of a path is not here.
        read_digests: the SHA-256 of files that the run read and of which there is no snapshot, hex.
    """

    before: dict[str, Before]
    missing: tuple[Snapshot, ...]
    missing_reasons: dict[str, str]
    read_digests: dict[str, str]


def recorded_state(
    snapshots: Sequence[Snapshot],
    reads: Iterable[FileRead],
    root: str,
    places: Iterable[SnapshotFolder | None],
) -> RecordedState:
    """Find the contents of a trace's snapshots.

    Args:
        snapshots: the trace's snapshots.
        reads: the files that the recorded run read.
        root: the folder that their paths are relative to.
        places: the folders that are searched for the contents.

    Raises:
        StoreError: a content is damaged.
    """
    before, missing = _states_of(snapshots, root, places)
    reasons = {
        _absolute(root, snapshot.path): snapshot.reason or "its snapshot is not here" for snapshot in missing
    }
    return RecordedState(
        before, tuple(missing), reasons, {_absolute(root, read.path): read.digest for read in reads}
    )


def _absolute(root: str, path: str) -> str:
    return os.path.realpath(os.path.join(root, path))


class Seen:
    """What was seen of one live crossing.

    Attributes:
        effects: the changes of files and of modules' state, in order.
        crash: a description of the crash that the crossing ended with.
        refusal: the type of the exception that it raised, where that is no crash.
        stale: names of files that it read and that differ from the recorded run's.
        unkept: names of files that it opened and whose earlier content is not here, each with the reason.
        opened_before: names of databases that were open before the replay began.
        was_running: ids of the threads and tasks that ran when it began.
        left_running: names of the threads and tasks that it started and that still ran when it ended.
    """

    __slots__ = (
        "crash",
        "effects",
        "left_running",
        "opened_before",
        "refusal",
        "stale",
        "unkept",
        "was_running",
    )

    def __init__(self) -> None:
        self.effects: list[StateEffect] = []
        self.crash: str | None = None
        self.refusal: str | None = None
        self.stale: dict[str, None] = {}
        self.unkept: dict[str, None] = {}
        self.opened_before: dict[str, None] = {}
        self.was_running: set[int] = set()
        self.left_running: dict[str, None] = {}


class LiveState:
    """Redirects a replay to its scratch copy, and notes what its live crossings change there."""

    def __init__(
        self,
        recorded: RecordedState,
        *,
        open_live: Callable[[], list[str]],
        name: Callable[[str], str],
        modules: ModuleState | None,
        everywhere: bool,
        folder: str | None = None,
        is_joined: bool = False,
        denies_files: bool = False,
    ) -> None:
        """Set up; `begin` starts the redirection.

        Args:
            recorded: what is known of the files of the recorded run.
            open_live: returns the addresses of the live crossings around the running code, innermost first.
            name: returns the name of a path in reports.
            modules: watches the globals of the project's modules; None where these are not compared.
            everywhere: whether the whole process works on the scratch copy, and not only its live crossings.
            folder: the scratch folder; None for a new one.
            is_joined: whether the folder belongs to the parent process.
            denies_files: whether live crossings may not change files at all.
        """
        self.scratch = Scratch(recorded.before, folder, is_joined=is_joined)
        self._watch = ScratchWatch(self.scratch, name)
        self._modules = modules
        self._open_live = open_live
        self._everywhere = everywhere
        self._denies_files = denies_files
        self._recorded = recorded
        self._name = name
        self._seen: dict[str, Seen] = {}
        self._lock = unpatched.RLock()
        self._open: dict[str, None] = {}
        """Addresses of the live crossings that are open in this process, in order."""
        self.problems: list[str] = []
        """Messages about what could not be observed."""
        self.on_attach: Callable[[str], None] = lambda _: None
        """Called with the path of a file that is to be attached to a database; that is refused."""
        self.opened_before: set[str] = set()
        """Paths of databases that were open before the replay began."""

    @property
    def missing(self) -> tuple[Snapshot, ...]:
        """The snapshots whose contents are not here."""
        return self._recorded.missing

    def begin(self) -> None:
        """Start redirecting calls to the scratch copy."""
        redirect.put_in_force(
            redirect.Redirection(
                self.scratch,
                self._is_live,
                self._everywhere,
                self._touched,
                on_attach=self.on_attach,
                denies_files=self._denies_files,
            )
        )

    def stop(self) -> None:
        """Stop redirecting."""
        redirect.put_in_force(None)

    def discard(self) -> None:
        """Remove the scratch copy."""
        self.scratch.discard()

    def _is_live(self) -> bool:
        return bool(self._open_live())

    def seen(self, address: str) -> Seen:
        """Return the record of what was seen of a crossing so far."""
        seen = self._seen.get(address)
        if seen is None:
            seen = self._seen[address] = Seen()
        return seen

    # --- observing live crossings ------------------------------------------------------------------------------------

    def entered(self, address: str) -> None:
        """Note that a live crossing begins.

        Changes up to now are noted first, so that they are not attributed to this crossing.
        """
        with self._lock, undisturbed():
            self._note_changes()
            self._open[address] = None
            self.seen(address).was_running = set(at_work())

    def left(self, address: str | None = None) -> None:
        """Note that a live crossing ends, and the changes up to now; without an address only these changes.

        The changes are attributed to each open live crossing, since nothing shows which of several made them.
        """
        with self._lock, undisturbed():
            self._note_changes()
            if address is not None:
                self._open.pop(address, None)
                seen = self.seen(address)
                running = at_work()
                seen.left_running |= dict.fromkeys(running[key] for key in running.keys() - seen.was_running)

    def _note_changes(self) -> None:
        self.scratch.flush()
        effects = self._watch.changes()
        effects += self._module_changes()
        for address in tuple(self._open) or ((OUTSIDE,) if effects else ()):
            kept = self.seen(address).effects
            kept += effects[: _MOST - len(kept)]
            self.seen(address).opened_before |= dict.fromkeys(map(self._name, sorted(self.opened_before)))

    def _module_changes(self) -> list[StateEffect]:
        """Return the changes of the modules' globals since the last call."""
        if self._modules is None:
            return []
        try:
            return self._modules.changes()
        except Exception as error:  # an object of the program's raised as it was read
            self._modules = None
            self.problems.append(
                f"the globals of modules are not compared: {type(error).__name__} (no-module-state)"
            )
        return []

    def _touched(self, path: str, *, is_read_on_disk: bool) -> None:
        """Note that a live crossing opens a path whose recorded content is missing or differs from today's."""
        open_live = self._open_live()
        if not open_live:
            return
        reason = self._recorded.missing_reasons.get(path)
        if reason is not None:
            for address in open_live:
                self.seen(address).unkept[f"{self._name(path)}: {reason}"] = None
        digest = self._recorded.read_digests.get(path) if is_read_on_disk else None
        if digest is not None:
            try:
                current = digest_of(path)
            except OSError:
                current = ""
            if current != digest:
                for address in open_live:
                    self.seen(address).stale[self._name(path)] = None

    # --- results -----------------------------------------------------------------------------------------------------

    def evidence(self, mask: Callable[[bytes], bytes]) -> tuple[Evidence, ...]:
        """Return what was seen of each live crossing; `mask` masks secrets in the values of effects."""
        return tuple(
            Evidence(
                address=address,
                effects=tuple(_masked(effect, mask) for effect in seen.effects),
                crash=seen.crash,
                refusal=seen.refusal,
                stale=tuple(seen.stale),
                unkept=tuple(seen.unkept),
                opened_before=tuple(seen.opened_before),
                left_running=tuple(sorted(seen.left_running)),
            )
            for address, seen in self._seen.items()
        )

    def names_state(self, words: Iterable[str]) -> str | None:
        """Return the first word that names a path of the scratch copy; None if there is no such word."""
        if is_busy():
            return None
        with undisturbed():
            for word in words:
                path = redirect.locate(word)
                if path is not None and self.scratch.may_know(path) and self.scratch.knows(path):
                    return word
        return None

    def knows_before(self, path: str) -> bool:
        """Return whether the content of a path before the recorded run is known."""
        return path in self.scratch.before and path not in self._recorded.missing_reasons

    def covers(self, path: Any, dir_fd: int | None = None) -> bool | None:
        """Return whether a path lies in the scratch folder; None for one that is never redirected, and for no path."""
        with undisturbed():
            located = redirect.locate(path, dir_fd)
            if located is None:
                return None
            if located.startswith(self.scratch.folder):
                return True
            return None if self.scratch.leaves_alone(located) else False


def _masked(effect: StateEffect, mask: Callable[[bytes], bytes]) -> StateEffect:
    return StateEffect(effect.path, effect.what, mask(effect.value)) if effect.value != b"null" else effect


def is_temporary(path: str, roots: Iterable[Any]) -> bool:
    """Return whether a path lies in the folder for temporary files and in none of these roots; `/` is no root."""
    real_path = os.path.realpath(path)
    temporary_folder = os.path.join(os.path.realpath(unpatched.temporary_folder()), "")
    folders = [os.path.join(os.path.realpath(root), "") for root in roots]
    return real_path.startswith(temporary_folder) and not any(
        real_path.startswith(folder) for folder in folders if folder != "/"
    )


def _states_of(
    snapshots: Sequence[Snapshot], root: str, places: Iterable[SnapshotFolder | None]
) -> tuple[dict[str, Before], list[Snapshot]]:
    """Return what files held before the recorded run, and the snapshots whose contents are not here."""
    if not snapshots:
        return {}, []
    from autochron.effects.snapshots import states_of  # lazy: most traces have none

    with undisturbed():
        return states_of(snapshots, root, places)
