"""The inputs of crossings in a replay, in the form in which inputs are recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from autochron.effects.undisturbed import undisturbed
from autochron.envelope.canonical import canonical
from autochron.errors import MaskKeyError
from autochron.http import exchange
from autochron.inputs import LARGE, inputs_of
from autochron.model import InputForm

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.redaction.mask_key import MaskKey
    from autochron.redaction.redactor import Redactor


class InputReader:
    """Reads inputs, and masks inputs and outcomes as a recording does.

    Attributes:
        why_no_key: why digests of masked values can't be compared. Empty if they can, None before `mask_key` is called.
    """

    __slots__ = ("_form", "_key", "_redactor", "why_no_key")

    def __init__(self, redactor: Redactor, form: InputForm = InputForm.NUMBERED) -> None:
        """Prepare a reader.

        Args:
            redactor: masks secrets.
            form: the form of the recorded inputs.
        """
        self._redactor = redactor
        self._form = form
        self._key: MaskKey | None = None
        self.why_no_key: str | None = None

    def raw(self, crossing: Crossing[Any], arguments: tuple[Any, ...]) -> bytes:
        """Return the input of a crossing as canonical JSON, not masked."""
        inputs = crossing.boundary.inputs or inputs_of(crossing)
        names, values = inputs.read(arguments)
        if inputs.large:
            return inputs.growing(crossing.root.lane).canonical(names, values, form=self._form)
        raw = canonical(names, values, form=self._form)
        inputs.large = len(raw) > LARGE
        return raw

    def input(self, crossing: Crossing[Any], arguments: tuple[Any, ...]) -> bytes:
        """Return the input of a crossing as canonical JSON, masked."""
        return self.masked(crossing, self.raw(crossing, arguments))

    def masked(self, crossing: Crossing[Any], raw: bytes) -> bytes:
        """Return the input of a crossing with its secrets masked."""
        return self._redactor.mask_input((crossing.name, crossing.root.lane), raw)

    def mask_key(self, recorded: str) -> MaskKey | None:
        """Return the user's key if the record's digests were made with it. If not, return None, and set `why_no_key`.

        Args:
            recorded: the id of the key with which the digests were made.
        """
        if self.why_no_key is None:
            self._key, self.why_no_key = _mask_key(recorded)
        return self._key

    def mask(self, body: bytes) -> bytes:
        """Return an outcome with its secrets masked, as it would be recorded."""
        return self._redactor.mask_outcome(body)[0]

    def mask_items(self, items: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the items of a stream with their secrets masked, also those that are spread over several items."""
        return tuple([body for body, _ in self._redactor.mask_items(items)])

    def path_of(self, wire: exchange.Wire) -> str:
        """Return the path of a request, masked as in the recording."""
        return exchange.path_of(self._redactor.mask_url(wire.url))


def _mask_key(recorded: str) -> tuple[MaskKey | None, str]:
    from autochron.redaction.mask_key import VARIABLE, key_file, mask_key  # lazy: few inputs are masked

    try:
        with undisturbed():
            key = mask_key(create=False)
    except MaskKeyError as error:
        return None, str(error)
    if key is not None and key.id == recorded:
        return key, ""
    have = f"the key here is {key.id}" if key is not None else "there is no key here"
    return None, (
        f"its digest was made with the key {recorded}, and {have}; copy that machine's {key_file()} here, or set {VARIABLE}"
        " on both"
    )
