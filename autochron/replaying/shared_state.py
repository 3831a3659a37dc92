"""State that tools share outside their arguments. If a live crossing uses it, the earlier crossings that use it run, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autochron.model import Envelope


def stateless(_envelope: Envelope) -> None:
    """Return None: no crossing shares a state."""


class States:
    """Decides which recorded crossings run because a later live crossing has the same state.

    Attributes:
        state_of: returns the `state` of a recorded crossing's rule, or None. It is called as late as possible: which rule
            fits is known only when the boundary's module was imported.
    """

    def __init__(self, state_of: Callable[[Envelope], str | None]) -> None:
        self.state_of = state_of
        self._live: list[Envelope] = []
        self._inside: dict[int, list[Envelope]] = {}
        """The envelopes directly inside each, by its `seq`."""

    def read(self, envelope: Envelope, *, is_live: bool) -> None:
        """Add an envelope of the record. They come in order of start."""
        if is_live:
            self._live.append(envelope)
        if envelope.parent is not None:
            self._inside.setdefault(envelope.parent, []).append(envelope)

    def is_needed(self, envelope: Envelope, state: str | None) -> bool:
        """Return whether a later live crossing has the same state, so that it needs the effects of this one.

        Args:
            envelope: the record of the crossing.
            state: of its rule, or None.
        """
        if state is None:
            return False
        return any(live.seq > envelope.seq and self.state_of(live) == state for live in self._live)

    def holds_needed(self, envelope: Envelope) -> bool:
        """Return whether a crossing was recorded inside, at any depth, whose effects a later live one needs."""
        inside = list(self._inside.get(envelope.seq, ())) if self._live else []
        while inside:
            inner = inside.pop()
            if self.is_needed(inner, self.state_of(inner)):
                return True
            inside += self._inside.get(inner.seq, ())
        return False
