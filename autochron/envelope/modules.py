"""Objects that are attributes of a program's modules: `app:app`, `shop.main:till`.

An object that can't be rebuilt from a trace, such as an application with its routes, may exist in another run under the
same name.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from autochron.envelope import types as names
from autochron.errors import CodecError

_known: dict[int, str] = {}
"""The names of objects by identity. Each is looked up again, since another object may have the same identity later."""

_missed: WeakKeyDictionary[type, int] = WeakKeyDictionary()
"""How often an object of a type was found in no module, so that objects made for each request are not searched for."""

_MAX_KNOWN = 256
_MISSES = 3


def attribute_of(value: Any, first: str) -> str | None:
    """Name an object as `module:attribute`; return None if no module has it.

    Args:
        value: the object, which is compared by identity.
        first: the name of the module to search before all others.
    """
    known = _known.get(id(value))
    if known is not None and _attribute(known) is value:
        return known
    cls = type(value)
    order = [first]
    if _missed.get(cls, 0) < _MISSES:
        # The main module comes last: in another run it may be another module.
        others = [name for name in list(sys.modules) if name not in {first, "__main__"}]
        order = [*(order if first != "__main__" else ()), *others, "__main__"]
    for name in order:
        module = sys.modules.get(name)
        if type(module) is not ModuleType:
            continue
        for attribute, item in list(vars(module).items()):
            if item is value and attribute.isidentifier():
                if len(_known) >= _MAX_KNOWN:
                    _known.clear()
                path = _known[id(value)] = f"{names.place_of(name)}:{attribute}"
                return path
    _missed[cls] = _missed.get(cls, 0) + 1
    return None


def _attribute(name: str) -> Any:
    place, _, attribute = name.rpartition(":")
    try:
        module = names.find_module(place)
    except CodecError:
        return None
    return vars(module).get(attribute)
