"""Runs a test in the place where it will be written, before it is."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from xml.etree import ElementTree as ET

from autochron._runtime.unpatched import os
from autochron.report.writing import write_whole

_TIMEOUT = 300
"""Seconds that the tests may take."""

_NUMBER = re.compile(r"\[(\d+)\]$")
"""The number of a case, at the end of the name of its test."""


def failures(text: str, path: str, count: int) -> dict[int, str]:
    """Run a test beside the file that it will be, so that pytest finds the same configuration.

    Args:
        text: the text of the test.
        path: where it will be written.
        count: how many cases it has.

    Returns:
        By the number of each case that fails, the first line of the reason; all of them where pytest can't run the file.

    Raises:
        UsageError: no file can be written there.
    """
    folder = os.path.dirname(os.path.abspath(path))
    trial = os.path.join(folder, f"test_autochron_trial_{os.getpid()}.py")
    is_new = not os.path.isdir(folder)
    write_whole(trial, text.encode())
    try:
        with tempfile.TemporaryDirectory(prefix="autochron-") as scratch:
            report = os.path.join(scratch, "report.xml")
            said = _run_pytest(trial, report, f"--basetemp={scratch}/cases")
            ended = _failed_cases(report) if os.path.isfile(report) else None
    finally:
        os.unlink(trial)
        if is_new:
            with suppress(OSError):
                os.rmdir(folder)
    if ended is None:
        return dict.fromkeys(range(count), said)
    return {number: ended[number] for number in range(count) if ended.get(number, said)}


def _run_pytest(trial: str, report: str, *more: str) -> str:
    """Run pytest, and return the last line that it writes."""
    options = (
        "-q",
        "--tb=line",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        "-o",
        "junit_family=xunit2",
    )
    try:
        process = subprocess.run(
            [sys.executable, "-B", "-m", "pytest", *options, *more, trial],
            cwd=os.path.dirname(trial),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it was not done after {_TIMEOUT} s"
    lines = (process.stdout.strip() or process.stderr.strip()).splitlines()
    return lines[-1] if lines else f"pytest ended with status {process.returncode}"


def _failed_cases(report: str) -> dict[int, str]:
    """Return the first line of the reason of each case, empty where it passed."""
    cases: dict[int, str] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest has just written it
        number = _NUMBER.search(case.get("name", ""))
        if number is None:
            continue
        reasons = [child.get("message") or child.tag for child in case if child.tag in {"failure", "error"}]
        cases[int(number[1])] = reasons[0].splitlines()[0][:200] if reasons else ""
    return cases
