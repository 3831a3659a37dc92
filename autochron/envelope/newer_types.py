"""Types of newer Pythons that hold plain values: `frozendict` of 3.15, and template strings of 3.14."""

from __future__ import annotations

import builtins
import sys
from typing import Any

FROZEN_DICT: Any = getattr(builtins, "frozendict", None)
"""A dictionary that never changes; it is no `dict`. None before 3.15."""

TEMPLATE: Any = None
"""The type of `t"..."`; None before 3.14."""
INTERPOLATION: Any = None
"""The type of `{value!r:format}` in a template."""
if sys.version_info >= (3, 14):
    from string.templatelib import Interpolation, Template

    TEMPLATE, INTERPOLATION = Template, Interpolation


def interpolation_of(value: Any) -> list[Any]:
    """Return the arguments that make an interpolation: its value, expression, conversion and format."""
    return [value.value, value.expression, value.conversion, value.format_spec]
