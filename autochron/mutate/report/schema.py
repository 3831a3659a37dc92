"""A mutation study as the JSON of `mutation-testing-report-schema`, which pages, dashboards and editors read.

A file's name is that of its incident and its path there. A test of the report is a method of the study. The status is what
one method says; all that kill a mutant stand in its `killedBy`.

| our verdict | status |
|---|---|
| killed by assertion, divergence, crash or output (or by passing where the fix fails) | Killed |
| killed by a time-out | Timeout |
| killed as the process left (exit) or was stopped (memory, signal) | RuntimeError |
| no Python | CompileError |
| not killed, argued to be equivalent | Ignored |
| not killed | Survived |
| not tried by the method | NoCoverage |

Readers of the schema leave RuntimeError, CompileError and Ignored out of their score, so theirs is not our rate; ours is in
`config`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import json

from autochron.mutate.model import Kind, Mutant, MutantVerdict, Result, StudiedIncident, Study
from autochron.mutate.report import tallies

SCHEMA_VERSION = "2"
HIGH, LOW = 80, 60
"""Percent above which a score is good, and below which it is bad: those that the page's authors use."""

_STATUS: dict[Kind, str] = {
    "passed": "Killed",
    "assertion": "Killed",
    "divergence": "Killed",
    "crash": "Killed",
    "exit": "RuntimeError",
    "time-out": "Timeout",
    "memory": "RuntimeError",
    "signal": "RuntimeError",
    "compile": "CompileError",
    "output": "Killed",
}


def schema_report(study: Study, method: str | None = None) -> dict[str, Any]:
    """Return the report; the status is what `method` says, cut-point where none is named.

    Raises:
        UsageError: where the canaries don't hold, or the study has no such method.
    """
    tallies.check(study)
    status_of = tallies.chosen(study, method)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "thresholds": {"high": HIGH, "low": LOW},
        "framework": _framework(),
        "config": _config(study, status_of),
        "files": {
            tallies.file_of(incident.name, file): _file(incident, file, source, status_of)
            for incident in study.incidents
            for file, source in incident.sources.items()
        },
        "testFiles": {
            "methods": {
                "tests": [
                    {"id": each, "name": f"{each}: {tallies.SAID_OF_METHODS.get(each, each)}"}
                    for each in study.methods
                ]
            }
        },
    }


def encode_report(study: Study, method: str | None = None) -> bytes:
    """Write it as the same bytes each time."""
    return json.format(json.encode(schema_report(study, method), order="sorted"), indent=2) + b"\n"


def _framework() -> dict[str, str]:
    try:
        return {"name": "autochron", "version": version("autochron")}
    except PackageNotFoundError:  # a source tree that was never installed
        return {"name": "autochron"}


def _config(study: Study, method: str) -> dict[str, Any]:
    everything = tallies.all_results(study)
    found = {each: tallies.tally(everything, each) for each in study.methods}
    generated, same, duplicates, tried = tallies.counted_generated(study.incidents)
    return {
        "statusOf": method,
        "operators": study.operators,
        "digest": study.digest,
        "shard": list(study.shard),
        "generated": generated,
        "sameBytecode": same,
        "duplicates": duplicates,
        "tried": tried,
        "escapes": sum(map(tallies.is_escape, everything)) if tallies.CUT_POINT in study.methods else None,
        "methods": [
            {"name": each, "killed": count.killed, "tried": count.tried} for each, count in found.items()
        ],
    }


def _file(incident: StudiedIncident, file: str, source: str, method: str) -> dict[str, Any]:
    lines = source.split("\n")  # as the page counts: not at a form feed, as splitlines() does
    return {
        "language": "python",
        "source": source,
        "mutants": [
            _mutant(incident, result, lines, method)
            for result in incident.results
            if result.mutant.target.file == file
        ],
    }


def _mutant(incident: StudiedIncident, result: Result, lines: list[str], method: str) -> dict[str, Any]:
    status, reason = _status(result, method)
    mutant = result.mutant
    return {
        "id": mutant.id,
        "mutatorName": mutant.operator,
        "replacement": mutant.after,
        "location": _location(mutant, lines),
        "status": status,
        **({"statusReason": reason} if reason else {}),
        "static": mutant.at_import,
        "description": _description(incident, result),
        "coveredBy": list(tallies.ordered(result.verdicts)),
        "killedBy": list(tallies.killers(result)),
        "testsCompleted": len(result.verdicts),
    }


def _location(mutant: Mutant, lines: list[str]) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": mutant.line, "column": _column(lines, mutant.line, mutant.column)},
        "end": {"line": mutant.end_line, "column": _column(lines, mutant.end_line, mutant.end_column)},
    }


def _column(lines: list[str], line: int, column: int) -> int:
    """Count from 1, in the units of UTF-16: so do those who read it, all of them JavaScript or kin."""
    text = lines[line - 1] if line <= len(lines) else ""
    return column + sum(each > "\uffff" for each in text[:column]) + 1


def _status(result: Result, method: str) -> tuple[str, str]:
    verdict = result.verdicts.get(method)
    if verdict is None:
        return "NoCoverage", f"{method} was not tried"
    if verdict.kind == "compile":
        return "CompileError", _said(verdict)
    if verdict.is_killed:
        return _STATUS[verdict.kind], _said(verdict)
    if tallies.is_equivalent(result):
        return "Ignored", f"equivalent: {result.proof}"
    return "Survived", ""


def _said(verdict: MutantVerdict) -> str:
    kind = "the test passes, and fails on the fix" if verdict.kind == "passed" else verdict.kind
    return f"{kind}: {verdict.said}" if verdict.said else kind


def _description(incident: StudiedIncident, result: Result) -> str:
    """Say what changes, what that does and what would kill it: a line each."""
    said = [*tallies.small_diff(result)]
    if result.behaviour is not None:
        said.append(f"{result.behaviour}: {tallies.class_of(result)}")
    said += tallies.told(incident, result)
    if result.proof:
        said.append(f"{'argued' if tallies.is_refuted(result) else 'it is'} equivalent: {result.proof}")
    if result.hint:
        said.append(f"what would kill it: {result.hint}")
    return "\n".join(said)
