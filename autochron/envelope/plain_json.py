"""Whether a value is plain JSON with all that it holds: most values are, and need neither tags nor types.

`is_plain` is called for each argument and each result of a crossing. It tests exact types, so no code of the program
runs. A value is not plain if it is nested more than `depth` levels deep, or if more than `MAX_NODES` containers are
read: what is shared is read each time that it occurs. `left` counts those containers down; the recursion hands it on.

It is one function on purpose. The body of the loop over a dictionary occurs twice, since a list of dictionaries
(messages, rows) is common, and one more call for each of them takes 9 to 25 % longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from math import isfinite
from typing import Any, Final

MAX_DEPTH: Final = 100
MAX_NODES: Final = 200_000
"""How many parts of one argument are read, at most."""

PLAIN_TYPES = frozenset({str, int, bool, type(None)})


def is_plain(value: Any, depth: int = MAX_DEPTH, left: Iterator[None] | None = None) -> bool:  # noqa: C901 - the hot path, written out
    """Return whether a value is plain JSON, with all that it holds; the module's head tells of the limits."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            kind = type(item)
            if kind is str or kind in PLAIN_TYPES or (kind is float and isfinite(item)):
                continue
            if (kind is not dict and kind is not list) or not depth:
                return False
            if left is None:
                left = repeat(None, MAX_NODES)
            for _ in left:  # the cheapest counter that there is
                break
            else:
                return False
            if item and not is_plain(item, depth - 1, left):
                return False
        return True
    if kind is list:
        for item in value:
            kind = type(item)
            if kind is str or kind in PLAIN_TYPES or (kind is float and isfinite(item)):
                continue
            if (kind is not dict and kind is not list) or not depth:
                return False
            if left is None:
                left = repeat(None, MAX_NODES)
            for _ in left:
                break
            else:
                return False
            if kind is list:
                if item and not is_plain(item, depth - 1, left):
                    return False
                continue
            for key, member in item.items():  # as above, without a call for each dictionary
                if type(key) is not str:
                    return False
                kind = type(member)
                if kind is str or kind in PLAIN_TYPES or (kind is float and isfinite(member)):
                    continue
                if (kind is not dict and kind is not list) or depth < 2:
                    return False
                for _ in left:
                    break
                else:
                    return False
                if member and not is_plain(member, depth - 2, left):
                    return False
        return True
    return kind in PLAIN_TYPES or (kind is float and isfinite(value))
