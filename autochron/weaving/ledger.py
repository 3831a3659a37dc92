"""The ledger: what was woven, what was not, and why."""

from __future__ import annotations

from autochron.model import Unwoven
from autochron.weaving.gate import Point


class Ledger:
    """A list that only grows; entries are kept once."""

    def __init__(self) -> None:
        self._unwoven: dict[Unwoven, None] = {}
        self.points: list[Point] = []

    def woven(self, point: Point) -> None:
        """Note a definition that is woven."""
        self.points.append(point)

    def refuse(self, what: str, reason: str, slug: str = "not-woven") -> None:
        """Note what was not woven, and why."""
        self._unwoven[Unwoven(what, reason, slug)] = None

    @property
    def unwoven(self) -> tuple[Unwoven, ...]:
        """What was not woven."""
        return tuple(self._unwoven)
