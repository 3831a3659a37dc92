"""Suggest what is missing in the rules: a table for each uncovered call, by the latest run and the source."""

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
    """One table, and the findings that it covers."""

    kind: Kind
    fields: tuple[tuple[str, str], ...]
    """Its keys and values, in order."""
    findings: tuple[Finding, ...]


def suggest(rules: Rules, folder: str, ran: Sequence[Finding] = ()) -> list[Suggestion]:
    """Return a table for each call that nothing covers.

    A value that can be recorded gets a `[[boundary]]` of kind `ambient`. Any other call gets an `[[ignore]]` whose
    reason says that nobody has looked at it yet.

    Args:
        rules: the present rules.
        folder: the folder whose source is read, if the rules name no project.
        ran: the findings of the latest run.
    """
    cache = None if rules.file is None else os.path.join(os.path.dirname(rules.file), ".autochron")
    checked = check(rules.project or (folder,), rules, cache=cache)
    all_findings = merged(ran, checked.findings)
    # Covered in either is covered: only the run sees what a boundary calls, and only the source shows what never ran.
    covered = {_line(finding) for finding in all_findings if finding.covered is not None}
    since = time.strftime("%Y-%m-%d", time.gmtime(unpatched.time_ns() // 1_000_000_000))
    tables: dict[tuple[Kind, tuple[tuple[str, str], ...]], list[Finding]] = {}
    for finding in all_findings:
        if finding.covered is None and _line(finding) not in covered:
            tables.setdefault(_table(finding, since), []).append(finding)
    return [Suggestion(kind, fields, tuple(findings)) for (kind, fields), findings in tables.items()]


def _line(finding: Finding) -> tuple[str, int, str]:
    return finding.site.file, finding.site.line, finding.category


def _table(finding: Finding, since: str) -> tuple[Kind, tuple[tuple[str, str], ...]]:
    """Return the kind and the fields of the table that covers a finding; `since` is the date for the reason."""
    site = (("site", str(finding.site)), ("hash", finding.site.hash))
    if finding.tier == "direct" and is_recordable(finding.call):
        return "boundary", (("kind", "ambient"), ("call", finding.call), *site)
    call = finding.via or finding.call
    is_name = call.replace(".", "").isidentifier() and "__" not in call
    selector = ("call", call) if is_name else ("category", finding.category)
    return "ignore", (selector, *site, ("reason", f"not looked at since {since}"))


def write(suggestions: Iterable[Suggestion], rules: Rules, folder: str) -> str:
    """Append the tables to the rule file, or to a new one. Everything else in the file stays as it is.

    Returns:
        The path of the file.

    Raises:
        RuleError: the file can't be written, or would not load with the tables. Then nothing was changed.
    """
    path = rules.file or os.path.join(folder, RULE_FILE)
    document = _document(path)
    table: Table | tomlkit.TOMLDocument = document
    if os.path.basename(path) == PROJECT_FILE:
        table = document["tool"]["autochron"]
    for suggestion in suggestions:
        array = table.get(suggestion.kind)
        if array is None:
            array = tomlkit.aot()
            table.append(suggestion.kind, array)
        assert isinstance(array, AoT)  # noqa: S101 - the rules were loaded
        array.append(_entry(suggestion.fields))
    _replace(path, tomlkit.dumps(document), rules.root or folder)
    return path


def text(suggestions: Iterable[Suggestion]) -> list[str]:
    """Return each table as it will be in the file."""
    tables = []
    for suggestion in suggestions:
        document = tomlkit.document()
        array = tomlkit.aot()
        array.append(_entry(suggestion.fields))
        document[suggestion.kind] = array
        tables.append(tomlkit.dumps(document).strip())
    return tables


def _document(path: str) -> tomlkit.TOMLDocument:
    """Return the parsed rule file, or a new document if there is none."""
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
    """Write a file atomically, after a check that the rules in it load."""
    folder, name = os.path.split(path)
    # The trial file has the same name, because the name decides how it is read.
    trial = os.path.join(folder, f".autochron-{unpatched.getpid()}")
    try:
        os.mkdir(trial)
        trial_file = os.path.join(trial, name)
        try:
            with open(trial_file, "w", encoding="utf-8", newline="") as file:
                file.write(content)
            load_rules(trial_file, root=root)
            os.replace(trial_file, path)
        finally:
            if os.path.exists(trial_file):
                os.unlink(trial_file)
            os.rmdir(trial)
    except OSError as error:
        raise RuleError(f"{path} can't be written ({error.strerror}); nothing was changed") from error
    except AutochronError as error:
        raise RuleError(
            f"{path} would not load with these tables, so nothing was changed: {error}"
        ) from error
