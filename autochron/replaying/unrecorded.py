"""Crossings that have no record: run where a plan says so, and refused elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.crossing.lanes import DAEMON
from autochron.errors import DivergenceError
from autochron.model import VALUE
from autochron.replaying.plan import counts_of

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.ports import Record
    from autochron.replaying.cursor import Cursor
    from autochron.replaying.divergence_log import Teller
    from autochron.replaying.plan import Plan

CAP = 100_000
"""Values of one line that are recorded; what is asked for beyond is made up."""

_ENOUGH = 100
"""Refused crossings after which a program that goes on regardless is stopped."""


class ReplayStoppedError(BaseException):
    """Ends a program that swallows every divergence and goes on; no `except Exception` catches it."""


class Unrecorded:
    """Decides what becomes of them, and gives those that run an address."""

    def __init__(self, record: Record, plan: Plan, cursor: Cursor, teller: Teller) -> None:
        self._record = record
        self._plan = plan
        self._cursor = cursor
        self._teller = teller
        self._refused = 0
        self._counts: dict[str, int] = {}
        self._files: set[str] | None = None
        """Those in which something was recorded; None until that is asked."""

    def is_live(self, crossing: Crossing[Any]) -> bool:
        """Return whether a plan lets it run; an ambient value is live only where it is named."""
        plan = self._plan
        if plan.is_full:
            return False
        is_value = crossing.rule.id.startswith(VALUE)
        if plan.after is not None and not is_value and self._cursor.is_met(self._cursor.get(plan.after)):
            return True
        return crossing.name in plan.names or crossing.rule.kind in plan.kinds or crossing.rule.observe

    def tell_invented(self, crossing: Crossing[Any], address: tuple[str, int]) -> None:
        """Note an ambient value that is made up."""
        name, nth = address
        is_foreign = self._is_foreign(crossing.rule.place.file)
        self._teller.invented(crossing, f"{name}[{nth}]", ran_out=nth > CAP, is_foreign=is_foreign)

    def _is_foreign(self, file: str) -> bool:
        """Return whether nothing was recorded in a file: it is a test's own, say, and no part of the recorded program."""
        if self._files is None:
            self._files = {
                each.site.removeprefix("@").rpartition(":")[0] for each in self._record.boundaries()
            }
        return file not in self._files

    def next_address(self, name: str) -> tuple[str, int]:
        """Return the next address of a name after those that were recorded."""
        if name not in self._counts:
            self._counts[name] = counts_of(self._record.boundaries()).get(name, 0)
        self._counts[name] += 1
        return name, self._counts[name]

    def _goes_on(self, lane: str, name: str) -> bool:
        """Return whether all of a recorded lane was met, and something of a name among it."""
        found = [each for each in self._record if each.lane == lane]
        return all(self._cursor.is_met(each) for each in found) and any(each.name == name for each in found)

    def refused(self, crossing: Crossing[Any]) -> BaseException:
        """Note one that can't be served; give what is raised in its place."""
        nearest = self._cursor.nearest(crossing.name)
        lane = crossing.root.lane
        is_tail = DAEMON in lane and self._goes_on(self._cursor.recorded_lane(lane), crossing.name)
        message = self._teller.unrecorded(
            crossing.address, crossing.name, crossing.rule.kind, lane, nearest, is_tail=is_tail
        )
        self._refused += 1
        return ReplayStoppedError(message) if self._refused > _ENOUGH else DivergenceError(message)
