"""The globals of a program's modules, kept and put back: what a live tool changed there is no matter of the next test.

Objects stay the ones that they are: what is put back is what a list, a dict, a set or an object of the project's holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import _lru_cache_wrapper
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

from autochron.effects.held import attributes_of, cells_of, holds_state
from autochron.effects.module_state import project_modules

MOST = 50_000
"""Objects that are kept; beyond, what is changed stays changed."""

_CODE = (FunctionType, MethodType, ModuleType, staticmethod, classmethod, property, type)
_ABSENT: Any = type("Absent", (), {"__slots__": ()})()


class _FunctionState(NamedTuple):
    """What a function held."""

    cells: dict[str, Any]
    attributes: dict[str, Any]
    defaults: tuple[Any, ...]


class ModuleBackup:
    """What the project's modules held when this was made."""

    def __init__(self, owns: Callable[[str], bool]) -> None:
        modules = list(project_modules(owns))
        self._names = {module.__name__ for module in modules}
        self._namespaces: list[tuple[Any, dict[str, Any]]] = []
        self._held: list[tuple[Any, Any]] = []
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
        """Put back what has changed since."""
        for owner, before in self._namespaces:
            now = dict(vars(owner))
            for name, value in before.items():
                if now.get(name, _ABSENT) is not value:
                    _set(owner, name, value)
            for name, value in now.items():
                if name not in before and _is_data(name, value):
                    _set(owner, name, _ABSENT)
        for value, before_held in self._held:
            _restore(value, before_held)
        for cache, size in self._caches:
            # What was added was found on the scratch copy.
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
        waiting = [value]
        while waiting and len(self._held) < MOST:
            each = waiting.pop()
            if id(each) in self._seen:
                continue
            self._seen.add(id(each))
            if isinstance(each, _lru_cache_wrapper):
                self._caches.append((each, each.cache_info().currsize))
                waiting.append(getattr(each, "__wrapped__", None))
                continue
            held = self._holds(each)
            if held is not None:
                self._held.append((each, held))
                waiting += _inside(held)

    def _holds(self, value: Any) -> Any:
        """Return a shallow copy of what a value holds; None for what is no data that can be put back."""
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


def _inside(held: Any) -> list[Any]:
    """Return the objects in what a value holds."""
    if _is_buffer(held):
        return []
    if isinstance(held, _FunctionState):
        return [*held.cells.values(), *held.attributes.values(), *held.defaults]
    if isinstance(held, dict):
        return [*held.values(), *(key for key in held if not isinstance(key, str))]
    return list(held)


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
    except (AttributeError, TypeError):  # of a class that refuses it
        return


def _restore(value: Any, held: Any) -> None:
    if isinstance(value, (dict, set)):
        if not _is_same(value, held):
            value.clear()
            value.update(held)
    elif isinstance(value, (list, deque)):
        if len(value) != len(held) or any(one is not other for one, other in zip(value, held, strict=True)):
            value.clear()
            value.extend(held)
    elif _is_buffer(value):
        if value != held:
            value[:] = held
    elif isinstance(value, FunctionType):
        for name, cell in cells_of(value).items():
            if name in held.cells and cell.cell_contents is not held.cells[name]:
                cell.cell_contents = held.cells[name]
        if not _is_same(vars(value), held.attributes):
            vars(value).clear()
            vars(value).update(held.attributes)
    elif not isinstance(value, (tuple, MethodType)):
        _restore_object(value, held)


def _is_same(value: Any, held: Any) -> bool:
    """Return whether a dict or a set holds the same objects, without comparing these."""
    if len(value) != len(held) or any(one is not other for one, other in zip(value, held, strict=True)):
        return False
    return not isinstance(value, dict) or all(
        one is other for one, other in zip(value.values(), held.values(), strict=True)
    )


def _restore_object(value: Any, held: dict[str, Any]) -> None:
    """Put back the attributes of an object, past its own `__setattr__`."""
    now = attributes_of(value)
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    for name in [name for name in own if name not in held]:
        del own[name]
    for name, each in held.items():
        if now.get(name, _ABSENT) is each:
            continue
        if name in own or not isinstance(getattr(type(value), name, None), MemberDescriptorType):
            own[name] = each
        else:
            object.__setattr__(value, name, each)
