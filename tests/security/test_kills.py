"""A crossing that ended 50 ms before a `kill -9` of the program is in the store."""

import pytest

from tests.security import kills


def assert_kept(found):
    assert sum(each.ended for each in found) > 0
    assert [(each.kept, each.whole) for each in found] == [(each.ended, True) for each in found]


@pytest.mark.slow
def test_what_ended_50_ms_before_a_kill_is_there():
    assert_kept(list(kills.kill_often(8)))


@pytest.mark.thorough
def test_what_ended_50_ms_before_each_of_500_kills_is_there():
    assert_kept(list(kills.kill_often(500, seed=1)))
