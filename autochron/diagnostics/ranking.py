"""Rank findings by the most telling thing that their value may reach: a boundary's input first, then output and branches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from autochron.detect.scan.call_effects import KEYED
from autochron.detect.scan.destinations import ReachedPlace
from autochron.matching.matcher import ModuleMatches
from autochron.matching.sites import CallSite
from autochron.model import DESTINATION_KINDS, Destination


class Boundaries:
    """The boundaries of a project, as calls of other files name them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        """Maps the last name of a boundary's function to the boundary's name."""
        self._sites: dict[str, Sequence[CallSite]] = {}
        self.importable: Collection[str] = ()
        """The programs that another file may import."""

    def add(self, file: str, matches: ModuleMatches) -> None:
        """Add what the rules match in a file."""
        for match in matches.matches:
            *owners, last = match.qualname.split(".")
            if last == "__call__" and owners:
                last = owners[-1]
            if last not in KEYED:  # a method of dictionaries may be meant
                self._names[last] = last if "{" in match.rule.name else match.rule.name
        self._sites[file] = matches.calls

    def destination(self, file: str, reached: Iterable[ReachedPlace]) -> Destination | None:
        """Return the most telling of the things that a value in a file may reach; None for nothing."""
        found = [self._seen(file, one) for one in reached]
        known = [one for one in found if one is not None]
        return min(known, key=lambda one: (DESTINATION_KINDS.index(one.kind), len(one.path)), default=None)

    def _seen(self, file: str, one: ReachedPlace) -> Destination | None:
        """Return a thing as the rules see it; None for a call of the file's own code that is no boundary."""
        if one.kind in ("call", "own"):
            name = self._boundary(file, one)
            if name is not None:
                return Destination("input", one.line, name, one.path)
        if one.kind == "public":
            is_used = file in self.importable
            return Destination("elsewhere", one.line, one.name, one.path) if is_used else None
        return None if one.kind == "own" else Destination(one.kind, one.line, one.name, one.path)

    def _boundary(self, file: str, call: ReachedPlace) -> str | None:
        """Return the name of the boundary that a call enters; None if it enters none."""
        for site in self._sites.get(file, ()):
            if call.callee is not None and call.callee in site.callee:
                return site.rule.name
        return self._names.get(call.name.rpartition(".")[2])
