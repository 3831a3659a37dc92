"""What one call changes in the project's modules and files. It is undone, so that all calls start from one state."""

from __future__ import annotations

from typing import Any

from msgspec import json

from autochron.effects.changes import ScratchWatch
from autochron.effects.module_backup import ModuleBackup
from autochron.effects.module_state import ModuleState
from autochron.effects.redirection import in_force
from autochron.model import StateEffect
from autochron.project import Project

CHANGES = ("modules", "files")
"""The keys of changes in an outcome."""

_MOST_VALUES = 20_000
"""From how many values on the modules are not compared: they are read after each call."""


class CallChanges:
    """The changes of several calls, which all start from the state that there is now."""

    def __init__(self, root: str) -> None:
        """Read and back up the modules of a project, and read the files that the replay has changed so far.

        Args:
            root: the project's folder.
        """
        self._project = Project((root,), root)
        self._backup = ModuleBackup(self._project)
        self._modules = ModuleState(self._project)
        self._modules.changes()
        self._is_large = self._modules.count(_MOST_VALUES) >= _MOST_VALUES
        scope = in_force()
        self._scratch = None if scope is None else scope.scratch
        self._origin = "" if self._scratch is None else self._scratch.folder
        self._written = {} if self._scratch is None else self._scratch.written
        self._is_clean = False
        """Whether the copy of the scratch folder is as it was made."""
        self._watch: ScratchWatch | None = None
        if self._scratch is not None:
            self._scratch.flush()
            self._watch = ScratchWatch(self._scratch, self._project.name)
            self._watch.changes()

    def begin(self) -> None:
        """Begin a call, in a fork: its changes of files go into a copy of the scratch folder."""
        if self._scratch is not None and not self._is_clean:
            self._scratch.folder, self._scratch.written = self._origin, dict(self._written)
            self._scratch.fork()

    def take(self) -> dict[str, Any]:
        """Return what the call has changed, and undo what it did to the modules.

        Returns:
            Under `modules` and `files`, by the place and the change in words, the values as JSON-like data.
        """
        changes = {"modules": _shown(self._module_changes()), "files": _shown(self._file_changes())}
        return {kind: found for kind, found in changes.items() if found}

    def discard(self) -> None:
        """Remove what the forks have left of their files."""
        if self._scratch is not None:
            self._scratch.discard_fork()

    def _module_changes(self) -> list[StateEffect]:
        if self._is_large:
            return []
        changes = self._modules.changes()
        if changes:
            self._backup.put_back()
            self._modules.changes()
        return [change for change in changes if change.path != "os.environ"]  # its values may be secrets

    def _file_changes(self) -> list[StateEffect]:
        if self._scratch is None or self._watch is None:
            return []
        self._scratch.flush()
        changes = self._watch.copy().changes()
        self._is_clean = not changes
        return changes


def _shown(changes: list[StateEffect]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for change in changes:
        found.setdefault(f"{change.path}, {change.what}", []).append(json.decode(change.value))
    return found
