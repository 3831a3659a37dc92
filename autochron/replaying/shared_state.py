"""What tools share outside their arguments: where a live crossing works on it, so must those that came before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autochron.model import Envelope


def stateless(_envelope: Envelope) -> None:
    """Say of every crossing that it shares no state."""


class States:
    """Knows which recorded crossings run because a later live one is of the same state.

    Attributes:
        state_of: returns the `state` of the rule that a recorded crossing is of; asked late, since a rule is known to fit
            with the import of what it fits.
    """

    def __init__(self, state_of: Callable[[Envelope], str | None]) -> None:
        self.state_of = state_of
        self._live: list[Envelope] = []
        self._inside: dict[int, list[Envelope]] = {}

    def read(self, envelope: Envelope, *, is_live: bool) -> None:
        """Take in an envelope of the record, in order of start."""
        if is_live:
            self._live.append(envelope)
        if envelope.parent is not None:
            self._inside.setdefault(envelope.parent, []).append(envelope)

    def is_needed(self, envelope: Envelope, state: str | None) -> bool:
        """Return whether a later crossing of a state is live, so that what this one did must be there."""
        if state is None:
            return False
        return any(each.seq > envelope.seq and self.state_of(each) == state for each in self._live)

    def holds_needed(self, envelope: Envelope) -> bool:
        """Return whether something that is needed was recorded inside, at any depth."""
        inside = list(self._inside.get(envelope.seq, ())) if self._live else []
        while inside:
            each = inside.pop()
            if self.is_needed(each, self.state_of(each)):
                return True
            inside += self._inside.get(each.seq, ())
        return False
