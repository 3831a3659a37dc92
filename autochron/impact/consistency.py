"""Decide which set orders and addresses can be varied, and which sites must be varied together.

In a real process a set has one order wherever it is iterated, and an object has one address. If only one line gets another
order, two lines may disagree as they never do in any process. Therefore a change that one site causes is confirmed with the
groups of sites that have to agree with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autochron.detect.catalogue import COLLECTED
from autochron.detect.rewriting import ANYWHERE

if TYPE_CHECKING:
    from autochron.impact.hash_seeds import Seeds
    from autochron.impact.order_perturbation import OrderReport
    from autochron.impact.probe import Outcome
    from autochron.model import Impact

_MATES = 6
"""How many of the sites that share values with one are also tried in a pair with it."""
_PLACES = frozenset({"id", "object.__repr__"})


class Agreement:
    """The unordered and address-dependent sites of one program, and which of them share values."""

    def __init__(
        self,
        sites: Mapping[str, Impact],
        first: OrderReport,
        baseline: Outcome,
        seeds: Seeds | None,
        *,
        is_wrapped: bool = True,
    ) -> None:
        """Compare the baseline's values with those of a replay with another hash seed, if there is one.

        Args:
            sites: the sites by key.
            first: what the first replay observed.
            baseline: the replay that the others are compared with.
            seeds: the replays with other hash seeds.
            is_wrapped: whether the project's modules run rewritten, so that values can be replaced.
        """
        self._is_wrapped = is_wrapped
        self._sites = sites
        self._keys = first.keys
        self._ordered = baseline.ordered
        self._replaceable = baseline.replaceable & self._ordered.contents.keys()
        self._same: set[str] = set()
        """The sites whose order or hash does not depend on the seed."""
        sets = [key for key, site in sites.items() if site.category == "set-order"]
        if seeds is not None and not self._replaceable.isdisjoint(sets):
            contents = next((site.ordered.contents for site in seeds.outcomes() if site.problem is None), {})
            self._same = {
                key for key in sets if key in contents and contents[key] == self._ordered.contents.get(key)
            }

    def untried(self, key: str) -> str | None:
        """Return why a site can't be tried; None where it can."""
        site = self._sites[key]
        if site.call in COLLECTED:
            return f"no other values of {site.category} are known"
        if not self._is_wrapped:
            return "the program doesn't replay where another one can be put in its place"
        if key not in self._keys:
            return "its module isn't run from its source"
        if key not in self._ordered.contents:
            return "the replay doesn't come to it"
        if key in self._replaceable:
            return "its values are the same with other seeds of hashes" if key in self._same else None
        if key in self._ordered.unknown:
            return "its values have no others that are known"
        return "its values are the same in every process"

    def suspects(self, sets: Sequence[str]) -> list[str]:
        """Return the set orders among these sites that may cause a change which no single one causes."""
        able = [key for key in sets if key in self._replaceable and key not in self._same]
        missed = [key for key in sets if key not in self._keys or key in self._ordered.unknown]
        return missed or able or [key for key in sets if key not in self._ordered.contents]

    def groups(self, key: str) -> Iterator[tuple[str, ...]]:
        """Yield groups of sites that include this one. Each must cause a change if the site itself is the cause.

        There are groups without each single mate, and pairs: one mate that hides or causes a change must not decide for all.
        """
        if key not in self._sites:
            return
        family = self._family(key)
        if ANYWHERE in family and not self._shared({key}, {ANYWHERE}):
            family.remove(ANYWHERE)
        seen: set[tuple[str, ...]] = {(key,)}
        near = {key, *self._shared({key}, family)}
        far = near
        while more := self._shared(far, family) - far:
            far = far | more
        mates = sorted(far - {key})[:_MATES]
        groups = [{key} | ({ANYWHERE} & family), near, far]
        groups += [{key, mate} for mate in mates]
        groups += [far - {mate} for mate in mates]
        for group in groups:
            if (members := (key, *sorted(group - {key}))) not in seen:
                seen.add(members)
                yield members

    def _family(self, key: str) -> set[str]:
        """Return the replaceable sites of the same kind, whose values may have to agree with this one's."""
        kind = _kind(self._sites[key].call)
        family = {
            other
            for other in self._sites
            if other in self._replaceable and _kind(self._sites[other].call) == kind
        }
        return family | {ANYWHERE} if kind == "place" else family

    def _shared(self, keys: set[str], family: set[str]) -> set[str]:
        """Return the members of a family that got a value which one of the sites got, too."""
        contents = self._ordered.contents
        own = frozenset[int]().union(*(contents.get(key, ()) for key in keys))
        return {other for other in family if not own.isdisjoint(contents.get(other, ()))}


def _kind(call: str) -> str:
    return "place" if call in _PLACES else call.partition(".")[0]
