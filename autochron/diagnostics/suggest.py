"""What is missing in the rules: a table for each call that escapes the record, by the latest run and by source."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import tomlkit
from tomlkit.items import AoT, Table

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.config import PROJECT_FILE, RULE_FILE
from autochron.detect.ambient_rules import is_recordable
from autochron.detect.merge import merged
from autochron.diagnostics.check import check
from autochron.errors import AutochronError, RuleError
from autochron.model import Finding, Rules
from autochron.rules.loading import load_rules

Kind = Literal["boundary", "ignore"]


class Suggestion(NamedTuple):
    """One table, and the calls that it is for."""

    kind: Kind
    fields: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]


def suggest(rules: Rules, folder: str, ran: Sequence[Finding] = ()) -> list[Suggestion]:
    """Return a table for each call that nothing covers: what can be recorded is, the rest is kept as not yet looked at.

    Args:
        rules: as they are.
        folder: whose source is read.
        ran: what the latest run found.
    """
    kept = None if rules.file is None else os.path.join(os.path.dirname(rules.file), ".autochron")
    read = check(rules.project or (folder,), rules, cache=kept)
    every = merged(ran, read.findings)
    # What one of both knows to be covered is: a run sees into a boundary, and source all that is never run.
    covered = {_line(finding) for finding in every if finding.covered is not None}
    since = time.strftime("%Y-%m-%d", time.gmtime(unpatched.time_ns() // 1_000_000_000))
    tables: dict[tuple[Kind, tuple[tuple[str, str], ...]], list[Finding]] = {}
    for finding in every:
        if finding.covered is None and _line(finding) not in covered:
            tables.setdefault(_table(finding, since), []).append(finding)
    return [Suggestion(kind, fields, tuple(found)) for (kind, fields), found in tables.items()]


def _line(finding: Finding) -> tuple[str, int, str]:
    return finding.site.file, finding.site.line, finding.category


def _table(finding: Finding, since: str) -> tuple[Kind, tuple[tuple[str, str], ...]]:
    site = (("site", str(finding.site)), ("hash", finding.site.hash))
    if finding.tier == "direct" and is_recordable(finding.call):
        return "boundary", (("kind", "ambient"), ("call", finding.call), *site)
    call = finding.via or finding.call
    is_name = call.replace(".", "").isidentifier() and "__" not in call
    what = ("call", call) if is_name else ("category", finding.category)
    return "ignore", (what, *site, ("reason", f"not looked at since {since}"))


def write(suggestions: Iterable[Suggestion], rules: Rules, folder: str) -> str:
    """Put the tables at the end of the rule file, or into a new one; gives its path. All else in it stays as it is.

    Raises:
        RuleError: the file can't be written, or would mean nothing any more; then nothing was changed.
    """
    path = rules.file or os.path.join(folder, RULE_FILE)
    document = _document(path)
    table: Table | tomlkit.TOMLDocument = document
    if os.path.basename(path) == PROJECT_FILE:
        table = document["tool"]["autochron"]
    for each in suggestions:
        several = table.get(each.kind)
        if several is None:
            several = tomlkit.aot()
            table.append(each.kind, several)
        assert isinstance(several, AoT)  # noqa: S101 - the rules were loaded
        several.append(_entry(each.fields))
    _replace(path, tomlkit.dumps(document), rules.root or folder)
    return path


def text(suggestions: Iterable[Suggestion]) -> list[str]:
    """Return each table as it will stand in the file."""
    found = []
    for each in suggestions:
        document = tomlkit.document()
        several = tomlkit.aot()
        several.append(_entry(each.fields))
        document[each.kind] = several
        found.append(tomlkit.dumps(document).strip())
    return found


def _document(path: str) -> tomlkit.TOMLDocument:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return tomlkit.parse(file.read())
    except FileNotFoundError:
        document = tomlkit.document()
        document["version"] = 1
        return document
    except (OSError, UnicodeError) as error:
        raise RuleError(f"{path} can't be read ({error}); nothing was written") from error


def _entry(fields: Iterable[tuple[str, str]]) -> Table:
    table = tomlkit.table()
    for name, value in fields:
        table[name] = value
    table.add(tomlkit.nl())
    return table


def _replace(path: str, content: str, root: str) -> None:
    """Write a file whole or not at all, once it was seen that the rules in it can be read."""
    folder, name = os.path.split(path)
    # Of the same name, for that says how it is read.
    trial = os.path.join(folder, f".autochron-{unpatched.getpid()}")
    try:
        os.mkdir(trial)
        beside = os.path.join(trial, name)
        try:
            with open(beside, "w", encoding="utf-8", newline="") as file:
                file.write(content)
            load_rules(beside, root=root)
            os.replace(beside, path)
        finally:
            if os.path.exists(beside):
                os.unlink(beside)
            os.rmdir(trial)
    except OSError as error:
        raise RuleError(f"{path} can't be written ({error.strerror}); nothing was changed") from error
    except AutochronError as error:
        raise RuleError(
            f"{path} would not be read any more with these tables, so nothing was changed: {error}"
        ) from error
