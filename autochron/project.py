"""What is the user's own code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import FrameType, FunctionType
from typing import Any

from autochron._runtime.unpatched import getframe, os

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})

_abspath = os.path.abspath
"""As it was before a program put another one in its place."""


class Project:
    """The files that are the user's: those under the rules' `project`, by default under the program's folder.

    What lies in a site-packages folder, in the standard library or in autochron never is.
    """

    def __init__(self, paths: tuple[str, ...], root: str) -> None:
        self.root = root
        self.paths = paths
        self._files = {path for path in paths if not os.path.isdir(path)}
        # Files as well: modules lie in an archive as in a folder.
        self._folders = tuple(os.path.join(path, "") for path in paths)
        self._libraries = _libraries()
        self.owns = lru_cache(maxsize=None)(self._owns)
        self.name = lru_cache(maxsize=None)(self._name)

    def names_of(self, path: str) -> tuple[str, ...]:
        """Return what a file's module may be called: also through folders that are packages without an `__init__.py`."""
        full = _abspath(path)
        tops = (self.root, *self.paths, *map(os.path.dirname, self._files))
        return tuple(
            dict.fromkeys((*module_names(full), *filter(None, (_dotted(full, top) for top in tops))))
        )

    def _owns(self, file: str) -> bool:
        if file.startswith("<"):
            return False
        # Most modules by far, at every start: to make each path absolute takes longer than all else here.
        if file.startswith(self._libraries) and ".." not in file and file not in self._files:
            return False
        path = _abspath(file)
        if path in self._files:
            return True
        if not path.startswith(self._folders):
            return False
        return not path.startswith(self._libraries) and f"{os.sep}site-packages{os.sep}" not in path

    def _name(self, file: str) -> str:
        """Return a file's path relative to the root where it lies below it."""
        path = _abspath(file)
        inside = path.startswith(os.path.join(self.root, ""))
        return os.path.relpath(path, self.root).replace(os.sep, "/") if inside else path


def _dotted(path: str, top: str) -> str:
    """Return what a file is imported as from a folder; "" where it can't be."""
    if not path.startswith(os.path.join(top, "")):
        return ""
    parts = os.path.relpath(path, top).removesuffix(".py").split(os.sep)
    if parts[-1] == "__init__":
        del parts[-1]
    return ".".join(parts) if all(map(str.isidentifier, parts)) else ""


def _libraries() -> tuple[str, ...]:
    """Return the folders of the standard library and of autochron."""
    return (os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""), _PACKAGE)


def module_names(path: str) -> tuple[str, ...]:
    """Name the module of a file: dotted from the outermost package, and as a script."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    parts = [] if stem == "__init__" else [stem]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return tuple(dict.fromkeys((".".join(parts), stem)))


INSTEAD: dict[str, bytes] = {}
"""What stands in for files, by their real paths: mutants that are tried."""


def read_source(path: str) -> bytes | None:
    """Read a source, from its archive where it lies in one; None where it can't be read."""
    if INSTEAD and (laid := INSTEAD.get(os.path.realpath(path))) is not None:
        return laid
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        pass
    archive = path
    while not os.path.exists(archive) and archive != os.path.dirname(archive):
        archive = os.path.dirname(archive)
    if not os.path.isfile(archive):
        return None
    import zipimport  # lazy: hardly any module lies in an archive

    try:
        return zipimport.zipimporter(archive).get_data(path)
    except (OSError, ImportError):
        return None


def function_of_project(project: Project) -> tuple[str, str]:
    """Return the project's line that runs now, and its function as `module:qualified name`; "" where none does."""
    frame: FrameType | None = getframe(1)
    while frame is not None:
        code = frame.f_code
        if project.owns(code.co_filename):
            module = str(frame.f_globals.get("__name__") or "")
            if module in ("__main__", "__mp_main__"):
                module = os.path.splitext(os.path.basename(code.co_filename))[0]
            name = _name_of_lambda(frame) if code.co_name == "<lambda>" else code.co_qualname
            return (
                f"{project.name(code.co_filename)}:{frame.f_lineno or code.co_firstlineno}",
                f"{module}:{name}",
            )
        frame = frame.f_back
    return "", ""


def _name_of_lambda(frame: FrameType) -> str:
    """Return the qualified name that a lambda is assigned to, in its module or class; its code's own where there is none."""
    *around, _ = frame.f_code.co_qualname.split(".")
    space: Any = frame.f_globals
    for part in around:
        found = space.get(part)
        space = vars(found) if isinstance(found, type) else {}
    for name, value in list(space.items()):
        if type(value) is FunctionType and value.__code__ is frame.f_code:
            return ".".join((*around, name))
    return frame.f_code.co_qualname


def line_of_project(project: Project, depth: int) -> str | None:
    """Return `file:line` of the innermost frame that is the project's, from the caller's caller outward."""
    frame: FrameType | None = getframe(depth)
    while frame is not None:
        if project.owns(frame.f_code.co_filename):
            return f"{project.name(frame.f_code.co_filename)}:{frame.f_lineno or frame.f_code.co_firstlineno}"
        frame = frame.f_back
    return None


def python_files(paths: tuple[str, ...]) -> Iterator[str]:
    """Yield the Python files among paths and below folders, without hidden folders and those of libraries."""
    for path in paths:
        if path.endswith(".py"):
            yield path
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))
