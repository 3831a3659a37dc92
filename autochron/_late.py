"""Compile a pattern when it is first used: most runs use a few of them, and all took 3 ms of every start."""

from __future__ import annotations

import re
from typing import Any, AnyStr


class _Late:
    """Stands for a pattern; what is asked of it is kept, so that the next time takes no detour."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._made = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._made), name)
        setattr(self, name, value)
        return value


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Give a pattern that is compiled when it is first used."""
    return _Late(pattern, flags)  # type: ignore[return-value]  # does all that a pattern does
