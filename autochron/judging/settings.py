"""Whether judgements are served from their record, made where they are missing, or made anew: for the whole process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from autochron._runtime import unpatched
from autochron.errors import UsageError

Mode: TypeAlias = Literal["replay", "record", "rewrite"]
"""`replay` calls no model; `record` judges what isn't recorded; `rewrite` judges each question anew, once in a process."""

MODES: tuple[Mode, ...] = ("replay", "record", "rewrite")

VARIABLE = "AUTOCHRON_JUDGE"
"""The environment variable that says it where nobody else does."""

_used: list[Mode | None] = [None]


def use(mode: Mode) -> Callable[[], None]:
    """Set the mode for this process, before the environment's; gives the undo."""
    before = _used[0]
    _used[0] = read_mode(mode, "the mode")

    def undo() -> None:
        _used[0] = before

    return undo


def mode_in_force(default: Mode = "replay") -> Mode:
    """Return the mode: the one that was set, else the environment's, else the default."""
    if _used[0] is not None:
        return _used[0]
    given = unpatched.environ.get(VARIABLE)
    return read_mode(given, VARIABLE) if given else default


def read_mode(given: str, place: str) -> Mode:
    """Read a mode; UsageError where it is none."""
    for mode in MODES:
        if given == mode:
            return mode
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest(MODES, given)
    raise UsageError(
        f"{place} is {given!r}; it takes {', '.join(MODES[:-1])} or {MODES[-1]}"
        + (f"; did you mean {near}?" if near else "")
    )
