"""What one call changes in the project's modules. It is undone after the call, so that the next one starts from the same."""

from __future__ import annotations

from typing import Any

from msgspec import json

from autochron.effects.module_backup import ModuleBackup
from autochron.effects.module_state import ModuleState
from autochron.project import Project


class CallChanges:
    """The changes of the project's modules, one call after the other."""

    def __init__(self, root: str) -> None:
        """Read and back up the modules of a project.

        Args:
            root: its folder.
        """
        project = Project((root,), root)
        self._backup = ModuleBackup(project)
        self._state = ModuleState(project)
        self._state.changes()

    def take(self) -> dict[str, Any]:
        """Return what has changed since the last call, and undo it.

        Returns:
            By the place and the change in words, the value as JSON-like data.
        """
        changes = self._state.changes()
        if not changes:
            return {}
        self._backup.put_back()
        self._state.changes()
        found: dict[str, Any] = {}
        for change in changes:
            found.setdefault(f"{change.path}, {change.what}", []).append(json.decode(change.value))
        return found
