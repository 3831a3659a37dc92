"""The tree of a value that can't be rebuilt: its type, and the reason. Several modules that write values need it."""

from __future__ import annotations

from typing import Any

from autochron.envelope import types as names


def opaque(value: Any, reason: str = "") -> dict[str, str]:
    """Return the tree of a value that can't be rebuilt."""
    label = names.label(type(value))
    return {"$opaque": label, "reason": reason} if reason else {"$opaque": label}
