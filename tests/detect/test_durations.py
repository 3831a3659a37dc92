"""A clock whose value only reaches a log is no finding; a clock whose value goes elsewhere is one, on each of its lines."""

import pytest

from autochron.detect.scan.scan import scan
from tests.detect.running import cases, run

CASES = cases("durations")

PROGRAM = """
import logging, time
started = time.perf_counter()
logging.info("took %.2f", time.perf_counter() - started)
begun = time.monotonic()  # →
print(time.monotonic() - begun > 0)  # →
"""


def marked(program):
    return [number for number, line in enumerate(program.splitlines(), start=1) if "# →" in line]


@pytest.mark.parametrize("program", CASES.values(), ids=CASES)
def test_a_clock_whose_value_goes_further_than_to_a_log_is_found(program):
    assert {finding.line for finding in scan(program) if finding.category == "clock"} == set(marked(program))


def test_a_watch_finds_the_same_clocks_as_a_scan(tmp_path):
    findings, problems, ended = run(tmp_path, PROGRAM)
    assert (problems, ended.stdout) == ([], "True")
    assert sorted({row[1] for row in findings}) == marked(PROGRAM)


def test_without_source_every_reading_of_a_clock_is_found(tmp_path):
    program = f"import os\nos.remove(__file__)\n{PROGRAM}"
    findings, _, _ = run(tmp_path, program)
    assert {5, 6} <= {row[1] for row in findings if row[2] == "time.perf_counter"}
