"""Crossings that have ended and wait until it is known whether they are those of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from autochron.crossing.crossing import Crossing


class HeldCrossings(dict[int, "Crossing[Any] | None"]):
    """By `seq`: a crossing that is not submitted; None until it has ended.

    Attributes:
        has_held: whether any crossing was held so far.
    """

    def __init__(self, submit: Callable[[Any], None]) -> None:
        super().__init__()
        self._submit = submit
        self.has_held = False
        self._dropped: set[int] = set()
        """The `seq`s of crossings that were dropped before they ended."""

    def hold(self, crossing: Crossing[Any]) -> None:
        """Have a crossing kept when it ends."""
        self.has_held = True
        self[crossing.seq] = None

    def has_ended(self, crossing: Crossing[Any]) -> bool:
        """Keep a crossing that has ended, and return True; return False if it is to be submitted."""
        if crossing.seq in self._dropped:
            self._dropped.discard(crossing.seq)
            return True
        if crossing.seq not in self:
            return False
        self[crossing.seq] = crossing
        return True

    def drop(self, seq: int) -> None:
        """Forget a crossing; if it has not ended, it is forgotten at its end."""
        if self.pop(seq, None) is None:
            self._dropped.add(seq)

    def release(self, seq: int) -> None:
        """Submit a crossing; if it has not ended, it is submitted at its end."""
        crossing = self.pop(seq, None)
        if crossing is not None:
            self._submit(crossing)

    def release_all(self) -> None:
        """Submit all crossings: the recording ends, so nothing more will be known of them."""
        for seq in list(self):
            self.release(seq)
