"""Reports of findings: as text, as JSON, as SARIF for code scanning, and as annotations of GitHub.

The JSON has `version` 1, `findings` (as `model.Finding`, without those that are covered; `reaches` is null or kind, line,
name and path), `unread` (file, line, reason),
`stale` (one line each), `harmless` (findings whose value only reaches logs, metrics, sleeps, keys or names of temporary
files), `files`, `lines`, `accepted` (how many findings the baseline accepts), `gone` (how many of the baseline are there no
more; null without one), and `coverage` (`covered` of `total` findings, and `percent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TextIO

import msgspec
import tomlkit
from msgspec import structs

from autochron._runtime.unpatched import os
from autochron.detect.ambient_rules import is_recordable
from autochron.model import CATEGORIES, DESTINATION_KINDS, Category, Checked, Destination, Finding
from autochron.project import path_of
from autochron.report.text import Page, plural

VERSION = 1
"""The version of the JSON format."""

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
_SHOWN = 6
"""The most lines on the way to a destination that a text names."""
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_checked(checked: Checked, stream: TextIO, *, form: str, with_all: bool = False) -> None:
    """Write the result of a check.

    Args:
        checked: the result.
        stream: where to write it.
        form: one of `FORMS`: text, json, sarif or github. In text and JSON paths start from the root of the rules, in
            annotations of GitHub from the working folder, and in SARIF from the root of the repository.
        with_all: whether text has the calls that reach nothing as well; the other forms always have them.
    """
    if form == "text":
        _write_text(checked, stream, with_all=with_all)
    else:
        _FORMS[form](checked, stream)


def write_file(checked: Checked, file: str, errors: TextIO) -> None:
    """Write the result of a check to a file.

    Args:
        checked: the result.
        file: a path that ends with .txt, .json, .sarif or .github, which decides the form.
        errors: gets a line if the file can't be written.
    """
    form = {"txt": "text"}.get(file.rpartition(".")[2], file.rpartition(".")[2])
    try:
        with open(file, "w", encoding="utf-8") as stream:
            write_checked(checked, stream, form=form)
    except OSError as error:
        errors.write(
            f"autochron: {file} can't be written ({error.strerror}); give another path (no-report)\n"
        )


def uncovered(checked: Checked) -> tuple[Finding, ...]:
    """Return the findings that are neither inside a boundary nor recorded nor ignored nor accepted by a baseline."""
    return tuple(finding for finding in checked.findings if finding.covered is None)


def percent_covered(findings: Sequence[Finding]) -> float:
    """Return how many percent of the findings are covered; 100 where there are none."""
    if not findings:
        return 100.0
    total = len(counted(findings))
    return 100 * _count_covered(findings) / total if total else 100.0


def counted(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of which a percentage is told: what is harmless need not be covered."""
    return [finding for finding in findings if finding.covered != "harmless"]


def _count_covered(findings: Sequence[Finding]) -> int:
    """Return how many findings are covered: what a baseline accepts is not, and what is harmless need not be."""
    return sum(finding.covered not in (None, "accepted", "harmless") for finding in findings)


def coverage(findings: Sequence[Finding]) -> str:
    """Return how many of the findings are covered, and what that means."""
    total, covered = len(counted(findings)), _count_covered(findings)
    verb = "is" if covered == 1 else "are"
    percent = f"{percent_covered(findings):.0f} %"
    return f"of {total} in all, {covered} {verb} inside a boundary, recorded or ignored ({percent})"


def _harmless(checked: Checked) -> tuple[Finding, ...]:
    """Return the findings whose value only reaches what changes nothing."""
    return tuple(finding for finding in checked.findings if finding.covered == "harmless")


def details(finding: Finding) -> str:
    """Return how often a call ran, through which library it is made, and what `impact` found out about it."""
    parts = [f"×{finding.count}"] if finding.ran else []
    parts.append("direct" if finding.via is None else f"via {finding.via}")
    return "  ".join([*parts, *([finding.impact] if finding.impact else [])])


def remedy(finding: Finding) -> str:
    """Return the TOML table of a rule that records the finding's value; one that ignores it where it can't be recorded."""
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


def first_ranked(checked: Checked) -> tuple[Finding, ...]:
    """Return the uncovered findings whose value may reach something, the most telling first."""
    return tuple(sorted((finding for finding in uncovered(checked) if not _is_behind(finding)), key=_rank))


def _is_behind(finding: Finding) -> bool:
    """Return whether the scan of the source sees nothing that the value of a call reaches."""
    return finding.reaches is None and not finding.ran


def _rank(finding: Finding) -> int:
    """Return the place of a finding among others: 0 for the input of a boundary, and so on."""
    if finding.reaches is None:
        return len(DESTINATION_KINDS)
    return DESTINATION_KINDS.index(finding.reaches.kind)


def reaching(destination: Destination) -> str:
    """Return what a value may reach, as a verb phrase with the line."""
    name = destination.name
    what = {
        "input": f"may reach the input of {name}",
        "output": "may reach the output",
        "branch": "may decide a branch",
        "call": f"may reach {name}()",
        "error": "may reach an exception",
        "elsewhere": f"may be used elsewhere, by {name}",
    }[destination.kind]
    return f"{what} at line {destination.line}"


def _way(destination: Destination) -> str:
    """Return the lines on the way to a destination, in parentheses; an empty text where there are none between."""
    between = [line for line in destination.path[1:] if line != destination.line]
    return f" (by {lines_of(between)})" if between else ""


def lines_of(numbers: Sequence[int]) -> str:
    """Return the numbers of lines in words, the first few of them."""
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (", …" if len(numbers) > _SHOWN else "")
    return f"line {shown}" if len(numbers) == 1 else f"lines {shown}"


def message(finding: Finding) -> str:
    """Return one sentence about a finding."""
    via = f" through {finding.via}" if finding.via else ""
    reaches = "" if finding.reaches is None else f", and {reaching(finding.reaches)}"
    return f"{finding.call}{via} depends on {_ABOUT[finding.category]} and is outside every boundary{reaches}"


# --- for people --------------------------------------------------------------------------------------------------------


def _write_text(checked: Checked, stream: TextIO, *, with_all: bool = False) -> None:
    page = Page(stream)
    findings = uncovered(checked)
    shown = first_ranked(checked)
    rest = [finding for finding in findings if _is_behind(finding)]
    written: set[str] = set()
    for finding in (*shown, *rest) if with_all else shown:
        page.parts(
            [
                (str(finding.site), "bold"),
                (f"  {finding.category}  {finding.call}", "yellow" if finding.tier == "direct" else None),
                (f"  {details(finding)}", None),
            ]
        )
        if finding.reads:
            page.line(f"    # read at {lines_of(finding.reads)}")
        if finding.reaches is not None:
            page.line(f"    # {reaching(finding.reaches)}{_way(finding.reaches)}")
        table = remedy(finding)
        for line in table.splitlines() if table not in written else ():
            page.line(f"    {line}", "dim")
        written.add(table)
    for unread in checked.unread:
        page.line(
            f"{unread.file}:{unread.line} {unread.reason}, so its calls are unknown (unread-file)", "red"
        )
    for line in checked.stale:
        page.line(line, "yellow")
    if findings:
        page.line(_summary(checked, findings))
    if rest and not with_all:
        page.line(
            f"{len(rest)} of them {'reaches' if len(rest) == 1 else 'reach'} nothing that a run shows, as far as the files"
            " tell: --all lists all",
            "dim",
        )
    if harmless := _harmless(checked):
        page.line(
            f"{plural(len(harmless), 'more call')} only {'reaches' if len(harmless) == 1 else 'reach'} logs, metrics, sleeps,"
            " keys or names of temporary files: --format json has them under `harmless`",
            "dim",
        )
    if checked.gone:
        page.line(
            f"{plural(checked.gone, 'accepted finding')} {'is' if checked.gone == 1 else 'are'} there no more",
            "dim",
        )


def _summary(checked: Checked, findings: Sequence[Finding]) -> str:
    covered = _count_covered(checked.findings)
    total = len(counted(checked.findings))
    accepted = total - covered - len(findings)
    files = {finding.site.file for finding in findings}
    return (
        f"{plural(len(findings), 'unmarked call')} in {plural(len(files), 'file')}; "
        + coverage(checked.findings)
        + (f"; {accepted} accepted" if accepted else "")
    )


# --- for programs -----------------------------------------------------------------------------------------------------


def _write_json(checked: Checked, stream: TextIO) -> None:
    findings = uncovered(checked)
    data = {
        "version": VERSION,
        "findings": findings,
        "unread": checked.unread,
        "stale": checked.stale,
        "files": checked.files,
        "lines": checked.lines,
        "harmless": _harmless(checked),
        "accepted": sum(finding.covered == "accepted" for finding in checked.findings),
        "gone": checked.gone,
        "coverage": {
            "covered": _count_covered(checked.findings),
            "total": len(counted(checked.findings)),
            "percent": round(percent_covered(checked.findings), 2),
        },
    }
    _dump(data, stream)


def _dump(data: Any, stream: TextIO) -> None:
    stream.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")


def _write_sarif(checked: Checked, stream: TextIO) -> None:
    _dump(sarif(checked), stream)


def sarif(checked: Checked) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log, with a rule for each category and a result for each finding.

    Paths start from the root of the repository, which `%SRCROOT%` stands for. Fingerprints have paths from the root of the
    rules, so that they are the same wherever the project lies in the repository.
    """
    prints = [{"autochron/v1": _fingerprint(finding)} for finding in uncovered(checked)]
    checked = _with_paths_from(_repository(checked.root or os.getcwd()), checked)
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
                "results": [
                    {**_result(finding, checked), "partialFingerprints": fingerprints}
                    for finding, fingerprints in zip(uncovered(checked), prints, strict=True)
                ],
            }
        ],
    }


def _fingerprint(finding: Finding) -> str:
    return f"{finding.site.file}:{finding.site.hash}:{finding.category}:{finding.call}"


def _with_paths_from(folder: str, checked: Checked) -> Checked:
    """Return a result in which paths start from a folder; those of files outside the folder are absolute."""
    if not checked.root:
        return checked

    def shown(file: str) -> str:
        path = path_of(checked.root, file)
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
        return path if relative.startswith("../") else relative

    findings = (
        structs.replace(finding, site=structs.replace(finding.site, file=shown(finding.site.file)))
        for finding in checked.findings
    )
    unread = (structs.replace(each, file=shown(each.file)) for each in checked.unread)
    return structs.replace(checked, findings=tuple(findings), unread=tuple(unread))


def _repository(start: str) -> str:
    """Return the root of the Git repository that a folder is in; the working folder if it is in none."""
    folder = start
    while not os.path.exists(os.path.join(folder, ".git")):
        if (above := os.path.dirname(folder)) == folder:
            return os.getcwd()
        folder = above
    return folder


def _result(finding: Finding, checked: Checked) -> dict[str, Any]:
    site = finding.site
    state = {} if checked.gone is None else {"baselineState": "new"}
    return state | {
        "ruleId": finding.category,
        "ruleIndex": CATEGORIES.index(finding.category),
        "level": _level(finding, "warning", "note"),
        **_ranked(finding),
        "message": {"text": message(finding)},
        "locations": [_location(site.file, site.line)],
        **_related(finding),
        **_flow(finding),
    }


def _level(finding: Finding, first: str, behind: str) -> str:
    """Return the level of a finding: `behind` where nothing is seen to get its value, or only a library makes the call."""
    return behind if _is_behind(finding) or (finding.ran and finding.tier == "library") else first


def _ranked(finding: Finding) -> dict[str, float]:
    """Return SARIF's `rank` of a finding, from 0 to 100; nothing for a call that only a run has seen."""
    return {} if finding.ran else {"rank": round(100 * (1 - _rank(finding) / len(DESTINATION_KINDS)), 1)}


def _flow(finding: Finding) -> dict[str, Any]:
    """Return the way of a finding's value as SARIF's `codeFlows`; nothing where it reaches nothing."""
    reaches = finding.reaches
    if reaches is None:
        return {}
    *way, end = reaches.path or (reaches.line,)
    texts = [finding.call, *("the value goes on" for _ in way[1:])] if way else []
    locations = [
        {"location": {**_location(finding.site.file, line), "message": {"text": text}}}
        for line, text in [*zip(way, texts, strict=True), (end, reaching(reaches))]
    ]
    return {"codeFlows": [{"threadFlows": [{"locations": locations}]}]}


def _related(finding: Finding) -> dict[str, Any]:
    """Return the lines that read from what a finding has opened as SARIF's `relatedLocations`; nothing if there are none."""
    if not finding.reads:
        return {}
    return {
        "relatedLocations": [
            {**_location(finding.site.file, line), "message": {"text": "read here"}} for line in finding.reads
        ]
    }


def _location(file: str, line: int) -> dict[str, Any]:
    from urllib.parse import quote  # lazy: only here

    place = {"uri": quote(file)} if file.startswith("/") else {"uri": quote(file), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": place, "region": {"startLine": line}}}


def _write_github(checked: Checked, stream: TextIO) -> None:
    checked = _with_paths_from(os.getcwd(), checked)
    for finding in uncovered(checked):
        level = _level(finding, "warning", "notice")
        _annotate(stream, level, message(finding), finding.site.file, finding.site.line, finding.category)
    for unread in checked.unread:
        _annotate(stream, "error", f"{unread.file} {unread.reason}", unread.file, unread.line, "unread-file")
    stream.writelines(f"::warning title=autochron stale-ignore::{_escaped(line)}\n" for line in checked.stale)


def _annotate(stream: TextIO, level: str, text: str, file: str, line: int, title: str) -> None:
    place = f"file={_escaped(file, is_property=True)},line={line},title=autochron {title}"
    stream.write(f"::{level} {place}::{_escaped(text)}\n")


def _escaped(text: str, *, is_property: bool = False) -> str:
    """Escape a text for a GitHub workflow command. A property needs more escapes than a message."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


_FORMS: dict[str, Callable[[Checked, TextIO], None]] = {
    "text": _write_text,
    "json": _write_json,
    "sarif": _write_sarif,
    "github": _write_github,
}
FORMS = tuple(_FORMS)
