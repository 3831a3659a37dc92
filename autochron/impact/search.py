"""Find the sites that change what a program does: try groups of sites, and split a group only if it has an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from autochron.model import Effect

Try = Callable[[Mapping[str, int]], Effect | None]
"""Replays with a variant for each of these sites; returns what changed, None for nothing."""


class Search:
    """One search: each site gets each variant once, until it is found harmful.

    In one replay neighbouring sites get different variants, so that two perturbed clocks don't agree with each other.

    Attributes:
        harmful: for each harmful site how many variants were tried, and the effect of the last one.
    """

    def __init__(self, sites: Mapping[str, int], attempt: Try) -> None:
        """Take the sites, each with its number of variants, and what replays."""
        self._numbers = {site: number for number, site in enumerate(sites)}
        self._variants = sites
        self._attempt = attempt
        self.harmful: dict[str, tuple[int, Effect]] = {}

    def run(self) -> None:
        """Try all sites with all variants, and once more as long as others turn out to be harmful.

        For a change that a harmful site made in the same replay may have hidden that of another one.
        """
        for _ in range(_PASSES):
            before = len(self.harmful)
            for step in range(max(self._variants.values(), default=0)):
                self._split([site for site in self._left() if step < self._variants[site]], step)
            if len(self.harmful) == before:
                return

    def _left(self) -> list[str]:
        """Return the sites that have not been found harmful."""
        return [site for site in self._numbers if site not in self.harmful]

    def _attempt_all(self, sites: Sequence[str], step: int) -> Effect | None:
        return self._attempt({site: (step + self._numbers[site]) % self._variants[site] for site in sites})

    def _split(self, sites: Sequence[str], step: int, *, is_known: bool = False) -> bool:
        """Find the harmful sites of a group, and return whether there are any. `is_known`: there is at least one."""
        if not sites:
            return False
        if len(sites) == 1:
            effect = self._attempt_all(sites, step)
            if effect is not None:
                self.harmful[sites[0]] = (step + 1, effect)
            return effect is not None
        if not is_known and self._attempt_all(sites, step) is None:
            return False
        has_any = False
        parts = _parts(sites)
        for part in parts:
            # If no other part had an effect, the last one must have, and needs no replay of its own.
            has_any |= self._split(part, step, is_known=part is parts[-1] and not has_any)
        return has_any


def _parts(sites: Sequence[str]) -> list[Sequence[str]]:
    """Divide a group. A small one is divided into single sites, because many sites of an agent are harmful."""
    count = len(sites) if len(sites) <= _FEW else _PARTS
    ends = [len(sites) * number // count for number in range(count + 1)]
    return [sites[start:end] for start, end in pairwise(ends)]


_FEW, _PARTS = 5, 4
_PASSES = 3
"""How often all variants are tried at most."""
