"""Crossings that have ended and wait until it is known whether they are those of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from autochron.crossing.crossing import Crossing


class HeldCrossings(dict[int, "Crossing[Any] | None"]):
    """By `seq`: a crossing that is not submitted; None until it has ended."""

    def __init__(self, submit: Callable[[Any], None]) -> None:
        super().__init__()
        self._submit = submit

    def hold(self, crossing: Crossing[Any]) -> None:
        """Have a crossing kept when it ends."""
        self[crossing.seq] = None

    def has_ended(self, crossing: Crossing[Any]) -> bool:
        """Keep a crossing that has ended, and return True; return False if it is to be submitted."""
        if crossing.seq not in self:
            return False
        self[crossing.seq] = crossing
        return True

    def release(self, seq: int) -> None:
        """Submit a crossing; if it has not ended, it is submitted at its end."""
        crossing = self.pop(seq, None)
        if crossing is not None:
            self._submit(crossing)

    def release_all(self) -> None:
        """Submit all crossings: the recording ends, so nothing more will be known of them."""
        for seq in list(self):
            self.release(seq)
