"""The ledger: what was woven, what was not, and why."""

from __future__ import annotations

from typing import Any

from autochron.model import Unwoven
from autochron.weaving.gate import Point


class Ledger:
    """A list that only grows; entries are kept once."""

    def __init__(self) -> None:
        self._unwoven: dict[Unwoven, None] = {}
        self.points: list[Point] = []
        self.sites: list[Any] = []
        """Call sites that are bound."""

    def woven(self, point: Point) -> None:
        """Note a definition that is woven."""
        self.points.append(point)

    def bound(self, site: Any) -> None:
        """Note a call site that is bound."""
        self.sites.append(site)

    def refuse(self, what: str, reason: str, slug: str = "not-woven") -> None:
        """Note what was not woven, and why."""
        self._unwoven[Unwoven(what, reason, slug)] = None

    def since(self, count: int) -> tuple[Unwoven, ...]:
        """Return what was refused after there were `count` entries."""
        return tuple(self._unwoven)[count:]

    def __len__(self) -> int:
        return len(self._unwoven)

    @property
    def refused(self) -> frozenset[str]:
        """What there is a reason for already."""
        return frozenset(entry.what for entry in self._unwoven)

    @property
    def unwoven(self) -> tuple[Unwoven, ...]:
        """What was not woven."""
        return tuple(self._unwoven)
