"""Other text for a file, for as long as a process lives and in those that it starts, with the file left as it is.

Import finds it in the place of what stands on disk, bytecode is neither read nor written for it, and rules are matched on it.
"""

from __future__ import annotations

import importlib.machinery
import json
from typing import Any

from autochron import project
from autochron._runtime.unpatched import os

VARIABLE = "AUTOCHRON_OVERLAY"
"""By this, processes that are started know of it: JSON of paths and texts."""


READ: set[str] = set()
"""The files for which another text was given: who imports past the import system is given none."""


def lay(path: str, text: str) -> None:
    """Have a text stand in for a file from now on, here and in processes that are started."""
    path = os.path.realpath(path)
    project.INSTEAD[path] = text.encode()
    os.environ[VARIABLE] = json.dumps({name: data.decode() for name, data in project.INSTEAD.items()})
    _change_loader()


def take_over() -> None:
    """Lay what the process that has started this one has laid."""
    laid: dict[str, str] = json.loads(os.environ[VARIABLE])
    project.INSTEAD.update({path: text.encode() for path, text in laid.items()})
    _change_loader()


def _change_loader() -> None:
    loader: Any = importlib.machinery.SourceFileLoader
    if getattr(loader.get_data, "__module__", None) == __name__:
        return
    read, stat = loader.get_data, loader.path_stats

    def get_data(self: Any, path: str) -> bytes:
        whole = os.path.realpath(path)
        laid = project.INSTEAD.get(whole)
        if laid is not None:
            READ.add(whole)
            return laid
        data: bytes = read(self, path)
        return data

    def path_stats(self: Any, path: str) -> Any:
        if os.path.realpath(path) in project.INSTEAD:
            raise OSError("another text stands in for it")  # so no bytecode is looked for, nor kept
        return stat(self, path)

    loader.get_data, loader.path_stats = get_data, path_stats
