"""What of a clock only a log gets to see is no finding; what anything else may come of is one, at each of its lines."""

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
def test_a_value_that_goes_further_than_to_a_log_is_told(program):
    assert {seen.line for seen in scan(program) if seen.category == "clock"} == set(marked(program))


def test_a_watch_tells_the_same_as_a_scan(tmp_path):
    found, problems, ended = run(tmp_path, PROGRAM)
    assert (problems, ended.stdout) == ([], "True")
    assert sorted({row[1] for row in found}) == marked(PROGRAM)


def test_without_a_source_to_read_a_reading_is_told(tmp_path):
    program = f"import os\nos.remove(__file__)\n{PROGRAM}"
    found, _, _ = run(tmp_path, program)
    assert {5, 6} <= {row[1] for row in found if row[2] == "time.perf_counter"}
