"""What the walk for the types of an input needs to write state: the canonical form writes it."""

from __future__ import annotations

from typing import Any, Protocol

from autochron.envelope.cycles import Cycles


class StateWriter(Protocol):
    """Writes the values of one argument's state as plain JSON data, as in the canonical form.

    Attributes:
        cycles: the parts that lie on a cycle, if they were searched.
        depth: the levels around the next value. The stack holds the walk through them as well.
    """

    cycles: Cycles | None
    depth: int

    def __call__(self, value: Any) -> Any:
        """Return a value as plain JSON data."""


class MakeStateWriter(Protocol):
    """Makes a `StateWriter`."""

    def __call__(self, cycles: Cycles | None, *, marks: bool) -> StateWriter:
        """Return what writes the state of one argument.

        Args:
            cycles: the parts that lie on a cycle, if they were searched.
            marks: whether a mark stands for a part that contains itself and has no number.
        """
