"""A pytest plugin that reports the outcome of each test: it writes a line of JSON when a test begins and when it ends.

It is copied into the environment of a suite, so it imports only pytest and the standard library. `SUITES_REPORT` names the
file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from typing import Any

import pytest

WORSE = ("skipped", "passed", "xfailed", "xpassed", "failed", "error")
"""Outcomes in ascending order; the highest counts for a test with several, such as one with subtests."""

LONGEST = 3000
"""The length of the kept end of a failure report, in characters."""


class Reporter:
    """Writes the report of one run."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "w", encoding="utf-8")
        self._outcome: tuple[str, str, str] = ("", "", "")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write which test begins, so that the report of a run that dies shows where it was."""
        self._outcome = ("", "", "")
        self._write(begun=nodeid)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the type of the exception with the report."""
        report = yield
        if call.excinfo is not None:
            report.user_properties.append(("suites_error", call.excinfo.typename))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of a phase of a test if it is the highest so far."""
        outcome: str = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        elif report.failed and report.when != "call":
            outcome = "error"
        elif report.passed and report.when != "call":
            return
        if not self._outcome[0] or WORSE.index(outcome) > WORSE.index(self._outcome[0]):
            errors = [str(value) for name, value in report.user_properties if name == "suites_error"]
            error = errors[-1] if errors and outcome in {"failed", "error"} else ""
            self._outcome = (outcome, error, report.longreprtext[-LONGEST:] if error else "")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the outcome of a test."""
        outcome, error, detail = self._outcome
        self._write(test=nodeid, outcome=outcome or "passed", error=error, detail=detail)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write the outcome of a file that can't be collected or is skipped entirely."""
        if report.failed:
            detail = report.longreprtext[-LONGEST:]
            self._write(test=report.nodeid, outcome="error", error="collection", detail=detail)
        elif report.skipped:
            self._write(test=report.nodeid, outcome="skipped", error="", detail="")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the last line, with the exit status."""
        self._write(ended=int(exitstatus))

    def _write(self, **entry: object) -> None:
        json.dump(entry, self._file)
        self._file.write("\n")
        self._file.flush()


def pytest_configure(config: pytest.Config) -> None:
    """Register the reporter if a report is requested."""
    # The variable is removed, because a test that starts pytest itself would overwrite the report.
    path = os.environ.pop("SUITES_REPORT", "")
    if path:
        config.pluginmanager.register(Reporter(path), "suites-reporter")
