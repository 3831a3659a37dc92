"""What a crossing is given in a replay, in the form in which it was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.envelope import exchange
from autochron.envelope.canonical import canonical
from autochron.inputs import LARGE, inputs_of

if TYPE_CHECKING:
    from autochron.crossing.kernel import Crossing
    from autochron.envelope.redaction import Redactor


class Given:
    """Reads inputs, and masks them as they were masked when they were recorded."""

    __slots__ = ("_redactor", "_typed")

    def __init__(self, redactor: Redactor, *, typed: bool = True) -> None:
        """Take whether the inputs of the record tell types and state."""
        self._redactor = redactor
        self._typed = typed

    def raw(self, crossing: Crossing, arguments: tuple[Any, ...]) -> bytes:
        """Write the input of a crossing as it is."""
        inputs = crossing.boundary.inputs or inputs_of(crossing)
        names, values = inputs.read(arguments)
        if inputs.large:
            return inputs.growing(crossing.root.lane).canonical(names, values, typed=self._typed)
        raw = canonical(names, values, typed=self._typed)
        inputs.large = len(raw) > LARGE
        return raw

    def input(self, crossing: Crossing, arguments: tuple[Any, ...]) -> bytes:
        """Write the input of a crossing, masked."""
        return self.masked(crossing, self.raw(crossing, arguments))

    def masked(self, crossing: Crossing, raw: bytes) -> bytes:
        """Mask an input of a crossing."""
        return self._redactor.mask_input((crossing.name, crossing.root.lane), raw)

    def mask(self, body: bytes) -> bytes:
        """Mask what is to leave the process, as it is when it is recorded."""
        return self._redactor.mask_outcome(body)[0]

    def path_of(self, wire: exchange.Wire) -> str:
        """Give the path of a request, masked as it was recorded."""
        return exchange.path_of(self._redactor.mask_url(wire.url))
