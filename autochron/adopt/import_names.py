"""Find the names by which a project's files are imported, because rules name modules as Python does."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autochron._runtime.unpatched import os
from autochron.project import module_names, python_files, read_source


class ImportNames:
    """The names of some of a project's files, by what the project's other files import."""

    def __init__(self, files: Iterable[str], root: str) -> None:
        """Read the imports of all files of the project that mention one of the files' names.

        Args:
            files: the absolute paths of the files that are asked for.
            root: the project's folder.
        """
        self._root = os.path.abspath(root)
        words = {_stem(file).encode() for file in files}
        self._imported: set[str] = set()
        for path in python_files((root,)):
            source = read_source(path) or b""
            if any(word in source for word in words):
                self._imported |= _imports(source)

    def names(self, file: str) -> list[str]:
        """Return the names that a file's module has when the project runs.

        These are the names by which absolute imports name it. Where there is none, it is the name from its outermost package;
        that of a script where it is in no package.
        """
        imported = [name for name in suffixes(file, self._root) if name in self._imported]
        return imported or [module_names(file)[0]]


def suffixes(file: str, root: str) -> list[str]:
    """Return the dotted names that a file has from the root and from each folder below it, the longest first."""
    inside = file.startswith(os.path.join(root, ""))
    parts = (
        (os.path.relpath(file, root) if inside else os.path.basename(file)).removesuffix(".py").split(os.sep)
    )
    if parts[-1] == "__init__" and len(parts) > 1:
        del parts[-1]
    return [
        ".".join(parts[start:]) for start in range(len(parts)) if all(map(str.isidentifier, parts[start:]))
    ]


def _stem(file: str) -> str:
    stem = os.path.splitext(os.path.basename(file))[0]
    return os.path.basename(os.path.dirname(file)) if stem == "__init__" else stem


def _imports(source: bytes) -> set[str]:
    """Return the dotted names that absolute imports of a source may import as modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names
