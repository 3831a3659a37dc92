"""A pytest plugin that writes how tests ended into a file, for the runs in which the test of a new incident is tried."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import msgspec

from autochron._runtime.unpatched import os

if TYPE_CHECKING:
    import pytest

FILE = "AUTOCHRON_WITNESS"
"""The environment variable with the path of the file to write."""

PASSED = "passed"

OBSERVED = "observed"


def pytest_exception_interact(call: pytest.CallInfo[Any], report: Any) -> None:
    """Write the exception that a test, its set-up or its collection raised."""
    error = call.excinfo.value if call.excinfo is not None else None
    _write([type(error).__name__, str(error)])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write that a test passed."""
    if report.when == "call" and report.passed:
        _write([PASSED, ""])


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Write the observation of the test's replay."""
    replay: Any = getattr(item, "autochron_replay", None)  # set by `pytest_plugin`
    observation = replay.observation() if hasattr(replay, "observation") else None
    if observation is not None:
        _write([OBSERVED, base64.b64encode(msgspec.json.encode(observation)).decode()])


def _write(fact: list[str]) -> None:
    with open(os.environ[FILE], "a", encoding="utf-8") as file:
        file.write(json.dumps(fact) + "\n")
