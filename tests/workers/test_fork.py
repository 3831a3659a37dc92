"""Work in forks: the memory limit counts from what the process has when it forks."""

import mmap
import os
import sys

import pytest

from autochron.workers.fork import forked
from autochron.workers.limits import Limits, has_grown
from autochron.workers.silence import silence

MEGABYTE = 1 << 20


def fits(size):
    def work(_write):
        try:
            mmap.mmap(-1, size)  # an ordinary allocation may reuse freed memory
        except OSError:
            return b"too much"
        return b"fits"

    return forked(work, Limits(20.0, 64 * MEGABYTE)).output


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
    ended = forked(lambda write: write(b"a") or b"b", Limits(20.0, cores=cores))
    assert (ended.output, ended.is_whole) == (b"ab", True)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("closed", [(), (0,), (0, 1, 2)])
def test_a_silenced_fork_has_its_standard_descriptors_only(closed):
    def opened():
        """Return the descriptors that lead to the null device."""
        paths = {}
        for name in os.listdir("/proc/self/fd"):
            try:
                paths[int(name)] = os.readlink(f"/proc/self/fd/{name}")
            except OSError:  # that of the listing
                continue
        return {number for number, path in paths.items() if path == os.devnull}

    def work(_tell):
        for descriptor in closed:
            os.close(descriptor)
        silence()
        return str(sorted(opened() - before)).encode()

    before = opened() - {0, 1, 2}
    assert forked(work, Limits(20.0)).output == b"[0, 1, 2]"
