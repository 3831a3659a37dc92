"""Collect the effects outside every boundary in a replay, and compare them with the recorded ones.

The replay makes these changes on the scratch copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import getframe, os
from autochron.effects.events import LISTS
from autochron.effects.undisturbed import is_busy, undisturbed
from autochron.isolation.background import keeps_books
from autochron.model import OutsideEffect
from autochron.project import function_of_project

if TYPE_CHECKING:
    from autochron.effects.live_state import LiveState
    from autochron.effects.outside import OutsideDifference, OutsideEffects
    from autochron.isolation.effect_rules import AllowedEffects
    from autochron.model import Footer, Pack
    from autochron.project import Project


class ReplayedEffects:
    """Collects the changes that a replayed program makes by lines that no rule covers."""

    def __init__(
        self,
        state: LiveState,
        project: Project,
        footer: Footer | None,
        root: str,
        allowed: AllowedEffects,
        packs: Callable[[], Iterable[Pack]] = tuple,
    ) -> None:
        """Make the collector.

        Args:
            state: the scratch copy.
            project: whose lines are named.
            footer: of the trace, with the recorded effects.
            root: the folder that paths start from.
            allowed: the effects that are not compared.
            packs: returns the packs in force.
        """
        self._packs = packs
        self._state = state
        self._allowed = allowed
        self._project = project
        self._root = root
        self._footer = footer
        self._effects: OutsideEffects | None = None
        self._count = 0

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event outside every live crossing."""
        if not is_busy() and event not in LISTS:
            self._collected().heard(event, arguments, inside=False)

    def gone(self, path: str) -> None:
        """Note that a path is removed from the scratch copy."""
        self._collected().note("file", "removes", path)

    def _collected(self) -> OutsideEffects:
        if self._effects is None:
            from autochron.effects.outside import OutsideEffects  # lazy: most replays change nothing

            self._effects = OutsideEffects(
                self._project.name,
                lambda: function_of_project(self._project),
                real=self._real,
                now_at=self._now_at,
                existed=self._existed,
                keeps_books=lambda: keeps_books(getframe(1), self._packs(), self._project.owns),
            )
        return self._effects

    def count(self) -> int:
        """Return how many files and databases were changed on the scratch copy; 0 until `differences` was called."""
        return self._count

    def differences(self, *, has_children: bool) -> list[OutsideDifference]:
        """Compare the effects with the recorded ones; no differences if the trace has no record of effects.

        Args:
            has_children: whether the replay has started other processes, whose changes are added.
        """
        footer = self._footer
        recorded = () if footer is None else footer.effects
        if not recorded and self._effects is None and not has_children:
            return []
        from autochron.effects.outside import differences  # lazy: as above

        with undisturbed():
            self._state.scratch.flush()
            replayed = () if self._effects is None else self._effects.effects()
            from_children = self._of_others() if has_children else ()
            self._count = len(replayed) + len(from_children)
            if footer is None or not footer.knows_effects:
                return []
            all_differences = differences(recorded, (*replayed, *from_children), self._digests)
        return [
            difference
            for difference in all_differences
            if not self._allowed.include("path", difference.effect.what, difference.effect.site)
        ]

    # --- inside

    def _paths(self) -> list[str]:
        with undisturbed():
            return self._state.scratch.changed_paths() if os.path.isdir(self._state.scratch.folder) else []

    def _of_others(self) -> Sequence[OutsideEffect]:
        """Return the effects of started processes: the changed paths that this process did not change itself."""
        known = set() if self._effects is None else self._effects.paths()
        site = "a process that it started"
        names = [self._project.name(path) for path in self._paths() if path not in known]
        # Paths outside the project are libraries' own files, such as caches.
        return [
            OutsideEffect(kind="file", does="changes", what=name, site=site)
            for name in names
            if not os.path.isabs(name)
        ]

    def _real(self, path: str) -> str:
        files = os.path.join(self._state.scratch.folder, "files")
        return path[len(files) :] if path.startswith(f"{files}/") else path

    def _existed(self, path: str) -> bool:
        before = self._state.scratch.before.get(path)
        return os.path.lexists(path) if before is None else before.kind != "absent"

    def _now_at(self, path: str) -> str | None:
        place = self._state.scratch.to_read(path)
        return place if os.path.lexists(place) else None

    def _digests(self, path_name: str) -> tuple[str, str]:
        """Return the digests of a path's content, by its name in reports; empty if its earlier content is unknown."""
        from autochron.effects.outside import digests_of  # lazy: as above

        parent, name = os.path.split(os.path.join(self._root, path_name))
        path = os.path.join(os.path.realpath(parent), name)
        if not self._state.knows_before(path):
            return "", ""
        return digests_of(self._now_at(path))
