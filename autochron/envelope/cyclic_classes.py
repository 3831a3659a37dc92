"""Which classes have instances on cycles, so that such a value is not first written to the limit of recursion.

The encoder in C finds no cycle. It writes a value that contains itself as deep as it may, up to 8,000 levels, and fails.
So the classes of what lay on a cycle are kept, and further instances are searched for a cycle first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from autochron._runtime.bare import class_attribute, identity, slot
from autochron._runtime.class_table import ClassTable
from autochron._runtime.signals import is_interruption
from autochron.envelope import shapes
from autochron.envelope.cycles import CycleError, Cycles
from autochron.envelope.plain_forms import plain_form

_MOST = 20_000
"""Parts that are searched, at most."""

_NEAR = 16
"""Items of a container whose classes are looked at."""

_ATOMS = frozenset({str, int, float, bool, type(None), bytes})
_BUILTIN = frozenset({dict, list, tuple, set, frozenset, *_ATOMS})
_classes: ClassTable[bool] = ClassTable()
_any: list[bool] = [False]


def note(cycles: Cycles, value: Any) -> None:
    """Keep the classes of the parts that lie on a cycle, and that of the value; of a container, those of its items."""
    if not cycles.parts:
        return
    near = list(value.values()) if type(value) is dict else [value]
    for cls in {*cycles.classes, *map(type, near)}:
        if cls not in _BUILTIN:
            _any[0] = True
            _classes.find(cls, _is_cyclic)


def _is_cyclic(_: type) -> bool:
    return True


def contains_itself(values: Iterable[Any]) -> bool:
    """Return whether the encoder is known to fail, since a value of a class that was kept contains itself.

    False means nothing.
    """
    return _any[0] and any(_is_kept(value) and _meets_cycle(value) for value in values)


def _is_kept(value: Any) -> bool:
    kind = type(value)
    if kind not in _BUILTIN:
        return _classes.knows(kind)
    if kind is dict:
        return len(value) <= _NEAR and any(_classes.knows(type(item)) for item in list(value.values()))
    if kind is list or kind is tuple:
        return len(value) <= _NEAR and any(_classes.knows(type(item)) for item in list(value))
    return False


def _meets_cycle(value: Any) -> bool:
    """Search for a cycle by way of what the encoder writes, each part once, in any depth."""
    left = _MOST
    kept: dict[int, Any] = {}  # no other object may get the identity of a part that was met
    above: set[int] = set()
    path: list[tuple[int, Iterator[Any]]] = [(0, iter((value,)))]
    while path:
        holder, parts = path[-1]
        for part in parts:
            if type(part) in _ATOMS:
                continue
            key = identity(part)
            if key in above:
                return True
            if key in kept:
                continue
            left -= 1
            if left < 0:
                return False
            kept[key] = part
            try:
                written = _written(part)
            except CycleError:
                return True
            except Exception as error:
                if is_interruption(error):
                    raise
                return False
            above.add(key)
            path.append((key, iter(written)))
            break
        else:
            path.pop()
            above.discard(holder)
    return False


def _written(value: Any) -> list[Any]:
    """List the parts that the encoder writes of a value."""
    kind = type(value)
    if kind is dict:
        return list(value.values())
    if kind is list or kind is tuple:
        return list(value)
    if issubclass(kind, msgspec.Struct):
        return [slot(value, name) for name in shapes.struct_fields(kind)]
    if shapes.is_record(kind):
        attributes = shapes.attributes(value, shapes.slots_of(kind))
        fields = class_attribute(kind, "__dataclass_fields__")
        return [item for name, item in attributes.items() if fields is None or name in fields]
    form = plain_form(value)
    return list(form.values()) if type(form) is dict else form if type(form) is list else []
