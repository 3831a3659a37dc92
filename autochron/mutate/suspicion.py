"""Inputs that no call should have: negative, empty, huge, no number."""

from __future__ import annotations

import ast

from autochron.mutate.model import Input

_HUGE = 1e12

EMPTY = "(empty)"
"""How the value of an input is written that is an empty list."""


def suspicion(edge_input: Input) -> str:
    """Return why no call should have an input that the fix accepts; empty if nothing speaks against it."""
    is_accepted = edge_input.is_accepted and edge_input.argument
    return _suspicion(edge_input.value) if is_accepted else ""


def _suspicion(text: str) -> str:
    """Return why a value, given in Python's notation, is suspicious; empty where it is not."""
    if text.startswith("float(") or text in {"nan", "inf", "-inf"}:
        return "no number"
    if text == repr(EMPTY):
        return "empty"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    if value is None:
        return "nothing"
    if isinstance(value, str | bytes | list | tuple | dict | set):
        return "" if value and not (isinstance(value, str) and not value.strip()) else "empty"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "negative" if value < 0 else "huge" if value >= _HUGE else ""
    return ""
