"""What is shown of findings: for people, for programs, for code scanning and for a forge's annotations.

The JSON has `version` 1, `findings` (as `model.Finding`, without those that are covered), `unread` (file, line, reason),
`stale` (a line each), `files`, `lines` and `coverage`: `covered` of `total` findings and the `percent` of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TextIO

import msgspec
import tomlkit

from autochron.detect.ambient_rules import is_recordable
from autochron.model import CATEGORIES, Category, Checked, Finding
from autochron.report.text import Page, plural

VERSION = 1
"""Of the JSON."""

_ABOUT: dict[Category, str] = {
    "clock": "the time",
    "random": "chance",
    "uuid": "a new identifier",
    "env": "an environment variable",
    "host": "the machine or the process",
    "files": "what is on the disk",
    "network": "the network",
    "subprocess": "another process",
    "ordering": "which of several is done first",
    "set-order": "the order of a set, or a hash of text",
    "identity": "an address in memory",
    "native": "native code",
}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_checked(checked: Checked, stream: TextIO, *, form: str) -> None:
    """Write what a check came to; `form` is text, json, sarif or github."""
    _FORMS[form](checked, stream)


def write_file(checked: Checked, file: str, told: TextIO) -> None:
    """Write what was found to a file, in the form that its ending says; where it can't be written, that is told."""
    form = {"txt": "text"}.get(file.rpartition(".")[2], file.rpartition(".")[2])
    try:
        with open(file, "w", encoding="utf-8") as stream:
            write_checked(checked, stream, form=form)
    except OSError as error:
        told.write(f"autochron: {file} can't be written ({error.strerror}); give another path (no-report)\n")


def shown(checked: Checked) -> tuple[Finding, ...]:
    """Return the findings that nothing covers."""
    return tuple(finding for finding in checked.findings if finding.covered is None)


def percent(findings: Sequence[Finding]) -> float:
    """Return how much of what is not determined is covered; 100 where nothing is."""
    if not findings:
        return 100.0
    return 100 * sum(finding.covered is not None for finding in findings) / len(findings)


def how(finding: Finding) -> str:
    """Say how often a call ran, whose it is, and what is known of its effect."""
    parts = [f"×{finding.count}"] if finding.ran else []
    parts.append("direct" if finding.via is None else f"via {finding.via}")
    return "  ".join([*parts, *([finding.impact] if finding.impact else [])])


def remedy(finding: Finding) -> str:
    """Return the TOML that would record a finding's value, or ignore it."""
    document = tomlkit.document()
    tables = tomlkit.aot()
    table = tomlkit.table()
    site = finding.site
    if finding.tier == "direct" and is_recordable(finding.call):
        table.update({"kind": "ambient", "call": finding.call, "site": str(site)})
        if site.hash:
            table["hash"] = site.hash
        key = "boundary"
    else:
        call = finding.via or finding.call
        key = "ignore"
        if call.replace(".", "").isidentifier() and "__" not in call:
            table["call"] = call
        else:
            table["category"] = finding.category
        table.update({"site": str(site), "hash": site.hash, "reason": "say why"})
    tables.append(table)
    document[key] = tables
    return tomlkit.dumps(document).strip()


def message(finding: Finding) -> str:
    """Say what a finding is, in one sentence."""
    via = f" through {finding.via}" if finding.via else ""
    return f"{finding.call}{via} depends on {_ABOUT[finding.category]} and is outside every boundary"


# --- for people --------------------------------------------------------------------------------------------------------


def _write_text(checked: Checked, stream: TextIO) -> None:
    page = Page(stream)
    found = shown(checked)
    said: set[str] = set()
    for finding in found:
        page.parts(
            [
                (str(finding.site), "bold"),
                (f"  {finding.category}  {finding.call}", "yellow" if finding.tier == "direct" else None),
                (f"  {how(finding)}", None),
            ]
        )
        table = remedy(finding)
        for line in table.splitlines() if table not in said else ():
            page.line(f"    {line}", "dim")
        said.add(table)
    for unread in checked.unread:
        page.line(
            f"{unread.file}:{unread.line} {unread.reason}, so its calls are unknown (unread-file)", "red"
        )
    for line in checked.stale:
        page.line(line, "yellow")
    if found or checked.unread:
        page.line(_summary(checked, found))


def _summary(checked: Checked, found: Sequence[Finding]) -> str:
    covered = len(checked.findings) - len(found)
    said = (
        f"{plural(len(found), 'unmarked call')} in {plural(len({each.site.file for each in found}), 'file')}"
    )
    return f"{said}; {covered} of {len(checked.findings)} covered ({percent(checked.findings):.0f} %)"


# --- for programs -----------------------------------------------------------------------------------------------------


def _write_json(checked: Checked, stream: TextIO) -> None:
    found = shown(checked)
    said = {
        "version": VERSION,
        "findings": found,
        "unread": checked.unread,
        "stale": checked.stale,
        "files": checked.files,
        "lines": checked.lines,
        "coverage": {
            "covered": len(checked.findings) - len(found),
            "total": len(checked.findings),
            "percent": round(percent(checked.findings), 2),
        },
    }
    _dump(said, stream)


def _dump(said: Any, stream: TextIO) -> None:
    stream.write(msgspec.json.format(msgspec.json.encode(said), indent=2).decode() + "\n")


def _write_sarif(checked: Checked, stream: TextIO) -> None:
    _dump(sarif(checked), stream)


def sarif(checked: Checked) -> dict[str, Any]:
    """Return a log of SARIF 2.1.0: a rule for each category, a result for each finding."""
    rules = [
        {
            "id": category,
            "name": "".join(part.title() for part in category.split("-")),
            "shortDescription": {"text": f"A call depends on {_ABOUT[category]}, outside every boundary"},
            "help": {
                "text": "Make it a boundary, record its value, or ignore it with a reason, in autochron.toml"
            },
        }
        for category in CATEGORIES
    ]
    driver = {"name": "autochron", "version": checked.autochron, "rules": rules}
    notifications = [
        {
            "level": "error",
            "message": {"text": f"{unread.file} {unread.reason}"},
            "locations": [_location(unread.file, unread.line)],
        }
        for unread in checked.unread
    ] + [{"level": "warning", "message": {"text": line}} for line in checked.stale]
    invocation = {"executionSuccessful": not checked.unread, "toolExecutionNotifications": notifications}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [invocation],
                "results": [_result(finding) for finding in shown(checked)],
            }
        ],
    }


def _result(finding: Finding) -> dict[str, Any]:
    site = finding.site
    return {
        "ruleId": finding.category,
        "ruleIndex": CATEGORIES.index(finding.category),
        "level": "warning" if finding.tier == "direct" else "note",
        "message": {"text": message(finding)},
        "locations": [_location(site.file, site.line)],
        "partialFingerprints": {"autochron/v1": f"{site.file}:{site.hash}:{finding.category}:{finding.call}"},
    }


def _location(file: str, line: int) -> dict[str, Any]:
    from urllib.parse import quote  # lazy: only here

    place = {"uri": quote(file)} if file.startswith("/") else {"uri": quote(file), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": place, "region": {"startLine": line}}}


def _write_github(checked: Checked, stream: TextIO) -> None:
    for finding in shown(checked):
        level = "warning" if finding.tier == "direct" else "notice"
        _annotate(stream, level, message(finding), finding.site.file, finding.site.line, finding.category)
    for unread in checked.unread:
        _annotate(stream, "error", f"{unread.file} {unread.reason}", unread.file, unread.line, "unread-file")
    stream.writelines(f"::warning title=autochron stale-ignore::{_escaped(line)}\n" for line in checked.stale)


def _annotate(stream: TextIO, level: str, text: str, file: str, line: int, title: str) -> None:
    place = f"file={_escaped(file, whole=True)},line={line},title=autochron {title}"
    stream.write(f"::{level} {place}::{_escaped(text)}\n")


def _escaped(text: str, *, whole: bool = False) -> str:
    """Escape as workflow commands want it; `whole` is for a property."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if whole else text


_FORMS: dict[str, Callable[[Checked, TextIO], None]] = {
    "text": _write_text,
    "json": _write_json,
    "sarif": _write_sarif,
    "github": _write_github,
}
FORMS = tuple(_FORMS)
