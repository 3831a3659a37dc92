"""`autochron rules`."""

from __future__ import annotations

import sys
from collections import Counter

from autochron._runtime.unpatched import os
from autochron.cli.options import FLAG, VALUE, Parsed, parse
from autochron.config import RULE_FILE, default_store, find_rule_file
from autochron.errors import TraceNotFoundError, UsageError
from autochron.model import Finding, Rules
from autochron.rules.loading import load_rules

HELP = """\
usage: autochron rules [--explain FILE:LINE | --suggest] [FOLDER or PROGRAM]

Show the rules in force, which definitions and calls each fits, and how often those were crossed in the latest trace; without
running anything.

  --explain FILE:LINE  what each rule makes of the calls and definitions on a line, and why it doesn't fit
  --suggest            what is missing: a table for each call that escapes the record, by the latest trace and by source;
                       they are shown, and written into the rules where you say yes
  --yes                write them without asking
  --rules FILE         the rules; default autochron.toml or [tool.autochron], found upward
  --store URL          where the latest trace is; default .autochron/traces.db beside the rules
  --json               as JSON
"""

_OPTIONS = {
    "--rules": VALUE,
    "--store": VALUE,
    "--explain": VALUE,
    "--suggest": FLAG,
    "--yes": FLAG,
    "--json": FLAG,
    "--help": FLAG,
    "-h": FLAG,
}


def rules(arguments: list[str]) -> int:
    """Show which rule matches what."""
    parsed = parse("rules", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    if len(parsed.rest) > 1:
        raise UsageError("autochron rules takes one folder or program")
    as_json = "--json" in parsed.flags
    if "--explain" in parsed.values:
        return _explain(parsed, parsed.values["--explain"], as_json=as_json)
    start = parsed.rest[0] if parsed.rest else "."
    if not os.path.exists(start):
        raise UsageError(f"there is no {start}; name a folder or a program")
    if "--suggest" in parsed.flags:
        return _suggest(parsed, start)
    from autochron.diagnostics.rule_survey import survey
    from autochron.report.rules import write_rules

    loaded, folder = _load(parsed, start)
    write_rules(survey(loaded, folder, _crossed(parsed, loaded)), sys.stdout, as_json=as_json)
    return 0


def _explain(parsed: Parsed, place: str, *, as_json: bool) -> int:
    file, _, line = place.rpartition(":")
    if not file or not line.isdecimal() or int(line) < 1:
        raise UsageError(f"autochron rules --explain {place}: give a file and a line, such as agent.py:41")
    if not os.path.isfile(file):
        raise UsageError(f"there is no file {file}; give FILE:LINE")
    from autochron.diagnostics.explain import explain
    from autochron.report.rules import write_explained

    loaded, _folder = _load(parsed, file)
    explained = explain(loaded, file, int(line), _crossed(parsed, loaded))
    write_explained(explained, sys.stdout, as_json=as_json)
    return 0


def _suggest(parsed: Parsed, start: str) -> int:
    from autochron.diagnostics.suggest import suggest, text, write
    from autochron.report.text import Page, plural

    loaded, folder = _load(parsed, start)
    suggestions = suggest(loaded, folder, _found(parsed, loaded))
    page = Page(sys.stdout)
    if not suggestions:
        page.line(
            "nothing is missing: every non-deterministic call is inside a boundary, recorded or ignored"
        )
        return 0
    for each, table in zip(suggestions, text(suggestions), strict=True):
        places = ", ".join(dict.fromkeys(f"{one.category} at {one.site}" for one in each.findings))
        page.line(f"# {places}", "dim")
        for line in (*table.split("\n"), ""):
            page.line(line)
    tables, file = (
        plural(len(suggestions), "table"),
        os.path.relpath(loaded.file or os.path.join(folder, RULE_FILE)),
    )
    if "--yes" not in parsed.flags:
        if not sys.stdin.isatty():
            page.line(f"{tables} for {file}; --yes writes them", "bold")
            return 0
        sys.stdout.write(f"write {tables} to {file}? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            page.line("nothing was written")
            return 0
    page.line(f"{tables} written to {os.path.relpath(write(suggestions, loaded, folder))}", "bold")
    return 0


def _found(parsed: Parsed, loaded: Rules) -> tuple[Finding, ...]:
    """Return what the latest run found; nothing where there is no trace."""
    store = parsed.values.get("--store")
    url = store or default_store(loaded.file)
    if store is None and not os.path.exists(url.removeprefix("sqlite:///")):
        return ()
    from autochron.store import open_store

    try:
        footer = open_store(url).outline("last")[1]
    except TraceNotFoundError:
        return ()
    return () if footer is None else footer.findings


def _load(parsed: Parsed, start: str) -> tuple[Rules, str]:
    """Read the rules for a folder or program, and give the folder."""
    file = parsed.values.get("--rules") or find_rule_file(start)
    folder = start if os.path.isdir(start) else os.path.dirname(os.path.abspath(start))
    return load_rules(file, root=None if file else folder), folder


def _crossed(parsed: Parsed, loaded: Rules) -> dict[tuple[str, str], int] | None:
    """Count the crossings of the latest trace by site and name; None where there is no trace."""
    store = parsed.values.get("--store")
    url = store or default_store(loaded.file)
    if store is None and not os.path.exists(url.removeprefix("sqlite:///")):
        return None
    from autochron.store import open_store

    try:
        return Counter((envelope.site, envelope.name) for envelope in open_store(url).envelopes("last"))
    except TraceNotFoundError:
        return None
