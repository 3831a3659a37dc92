"""A plugin of pytest's for the one run in which the test of a new incident is tried: it writes down how tests ended."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

FILE = "AUTOCHRON_WITNESS"
"""Names the file that is written."""

PASSED = "passed"


def pytest_exception_interact(call: pytest.CallInfo[Any], report: Any) -> None:
    """Note what a test, its set-up or its collection raised."""
    error = call.excinfo.value if call.excinfo is not None else None
    _note([type(error).__name__, str(error)])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test passed."""
    if report.when == "call" and report.passed:
        _note([PASSED, ""])


def _note(fact: list[str]) -> None:
    with open(os.environ[FILE], "a", encoding="utf-8") as file:
        file.write(json.dumps(fact) + "\n")
