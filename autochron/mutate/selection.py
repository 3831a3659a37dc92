"""Mutants with their texts: the job of each, and which of them belong to a shard or to the sample for cosmic-ray."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from autochron.mutate.model import Mutant
from autochron.mutate.protocol import Job


class MutantText(NamedTuple):
    """A mutant, and the text of its changed file."""

    mutant: Mutant
    text: str


def job_of(mutant_text: MutantText) -> Job:
    """Return the job that tries a mutant."""
    mutant = mutant_text.mutant
    return Job(
        id=mutant.id, variant="mutant", target=mutant.target, text=mutant_text.text, rebuilds=mutant.at_import
    )


def is_in_shard(mutant: str, shard: tuple[int, int]) -> bool:
    """Return whether a mutant belongs to a shard. It depends on the id only, so that all machines agree.

    Args:
        mutant: its id.
        shard: (number from 1, how many there are).
    """
    number, count = shard
    return int(hashlib.sha256(mutant.encode()).hexdigest(), 16) % count == number - 1


def sample(mutants: Sequence[MutantText], share: float) -> list[MutantText]:
    """Choose mutants by a hash of their ids, so that the same ones are chosen each time.

    A stale read is left out: what it keeps in its module stays for the next test, and a trial has a fork for each part.

    Args:
        mutants: the mutants.
        share: how many of them to choose, from 0 to 1; one at least.
    """
    mutants = [mutant_text for mutant_text in mutants if mutant_text.mutant.operator != "autochron/StaleRead"]
    count = min(len(mutants), max(1, round(share * len(mutants))))
    return sorted(
        mutants, key=lambda mutant_text: hashlib.sha256(f"sample {mutant_text.mutant.id}".encode()).digest()
    )[:count]
