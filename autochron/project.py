"""Distinguish the user's own code from libraries, and name its files and modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import filterfalse
from types import FrameType, FunctionType, ModuleType
from typing import Any

from autochron._runtime.unpatched import getframe, os

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


_SITE = f"{os.sep}site-packages{os.sep}"

_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
"""Folders with files of others, which are not searched."""

_abspath = os.path.abspath
"""The original function: a program may replace it."""


class Project:
    """The user's files: those below the rules' `project`, by default below the program's folder.

    Files in a site-packages folder belong to it only below a path that lies in that folder itself, as that of an installed
    program does. Files of the standard library and of autochron never belong to it.

    Attributes:
        root: the folder that names of files are relative to.
        paths: the files and folders of the project.
        owns: returns whether a file belongs to the project. Results are cached.
        name: returns a file's path relative to the root, else its absolute path. Results are cached.
    """

    def __init__(self, paths: tuple[str, ...], root: str) -> None:
        self.root = root
        self.paths = paths
        self._files = frozenset(path for path in paths if not os.path.isdir(path))
        self._ownership = _ownership(paths, self._files, _working_folder())
        self.owns = self._ownership.owns
        self.name = lru_cache(maxsize=None)(self._name)

    def loaded_modules(self) -> dict[str, dict[str, Any]]:
        """Return the namespaces of the project's modules that are loaded, by name. No code of a module's own class runs."""
        return self._ownership.loaded_modules()

    def names_of(self, path: str) -> tuple[str, ...]:
        """Return all names that a file's module may have, also in namespace packages, which have no `__init__.py`."""
        full = _abspath(path)
        sites = (site for site in map(_site_of, self.paths) if site)
        tops = (self.root, *self.paths, *map(os.path.dirname, self._files), *sites)
        return tuple(
            dict.fromkeys((*module_names(full), *filter(None, (_dotted(full, top) for top in tops))))
        )

    def _name(self, file: str) -> str:
        """Return a file's path relative to the root, with `/`; its absolute path where it isn't below the root.

        A file of an installed program is named from its site-packages folder, so that it has one name in all environments.
        """
        path = _abspath(file)
        if _SITE in path and self.owns(path):
            return os.path.relpath(path, _site_of(path)).replace(os.sep, "/")
        inside = path.startswith(os.path.join(self.root, ""))
        return os.path.relpath(path, self.root).replace(os.sep, "/") if inside else path


class _Ownership:
    """What belongs to a project. It is kept for the next session of the process, which asks about the same modules."""

    def __init__(self, paths: tuple[str, ...], files: frozenset[str]) -> None:
        """Make one.

        Args:
            paths: the files and folders of the project.
            files: those of them that are no folders.
        """
        self._files = files
        # Files, too: an archive holds modules as a folder does.
        self._folders = tuple(os.path.join(path, "") for path in paths)
        self._installed = tuple(
            folder for folder in self._folders if _SITE in folder and not folder.endswith(_SITE)
        )
        """The folders of programs that are installed."""
        self._libraries = _libraries()
        self.owns = lru_cache(maxsize=None)(self._owns)
        self._others = set(sys.builtin_module_names)
        """Names of loaded modules of libraries. A program has two thousand of them."""

    def loaded_modules(self) -> dict[str, dict[str, Any]]:
        namespaces: dict[str, dict[str, Any]] = {}
        others = self._others.__contains__
        for name in filterfalse(others, list(sys.modules)):  # a copy: another thread may import
            module = sys.modules.get(name)
            kind: type = type(module)
            if kind is ModuleType:
                namespace = module.__dict__
            elif issubclass(kind, ModuleType):
                namespace = ModuleType.__getattribute__(module, "__dict__")
            else:
                continue
            file = namespace.get("__file__")
            if type(file) is not str:  # it may get one: a lazy module, or one that is loading
                continue
            if self.owns(file):
                namespaces[name] = namespace
            elif (
                file.startswith(self._libraries) or _SITE in file
            ):  # another folder's may be replaced by the project's
                self._others.add(name)
        return namespaces

    def _owns(self, file: str) -> bool:
        if file.startswith("<"):
            return False
        # Before `_abspath`, which takes longer than all else here: at each start most modules are those of libraries.
        if (
            (file.startswith(self._libraries) or _SITE in file)
            and ".." not in file
            and file not in self._files
            and not file.startswith(self._installed)
        ):
            return False
        path = _abspath(file)
        if path in self._files or self._is_installed(path):
            return True
        if not path.startswith(self._folders):
            return False
        return not path.startswith(self._libraries) and _SITE not in path

    def _is_installed(self, path: str) -> bool:
        """Return whether a file belongs to an installed program that is the user's own code."""
        return any(
            path.startswith(folder) and _SITE not in path[len(folder) - 1 :] for folder in self._installed
        )


@lru_cache(maxsize=8)
def _ownership(paths: tuple[str, ...], files: frozenset[str], _working_folder: str) -> _Ownership:
    """Return what belongs to a project. Relative names of files mean others in another working folder."""
    return _Ownership(paths, files)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is deleted
        return ""


def path_of(root: str, name: str) -> str:
    """Return the path of a file of the project from the name that `Project.name` returned for it.

    Args:
        root: the folder that names are relative to.
        name: the name: a path below the root, or below a site-packages folder for a program that is installed.
    """
    path = os.path.join(root, name)
    if os.path.isabs(name) or os.path.exists(path):
        return path
    folders = (folder for folder in sys.path if os.path.join(folder, "").endswith(_SITE))
    return next(filter(os.path.exists, (os.path.join(folder, name) for folder in folders)), path)


def _site_of(path: str) -> str:
    """Return the site-packages folder that a path lies in; empty if there is none."""
    at = path.rfind(_SITE)
    return path[: at + len(_SITE) - 1] if at >= 0 else ""


def _dotted(path: str, top: str) -> str:
    """Return the dotted name of a file's module in a folder of `sys.path`; empty where it has none."""
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
    """Return the names of a file's module: the dotted one from its outermost package, and that of a script."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    parts = [] if stem == "__init__" else [stem]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    return tuple(dict.fromkeys((".".join(parts), stem)))


OVERLAYS: dict[str, bytes] = {}
"""Sources that replace those of files, by the file's real path. `mutate` tries mutants this way."""


def read_source(path: str) -> bytes | None:
    """Return a file's source, also from inside a zip archive; None where it can't be read.

    A source in `OVERLAYS` replaces the file's.
    """
    if OVERLAYS and (overlay := OVERLAYS.get(os.path.realpath(path))) is not None:
        return overlay
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
    import zipimport  # lazy: few modules are in an archive

    try:
        return zipimport.zipimporter(archive).get_data(path)
    except (OSError, ImportError):
        return None


def function_of_project(project: Project) -> tuple[str, str]:
    """Return the innermost line of the project on the stack, as `file:line`, and its function, as `module:qualified name`.

    Both are empty where no frame is the project's.
    """
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
    """Return the qualified name that a lambda is assigned to in its module or class; its code's own name if there is none."""
    *scopes, _ = frame.f_code.co_qualname.split(".")
    space: Any = frame.f_globals
    for part in scopes:
        owner = space.get(part)
        space = vars(owner) if isinstance(owner, type) else {}
    for name, value in list(space.items()):
        if type(value) is FunctionType and value.__code__ is frame.f_code:
            return ".".join((*scopes, name))
    return frame.f_code.co_qualname


def line_of_project(project: Project, depth: int) -> str | None:
    """Return `file:line` of the innermost frame of the project; None where there is none.

    The search begins at frame `depth`: 1 is the caller of this function, 2 that one's caller.
    """
    frame: FrameType | None = getframe(depth)
    while frame is not None:
        if project.owns(frame.f_code.co_filename):
            return f"{project.name(frame.f_code.co_filename)}:{frame.f_lineno or frame.f_code.co_firstlineno}"
        frame = frame.f_back
    return None


def python_files(paths: tuple[str, ...]) -> Iterator[str]:
    """Yield the Python files among these paths and below them, sorted in each folder.

    Hidden folders and those with installed packages are skipped.
    """
    for path in paths:
        if path.endswith(".py"):
            yield path
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


def package_of(path: str) -> str:
    """Return the package that relative imports of a file start from."""
    module = module_names(path)[0]
    return module if os.path.basename(path) == "__init__.py" else module.rpartition(".")[0]


def texts_of(source: bytes) -> list[str]:
    """Return the lines of a source as Python counts them."""
    # Not str.splitlines: it also splits at form feeds and the like.
    return source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8", "surrogateescape").split("\n")
