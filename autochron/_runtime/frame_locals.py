"""Read the local variables of a frame, and keep none of them alive.

Up to Python 3.12, `frame.f_locals` copies the variables of a function into a dictionary that the frame keeps. What they
held then lives as long as the frame, even if the function has let go of it since: `self = None` at the end of
`asyncio.Handle._run`, which breaks a cycle, would no longer do so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, Final

_KEEPS_A_COPY: Final = sys.version_info < (3, 13)
_OPTIMIZED: Final = 0x1
"""The flag of code whose variables are not in a dictionary: that of a function, and no module's or class's."""
_OURS: Final = 3
"""References to a dictionary that only the frame keeps, while they are counted: those of the frame and of two variables."""
_getrefcount = sys.getrefcount


def locals_of(frame: FrameType) -> Mapping[str, Any]:
    """Return what the variables of a frame hold now, by name."""
    held = frame.f_locals
    if not _KEEPS_A_COPY or not frame.f_code.co_flags & _OPTIMIZED:
        return held
    found = dict(held)
    # Whoever else has it called `locals()`, or read `f_locals` as well: then it is theirs.
    if _getrefcount(held) == _OURS:
        held.clear()
    return found
