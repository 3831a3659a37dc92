"""Every object of the program that a function may be held by."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from typing import Any


def every_object() -> Iterable[Any]:
    """Give what the garbage collector knows, and what it was told to leave aside.

    After `gc.freeze()`, as servers that fork call it, it no longer gives what was there before. That is found from the
    modules on, which takes half a second for a million objects.
    """
    known = gc.get_objects()
    return _reached(known) if gc.get_freeze_count() else known


def _reached(known: list[Any]) -> list[Any]:
    found, seen = known, {id(each) for each in known}
    ahead: list[Any] = [*known, sys.modules]
    while ahead:
        beyond: list[Any] = []
        for each in gc.get_referents(*ahead):
            if id(each) not in seen and gc.is_tracked(each):
                seen.add(id(each))
                beyond.append(each)
        found += beyond
        ahead = beyond
    return found
