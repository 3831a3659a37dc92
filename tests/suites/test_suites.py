"""Libraries' own tests have the same results plain and with every definition woven and recorded, except known differences.

Each build runs the suites that `suites.toml` marks. `--thorough` runs all, and also with the packs alone.
"""

import pytest

from tests.suites.__main__ import try_suite
from tests.suites.table import read_suites

SUITES = read_suites()

pytestmark = pytest.mark.slow


def case(name, mode):
    suite = SUITES[name]
    marks = [pytest.mark.timeout(4 * suite.limit)]
    if not suite.build or mode == "packs":
        marks.append(pytest.mark.thorough)
    return pytest.param(name, mode, marks=marks)


@pytest.mark.parametrize(
    ("name", "mode"),
    [case(name, mode) for name, suite in SUITES.items() if not suite.from_checkout for mode in suite.modes],
)
def test_a_library_passes_its_own_tests_when_it_is_recorded(name, mode):
    result = try_suite(SUITES[name], (mode,))
    assert result.is_good, str(result)
    assert all(plain.outcomes for plain in result.plain.values())
