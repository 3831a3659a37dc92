"""Changing a caller's own objects as a recorded call changed them."""

from __future__ import annotations

import builtins
import re
import sys
from collections import deque
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from autochron._runtime.frame_locals import locals_of
from autochron.crossing.arguments import capture
from autochron.effects.undisturbed import undisturbed
from autochron.envelope import codec, shapes
from autochron.redaction.redactor import MASK
from autochron.weaving.cells import CELL, Cells, frame_of

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.replaying.running import Running

GLOBAL = "global:"
"""The prefix of a global's name among the changes of a call."""

_KEPT: Any = type("Kept", (), {"__slots__": ()})()
"""Stands for a value that was not recorded. The caller's own object stays."""

_NONE: Any = object()
_NO_SPACES: Mapping[str, Any] = {}
_VALUES = (str, bytes, int, float, complex, frozenset)


def apply_changes(
    body: bytes, arguments: Mapping[str, Any], spaces: Mapping[str, Any] = _NO_SPACES
) -> list[str]:
    """Bring arguments, globals and cells to their recorded state. Objects of corresponding types are changed in place.

    Args:
        body: the recorded states by name, as JSON.
        arguments: the caller's objects by name.
        spaces: the module's globals and the call's cells, each as a mapping from names to values, by the prefix of their
            names. If one is missing, its names are left as they are.

    Returns:
        The names whose objects could not be brought to their recorded state.

    Raises:
        CodecError: the record can't be read.
    """
    failed: list[str] = []
    for name, after in codec.decode_partly(body, _KEPT).items():
        prefix = next((prefix for prefix in (GLOBAL, CELL) if name.startswith(prefix)), None)
        if prefix is not None and prefix not in spaces:
            continue
        if prefix is not None and "." not in name:
            if not _update_name(spaces[prefix], name.removeprefix(prefix), after):
                failed.append(name)
            continue
        target = arguments.get(name, _NONE)
        if target is _NONE:
            if not _update_attribute(name, after, arguments):
                failed.append(name)
            continue
        updated = _updated(target, after, own=True)
        # The tuple of `*args` belongs to no caller. Its members are changed in place.
        if updated is not target and not isinstance(target, tuple) and not _equal(updated, target):
            failed.append(name)
    return failed


def repeat_changes(
    changed: bytes, crossing: Crossing[Running], arguments: tuple[Any, ...], *, with_names: bool
) -> list[str]:
    """Repeat the changes that a recorded crossing made to its arguments, to globals of its module, and to cells.

    Args:
        changed: the recorded changes (`Envelope.changed`, or those of a stream's step).
        crossing: the served crossing.
        arguments: its arguments, in the order of the point's parameters.
        with_names: whether globals and cells are changed, too. In a partly live replay, the recorded state of a global
            could undo what live code did to it.

    Returns:
        The names whose objects could not be changed.

    Raises:
        CodecError: the record can't be read.
    """
    point = crossing.point
    named = dict(zip(point.parameters, arguments, strict=False))
    if crossing.rule.changes is not None:
        named |= zip(*capture(crossing.rule.changes, point)(arguments), strict=True)
    spaces: dict[str, Any] = {}
    if with_names and b'"global:' in changed:
        spaces[GLOBAL] = vars(sys.modules[point.module])
        named |= {f"{GLOBAL}{name}": value for name, value in spaces[GLOBAL].items()}
    if with_names and b'"cell:' in changed:
        frame = frame_of(point)
        spaces[CELL] = Cells(point)
        if frame is not None:
            named |= {f"{CELL}{name}": value for name, value in locals_of(frame).items()}
    with undisturbed():
        return apply_changes(changed, named, spaces)


def _update_name(space: Any, name: str, after: Any) -> bool:
    """Change a global or a cell; return whether that was possible. A trace never replaces a function or module."""
    current = space.get(name, _NONE)
    if callable(current) or isinstance(current, ModuleType) or (current is _NONE and hasattr(builtins, name)):
        return after is _KEPT
    updated = _updated(current, after, own=True)
    if updated is not current and updated is not _KEPT:
        space[name] = updated
    return True


def _update_attribute(path: str, after: Any, arguments: Mapping[str, Any]) -> bool:
    """Change one attribute of an argument that was not recorded as a whole; return whether that was possible."""
    name, _, attribute = path.rpartition(".")
    owner = arguments.get(name, _NONE)
    if owner is _NONE or after is _KEPT or not _has_attributes(owner):
        return False
    current = _state(owner).get(attribute, _NONE)
    updated = _updated(current, after)
    if updated is not current:
        _set_state(owner, {attribute: updated})
    return True


def _updated(target: Any, after: Any, *, own: bool = False) -> Any:
    """Update an object to a recorded state. Return the object if it was changed in place, else what replaces it.

    Args:
        target: the object.
        after: its recorded state.
        own: whether the recorded call changed this very object in place. Then it is changed even if its class is frozen.
    """
    if after is _KEPT or _is_masked(target, after):
        return after if target is _NONE else target
    if isinstance(target, dict) and isinstance(after, dict):
        _update_dict(target, after)
    elif isinstance(target, list) and isinstance(after, list):
        _update_list(target, after)
    elif isinstance(target, deque) and isinstance(after, deque):
        members = list(target)
        _update_list(members, list(after))
        target.clear()
        target.extend(members)
    elif isinstance(target, set) and isinstance(after, set):
        _update_set(target, after)
    elif isinstance(target, bytearray) and isinstance(after, bytearray):
        target[:] = after
    elif type(after) is type(target) and shapes.is_message(type(target)):
        target.CopyFrom(after)
    elif isinstance(target, tuple) and type(after) is type(target):
        return _updated_tuple(target, after)
    elif type(target) is not type(after) or isinstance(target, _VALUES) or not _has_attributes(target):
        return target if type(target) is type(after) and _equal(target, after) else after
    if type(target) is type(after) and _has_attributes(target) and not shapes.is_message(type(target)):
        return _update_attributes(target, after, own=own)
    return target


def _is_masked(target: Any, after: Any) -> bool:
    """Return whether a recorded text was masked, and the caller's object may be the text that the mask hides."""
    if type(after) is not str or MASK not in after or target is _NONE:
        return False
    if after == MASK:
        return True
    hidden = ".*".join(re.escape(part) for part in after.split(MASK))
    return type(target) is str and re.fullmatch(hidden, target, re.DOTALL) is not None


def _update_dict(target: dict[Any, Any], after: dict[Any, Any]) -> None:
    for key in [key for key in target if key not in after and _KEPT not in after]:
        del target[key]
    for key, value in after.items():
        current = target.get(key, _NONE) if key in target else _NONE
        updated = _updated(current, value)
        if key is not _KEPT and updated is not _KEPT and updated is not current:
            target[key] = updated
    order = [key for key in after if key in target]
    if len(order) == len(target) and list(target) != order:
        ordered = {key: target[key] for key in order}
        target.clear()
        target.update(ordered)


def _update_list(target: list[Any], after: list[Any]) -> None:
    members = [
        _updated(target[index] if index < len(target) else _NONE, value) for index, value in enumerate(after)
    ]
    target[:] = [member for member in members if member is not _KEPT]


def _update_set(target: set[Any], after: set[Any]) -> None:
    if target != after:
        if _KEPT not in after:
            target.intersection_update(after)
        target.update(after - {_KEPT})


def _updated_tuple(target: tuple[Any, ...], after: tuple[Any, ...]) -> Any:
    current = [*target, *[_NONE] * (len(after) - len(target))]
    members = [_updated(member, value) for member, value in zip(current, after, strict=False)]
    if len(members) == len(target) and all(
        updated is member for updated, member in zip(members, target, strict=True)
    ):
        return target
    return tuple.__new__(type(target), [member for member in members if member is not _KEPT])


# --- attributes


def _has_attributes(target: Any) -> bool:
    cls = type(target)
    return not isinstance(target, type) and (
        hasattr(target, "__dict__") or bool(shapes.slots_of(cls)) or isinstance(target, msgspec.Struct)
    )


def _state(value: Any) -> dict[str, Any]:
    state = shapes.attributes(value, shapes.slots_of(type(value)))
    if isinstance(value, msgspec.Struct):
        state |= {name: getattr(value, name) for name in value.__struct_fields__ if hasattr(value, name)}
    return state


def _is_frozen(cls: Any) -> bool:
    config = getattr(cls, "__struct_config__", None) or getattr(cls, "__dataclass_params__", None)
    return bool(getattr(config, "frozen", False))


def _update_attributes(target: Any, after: Any, *, own: bool) -> Any:
    current, wanted = _state(target), _state(after)
    changed = {}
    for name, value in wanted.items():
        updated = _updated(current.get(name, _NONE), value)
        if updated is not _KEPT and updated is not current.get(name, _NONE):
            changed[name] = updated
    if changed and not own and _is_frozen(type(target)):  # the recorded call replaced it by another object
        _set_state(
            after,
            {
                name: changed.get(name, current.get(name))
                for name in wanted
                if name in current or name in changed
            },
        )
        return after
    _set_state(target, changed)
    for name in current:
        if name not in wanted:
            object.__delattr__(target, name)
    if shapes.is_pydantic(type(target)):
        for name in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(
                target, name, _updated(getattr(target, name, None), getattr(after, name, None))
            )
    return target


def _set_state(target: Any, state: dict[str, Any]) -> None:
    """Set attributes without calling a `__setattr__` of the class. The code of a frozen object does so, too."""
    if isinstance(target, msgspec.Struct):
        for name in [name for name in target.__struct_fields__ if name in state]:
            msgspec.structs.force_setattr(target, name, state.pop(name))
    shapes.set_attributes(target, state)


def _equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal and encoded alike. Equal values such as 0.0 and -0.0 may look different."""
    try:
        return bool(left == right) and codec.encode(left).body == codec.encode(right).body
    except Exception:
        return False


def with_member(value: Any, path: list[str | int], member: Any) -> Any:
    """Put a member at a path in a value, in place. Return the value; tuples on the path are replaced by new ones."""
    if not path:
        return member
    key: Any = path[0]
    child = with_member(value[key], path[1:], member)
    if isinstance(value, tuple):
        return tuple.__new__(type(value), (*value[:key], child, *value[key + 1 :]))
    value[key] = child
    return value
