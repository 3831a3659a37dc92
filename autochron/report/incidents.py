"""The report of `autochron incident`."""

from __future__ import annotations

from typing import Any, TextIO

from msgspec.json import encode

from autochron.model import Incident, Tried
from autochron.report.text import Page

_PASSED = (
    "the test passes on today's code, though it should fail: what is live did not do again what it did in the incident.",
    "Either the code is fixed already, or what is live comes out otherwise in each run; name what went wrong with --live",
)


def write_incident(
    incident: Incident, tried: Tried | None, stream: TextIO, *, as_json: bool = False, quiet: bool = False
) -> None:
    """Write which files were made, and how the trial of the test ended; `tried` is None where it wasn't tried.

    With `quiet` nothing is written if the outcome is the expected one.
    """
    if as_json:
        stream.write(encode(_as_data(incident, tried)).decode() + "\n")
        return
    if quiet and (tried is None or tried.is_right):
        return
    page = Page(stream)
    page.line(f"{incident.folder}: {', '.join(incident.files)} from trace {incident.trace}", "bold")
    for warning in incident.warnings:
        page.line(f"  {warning}", "yellow")
    _write_outcome(page, incident, tried)
    if tried is not None:
        for line in tried.said.splitlines():
            page.line(f"    {line}")
        for note in tried.notes:
            page.line(f"  {note}", "yellow" if "state is missing" in note else None)
    page.line(f"  run it with: pytest {incident.folder}")


def _write_outcome(page: Page, incident: Incident, tried: Tried | None) -> None:
    """Write how the trial of the test ended."""
    if tried is None:
        page.line("  the test was not tried; it runs what is live for real")
    elif tried.outcome == "failed":
        page.line(f"  {incident.test} fails as it should on today's code:", "green")
    elif tried.outcome == "waits":
        page.line(f"  {incident.test} fails, and waits for you:", "green")
    elif tried.outcome == "passed":
        for line in _PASSED:
            page.line(f"  {line}", "red")
    elif tried.outcome == "inconclusive":
        page.line(f"  {incident.test} fails on today's code, and does not show the incident:", "red")
    elif tried.outcome == "broken":
        page.line(f"  {incident.test} does not fail as it should on today's code:", "red")


def _as_data(incident: Incident, tried: Tried | None) -> dict[str, Any]:
    return {
        "folder": incident.folder,
        "trace": incident.trace,
        "files": incident.files,
        "test": incident.test,
        "waits": incident.waits,
        "warnings": incident.warnings,
        "outcome": "untried" if tried is None else tried.outcome,
        "said": "" if tried is None else tried.said,
        "notes": () if tried is None else tried.notes,
    }
