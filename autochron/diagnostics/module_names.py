"""Find out by which names the project imports its modules."""

from __future__ import annotations

import re
from functools import cached_property

from autochron._runtime.unpatched import os
from autochron.project import Project, python_files, read_source

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)", re.MULTILINE)


class ModuleNames:
    """The names of a project's modules, as its source imports them.

    A file in a package has the name that its folders give it. One in a folder without `__init__.py` has the name of the file
    if that folder is on the import path, and else a longer one: what the project's imports say decides.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def aliases(self, path: str) -> tuple[str, ...]:
        """Return all names that a file's module may have, the likeliest first."""
        names = self._project.names_of(path)
        if os.path.isfile(os.path.join(os.path.dirname(path), "__init__.py")):
            return names
        suffixes = _suffixes(self._project.name(path))
        imported = [name for name in suffixes if name in self._imports or _package(name) in self._imports]
        if not imported and os.path.dirname(path) in self._packages:
            imported = suffixes
        return tuple(dict.fromkeys((*imported, *names, *suffixes)))

    @cached_property
    def _read(self) -> tuple[frozenset[str], frozenset[str]]:
        """The modules and packages that the project's files import by name, and the folders of relative imports."""
        modules: set[str] = set()
        folders: set[str] = set()
        for path in python_files(self._project.paths):
            for match in _IMPORT.finditer(read_source(path) or b""):
                for name in match[1].decode().replace(" ", "").replace("\t", "").split(","):
                    if name.startswith("."):
                        folders.add(os.path.dirname(path))
                    else:
                        parts = name.split(".")
                        modules.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
        return frozenset(modules), frozenset(folders)

    @property
    def _imports(self) -> frozenset[str]:
        return self._read[0]

    @property
    def _packages(self) -> frozenset[str]:
        return self._read[1]


def _package(name: str) -> str:
    """Return the package of a module; empty for a top-level one."""
    return name.rpartition(".")[0]


def _suffixes(name: str) -> list[str]:
    """Return the dotted names that a file may have below any of its folders, the longest first, `src` left out."""
    parts = name.removesuffix(".py").removesuffix("/__init__").split("/")
    parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    return [
        ".".join(parts[index:]) for index in range(len(parts)) if all(map(str.isidentifier, parts[index:]))
    ]
