"""`autochron rules`."""

from __future__ import annotations

import os
import sys
from collections import Counter

from autochron.cli.options import FLAG, VALUE, Parsed, parse
from autochron.config import default_store, find_rule_file
from autochron.errors import TraceNotFoundError, UsageError
from autochron.model import Rules
from autochron.rules import load_rules

HELP = """\
usage: autochron rules [--explain FILE:LINE] [FOLDER or PROGRAM]

Show the rules in force, which definitions and calls each fits, and how often those were crossed in the latest trace; without
running anything.

  --explain FILE:LINE  what each rule makes of the calls and definitions on a line, and why it doesn't fit
  --rules FILE         the rules; default autochron.toml or [tool.autochron], found upward
  --store URL          where the latest trace is; default .autochron/traces.db beside the rules
  --json               as JSON
"""

_OPTIONS = {
    "--rules": VALUE,
    "--store": VALUE,
    "--explain": VALUE,
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
    from autochron.report.rules import write_rules
    from autochron.session.survey import survey

    loaded, folder = _load(parsed, start)
    write_rules(survey(loaded, folder, _crossed(parsed, loaded)), sys.stdout, as_json=as_json)
    return 0


def _explain(parsed: Parsed, place: str, *, as_json: bool) -> int:
    file, _, line = place.rpartition(":")
    if not file or not line.isdecimal() or int(line) < 1:
        raise UsageError(f"autochron rules --explain {place}: give a file and a line, such as agent.py:41")
    if not os.path.isfile(file):
        raise UsageError(f"there is no file {file}; give FILE:LINE")
    from autochron.report.rules import write_explained
    from autochron.session.explaining import explain

    loaded, _folder = _load(parsed, file)
    explained = explain(loaded, file, int(line), _crossed(parsed, loaded))
    write_explained(explained, sys.stdout, as_json=as_json)
    return 0


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
