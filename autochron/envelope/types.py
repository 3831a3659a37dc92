"""Names for types, functions and modules in a stored value, and what such a name means in this program.

A name is `module:qualname`. What lives in `__main__` is named by its file instead, `@shop/agent.py:Quote`,
relative to
the root folder, so that it is found again when the same file is imported as `agent`. Finding only looks: it
reads
`sys.modules` and the dictionaries of modules and classes, so neither an import nor a module's `__getattr__`
runs.
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
# Types whose `__module__` is a polite fiction: `types.MappingProxyType` says that it is
# `builtins.mappingproxy`.
_HIDDEN_BUILTINS: dict[Any, str] = {
    value: f"types:{key}" for key, value in vars(types).items() if isinstance(value, type)
}
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    type(functools.lru_cache(lambda: None)),
)
_root: list[str] = [""]
_has_named: list[bool] = [False]
"""Whether a name was made since the names were forgotten."""
_listeners: list[Any] = []


class UnnamedError(Exception):
    """An object can't be named so that another run finds it; the text is the reason."""


def set_root(path: str) -> None:
    """Take the folder that the files of `__main__` are named relative to; by default the working folder."""
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
    """Return whether names are relative to a folder that was set, and not to the working folder."""
    return bool(_root[0])


def on_root_change(listener: Any) -> None:
    """Call `listener()` when names made before may be stale."""
    _listeners.append(listener)


def relative_file(file: str) -> str:
    """Name a file relative to the root when it is inside it, with forward slashes."""
    _has_named[0] = True
    if file.startswith("<"):
        return file
    root = _root[0] or os.getcwd()
    full = os.path.abspath(file)
    if full.startswith(os.path.join(root, "")):
        full = os.path.relpath(full, root)
    return full.replace(os.sep, "/")


def absolute_file(file: str) -> str:
    """Undo `relative_file`."""
    if file.startswith("<"):
        return file
    return os.path.normpath(os.path.join(_root[0] or os.getcwd(), file))


def label(value: type) -> str:
    """Name a type for people: never fails, and finding it again isn't meant."""
    _has_named[0] = True
    module = text(value, "__module__") or "builtins"
    qualname = text(value, "__qualname__") or text(value, "__name__")
    return f"{place_of(module)}:{qualname}"


def label_function(value: Any) -> str:
    """Name a function for people."""
    _has_named[0] = True
    module = text(value, "__module__") or "builtins"
    qualname = text(value, "__qualname__") or text(type(value), "__name__")
    return f"{place_of(module)}:{qualname}"


def name_of(value: Any) -> str:
    """Name a type or a function so that `find` gives the same object; UnnamedError says why it can't be."""
    _has_named[0] = True
    module, qualname = text(value, "__module__"), text(value, "__qualname__")
    if not module or not qualname:
        raise UnnamedError("it has no module or name")
    if "<locals>" in qualname or "<lambda>" in qualname:
        raise UnnamedError("it is defined inside a function; move it to the module's top level")
    found = _lookup(sys.modules.get(module), qualname)
    if found is not value and not _unwraps(found, value):
        try:
            return _HIDDEN_BUILTINS[value]
        except (KeyError, TypeError):
            raise UnnamedError(f"{module} has another object, or none, under the name {qualname}") from None
    return f"{place_of(module)}:{qualname}"


def find(name: str) -> Any:
    """Return the object that a name means, among what the program has already imported."""
    place, colon, qualname = name.rpartition(":")
    if not colon or not place:
        raise CodecError(f"{name!r} is no name of a type; expected module:name")
    modules = _modules_of_file(place[1:]) if place.startswith("@") else _modules_named(place)
    if not modules:
        raise CodecError(
            f"{name} was recorded, but {place.lstrip('@')} isn't imported in this program; "
            "import it before the replay"
        )
    for module in modules:
        found = _lookup(module, qualname)
        if found is _MISSING:
            continue
        if _is_definition(module, qualname, found):
            return found
        raise CodecError(
            f"{name} is no type or function that {place.lstrip('@')} defines, so a trace can't name it; record it again"
        )
    raise CodecError(
        f"{name} was recorded, but {place.lstrip('@')} has no {qualname} any more; record the trace again"
    )


def is_same(one: str, other: str) -> bool:
    """Return whether two names mean one object: what ran as a script then may be imported by its name now."""
    if one == other:
        return True
    if (
        not (one.startswith("@") or other.startswith("@"))
        or one.rpartition(":")[2] != other.rpartition(":")[2]
    ):
        return False
    try:
        return find(one) is find(other)
    except CodecError:
        return False


def find_module(name: str) -> types.ModuleType:
    """Return an imported module."""
    modules = _modules_of_file(name[1:]) if name.startswith("@") else _modules_named(name)
    if not modules:
        raise CodecError(
            f"module {name} was recorded, but it isn't imported in this program; import it before the replay"
        )
    found: types.ModuleType = modules[0]
    return found


def name_module(module: types.ModuleType) -> str:
    """Name a module so that `find_module` gives the same one."""
    name = (dictionary_of(module) or {}).get("__name__")
    if not name or sys.modules.get(name) is not module:
        raise UnnamedError("the module isn't imported under its own name")
    return place_of(name)


def place_of(module: str) -> str:
    """Write a module's name, or the file of the main module."""
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
    """Walk a qualified name from a module through classes, by their dictionaries only.

    `getattr` could import (PEP 562) or run a descriptor, and other modules and objects lead anywhere.
    """
    found = module
    for part in qualname.split("."):
        try:
            if found is module:
                space = object.__getattribute__(found, "__dict__")
            elif issubclass(type(found), type):
                space = space_of(found)
            else:
                return _MISSING
        except (AttributeError, TypeError):
            return _MISSING
        found = space.get(part, _MISSING)
        if found is _MISSING:
            return _MISSING
    return found.__func__ if type(found) is staticmethod else found


def _is_definition(module: Any, qualname: str, found: Any) -> bool:
    """Return whether a module defines a type or a function, and did not import it, under a name."""
    if issubclass(type(found), type):
        if found in _HIDDEN_BUILTINS:
            return True
    elif not issubclass(type(found), _FUNCTIONS) and type(found).__module__.partition(".")[0] != "wrapt":
        return False
    return sys.modules.get(text(found, "__module__")) is module and text(found, "__qualname__") == qualname


def _unwraps(found: Any, value: Any) -> bool:
    """Return whether a name holds a wrapper of the value: a woven or decorated function."""
    for _ in range(8):
        if found is _MISSING or found is None or issubclass(type(found), type):
            return False
        if found is value:
            return True
        found = (dictionary_of(found) or {}).get("__wrapped__", _MISSING)
    return False


def _modules_named(name: str) -> list[Any]:
    """Return the module of that name; a module that runs as the main program counts by its file."""
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
    """Return the imported modules of a file, the main one first."""
    wanted = absolute_file(file)
    real = os.path.realpath(wanted)
    found: list[Any] = []
    for name, module in list(sys.modules.items()):
        path = _file_of(module)
        if not path or not path.endswith(os.path.basename(wanted)):
            continue
        full = os.path.abspath(path)
        if full == wanted or os.path.realpath(full) == real:
            found.insert(0 if name in _MAIN else len(found), module)
    return found
