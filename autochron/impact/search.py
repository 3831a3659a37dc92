"""Which of many sites change what a program does: tried together, and apart only where something changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from autochron.model import Effect

Try = Callable[[Mapping[str, int]], Effect | None]
"""Replays with the variant of each of these sites; gives what changed."""


class Search:
    """One search: each site sees each variant once, unless it has been found harmful before.

    In one replay neighbours have different variants, so that two clocks that are off don't agree with one another.
    """

    def __init__(self, sites: Sequence[str], variants: int, attempt: Try) -> None:
        self._numbers = {site: number for number, site in enumerate(sites)}
        self._variants = variants
        self._attempt = attempt
        self.harmful: dict[str, tuple[int, Effect]] = {}
        """By site how many variants were tried, and what the last one changed."""

    def run(self) -> None:
        """Try all of them."""
        for step in range(self._variants):
            self._split([site for site in self._numbers if site not in self.harmful], step)

    def _tried(self, sites: Sequence[str], step: int) -> Effect | None:
        return self._attempt({site: (step + self._numbers[site]) % self._variants for site in sites})

    def _split(self, sites: Sequence[str], step: int, *, is_known: bool = False) -> bool:
        """Find the harmful ones of a group; tells whether it has any. `is_known` says that it has."""
        if not sites:
            return False
        if len(sites) == 1:
            found = self._tried(sites, step)
            if found is not None:
                self.harmful[sites[0]] = (step + 1, found)
            return found is not None
        if not is_known and self._tried(sites, step) is None:
            return False
        has_any = False
        parts = _parts(sites)
        for part in parts:
            # Where the others change nothing, the last must, and needn't be asked as a whole.
            has_any |= self._split(part, step, is_known=part is parts[-1] and not has_any)
        return has_any


def _parts(sites: Sequence[str]) -> list[Sequence[str]]:
    """Divide a group: few are each tried alone, for among an agent's sites many are harmful."""
    count = len(sites) if len(sites) <= _FEW else _PARTS
    ends = [len(sites) * number // count for number in range(count + 1)]
    return [sites[start:end] for start, end in pairwise(ends)]


_FEW, _PARTS = 5, 4
