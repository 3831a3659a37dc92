"""The globals of a program's modules, kept and put back: what a live tool changed there is no matter of the next test.

Objects stay the ones that they are: what is put back is what a list, a dict, a set or an object of the project's holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from autochron.effects.module_state import project_modules

MOST = 50_000
"""Objects that are kept; beyond, what is changed stays changed."""

_CODE = (FunctionType, MethodType, ModuleType, staticmethod, classmethod, property, type)
_ABSENT: Any = type("Absent", (), {"__slots__": ()})()


class ModuleBackup:
    """What the project's modules held when this was made."""

    def __init__(self, owns: Callable[[str], bool]) -> None:
        modules = list(project_modules(owns))
        self._names = {module.__name__ for module in modules}
        self._namespaces: list[tuple[Any, dict[str, Any]]] = []
        self._held: list[tuple[Any, Any]] = []
        self._seen: set[int] = set()
        for module in modules:
            self._keep_namespace(module, vars(module))
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ in self._names:
                    self._keep_namespace(value, type.__getattribute__(value, "__dict__"))

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
            held = self._holds(each)
            if held is not None:
                self._seen.add(id(each))
                self._held.append((each, held))
                waiting += held.values() if isinstance(held, dict) else held
                if isinstance(held, dict):
                    waiting += [key for key in held if not isinstance(key, str)]

    def _holds(self, value: Any) -> Any:
        """Return a shallow copy of what a value holds; None for what is no data that can be put back."""
        cls = type(value)
        if isinstance(value, (dict, list, set, deque)) and cls.__module__ in {"builtins", "collections"}:
            return value.copy()
        if isinstance(value, tuple):
            return list(value)
        if cls.__module__ not in self._names:
            return None
        held: dict[str, Any] = {}
        try:
            held |= object.__getattribute__(value, "__dict__")
        except AttributeError:
            pass
        for base in cls.__mro__:
            for name, member in base.__dict__.items():
                if isinstance(member, MemberDescriptorType):
                    try:
                        held[name] = member.__get__(value)
                    except AttributeError:  # not set
                        continue
        return held


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
    elif not isinstance(value, tuple):
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
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    for name in [name for name in own if name not in held]:
        del own[name]
    for name, each in held.items():
        if own.get(name, _ABSENT) is each:
            continue
        if name in own or not isinstance(getattr(type(value), name, None), MemberDescriptorType):
            own[name] = each
        else:
            object.__setattr__(value, name, each)
