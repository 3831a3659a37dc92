"""A plugin of pytest's for the runs in which the test of a new incident is tried: it writes down how tests ended."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import msgspec

from autochron._runtime.unpatched import os

if TYPE_CHECKING:
    import pytest

FILE = "AUTOCHRON_WITNESS"
"""Names the file that is written."""

PASSED = "passed"

OBSERVED = "observed"


def pytest_exception_interact(call: pytest.CallInfo[Any], report: Any) -> None:
    """Note what a test, its set-up or its collection raised."""
    error = call.excinfo.value if call.excinfo is not None else None
    _note([type(error).__name__, str(error)])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test passed."""
    if report.when == "call" and report.passed:
        _note([PASSED, ""])


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Note what was seen of live crossings."""
    replay: Any = getattr(item, "autochron_replay", None)  # as the plugin leaves it
    observation = replay.observation() if hasattr(replay, "observation") else None
    if observation is not None:
        _note([OBSERVED, base64.b64encode(msgspec.json.encode(observation)).decode()])


def _note(fact: list[str]) -> None:
    with open(os.environ[FILE], "a", encoding="utf-8") as file:
        file.write(json.dumps(fact) + "\n")
