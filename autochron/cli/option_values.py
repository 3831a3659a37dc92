"""What the value of an option may be: each function takes the text, and where it stands for the error's message.

That is such as `autochron run: --fail-under`. A function returns the value, or raises `UsageError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autochron.errors import UsageError

_DAY = 86_400


def percentage(text: str, option: str) -> float:
    """Read a percentage."""
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(f"{option} takes a percentage from 0 to 100, not {text}")
    return percent


def seconds(text: str, option: str) -> float:
    """Read a time in seconds: more than none, and a day at most."""
    try:
        time = float(text)
    except ValueError:
        time = 0.0
    if not 0 < time <= _DAY:
        raise UsageError(f"{option} takes seconds, up to a day, not {text}")
    return time


def number(least: int, most: int) -> Callable[[str, str], int]:
    """Return the function that reads a whole number from `least` to `most`."""

    def read(text: str, option: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise UsageError(f"{option} takes a number from {least} to {most}, not {text}")
        return int(text)

    return read


def choice(known: Sequence[str]) -> Callable[[str, str], str]:
    """Return the function that reads one of some words, and names the nearest where it is none."""

    def read(text: str, option: str) -> str:
        if text in known:
            return text
        from autochron.rules.nearest import hint  # lazy: difflib

        raise UsageError(f"{option} is {text}{hint(known, text)}")

    return read
