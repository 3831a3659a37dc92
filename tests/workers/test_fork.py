"""Trials in forks: a limit of memory is beyond what the process has when it forks."""

import mmap

import pytest

from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown

MEGABYTE = 1 << 20


def fits(size):
    def work(_write):
        try:
            mmap.mmap(-1, size)  # what is allocated may come from what was freed
        except OSError:
            return b"too much"
        return b"fits"

    return forked(work, Limits(20.0, 64 * MEGABYTE)).output


def test_what_a_process_has_taken_since_is_not_counted_once_that_is_said():
    has_grown()
    assert fits(32 * MEGABYTE) == b"fits"
    assert fits(128 * MEGABYTE) == b"too much"
    taken = mmap.mmap(-1, 128 * MEGABYTE)
    assert fits(32 * MEGABYTE) == b"too much"
    has_grown()
    assert fits(32 * MEGABYTE) == b"fits"
    assert fits(128 * MEGABYTE) == b"too much"
    taken.close()
    has_grown()


@pytest.mark.parametrize("cores", [1, 4])
def test_a_fork_that_ends_by_itself_has_said_all(cores):
    ended = forked(lambda write: write(b"a") or b"b", Limits(20.0, cores=cores))
    assert (ended.output, ended.is_whole) == (b"ab", True)
