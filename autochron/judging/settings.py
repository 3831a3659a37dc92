"""The mode of judging for the whole process: judgements are served only, made where they are missing, or made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from autochron._runtime import unpatched
from autochron.errors import UsageError

Mode: TypeAlias = Literal["replay", "record", "rewrite"]
"""`replay` calls no model; `record` judges what isn't recorded; `rewrite` judges each question anew, once per process."""

MODES: tuple[Mode, ...] = ("replay", "record", "rewrite")

VARIABLE = "AUTOCHRON_JUDGE"
"""The environment variable with the mode, for where no code sets one."""

_mode_in_use: list[Mode | None] = [None]


def use(mode: Mode) -> Callable[[], None]:
    """Set the mode for this process, which takes precedence over the environment.

    Returns:
        A function that restores the previous mode.

    Raises:
        UsageError: there is no such mode.
    """
    previous = _mode_in_use[0]
    _mode_in_use[0] = read_mode(mode, "the mode")

    def undo() -> None:
        _mode_in_use[0] = previous

    return undo


def mode_in_force(default: Mode = "replay") -> Mode:
    """Return the mode that was set, else the environment's, else the default.

    Raises:
        UsageError: the environment variable names no mode.
    """
    if _mode_in_use[0] is not None:
        return _mode_in_use[0]
    value = unpatched.environ.get(VARIABLE)
    return read_mode(value, VARIABLE) if value else default


def read_mode(value: str, place: str) -> Mode:
    """Return a value as a mode.

    Args:
        value: the name of a mode.
        place: where the value comes from, for the message.

    Raises:
        UsageError: there is no such mode.
    """
    for mode in MODES:
        if value == mode:
            return mode
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest(MODES, value)
    raise UsageError(
        f"{place} is {value!r}; it takes {', '.join(MODES[:-1])} or {MODES[-1]}"
        + (f"; did you mean {near}?" if near else "")
    )
