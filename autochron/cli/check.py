"""`autochron check`."""

from __future__ import annotations

import sys
from typing import cast

from autochron._runtime.unpatched import os
from autochron.cli.options import FLAG, MANY, VALUE, parse, percentage
from autochron.config import default_store, find_rule_file
from autochron.errors import UsageError
from autochron.model import CATEGORIES, Category
from autochron.rules.loading import load_rules

HELP = """\
usage: autochron check PATH ... [OPTION ...]

Find non-deterministic calls outside every boundary, without running anything: clocks, chance, the environment, files, the
network, the order of sets, and so on. 0: there are none; 1: there are; 2: a file doesn't parse, or the command is wrong.

  --format FORM       text, json, sarif or github; default text
  --category NAME     only this one; may be given several times
  --fail-under N      1 only where less than N percent of the calls are covered by boundaries and ignores
  --rules FILE        the rules; default autochron.toml or [tool.autochron], found upward from the first PATH

What was found in a file is kept in .autochron/ beside the rules, so that only what changed is read again.
"""

_OPTIONS = {
    "--format": VALUE, "--category": MANY, "--fail-under": VALUE, "--rules": VALUE, "--help": FLAG, "-h": FLAG,
}  # fmt: skip
_DEEP = 6_000
"""Frames: an expression of a thousand terms is a nest of as many."""


def check(arguments: list[str]) -> int:
    """Scan files and folders, and write what was found."""
    parsed = parse("check", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    paths = [word for word in parsed.rest if word != "--"]
    if not paths:
        raise UsageError("autochron check wants a file or a folder, such as autochron check src")
    from autochron.diagnostics.check import check as scan
    from autochron.report.findings import FORMS, percent, shown, write_checked

    form = _choice(parsed.values.get("--format", "text"), FORMS, "--format")
    categories = [
        cast("Category", _choice(given, CATEGORIES, "--category"))
        for given in parsed.lists.get("--category", ())
    ]
    least = percentage("check", parsed)
    file = parsed.values.get("--rules") or find_rule_file(paths[0])
    rules = load_rules(file)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEP))
    try:
        checked = scan(paths, rules, categories=categories, cache=os.path.dirname(default_store(rules.file)))
    finally:
        sys.setrecursionlimit(limit)
    write_checked(checked, sys.stdout, form=form)
    if form == "json":
        for unread in checked.unread:
            sys.stderr.write(f"autochron: {unread.file}:{unread.line} {unread.reason}\n")
    if checked.unread:
        return 2
    if least is not None:
        return int(percent(checked.findings) < least)
    return int(bool(shown(checked)))


def _choice(given: str, known: tuple[str, ...], option: str) -> str:
    if given in known:
        return given
    from autochron.rules.nearest import hint  # lazy: difflib

    raise UsageError(f"autochron check: {option} is {given}{hint(known, given)}")
