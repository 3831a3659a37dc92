"""What stands in a tree for a value that can't be rebuilt: its type, and why. Each that writes values needs it."""

from __future__ import annotations

from typing import Any

from autochron.envelope import types as names


def opaque(value: Any, reason: str = "") -> dict[str, str]:
    """Stand for what can't be rebuilt."""
    label = names.label(type(value))
    return {"$opaque": label, "reason": reason} if reason else {"$opaque": label}
