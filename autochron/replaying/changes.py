"""Change a caller's own objects as a recorded call changed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def apply_changes(changed: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Bring the arguments named in `changed` to the recorded state, in place and as deep as they correspond."""
    for name, after in changed.items():
        if name in arguments:
            _bring(arguments[name], after)


def _bring(target: Any, after: Any) -> bool:
    """Bring one object to a state; False where it can't be changed in place, so that its holder must replace it."""
    if isinstance(target, dict) and isinstance(after, dict):
        _bring_dict(target, after)
    elif isinstance(target, list) and isinstance(after, list):
        _bring_list(target, after)
    elif isinstance(target, set) and isinstance(after, set):
        if target != after:
            target.clear()
            target.update(after)
    elif isinstance(target, bytearray) and isinstance(after, bytearray):
        target[:] = after
    elif type(target) is type(after) and hasattr(target, "__dict__") and not isinstance(target, type):
        _bring_attributes(target, after)
    else:
        return type(target) is type(after) and _equal(target, after)
    return True


def _bring_dict(target: dict[Any, Any], after: dict[Any, Any]) -> None:
    for key in [key for key in target if key not in after]:
        del target[key]
    for key, value in after.items():
        if key not in target or not _bring(target[key], value):
            target[key] = value
    if list(target) != list(after):
        ordered = {key: target[key] for key in after}
        target.clear()
        target.update(ordered)


def _bring_list(target: list[Any], after: list[Any]) -> None:
    del target[len(after) :]
    for index, value in enumerate(after):
        if index == len(target):
            target.append(value)
        elif not _bring(target[index], value):
            target[index] = value


def _bring_attributes(target: Any, after: Any) -> None:
    for name, value in vars(after).items():
        held = vars(target)
        if name not in held or not _bring(held[name], value):
            try:
                setattr(target, name, value)
            except (AttributeError, TypeError):  # frozen
                held[name] = value


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False
