"""Which orders of sets and places in memory can be other ones, and which of them must be so together.

A set that is gone through twice has one order both times, and an object one place. Where one line alone is given another,
two lines may disagree as they never do in any process: what changes then is put to the test again, with all that agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autochron.detect.catalogue import COLLECTED
from autochron.impact.rewrite import ANYWHERE

if TYPE_CHECKING:
    from autochron.impact.hash_seeds import Seeds
    from autochron.impact.order_perturbation import Ordered
    from autochron.impact.probe import Outcome
    from autochron.model import Impact

_MATES = 6
"""So many sites that may have to agree with one are looked at one by one."""
_PLACES = frozenset({"id", "object.__repr__"})


class Agreement:
    """The sites of one program."""

    def __init__(
        self,
        sites: Mapping[str, Impact],
        first: Ordered,
        baseline: Outcome,
        seeds: Seeds | None,
        *,
        is_wrapped: bool = True,
    ) -> None:
        """Take the sites, and what the first replay and the next one said of them.

        `is_wrapped` tells whether the project's modules were compiled for them.
        """
        self._is_wrapped = is_wrapped
        self._sites = sites
        self._keys = first.keys
        self._ordered = baseline.ordered
        self._replaceable = baseline.replaceable & self._ordered.contents.keys()
        self._same: set[str] = set()
        """Those that have one order, or hash, whatever the seed."""
        sets = [key for key, each in sites.items() if each.category == "set-order"]
        if seeds is not None and not self._replaceable.isdisjoint(sets):
            other = next((each.ordered.contents for each in seeds.outcomes() if each.problem is None), {})
            self._same = {
                key for key in sets if key in other and other[key] == self._ordered.contents.get(key)
            }

    def untried(self, key: str) -> str | None:
        """Say why a site can't be tried."""
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
        """Return those orders of sets that may be to blame for what no single one explains."""
        able = [key for key in sets if key in self._replaceable and key not in self._same]
        missed = [key for key in sets if key not in self._keys or key in self._ordered.unknown]
        return missed or able or [key for key in sets if key not in self._ordered.contents]

    def groups(self, key: str) -> Iterator[tuple[str, ...]]:
        """Yield the groups of sites, each with this one, that all change something if this one really does.

        Pairs, and all but one as well: a mate that does change something must not speak for the others.
        """
        if key not in self._sites:
            return
        family = self._family(key)
        if ANYWHERE in family and not self._shared({key}, {ANYWHERE}):
            family.remove(ANYWHERE)
        given: set[tuple[str, ...]] = {(key,)}
        near = {key, *self._shared({key}, family)}
        far = near
        while more := self._shared(far, family) - far:
            far = far | more
        mates = sorted(far - {key})[:_MATES]
        groups = [{key} | ({ANYWHERE} & family), near, far]
        groups += [{key, mate} for mate in mates]
        groups += [far - {mate} for mate in mates]
        for group in groups:
            if (found := (key, *sorted(group - {key}))) not in given:
                given.add(found)
                yield found

    def _family(self, key: str) -> set[str]:
        """Return the sites whose values may have to agree with a site's."""
        kind = _kind(self._sites[key].call)
        family = {
            each
            for each in self._sites
            if each in self._replaceable and _kind(self._sites[each].call) == kind
        }
        return family | {ANYWHERE} if kind == "place" else family

    def _shared(self, keys: set[str], family: set[str]) -> set[str]:
        """Return those of a family that were given something which one of the sites was given."""
        contents = self._ordered.contents
        own = frozenset[int]().union(*(contents.get(key, ()) for key in keys))
        return {each for each in family if not own.isdisjoint(contents.get(each, ()))}


def _kind(call: str) -> str:
    return "place" if call in _PLACES else call.partition(".")[0]
