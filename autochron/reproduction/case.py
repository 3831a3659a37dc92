"""The facts about one replay on which a verdict rests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from autochron.model import Divergence, Envelope, Evidence, Replayed
from autochron.reproduction.baseline import Baseline, CrossingPrint


class Case(NamedTuple):
    """The facts about one replay.

    Attributes:
        replayed: the replay's crossings.
        divergences: the disagreements of replay and record.
        evidence: what the replay saw of its live crossings, by address.
        baseline: what unchanged code did; None if it was never tried.
        changed_sources: the sources that have changed since the baseline was made; None if that is unknown.
        swallowed: crashes that the project's code caught itself.
        broke: how the program broke, if the recorded one did not; else None.
        ended: how the program ended, if it ran in a process of its own: its status, and its last line on standard error.
        volatile: fields to ignore, by address: `outcome.id`.
        expected: names of the exceptions that the test expects as an answer.
        swaps: whether the replay swaps functions.
        gone: returns whether an envelope's definition is no longer in the code.
        misfit: returns why an envelope's function no longer takes the recorded arguments; None if it does.
    """

    replayed: Sequence[Replayed]
    divergences: Sequence[Divergence]
    evidence: Mapping[str, Evidence]
    baseline: Baseline | None = None
    changed_sources: Collection[str] | None = None
    swallowed: Sequence[str] = ()
    broke: str | None = None
    ended: str = ""
    volatile: Mapping[str, Sequence[str]] = {}
    expected: Collection[str] = ()
    swaps: bool = False
    gone: Callable[[Envelope], bool] = lambda _: False
    misfit: Callable[[Envelope], str | None] = lambda _: None

    def evidence_at(self, address: str) -> Evidence:
        """Return the evidence of a crossing; empty if the replay saw nothing of it."""
        return self.evidence.get(address, Evidence(address=address))

    def baseline_at(self, address: str) -> CrossingPrint | None:
        """Return the fingerprint of a crossing on unchanged code; None if there is none."""
        return None if self.baseline is None else self.baseline.crossings.get(address)

    def ignored_at(self, address: str) -> tuple[str, ...]:
        """Return the volatile fields of a crossing."""
        return tuple(self.volatile.get(address, ()))
