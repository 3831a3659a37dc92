"""What is known of a replay that is judged: the facts that a verdict rests on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from autochron.model import Divergence, Envelope, Evidence, Replayed
from autochron.reproduction.baseline import Baseline, CrossingPrint


class Case(NamedTuple):
    """What is known of a replay that is judged.

    Attributes:
        replayed: its crossings.
        divergences: where it and the record disagree.
        evidence: what was seen of its live crossings.
        baseline: what unchanged code did; None where nobody has tried it.
        changed_sources: the sources that have changed since then; None where that is not known.
        swallowed: crashes in the project's code that it caught itself.
        broke: how the program ended, where it broke and the recorded one did not.
        refused: whether it ended with an exception that is a refusal.
        volatile: fields that tell nothing, by address: `outcome.id`.
        expected: names of the exceptions that the test expects as an answer.
        swaps: whether functions run in the place of others.
        gone: tells of an envelope whether its definition is no longer in the code.
        misfit: tells of an envelope why its function no longer takes the recorded arguments; None if it does.
    """

    replayed: Sequence[Replayed]
    divergences: Sequence[Divergence]
    evidence: Mapping[str, Evidence]
    baseline: Baseline | None = None
    changed_sources: Collection[str] | None = None
    swallowed: Sequence[str] = ()
    broke: str | None = None
    volatile: Mapping[str, Sequence[str]] = {}
    expected: Collection[str] = ()
    swaps: bool = False
    gone: Callable[[Envelope], bool] = lambda _: False
    misfit: Callable[[Envelope], str | None] = lambda _: None

    def seen_at(self, address: str) -> Evidence:
        """Return what was seen of a crossing."""
        return self.evidence.get(address, Evidence(address=address))

    def usual_at(self, address: str) -> CrossingPrint | None:
        """Return what unchanged code did there; None where nobody has tried it."""
        return None if self.baseline is None else self.baseline.crossings.get(address)

    def ignored_at(self, address: str) -> tuple[str, ...]:
        """Return the fields of a crossing that tell nothing."""
        return tuple(self.volatile.get(address, ()))
