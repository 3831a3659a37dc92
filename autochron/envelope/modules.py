"""Objects that a program keeps as attributes of its modules: `app:app`, `shop.main:till`.

What can't be rebuilt from a trace, such as an application with its routes, may be there again in another run by its name.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from autochron.envelope import types as names
from autochron.errors import CodecError

_known: dict[int, str] = {}
"""Where an object was found, by its identity; it is looked up again, for another may have that identity by now."""

_missed: WeakKeyDictionary[type, int] = WeakKeyDictionary()
"""How often an object of a type was in no module: what is made for each request is not looked for again and again."""

_MAX_KNOWN = 256
_MISSES = 3


def attribute_of(value: Any, first: str) -> str | None:
    """Name an object as `module:attribute`; None where no module has it.

    Args:
        value: the object, which is compared by identity.
        first: the name of the module to look into before all others.
    """
    known = _known.get(id(value))
    if known is not None and _held(known) is value:
        return known
    cls = type(value)
    order = [first]
    if _missed.get(cls, 0) < _MISSES:
        # Not the main module, if another has it: in another run that is another module.
        others = [name for name in list(sys.modules) if name not in {first, "__main__"}]
        order = [*(order if first != "__main__" else ()), *others, "__main__"]
    for name in order:
        module = sys.modules.get(name)
        if type(module) is not ModuleType:
            continue
        for attribute, held in list(vars(module).items()):
            if held is value and attribute.isidentifier():
                if len(_known) >= _MAX_KNOWN:
                    _known.clear()
                found = _known[id(value)] = f"{names.place_of(name)}:{attribute}"
                return found
    _missed[cls] = _missed.get(cls, 0) + 1
    return None


def _held(name: str) -> Any:
    place, _, attribute = name.rpartition(":")
    try:
        module = names.find_module(place)
    except CodecError:
        return None
    return vars(module).get(attribute)
