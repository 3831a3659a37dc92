"""Readers for the values of options.

Each takes the text, and the command and option for the error's message, such as `autochron run: --fail-under`. It returns
the value or raises `UsageError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autochron.errors import UsageError

_DAY = 86_400


def as_written(text: str, _option: str) -> str:
    """Return the text: what it may be is checked later, where more is known."""
    return text


def percentage(text: str, option: str) -> float:
    """Return a percentage from 0 to 100.

    Raises:
        UsageError: the text is none.
    """
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(f"{option} takes a percentage from 0 to 100, not {text}")
    return percent


def seconds(text: str, option: str) -> float:
    """Return a time in seconds, which is above 0 and at most a day.

    Raises:
        UsageError: the text is none.
    """
    try:
        time = float(text)
    except ValueError:
        time = 0.0
    if not 0 < time <= _DAY:
        raise UsageError(f"{option} takes seconds, up to a day, not {text}")
    return time


def number(least: int, most: int) -> Callable[[str, str], int]:
    """Return a reader of whole numbers from `least` to `most`."""

    def read(text: str, option: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise UsageError(f"{option} takes a number from {least} to {most}, not {text}")
        return int(text)

    return read


def choice(known: Sequence[str]) -> Callable[[str, str], str]:
    """Return a reader of one of these words, whose error names the nearest one."""

    def read(text: str, option: str) -> str:
        if text in known:
            return text
        from autochron.rules.nearest import hint  # lazy: difflib

        raise UsageError(f"{option} is {text}{hint(known, text)}")

    return read
