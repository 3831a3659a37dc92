"""`autochron rules`."""

from __future__ import annotations

import os
import sys

from autochron.cli.options import FLAG, VALUE, parse
from autochron.config import find_rule_file
from autochron.errors import UsageError
from autochron.rules import load_rules

HELP = """\
usage: autochron rules [FOLDER or PROGRAM]

Show the rules in force and which definitions each fits, without running anything.

  --rules FILE  the rules; default autochron.toml or [tool.autochron], found upward
  --json        as JSON
"""

_OPTIONS = {"--rules": VALUE, "--json": FLAG, "--help": FLAG, "-h": FLAG}


def rules(arguments: list[str]) -> int:
    """Show which rule matches what."""
    parsed = parse("rules", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    if len(parsed.rest) > 1:
        raise UsageError("autochron rules takes one folder or program")
    start = parsed.rest[0] if parsed.rest else "."
    if not os.path.exists(start):
        raise UsageError(f"there is no {start}; name a folder or a program")
    from autochron.report.rules import write_rules
    from autochron.session.survey import survey

    file = parsed.values.get("--rules") or find_rule_file(start)
    folder = start if os.path.isdir(start) else os.path.dirname(os.path.abspath(start))
    loaded = load_rules(file, root=None if file else folder)
    write_rules(survey(loaded, folder), sys.stdout, as_json="--json" in parsed.flags)
    return 0
