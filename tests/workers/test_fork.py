"""Work in forks: the memory limit counts from what the process has when it forks."""

import mmap

import pytest

from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown

MEGABYTE = 1 << 20


def fits(size):
    def work(_tell):
        try:
            mmap.mmap(-1, size)  # an ordinary allocation may reuse freed memory
        except OSError:
            return b"too much"
        return b"fits"

    return forked(work, Limits(20.0, 64 * MEGABYTE)).said


def test_memory_that_the_process_has_taken_does_not_count_after_has_grown():
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
def test_a_fork_that_ends_by_itself_returns_its_whole_message(cores):
    ended = forked(lambda tell: tell(b"a") or b"b", Limits(20.0, cores=cores))
    assert (ended.said, ended.is_whole) == (b"ab", True)
