"""What `autochron replay` says."""

from __future__ import annotations

from typing import TextIO

from msgspec.json import encode

from autochron.report.text import Page, plural
from autochron.session.session import Replaying

_FEW = 5


def write_replay(replaying: Replaying, status: int, stream: TextIO, *, quiet: bool, as_json: bool) -> int:
    """Say whether replay and record agree, and where they first don't; gives 0 or 1."""
    director = replaying.director
    errors = [each for each in director.divergences if each.severity == "error"]
    try:
        if as_json:
            found = {
                "trace": replaying.trace.header.id,
                "same": not errors,
                "status": status,
                "crossings": director.crossings,
                "divergences": director.divergences,
                "problems": replaying.problems,
            }
            stream.write(encode(found).decode() + "\n")
        elif errors or not quiet:
            _write(replaying, status, Page(stream))
        stream.flush()
    except (OSError, ValueError):  # nobody reads
        pass
    return 1 if errors else 0


def _write(replaying: Replaying, status: int, page: Page) -> None:
    director = replaying.director
    trace = replaying.trace
    errors = [each for each in director.divergences if each.severity == "error"]
    what = f"{plural(director.crossings, 'crossing')} of trace {trace.header.id} served"
    if not errors:
        page.line(f"autochron: the same: {what}, none live, exit status {status}", "green")
    else:
        page.line(f"autochron: diverged: {what}, exit status {status}", "bold red")
        page.line(f"  first: {errors[0].message} ({errors[0].kind})", "red")
        for each in errors[1:_FEW]:
            page.line(f"  then: {each.message} ({each.kind})")
        if len(errors) > _FEW:
            page.line(f"  … and {len(errors) - _FEW} more; --json lists all")
    if trace.footer is None:
        page.line("  the trace was cut off before its end: exit status and output could not be compared (no-footer)", "yellow")
    for problem in replaying.problems:
        page.line(f"  {problem}", "yellow")
