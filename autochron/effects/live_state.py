"""The state that a replay works on: a scratch copy, and what live crossings did to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

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
"""Effects of one crossing that are kept."""


class Seen:
    """What was seen of one live crossing."""

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
    """Redirects a replay to its scratch copy, and notes what its live crossings do there."""

    def __init__(
        self,
        snapshots: Sequence[Snapshot],
        reads: Iterable[FileRead],
        root: str,
        places: Iterable[SnapshotFolder | None],
        *,
        open_live: Callable[[], list[str]],
        name: Callable[[str], str],
        modules: ModuleState | None,
        everywhere: bool,
        folder: str | None = None,
        is_joined: bool = False,
        denies_files: bool = False,
    ) -> None:
        """Take the record's state.

        Args:
            snapshots: what files held before the recorded run.
            reads: the digests of what was read in it.
            root: the folder that their paths start from.
            places: where the contents of snapshots are looked for.
            open_live: returns the addresses of the live crossings that are open around what runs now, innermost first.
            name: gives the name by which a path is known to people.
            modules: the state of the project's modules, where that is watched.
            everywhere: whether the whole process works on the scratch copy, and not only its live crossings.
            folder: the scratch folder, where it is not one that is made up.
            is_joined: whether it is that of the process that this one is a child of.
            denies_files: whether live crossings may not change files at all.

        Raises:
            StoreError: a snapshot is damaged.
        """
        before, missing = _states_of(snapshots, root, places)
        self.scratch = Scratch(before, folder, is_joined=is_joined)
        self._watch = ScratchWatch(self.scratch, name)
        self._modules = modules
        self._open_live = open_live
        self._everywhere = everywhere
        self._denies_files = denies_files
        self._missing = {
            os.path.realpath(os.path.join(root, each.path)): each.reason or "its snapshot is not here"
            for each in missing
        }
        self.missing = tuple(missing)
        self._reads = {os.path.realpath(os.path.join(root, each.path)): each.digest for each in reads}
        self._name = name
        self._seen: dict[str, Seen] = {}
        self._lock = unpatched.RLock()
        self._open: dict[str, None] = {}
        """The live crossings that are open in this process."""
        self.problems: list[str] = []
        self.on_attach: Callable[[str], None] = lambda _: None
        self.opened_before: set[str] = set()
        """Databases that were open before the replay began."""

    def begin(self) -> None:
        """Redirect from now on."""
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
        """Redirect no longer."""
        redirect.put_in_force(None)

    def discard(self) -> None:
        """Remove the scratch copy."""
        self.scratch.discard()

    def _is_live(self) -> bool:
        return bool(self._open_live())

    def seen(self, address: str) -> Seen:
        """Return what was seen of a crossing so far."""
        found = self._seen.get(address)
        if found is None:
            found = self._seen[address] = Seen()
        return found

    # --- told of live crossings --------------------------------------------------------------------------------------

    def entered(self, address: str) -> None:
        """Note what was done before a live crossing, so that it is not taken for what that does."""
        with self._lock, undisturbed():
            self._note_changes()
            self._open[address] = None
            self.seen(address).was_running = set(at_work())

    def left(self, address: str | None = None) -> None:
        """Note what was done up to the end of a live crossing, or without one up to now.

        It is noted of each that is open: which of several that run at once has done it is not known.
        """
        with self._lock, undisturbed():
            self._note_changes()
            if address is not None:
                self._open.pop(address, None)
                seen = self.seen(address)
                found = at_work()
                seen.left_running |= dict.fromkeys(found[each] for each in found.keys() - seen.was_running)

    def _note_changes(self) -> None:
        self.scratch.flush()
        effects = self._watch.changes()
        effects += self._module_changes()
        for address in tuple(self._open) or ((OUTSIDE,) if effects else ()):
            kept = self.seen(address).effects
            kept += effects[: _MOST - len(kept)]
            self.seen(address).opened_before |= dict.fromkeys(map(self._name, sorted(self.opened_before)))

    def _module_changes(self) -> list[StateEffect]:
        """Return what changed in the globals of modules."""
        if self._modules is None:
            return []
        try:
            return self._modules.changes()
        except (
            Exception
        ) as error:  # of an object that doesn't like to be looked at: then globals are not compared
            self._modules = None
            self.problems.append(
                f"the globals of modules are not compared: {type(error).__name__} (no-module-state)"
            )
        return []

    def _touched(self, path: str, *, is_read_on_disk: bool) -> None:
        """Note that a live crossing opens a path."""
        open_live = self._open_live()
        if not open_live:
            return
        reason = self._missing.get(path)
        if reason is not None:
            for address in open_live:
                self.seen(address).unkept[f"{self._name(path)}: {reason}"] = None
        digest = self._reads.get(path) if is_read_on_disk else None
        if digest is not None:
            try:
                now = digest_of(path)
            except OSError:
                now = ""
            if now != digest:
                for address in open_live:
                    self.seen(address).stale[self._name(path)] = None

    # --- asking ------------------------------------------------------------------------------------------------------

    def evidence(self, mask: Callable[[bytes], bytes]) -> tuple[Evidence, ...]:
        """Return what was seen of live crossings; `mask` is applied to what they wrote."""
        return tuple(
            Evidence(
                address=address,
                effects=tuple(_masked(each, mask) for each in seen.effects),
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
        """Return the first of some words that names a path of which the replay has a copy."""
        if is_busy():
            return None
        with undisturbed():
            for word in words:
                found = redirect.locate(word)
                if found is not None and self.scratch.may_know(found) and self.scratch.knows(found):
                    return word
        return None

    def knows_before(self, path: str) -> bool:
        """Return whether it is known what a path held before the recorded run."""
        return path in self.scratch.before and path not in self._missing

    def covers(self, path: Any, dir_fd: int | None = None) -> bool | None:
        """Return whether a path is in the scratch copy; None for what is nobody's file."""
        with undisturbed():
            found = redirect.locate(path, dir_fd)
            if found is None:
                return None
            if found.startswith(self.scratch.folder):
                return True
            return None if self.scratch.leaves_alone(found) else False


def _masked(effect: StateEffect, mask: Callable[[bytes], bytes]) -> StateEffect:
    return StateEffect(effect.path, effect.what, mask(effect.value)) if effect.value != b"null" else effect


def is_temporary(path: str, roots: Iterable[Any]) -> bool:
    """Return whether a file that `tempfile` makes is nobody's: in the system's folder for such, outside the project."""
    found = os.path.realpath(path)
    place = os.path.join(os.path.realpath(unpatched.temporary_folder()), "")
    inside = [os.path.join(os.path.realpath(each), "") for each in roots]
    return found.startswith(place) and not any(found.startswith(each) for each in inside if each != "/")


def _states_of(
    snapshots: Sequence[Snapshot], root: str, places: Iterable[SnapshotFolder | None]
) -> tuple[dict[str, Before], list[Snapshot]]:
    """Return what files held before the recorded run, and the snapshots whose contents are not here."""
    if not snapshots:
        return {}, []
    from autochron.effects.snapshots import states_of  # lazy: most traces have none

    with undisturbed():
        return states_of(snapshots, root, places)
