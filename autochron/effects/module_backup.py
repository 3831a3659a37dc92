"""Back up the globals of a program's modules and restore them, so that no live tool's changes reach the next test.

Objects keep their identity. Restored is the content of lists, dicts, sets, buffers, closures and objects of the
project's classes.
"""

from __future__ import annotations

from collections import deque
from functools import _lru_cache_wrapper
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

from autochron.effects.held import attributes_of, cells_of, holds_state
from autochron.effects.module_state import ProjectModules, project_modules

MOST = 50_000
"""Most objects that are backed up. Changes of further objects are not undone."""

_CODE = (FunctionType, MethodType, ModuleType, staticmethod, classmethod, property, type)
_ABSENT: Any = type("Absent", (), {"__slots__": ()})()


class _FunctionState(NamedTuple):
    """The values that a function holds."""

    cells: dict[str, Any]
    attributes: dict[str, Any]
    defaults: tuple[Any, ...]


class ModuleBackup:
    """A backup of what the project's modules held when it was created."""

    def __init__(self, project: ProjectModules) -> None:
        """Back up the modules of a project."""
        modules = list(project_modules(project))
        self._names = {module.__name__ for module in modules}
        self._namespaces: list[tuple[Any, dict[str, Any]]] = []
        self._contents: list[tuple[Any, Any]] = []
        self._caches: list[tuple[_lru_cache_wrapper[Any], int]] = []
        self._seen: set[int] = set()
        for module in modules:
            self._keep_namespace(module, vars(module))
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ in self._names:
                    self._keep_namespace(value, type.__getattribute__(value, "__dict__"))
                elif isinstance(value, (FunctionType, MethodType)):
                    self._keep(value)

    def put_back(self) -> None:
        """Restore what has changed since the backup."""
        for owner, before in self._namespaces:
            current = dict(vars(owner))
            for name, value in before.items():
                if current.get(name, _ABSENT) is not value:
                    _set(owner, name, value)
            for name, value in current.items():
                if name not in before and _is_data(name, value):
                    _set(owner, name, _ABSENT)
        for value, contents in self._contents:
            _restore(value, contents)
        for cache, size in self._caches:
            # The added entries were computed from the scratch copy.
            if cache.cache_info().currsize != size:
                cache.cache_clear()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _keep_namespace(self, owner: Any, namespace: Any) -> None:
        if id(owner) in self._seen:
            return
        self._seen.add(id(owner))
        data = {name: value for name, value in list(namespace.items()) if _is_data(name, value)}
        self._namespaces.append((owner, data))
        for value in data.values():
            self._keep(value)

    def _keep(self, value: Any) -> None:
        pending = [value]
        while pending and len(self._contents) < MOST:
            candidate = pending.pop()
            if id(candidate) in self._seen:
                continue
            self._seen.add(id(candidate))
            if isinstance(candidate, _lru_cache_wrapper):
                self._caches.append((candidate, candidate.cache_info().currsize))
                pending.append(getattr(candidate, "__wrapped__", None))
                continue
            contents = self._contents_of(candidate)
            if contents is not None:
                self._contents.append((candidate, contents))
                pending += _inside(contents)

    def _contents_of(self, value: Any) -> Any:
        """Return a shallow copy of what a value holds; None if the value is no data that can be restored."""
        cls = type(value)
        if isinstance(value, (dict, list, set, deque)) and cls.__module__ in {"builtins", "collections"}:
            return value.copy()
        if _is_buffer(value):
            return value[:]
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, MethodType):
            return [value.__self__]
        if isinstance(value, FunctionType):
            if value.__module__ not in self._names:
                return None
            cells = {name: cell.cell_contents for name, cell in cells_of(value).items()}
            defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
            return _FunctionState(cells, dict(vars(value)), defaults)
        if isinstance(value, _CODE) or not holds_state(value, self._names):
            return None
        return attributes_of(value)


def _inside(contents: Any) -> list[Any]:
    """Return the objects inside a value's contents."""
    if _is_buffer(contents):
        return []
    if isinstance(contents, _FunctionState):
        return [*contents.cells.values(), *contents.attributes.values(), *contents.defaults]
    if isinstance(contents, dict):
        return [*contents.values(), *(key for key in contents if not isinstance(key, str))]
    return list(contents)


def _is_buffer(value: Any) -> bool:
    """Return whether a value is a mutable sequence of numbers or bytes."""
    return isinstance(value, bytearray) or type(value).__module__ == "array"


def _is_data(name: str, value: Any) -> bool:
    return not name.startswith("__") and not isinstance(value, _CODE)


def _set(owner: Any, name: str, value: Any) -> None:
    try:
        if value is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    except (AttributeError, TypeError):  # the class forbids it
        return


def _restore(value: Any, contents: Any) -> None:
    if isinstance(value, (dict, set)):
        if not _is_same(value, contents):
            value.clear()
            value.update(contents)
    elif isinstance(value, (list, deque)):
        if len(value) != len(contents) or any(
            current is not original for current, original in zip(value, contents, strict=True)
        ):
            value.clear()
            value.extend(contents)
    elif _is_buffer(value):
        if value != contents:
            value[:] = contents
    elif isinstance(value, FunctionType):
        for name, cell in cells_of(value).items():
            if name in contents.cells and cell.cell_contents is not contents.cells[name]:
                cell.cell_contents = contents.cells[name]
        if not _is_same(vars(value), contents.attributes):
            vars(value).clear()
            vars(value).update(contents.attributes)
    elif not isinstance(value, (tuple, MethodType)):
        _restore_object(value, contents)


def _is_same(value: Any, contents: Any) -> bool:
    """Return whether a dict or a set holds the same objects. They are compared by identity, which runs no `__eq__`."""
    if len(value) != len(contents) or any(
        current is not original for current, original in zip(value, contents, strict=True)
    ):
        return False
    return not isinstance(value, dict) or all(
        current is original for current, original in zip(value.values(), contents.values(), strict=True)
    )


def _restore_object(value: Any, attributes: dict[str, Any]) -> None:
    """Restore the attributes of an object, bypassing its `__setattr__`."""
    current = attributes_of(value)
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    for name in [name for name in own if name not in attributes]:
        del own[name]
    for name, original in attributes.items():
        if current.get(name, _ABSENT) is original:
            continue
        if name in own or not isinstance(getattr(type(value), name, None), MemberDescriptorType):
            own[name] = original
        else:
            object.__setattr__(value, name, original)
