"""The state of the project at a call, as far as Python can write it: modules, files, a method's object.

A written test starts from it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeAlias

from autochron._runtime.unpatched import os
from autochron.crossing.pausing import paused
from autochron.effects.held import attributes_of
from autochron.effects.redirection import in_force
from autochron.mutate.model import Receiver
from autochron.mutate.server.shown_secrets import shows_secret

ModuleState: TypeAlias = dict[str, dict[str, str]]
"""By the file of a module, its path starting from the incident's folder: the values of globals in Python's notation."""

_MAX_MODULES = 200
_MAX_FILES = 20
_MAX_CHARACTERS = 4000
"""How many modules are read, and how long the notation of a value may be."""


def import_root(path: str) -> str:
    """Return the folder from which a file is imported: the one around its outermost package."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def computed_globals(function: Any, folder: str) -> ModuleState:
    """Return the globals that the source computes, in the form of `state_at_call`, for a comparison with later."""
    return _globals(function, folder, lambda first, *_: first is ...)


def state_at_call(function: Any, folder: str, start: ModuleState) -> ModuleState:
    """Return the globals that a fresh import of the modules would not have.

    A global that the source writes as a literal is compared with that, and one that it computes with what it was before:
    chance and the clock may have a part in it, so it is left to the import unless the agent has changed it.

    They are those of the function's module and of the project's modules that it imports, and these in turn. Left out are
    names that a module only imports, and values that Python has no literal for.

    Args:
        function: the function that is called.
        folder: the incident's folder.
        start: what `computed_globals` returned before the agent ran.
    """

    def has_changed(first: Any, text: str, before: str) -> bool:
        return text != before if first is ... else text != notation(first)

    return _globals(function, folder, has_changed, start)


def _globals(
    function: Any,
    folder: str,
    is_taken: Callable[[Any, str, str], bool],
    start: ModuleState = {},  # noqa: B006 - it is only read
) -> ModuleState:
    """Return the globals for which `is_taken` is true of their literal, their value's text and their text at the start."""
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    state: ModuleState = {}
    with paused():
        for path, module, tree in _imported_modules(os.path.realpath(code.co_filename)):
            file = os.path.relpath(path, os.path.realpath(folder)).replace(os.sep, "/")
            space, before = vars(module), start.get(file, {})
            taken = {
                name: text
                for name, first in _literals(tree).items()
                if not name.startswith("__")
                and name in space
                and (text := notation(space[name]))
                and not shows_secret(f"{name}={text}")
                and is_taken(first, text, before.get(name, ""))
            }
            if taken:
                state[file] = taken
    return state


def _imported_modules(path: str) -> Iterator[tuple[str, ModuleType, ast.Module]]:
    """Yield a file and the files that it imports, below the same root, each with its module and its tree."""
    root = import_root(path).rstrip(os.sep) + os.sep
    loaded = _loaded_below(root)
    waiting, seen = [path], {path}
    while waiting and len(seen) <= _MAX_MODULES:
        path = waiting.pop(0)
        module, tree = loaded.get(path), _tree(path)
        if module is None or tree is None:
            continue
        yield path, module, tree
        for name in _imports(tree, module.__name__, is_package=path.endswith("__init__.py")):
            file = getattr(sys.modules.get(name), "__file__", None)
            imported = os.path.realpath(file) if isinstance(file, str) else ""
            if imported in loaded and imported not in seen:
                seen.add(imported)
                waiting.append(imported)


def _loaded_below(root: str) -> dict[str, ModuleType]:
    """Return the loaded modules below a folder that belong to no library, by their files."""
    libraries = os.path.realpath(sys.prefix) + os.sep
    modules = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        path = os.path.realpath(file) if isinstance(file, str) and file.endswith(".py") else ""
        is_library = path.startswith(libraries) or f"{os.sep}site-packages{os.sep}" in path
        if path.startswith(root) and not is_library:
            modules[path] = module
    return modules


def _tree(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None


def _imports(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[str]:
    """Yield the names of the modules that a module may import, relative ones in full."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*around, *([node.module] if node.module else [])])
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _literals(tree: ast.Module) -> dict[str, Any]:
    """Return the names that a module assigns at its top level, each with its value; `...` where that is no literal."""
    values: dict[str, Any] = {}
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign | ast.AugAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                is_first = target.id not in values and not isinstance(statement, ast.AugAssign)
                values[target.id] = _literal(getattr(statement, "value", None)) if is_first else ...
    return values


def _literal(node: ast.expr | None) -> Any:
    try:
        return ... if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...


def notation(value: Any) -> str:
    """Return a value in Python's notation; empty where that is no literal, or too long."""
    if not isinstance(value, dict | list | set | tuple | str | bytes | int | float | bool | None):
        return ""
    try:
        text = repr(value)
        return text if len(text) <= _MAX_CHARACTERS and ast.literal_eval(text) == value else ""
    except Exception:  # raised by a `repr` or an `==` of the program
        return ""


def receiver_of(arguments: Mapping[str, Any], folder: str) -> Receiver | None:
    """Return what a method is called on, if that can be written in Python.

    Args:
        arguments: the arguments of the call by name.
        folder: the incident's folder.
    """
    name = next((each for each in ("self", "cls") if each in arguments), "")
    value = arguments.get(name)
    cls = value if name == "cls" and isinstance(value, type) else type(value)
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if not name or not isinstance(file, str) or "<" in cls.__qualname__:
        return None
    fields = {} if cls is value else {key: notation(held) for key, held in attributes_of(value).items()}
    path = os.path.relpath(os.path.realpath(file), os.path.realpath(folder)).replace(os.sep, "/")
    is_shown = all(text and not shows_secret(f"{key}={text}") for key, text in fields.items())
    return Receiver(name, path, cls.__qualname__, fields) if is_shown else None


def files_at_call(root: str, folder: str) -> dict[str, str]:
    """Return what the project's text files hold that the recorded run read or that the replay has changed.

    Left out are hidden files, large ones, and those with something that looks like a secret.

    Args:
        root: the folder of the project.
        folder: the incident's folder; paths start there.
    """
    scope = in_force()
    if scope is None:
        return {}
    scratch = scope.scratch
    contents: dict[str, str] = {}
    known = [path for path, before in scratch.before.items() if before.kind == "file"]
    with paused():
        for path in dict.fromkeys([*known, *scratch.written]):
            below = os.path.relpath(path, os.path.realpath(root))
            text = (
                ""
                if any(part.startswith(".") for part in below.split(os.sep))
                else _read(scratch.to_read(path))
            )
            if text and len(contents) < _MAX_FILES and not path.endswith((".py", ".pyc")):
                contents[os.path.relpath(path, os.path.realpath(folder)).replace(os.sep, "/")] = text
    return contents


def _read(path: str) -> str:
    """Return a short text without secrets; empty for another file."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_CHARACTERS + 1)
        text = content.decode() if len(content) <= _MAX_CHARACTERS else ""
    except (OSError, UnicodeDecodeError):
        return ""
    return "" if shows_secret(text) else text
