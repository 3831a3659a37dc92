"""Replace the text of a source file in this process and in those that it starts, without changing the file.

Import loads that text, bytecode of the file is neither read nor written, and rules are matched on that text.
"""

from __future__ import annotations

import importlib.machinery
import json
from typing import Any

import msgspec

from autochron import project
from autochron._runtime.unpatched import os

VARIABLE = "AUTOCHRON_OVERLAY"
"""Environment variable that hands the texts to processes that are started: JSON of texts by path."""


READ: set[str] = set()
"""Files whose replacement was loaded. A tool that bypasses the import system loads none."""


def lay(path: str, text: str) -> None:
    """Replace the text of a file from now on, here and in processes that are started."""
    path = os.path.realpath(path)
    project.OVERLAYS[path] = text.encode()
    os.environ[VARIABLE] = json.dumps({name: data.decode() for name, data in project.OVERLAYS.items()})
    _change_loader()


def take_over() -> None:
    """Replace the texts that the parent process has replaced."""
    replace_by(os.environ[VARIABLE])


def replace_by(texts: str) -> None:
    """Replace texts in this process; `texts` is a value of the environment variable."""
    replacements = msgspec.json.decode(
        texts, type=dict[str, str]
    )  # not `json`, which a program may have patched
    project.OVERLAYS.update({path: text.encode() for path, text in replacements.items()})
    _change_loader()


def _change_loader() -> None:
    """Patch the loader of source files so that it loads replacements."""
    loader: Any = importlib.machinery.SourceFileLoader
    if getattr(loader.get_data, "__module__", None) == __name__:
        return
    read, stat = loader.get_data, loader.path_stats

    def get_data(self: Any, path: str) -> bytes:
        real_path = os.path.realpath(path)
        replacement = project.OVERLAYS.get(real_path)
        if replacement is not None:
            READ.add(real_path)
            return replacement
        data: bytes = read(self, path)
        return data

    def path_stats(self: Any, path: str) -> Any:
        if os.path.realpath(path) in project.OVERLAYS:
            raise OSError(
                "another text stands in for it"
            )  # keeps the loader from reading or writing bytecode
        return stat(self, path)

    loader.get_data, loader.path_stats = get_data, path_stats
