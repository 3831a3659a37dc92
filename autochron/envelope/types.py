"""Names for types, functions and modules in a stored value, and the objects that such names mean in this program.

A name is `module:qualname`. An object of `__main__` is named by its file, `@shop/agent.py:Quote`, relative to the root
folder, so that it is found again when the same file is imported as `agent`. Finding an object only reads `sys.modules`
and the dictionaries of modules and classes, so neither an import nor a module's `__getattr__` runs.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from autochron._runtime.bare import dictionary_of, space_of, text
from autochron._runtime.unpatched import os
from autochron.errors import CodecError

_MISSING: Any = object()
_MAIN = ("__main__", "__mp_main__")
# Types that have another `__module__` than the one that defines them: that of `types.MappingProxyType` is `builtins`.
_HIDDEN_BUILTINS: dict[Any, str] = {
    value: f"types:{key}" for key, value in vars(types).items() if isinstance(value, type)
}
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    type(functools.lru_cache(lambda: None)),
)
_root: list[str] = [""]
"""The root folder; empty: the working folder."""
_has_named: list[bool] = [False]
"""Whether a name was made since the root last changed."""
_listeners: list[Any] = []


class UnnamedError(Exception):
    """An object has no name by which another run would find it. The text is the reason."""


def set_root(path: str) -> None:
    """Set the root folder, which files of `__main__` are named relative to.

    Args:
        path: the folder; empty for the working folder, which is the default.
    """
    if path == _root[0] and (path or not _has_named[0]):
        return
    root = os.path.abspath(path) if path else ""
    if root and root == _root[0]:
        return
    _root[0] = root
    _has_named[0] = False
    for listener in _listeners:
        listener()


def has_root() -> bool:
    """Return whether a root folder was set."""
    return bool(_root[0])


def on_root_change(listener: Any) -> None:
    """Call `listener()` whenever names that were made before may be wrong."""
    _listeners.append(listener)


def relative_file(file: str) -> str:
    """Name a file: inside the root folder relative to it, else by its absolute path, with forward slashes."""
    _has_named[0] = True
    if file.startswith("<"):
        return file
    root = _root[0] or os.getcwd()
    path = os.path.abspath(file)
    if path.startswith(os.path.join(root, "")):
        path = os.path.relpath(path, root)
    return path.replace(os.sep, "/")


def absolute_file(file: str) -> str:
    """Return the path of a file that `relative_file` named."""
    if file.startswith("<"):
        return file
    return os.path.normpath(os.path.join(_root[0] or os.getcwd(), file))


def label(value: type) -> str:
    """Name a type for people. It never fails, and the name need not lead back to the type."""
    _has_named[0] = True
    module = text(value, "__module__") or "builtins"
    qualname = text(value, "__qualname__") or text(value, "__name__")
    return f"{place_of(module)}:{qualname}"


def label_function(value: Any) -> str:
    """Name a function for people. It never fails, and the name need not lead back to the function."""
    _has_named[0] = True
    module = text(value, "__module__") or "builtins"
    qualname = text(value, "__qualname__") or text(type(value), "__name__")
    return f"{place_of(module)}:{qualname}"


def name_of(value: Any) -> str:
    """Name a type or a function so that `find` returns the same object.

    Raises:
        UnnamedError: no such name exists.
    """
    _has_named[0] = True
    module, qualname = text(value, "__module__"), text(value, "__qualname__")
    if not module or not qualname:
        raise UnnamedError("it has no module or name")
    if "<locals>" in qualname or "<lambda>" in qualname:
        raise UnnamedError("it is defined inside a function; move it to the module's top level")
    definition = _lookup(sys.modules.get(module), qualname)
    if definition is not value and not _unwraps(definition, value):
        try:
            return _HIDDEN_BUILTINS[value]
        except (KeyError, TypeError):
            raise UnnamedError(f"{module} has another object, or none, under the name {qualname}") from None
    return f"{place_of(module)}:{qualname}"


def find(name: str) -> Any:
    """Return the type or function that a name means.

    Raises:
        CodecError: its module isn't imported, or does not define it.
    """
    place, colon, qualname = name.rpartition(":")
    if not colon or not place:
        raise CodecError(f"{name!r} is no name of a type; expected module:name")
    modules = _modules_of_file(place[1:]) if place.startswith("@") else _modules_named(place)
    if not modules:
        raise CodecError(
            f"a value is of the type {qualname} of {place.lstrip('@')}, which isn't imported in this program; write"
            f" `import {_import_name(place)}` before the replay begins"
        )
    for module in modules:
        definition = _lookup(module, qualname)
        if definition is _MISSING:
            continue
        if _is_definition(module, qualname, definition):
            return definition
        raise CodecError(
            f"{name} is no type or function that {place.lstrip('@')} defines, so a trace can't name it; record it again"
        )
    raise CodecError(
        f"{name} was recorded, but {place.lstrip('@')} has no {qualname} any more; record the trace again"
    )


def _import_name(place: str) -> str:
    """Return the name by which a program imports a module, given as its name or, behind an `@`, as its file."""
    if not place.startswith("@"):
        return place
    path = place[1:].removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")


def is_same(first: str, second: str) -> bool:
    """Return whether two names mean one object: a file that ran as a script may now be imported as a module."""
    if first == second:
        return True
    if (
        not (first.startswith("@") or second.startswith("@"))
        or first.rpartition(":")[2] != second.rpartition(":")[2]
    ):
        return False
    try:
        return find(first) is find(second)
    except CodecError:
        return False


def find_module(name: str) -> types.ModuleType:
    """Return an imported module.

    Raises:
        CodecError: it isn't imported.
    """
    modules = _modules_of_file(name[1:]) if name.startswith("@") else _modules_named(name)
    if not modules:
        raise CodecError(
            f"module {name} was recorded, but it isn't imported in this program; import it before the replay"
        )
    module: types.ModuleType = modules[0]
    return module


def name_module(module: types.ModuleType) -> str:
    """Name a module so that `find_module` returns the same one.

    Raises:
        UnnamedError: it isn't in `sys.modules` under its own name.
    """
    name = (dictionary_of(module) or {}).get("__name__")
    if not name or sys.modules.get(name) is not module:
        raise UnnamedError("the module isn't imported under its own name")
    return place_of(name)


def place_of(module: str) -> str:
    """Return a module's name; for the main module `@` and its file."""
    _has_named[0] = True
    if module in _MAIN:
        file = _file_of(sys.modules.get(module))
        if file:
            return "@" + relative_file(file)
    return module


def _file_of(module: Any) -> str:
    try:
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except AttributeError:
        return ""
    return file if isinstance(file, str) else ""


def _lookup(module: Any, qualname: str) -> Any:
    """Follow a qualified name from a module through classes, by their dictionaries only.

    `getattr` could import (PEP 562) or run a descriptor. Modules and other objects on the way are refused, since they
    lead anywhere.
    """
    target = module
    for part in qualname.split("."):
        try:
            if target is module:
                space = object.__getattribute__(target, "__dict__")
            elif issubclass(type(target), type):
                space = space_of(target)
            else:
                return _MISSING
        except (AttributeError, TypeError):
            return _MISSING
        target = space.get(part, _MISSING)
        if target is _MISSING:
            return _MISSING
    return target.__func__ if type(target) is staticmethod else target


def _is_definition(module: Any, qualname: str, definition: Any) -> bool:
    """Return whether a module defines a type or a function under a name. False for what it has imported."""
    if issubclass(type(definition), type):
        if definition in _HIDDEN_BUILTINS:
            return True
    elif (
        not issubclass(type(definition), _FUNCTIONS)
        and type(definition).__module__.partition(".")[0] != "wrapt"
    ):
        return False
    return (
        sys.modules.get(text(definition, "__module__")) is module
        and text(definition, "__qualname__") == qualname
    )


def _unwraps(candidate: Any, value: Any) -> bool:
    """Return whether an object is a wrapper of a value, such as a woven or decorated function."""
    for _ in range(8):
        if candidate is _MISSING or candidate is None or issubclass(type(candidate), type):
            return False
        if candidate is value:
            return True
        candidate = (dictionary_of(candidate) or {}).get("__wrapped__", _MISSING)
    return False


def _modules_named(name: str) -> list[Any]:
    """List the module of a name; without one, the main module if its file or its spec fits the name."""
    module = sys.modules.get(name)
    if module is not None:
        return [module]
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    tail = "/" + name.replace(".", "/")
    file = _file_of(main).replace(os.sep, "/")
    if main is not None and (
        getattr(spec, "name", None) == name or ("/" + file).endswith((f"{tail}.py", f"{tail}/__init__.py"))
    ):
        return [main]
    return []


def _modules_of_file(file: str) -> list[Any]:
    """List the imported modules of a file, the main one first."""
    wanted = absolute_file(file)
    real = os.path.realpath(wanted)
    matches: list[Any] = []
    for name, module in list(sys.modules.items()):
        path = _file_of(module)
        if not path or not path.endswith(os.path.basename(wanted)):
            continue
        absolute = os.path.abspath(path)
        if absolute == wanted or os.path.realpath(absolute) == real:
            matches.insert(0 if name in _MAIN else len(matches), module)
    return matches
