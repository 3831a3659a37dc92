"""Effects outside every boundary in a replay: on the scratch copy, compared with the recorded ones, and refused beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import os
from autochron.effects.events import LISTS
from autochron.effects.undisturbed import is_busy, undisturbed
from autochron.model import OutsideEffect
from autochron.project import function_of_project

if TYPE_CHECKING:
    from autochron.effects.live_state import LiveState
    from autochron.effects.outside import OutsideDifference, OutsideEffects
    from autochron.isolation.effect_rules import AllowedEffects
    from autochron.model import Footer
    from autochron.project import Project


class ReplayedEffects:
    """What a replayed program changes by lines that no rule reaches."""

    def __init__(
        self, state: LiveState, project: Project, footer: Footer | None, root: str, allowed: AllowedEffects
    ) -> None:
        self._state = state
        self._allowed = allowed
        self._project = project
        self._root = root
        self._footer = footer
        self._found: OutsideEffects | None = None
        self._count = 0

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take in an audit event outside everything live."""
        if not is_busy() and event not in LISTS:
            self._collected().heard(event, arguments, inside=False)

    def gone(self, path: str) -> None:
        """Take in that a path is removed on the scratch copy."""
        self._collected().note("file", "removes", path)

    def _collected(self) -> OutsideEffects:
        if self._found is None:
            from autochron.effects.outside import OutsideEffects  # lazy: most replays change nothing

            self._found = OutsideEffects(
                self._project.name,
                lambda: function_of_project(self._project),
                real=self._real,
                now_at=self._now_at,
                existed=self._existed,
            )
        return self._found

    def count(self) -> int:
        """Count the files and databases that were changed on the scratch copy, once they were compared."""
        return self._count

    def differences(self, *, has_children: bool) -> list[OutsideDifference]:
        """Return in what they differ from the recorded ones; nothing where the trace does not know those."""
        footer = self._footer
        recorded = () if footer is None else footer.effects
        if not recorded and self._found is None and not has_children:
            return []
        from autochron.effects.outside import differences  # lazy: as above

        with undisturbed():
            self._state.scratch.flush()
            now = () if self._found is None else self._found.effects()
            more = self._of_others() if has_children else ()
            self._count = len(now) + len(more)
            if footer is None or not footer.knows_effects:
                return []
            found = differences(recorded, (*now, *more), self._digests)
        return [
            each for each in found if not self._allowed.include("path", each.effect.what, each.effect.site)
        ]

    # --- inside

    def _paths(self) -> list[str]:
        with undisturbed():
            return self._state.scratch.changed_paths() if os.path.isdir(self._state.scratch.folder) else []

    def _of_others(self) -> Sequence[OutsideEffect]:
        """Return what the processes have changed that this one has started."""
        known = set() if self._found is None else self._found.paths()
        by = "a process that it started"
        names = [self._project.name(path) for path in self._paths() if path not in known]
        # Others are libraries' own, such as caches.
        return [
            OutsideEffect(kind="file", does="changes", what=name, site=by)
            for name in names
            if not os.path.isabs(name)
        ]

    def _real(self, path: str) -> str:
        own = os.path.join(self._state.scratch.folder, "files")
        return path[len(own) :] if path.startswith(f"{own}/") else path

    def _existed(self, path: str) -> bool:
        before = self._state.scratch.before.get(path)
        return os.path.lexists(path) if before is None else before.kind != "absent"

    def _now_at(self, path: str) -> str | None:
        there = self._state.scratch.to_read(path)
        return there if os.path.lexists(there) else None

    def _digests(self, what: str) -> tuple[str, str]:
        """Return the digests of what a path holds, by its name; empty where what it held before is not known."""
        from autochron.effects.outside import digests_of  # lazy: as above

        parent, name = os.path.split(os.path.join(self._root, what))
        path = os.path.join(os.path.realpath(parent), name)
        if not self._state.knows_before(path):
            return "", ""
        return digests_of(self._now_at(path))
