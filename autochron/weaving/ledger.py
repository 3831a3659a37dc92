"""The ledger of weaving: what was woven, and what was not and why."""

from __future__ import annotations

from typing import Any

from autochron.model import Unwoven
from autochron.weaving.gate import Point


class Ledger:
    """What was woven, and what was not. Entries are only added, and equal ones are kept once.

    Attributes:
        points: the woven definitions.
        sites: the bound call sites.
    """

    def __init__(self) -> None:
        self._unwoven: dict[Unwoven, None] = {}
        self.points: list[Point] = []
        self.sites: list[Any] = []

    def woven(self, point: Point) -> None:
        """Add a woven definition."""
        self.points.append(point)

    def bound(self, site: Any) -> None:
        """Add a bound call site."""
        self.sites.append(site)

    def refuse(self, name: str, reason: str, slug: str = "not-woven") -> None:
        """Add something that was not woven, with the reason."""
        self._unwoven[Unwoven(name, reason, slug)] = None

    def since(self, count: int) -> tuple[Unwoven, ...]:
        """Return the refusals behind the first `count`."""
        return tuple(self._unwoven)[count:]

    def __len__(self) -> int:
        return len(self._unwoven)

    @property
    def refused(self) -> frozenset[str]:
        """The names of all that was not woven."""
        return frozenset(entry.what for entry in self._unwoven)

    @property
    def unwoven(self) -> tuple[Unwoven, ...]:
        """All that was not woven, with the reasons."""
        return tuple(self._unwoven)
