"""`autochron impact`."""

from __future__ import annotations

import sys
from typing import Any, Self

from autochron._runtime.unpatched import os
from autochron.cli.options import FLAG, VALUE, Parsed, parse, seconds
from autochron.errors import UsageError
from autochron.impact.analysis import Asked, find_impact
from autochron.program.run import Options
from autochron.report.impact import folder_of, keep, write_impacts
from autochron.report.text import is_terminal

HELP = """\
usage: autochron impact TRACE [OPTION ...]

Replay a recorded program again and again, each time with other values of one non-deterministic call, and say which calls
change what boundaries are given, the output, or how the program ends. 0: none; 1: some; 2: it could not be tried.

  --variants K       other values of each call; 4 unless given, and no fewer
  --site FILE:LINE   try the calls of this line only
  --timeout S        seconds that a replay may take; a few times what the first one takes unless given
  --rules FILE       the rules; default as for run
  --store URL        where the trace is; default as for run
  --trust DIGEST     run the command that the trace names, though it was not recorded here: the digest that the refusal names
  --json             the result as JSON
"""

_OPTIONS = {
    "--variants": VALUE, "--site": VALUE, "--timeout": VALUE, "--rules": VALUE, "--store": VALUE, "--json": FLAG,
    "--trust": VALUE, "--help": FLAG, "-h": FLAG,
}  # fmt: skip

_LEAST, _MOST = 4, 100


def impact(arguments: list[str]) -> int:
    """Find which values matter."""
    parsed = parse("impact", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    if len(parsed.rest) != 1:
        said = "wants a trace" if not parsed.rest else f"takes one trace, not {len(parsed.rest)}"
        raise UsageError(f"autochron impact {said}: a name, an id or its prefix, `last`, or an exported file")
    asked = Asked(
        parsed.rest[0],
        tuple(arguments),
        variants=_variants(parsed),
        site=parsed.values.get("--site"),
        timeout=seconds("impact", parsed),
        trusted=parsed.values.get("--trust"),
    )
    store = parsed.values.get("--store")
    place = os.getcwd()
    with _Bar() as progress:
        impacts, rule_file = find_impact(Options(parsed.values.get("--rules"), store), asked, progress.tell)
    problem = keep(impacts, folder_of(store, rule_file, place))
    write_impacts(impacts, sys.stdout, as_json="--json" in parsed.flags)
    if problem is not None:
        sys.stderr.write(f"autochron: {problem}\n")
    return int(any(each.effect is not None for each in impacts.sites))


def _variants(parsed: Parsed) -> int:
    given = parsed.values.get("--variants", str(_LEAST))
    if not given.isdecimal() or not _LEAST <= int(given) <= _MOST:
        raise UsageError(f"autochron impact: --variants takes a number from {_LEAST} to {_MOST}, not {given}")
    return int(given)


class _Bar:
    """A bar on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def tell(self, replays: int, what: str) -> None:
        """Say what is looked at; no thread draws, for this process forks."""
        if not is_terminal(sys.stderr):
            return
        from rich.console import Console  # lazy: 50 ms, and only for people
        from rich.progress import BarColumn, Progress, TextColumn

        if self._progress is None:
            columns = (TextColumn("{task.description}"), BarColumn())
            self._progress = Progress(
                *columns, console=Console(stderr=True), transient=True, auto_refresh=False
            )
            self._task = self._progress.add_task("", total=None)
            self._progress.start()
        self._progress.update(self._task, description=f"replay {replays}: {what}", refresh=True)
