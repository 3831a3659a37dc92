"""Count draws that may turn out to be discarded, and take them back.

The RandomState of numpy draws entropy, and only then looks at the seed that it was given. Its constructor can't be
patched. If there was a seed, the constructor goes on to look up a method that only seeds. That lookup takes the count
back.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any

from autochron.detect.catalogue import Source
from autochron.detect.watch.attribution import Attribution
from autochron.detect.watch.counters import Through

_NOTHING = (0, 0, None, False)


class TentativeCounts:
    """Remembers each thread's last count, with the frame and the instruction that made the call."""

    def __init__(self, attribution: Attribution) -> None:
        self._attribution = attribution
        self._counted = local()

    def hit(self, source: Source, depth: int) -> Callable[..., Through | None]:
        """Return a function that counts a call of the source, as `Attribution.hit` does, and remembers the count.

        A value is recorded even if it turns out to be discarded: that isn't known yet when it is drawn.

        Args:
            source: the source.
            depth: how many frames out the call was made, seen from the returned function.
        """
        attribution, counted = self._attribution, self._counted

        def hit(*_: Any) -> Through | None:
            try:
                frame: Any = attribution.current_frame().f_back
                for _step in range(depth - 1):
                    frame = frame.f_back
                record = attribution.count(frame, source)
                if record is not None:
                    was_inside = record.through is None and attribution.is_inside()
                    counted.last = (id(frame), frame.f_lasti, record, was_inside)
            except Exception as error:
                record = attribution.recover(error, source, depth + 1)
            return None if record is None else record.through

        return hit

    def take_back(self) -> None:
        """Take back the last count of this thread, if the call that it was for is still running.

        The caller has to be called directly by that call.
        """
        try:
            frame: Any = self._attribution.current_frame().f_back.f_back  # type: ignore[union-attr]
            caller, offset, record, was_inside = getattr(self._counted, "last", _NOTHING)
            if record is None or (caller, offset) != (id(frame), frame.f_lasti):
                return
            self._counted.last = _NOTHING
            if was_inside:
                record.inside -= 1
            else:
                record.outside -= 1
        except Exception:  # noqa: S110 - then the call stays counted
            pass
