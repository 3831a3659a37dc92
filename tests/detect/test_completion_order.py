"""The scan finds what depends on which of several threads or tasks comes first."""

import pytest

from autochron.detect.scan.scan import scan
from tests.detect.running import cases

RACES = cases("races")


@pytest.mark.parametrize("program", RACES.values(), ids=RACES)
def test_what_comes_in_the_order_of_completion_is_found(program):
    marked = {number for number, line in enumerate(program.splitlines(), start=1) if line.endswith("# →")}
    assert {call.line for call in scan(program) if call.category == "ordering"} == marked
