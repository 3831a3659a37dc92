"""Counting what may turn out to have been drawn for nothing.

numpy's RandomState draws entropy, and only then looks at the seed that it was given. Nothing can stand in front of its
constructor, but it goes on to ask for a method that only serves a given seed: that call takes back what was counted.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any

from autochron.detect.catalogue import Source
from autochron.detect.watch.attribution import Attribution
from autochron.detect.watch.counters import Through

_NOTHING = (0, 0, None, False)


class Tentative:
    """Remembers of each thread what was counted last: at which instruction of which frame."""

    def __init__(self, attribution: Attribution) -> None:
        self._attribution = attribution
        self._counted = local()

    def hit(self, source: Source, depth: int) -> Callable[..., Through | None]:
        """Return a function that counts a call of the source, so many frames out, and gives how it goes if it is recorded.

        What is recorded is so also where it turns out to be for nothing: whether it is nobody knows when it is drawn.
        """
        attribution, counted = self._attribution, self._counted

        def hit(*_: Any) -> Through | None:
            try:
                frame: Any = attribution.following().f_back
                for _step in range(depth - 1):
                    frame = frame.f_back
                record = attribution.count(frame, source)
                if record is not None:
                    was_inside = record.through is None and attribution.is_inside()
                    counted.last = (id(frame), frame.f_lasti, record, was_inside)
            except Exception as error:
                record = attribution.mend(error, source, depth + 1)
            return None if record is None else record.through

        return hit

    def take_back(self) -> None:
        """Count what was counted last no more, if the call that made it is the one that asks here.

        To be called by a function that this call calls.
        """
        try:
            frame: Any = self._attribution.following().f_back.f_back  # type: ignore[union-attr]
            caller, offset, record, was_inside = getattr(self._counted, "last", _NOTHING)
            if record is None or (caller, offset) != (id(frame), frame.f_lasti):
                return
            self._counted.last = _NOTHING
            if was_inside:
                record.inside -= 1
            else:
                record.outside -= 1
        except Exception:  # noqa: S110 - then it stays counted
            pass
