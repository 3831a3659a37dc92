"""How much two bodies have in common at their start and at their end, at the speed of memcmp."""

from __future__ import annotations

FIRST_STEP = 64


def common_prefix(first: bytes, second: bytes, limit: int, hint: int = 0) -> int:
    """Return how many leading bytes two bodies have in common, `limit` at most.

    `startswith` with a view compares in C and copies nothing, so the cost is one memcmp over what is common
    plus some thirty calls. `hint` is a length that is likely to be common.
    """
    view = memoryview(second)
    low, step, high = 0, FIRST_STEP, limit
    if 0 < hint <= limit and first.startswith(view[:hint]):
        low = hint
    while low < limit:
        high = min(low + step, limit)
        if not first.startswith(view[low:high], low):
            break
        low = high
        step += step
    while high - low > 1:
        middle = (low + high) >> 1
        if first.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle
    return low


def common_suffix(first: bytes, second: bytes, limit: int, hint: int = 0) -> int:
    """Return how many trailing bytes two bodies have in common, `limit` at most; see `common_prefix`."""
    view = memoryview(second)
    end, other_end = len(first), len(second)
    low, step, high = 0, FIRST_STEP, limit
    if 0 < hint <= limit and first.startswith(view[other_end - hint :], end - hint):
        low = hint
    while low < limit:
        high = min(low + step, limit)
        if not first.startswith(view[other_end - high : other_end - low], end - high):
            break
        low = high
        step += step
    while high - low > 1:
        middle = (low + high) >> 1
        if first.startswith(view[other_end - middle : other_end - low], end - middle):
            low = middle
        else:
            high = middle
    return low
