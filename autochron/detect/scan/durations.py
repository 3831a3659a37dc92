"""Find the readings of clocks whose value only reaches log lines: they need no finding.

`started = perf_counter()` … `logger.info("took %.2f", perf_counter() - started)` is in every program, and a finding for
it is noise. So each reading is followed through its module, to all that its value may reach: names, attributes,
arithmetic, formatting, and containers that are created here. It is a duration if it meets another reading in a
difference, and all ways end in calls of loggers or nowhere. Whatever is not understood keeps its finding: a value that
is compared, returned, printed or passed to another function.

The order of statements is ignored, and each name in a scope is one variable. That can only keep findings.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from autochron.detect.line_hash import source_lines
from autochron.detect.scan.module_index import line_of
from autochron.detect.scan.value_uses import Escape, ValueFlow, ValueUses


def durations(uses: ValueUses) -> frozenset[tuple[int, str]]:
    """Return the readings of clocks in a module that only serve durations in logs, as pairs of line and call."""
    module = uses.viewed_as(_Durations)
    if module.reflects:
        return frozenset()
    verdicts: dict[tuple[int, str], bool] = {}
    for node, calls in module.readings:
        is_duration = module.is_duration(node)
        for call in calls:
            key = (line_of(node), call)
            verdicts[key] = verdicts.get(key, True) and is_duration
    return frozenset(key for key, is_duration in verdicts.items() if is_duration)


def durations_of(path: str) -> frozenset[tuple[int, str]]:
    """Return the same for a file; nothing if it can't be read or parsed."""
    return _of_lines(source_lines(path))


@lru_cache(maxsize=64)
def _of_lines(lines: tuple[str, ...]) -> frozenset[tuple[int, str]]:
    try:
        return durations(ValueUses(ast.parse("\n".join(lines))))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()


class _Durations(ValueUses):
    """The readings of clocks in a module."""

    def is_duration(self, reading: ast.Call) -> bool:
        """Return whether a reading meets another one in a difference, and only reaches logs."""
        pending, is_difference = [ValueFlow(reading, spans=False)], False
        seen = set(pending)
        try:
            while pending:
                flow = pending.pop()
                is_difference |= flow.spans
                for onward in self.onward(flow):
                    if onward not in seen:
                        seen.add(onward)
                        pending.append(onward)
        except Escape:
            return False
        return is_difference
