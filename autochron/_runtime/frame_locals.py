"""Read the local variables of a frame without keeping their values alive.

Up to Python 3.12, `frame.f_locals` copies the variables of a function into a dictionary that the frame keeps. Their values
then live as long as the frame, even if the function has deleted its references: `self = None` at the end of
`asyncio.Handle._run`, which breaks a reference cycle, would have no effect.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, Final

_KEEPS_A_COPY: Final = sys.version_info < (3, 13)
_OPTIMIZED: Final = 0x1
"""The flag CO_OPTIMIZED of a function's code, whose variables are not in a dictionary. Modules and classes don't have it."""
_OWN_REFERENCES: Final = 3
"""The reference count of a dictionary that only the frame keeps: one of the frame, one of our variable, one of the call."""
_getrefcount = sys.getrefcount


def locals_of(frame: FrameType) -> Mapping[str, Any]:
    """Return the present values of a frame's variables, by name."""
    variables = frame.f_locals
    if not _KEEPS_A_COPY or not frame.f_code.co_flags & _OPTIMIZED:
        return variables
    copy = dict(variables)
    # Another reference is that of a program that called `locals()` or read `f_locals`. Then it must not be cleared.
    if _getrefcount(variables) == _OWN_REFERENCES:
        variables.clear()
    return copy
