"""What a program printed in a replay, compared with the record line by line: what differs, and who wrote it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron.effects.outside import without_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autochron.model import OutputRule
    from autochron.session.project import Project

MOST = 100_000
"""Prints whose writer is noted."""

CLOCKS = ("logging", "rich", "loguru", "structlog", "tqdm")
"""Libraries that write the time by themselves: what differs in a line of theirs by times alone is not the program's."""


class Writer(NamedTuple):
    """Who printed something.

    Attributes:
        end: how many lines had been ended then.
        site: the project's line, or an empty text.
        library: the library of `CLOCKS` by which it was printed, or an empty text.
    """

    end: int
    site: str
    library: str


class Writers:
    """Notes who prints what."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lines = 0
        self._found: list[Writer] = []

    def note(self, text: str) -> None:
        """Take in that something was printed; called by the stream's `write`."""
        self._lines += text.count("\n")
        if len(self._found) >= MOST:
            return
        frame: Any = sys._getframe(2)
        library = ""
        while frame is not None:
            code = frame.f_code
            if self._project.owns(code.co_filename):
                site = f"{self._project.name(code.co_filename)}:{frame.f_lineno}"
                self._found.append(Writer(self._lines, site, library))
                return
            name = str(frame.f_globals.get("__name__")).partition(".")[0]
            library = library or (name if name in CLOCKS else "")
            frame = frame.f_back
        self._found.append(Writer(self._lines, "", library))

    def of(self, line: int) -> Writer | None:
        """Return who ended a line, counted from 0; None where that is not known."""
        from bisect import bisect_right  # lazy: only where an output differs

        at = bisect_right(self._found, line, key=lambda each: each.end)
        return self._found[min(at, len(self._found) - 1)] if self._found and line <= self._lines else None


class OutputDifference(NamedTuple):
    """How two outputs differ.

    Attributes:
        line: the number of the first line that is another; 0 where none is.
        recorded, replayed: that line in both.
        writer: who wrote it in the replay.
        is_time: whether only times differ in it.
        times: lines that libraries of `CLOCKS` wrote and in which only times differ.
        ignored: lines that `[[output]]` lets be.
    """

    line: int = 0
    recorded: str = ""
    replayed: str = ""
    writer: Writer | None = None
    is_time: bool = False
    times: int = 0
    ignored: int = 0


def compare_output(
    recorded: bytes, replayed: bytes, writers: Writers | None, rules: Sequence[OutputRule]
) -> OutputDifference:
    """Compare two outputs line by line."""
    before = recorded.decode("utf-8", "replace").splitlines(keepends=True)
    now = replayed.decode("utf-8", "replace").splitlines(keepends=True)
    times = ignored = 0
    patterns = _compiled(rules)
    for index in range(max(len(before), len(now))):
        one = before[index] if index < len(before) else None
        other = now[index] if index < len(now) else None
        if one != other:
            writer = None if writers is None or other is None else writers.of(index)
            is_time = one is not None and other is not None and without_times(one) == without_times(other)
            if one is not None and other is not None and _without(patterns, one) == _without(patterns, other):
                ignored += 1
            elif writer is not None and writer.library and _bare(one) == _bare(other):
                times += 1
            else:
                was, is_now = ("(nothing)" if each is None else each.rstrip("\r\n") for each in (one, other))
                if was == is_now:
                    was, is_now = "(as it is)", "(another line ending)"
                return OutputDifference(index + 1, was, is_now, writer, is_time, times, ignored)
    return OutputDifference(times=times, ignored=ignored)


def _bare(line: str | None) -> str | None:
    """Return a line of a log without times, and without the room that these take: rich writes equal ones once."""
    return None if line is None else " ".join(without_times(line).replace("[]", "").split())


def _compiled(rules: Sequence[OutputRule]) -> list[Any]:
    if not rules:
        return []
    import re  # lazy: few rules have an [[output]]

    return [re.compile(rule.pattern) for rule in rules]


def _without(patterns: Sequence[Any], line: str) -> str:
    for pattern in patterns:
        line = pattern.sub("", line)
    return line
