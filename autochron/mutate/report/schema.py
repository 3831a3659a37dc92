"""A mutation study as the JSON of `mutation-testing-report-schema`, which pages, dashboards and editors read.

The name of a file is its incident's name and its path there. The methods of the study are the tests of the report. The
status is the verdict of one method. All methods that kill a mutant are in its `killedBy`.

| our verdict | status |
|---|---|
| killed by assertion, divergence, crash or output (or by passing where the fix fails) | Killed |
| killed by a time-out | Timeout |
| killed because the process ended (exit) or was stopped (memory, signal) | RuntimeError |
| not valid Python | CompileError |
| not killed, explained as equivalent | Ignored |
| not killed | Survived |
| not tried by the method | NoCoverage |

Readers of the schema leave RuntimeError, CompileError and Ignored out of their score, so it differs from our rate,
which is in `config`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import json

from autochron.mutate.model import Kind, Mutant, MutantVerdict, Result, StudiedIncident, Study
from autochron.mutate.report import tallies

SCHEMA_VERSION = "2"
HIGH, LOW = 80, 60
"""Percent above which a score is shown as good, and below which as bad; the page's authors use the same."""

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
    """Return the report.

    Args:
        study: the study.
        method: whose verdict is the status of a mutant; None: cut-point.

    Raises:
        UsageError: a canary does not hold, or the study has no such method.
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
                    {"id": name, "name": f"{name}: {tallies.METHOD_DESCRIPTIONS.get(name, name)}"}
                    for name in study.methods
                ]
            }
        },
    }


def encode_report(study: Study, method: str | None = None) -> bytes:
    """Return the report as JSON, always the same bytes; the arguments and errors are those of `schema_report`."""
    return json.format(json.encode(schema_report(study, method), order="sorted"), indent=2) + b"\n"


def _framework() -> dict[str, str]:
    try:
        return {"name": "autochron", "version": version("autochron")}
    except PackageNotFoundError:  # a source tree that was never installed
        return {"name": "autochron"}


def _config(study: Study, method: str) -> dict[str, Any]:
    results = tallies.all_results(study)
    counts = {name: tallies.tally(results, name) for name in study.methods}
    generated, same_bytecode, duplicates, tried = tallies.counted_generated(study.incidents)
    return {
        "statusOf": method,
        "operators": study.operators,
        "digest": study.digest,
        "shard": list(study.shard),
        "generated": generated,
        "sameBytecode": same_bytecode,
        "duplicates": duplicates,
        "tried": tried,
        "escapes": sum(map(tallies.is_escape, results)) if tallies.CUT_POINT in study.methods else None,
        "methods": [
            {"name": name, "killed": count.killed, "tried": count.tried} for name, count in counts.items()
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
    """Return a column from 1 in units of UTF-16, as JavaScript counts; the readers of the schema are written in it."""
    text = lines[line - 1] if line <= len(lines) else ""
    return column + sum(character > "\uffff" for character in text[:column]) + 1


def _status(result: Result, method: str) -> tuple[str, str]:
    verdict = result.verdicts.get(method)
    if verdict is None:
        return "NoCoverage", f"{method} was not tried"
    if verdict.kind == "compile":
        return "CompileError", _reason_text(verdict)
    if verdict.is_killed:
        return _STATUS[verdict.kind], _reason_text(verdict)
    if tallies.is_equivalent(result):
        return "Ignored", f"equivalent: {result.proof}"
    return "Survived", ""


def _reason_text(verdict: MutantVerdict) -> str:
    kind = "the test passes, and fails on the fix" if verdict.kind == "passed" else verdict.kind
    return f"{kind}: {verdict.said}" if verdict.said else kind


def _description(incident: StudiedIncident, result: Result) -> str:
    """Return what a mutant changes, what that does, and what would kill it, in a line each."""
    lines = [*tallies.changed_lines(result)]
    if result.behaviour is not None:
        lines.append(f"{result.behaviour}: {tallies.behaviour_text(result)}")
    lines += tallies.difference_lines(incident, result)
    if result.proof:
        lines.append(f"{'argued' if tallies.is_refuted(result) else 'it is'} equivalent: {result.proof}")
    if result.hint:
        lines.append(f"what would kill it: {result.hint}")
    return "\n".join(lines)
