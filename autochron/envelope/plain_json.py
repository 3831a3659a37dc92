"""Whether a value is JSON as it stands, with all that it holds: most are, and need neither tags nor types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from math import isfinite
from typing import Any, Final

MAX_DEPTH: Final = 100
MAX_NODES: Final = 200_000
"""Values of one argument that are looked at."""

PLAIN_TYPES = frozenset({str, int, bool, type(None)})


def is_plain(value: Any, depth: int = MAX_DEPTH, left: Iterator[None] | None = None) -> bool:  # noqa: C901 - the hot path, written out
    """Return whether a value is JSON as it stands, with all that it holds: by exact types, and no deeper than is read.

    Where it holds more than so many containers, it is said to be none: what is shared is gone through each time.
    """
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            kind = type(item)
            if kind is str or kind in PLAIN_TYPES:
                continue
            if kind is float:
                if not isfinite(item):
                    return False
            elif kind is dict or kind is list:
                if left is None:
                    left = repeat(None, MAX_NODES)
                for _ in left:  # the cheapest counter that there is
                    break
                else:
                    return False
                if not depth or (item and not is_plain(item, depth - 1, left)):
                    return False
            else:
                return False
        return True
    if kind is list:
        for item in value:
            kind = type(item)
            if kind is str or kind in PLAIN_TYPES:
                continue
            if kind is float:
                if not isfinite(item):
                    return False
            elif kind is dict or kind is list:
                if left is None:
                    left = repeat(None, MAX_NODES)
                for _ in left:
                    break
                else:
                    return False
                if not depth:
                    return False
                if kind is list:
                    if item and not is_plain(item, depth - 1, left):
                        return False
                    continue
                for key, each in item.items():  # a message, a row: as above, without one more call
                    if type(key) is not str:
                        return False
                    kind = type(each)
                    if kind is str or kind in PLAIN_TYPES:
                        continue
                    if kind is float:
                        if not isfinite(each):
                            return False
                    elif kind is dict or kind is list:
                        for _ in left:
                            break
                        else:
                            return False
                        if depth < 2 or (each and not is_plain(each, depth - 2, left)):
                            return False
                    else:
                        return False
            else:
                return False
        return True
    return kind in PLAIN_TYPES or (kind is float and isfinite(value))
