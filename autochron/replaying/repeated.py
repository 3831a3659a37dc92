"""A crossing without a record of its own that is given what another one of its name and input gave.

A fix may ask another tool first: `transfer` that now asks `balance()`. Inside something live that is served where the trace
knows the answer, and runs live where it does not.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from autochron.envelope import codec
from autochron.model import Envelope, Raised, Returned

_FORMS = frozenset({"value", "awaitable"})


class Repeated:
    """Serves the outcome of an envelope once more. It is false, which tells woven code so."""

    __slots__ = ("_envelope",)

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope

    def __bool__(self) -> bool:
        return False

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a plain function."""
        if self._envelope.form == "awaitable":
            return None, self._awaitable()
        return self._end()

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a coroutine function, which may hand out an awaitable."""
        return self.outcome()

    def items(self) -> Generator[Any, Any, tuple[BaseException | None, Any]]:
        """Return (error, value) of a generator function without an item: a stream is never served so."""
        yield from ()
        return self._end()

    async def step_async(self, _sent: Any = None) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item) of an asynchronous generator function: a stream is never served so."""
        return True, self._end()[0], None

    def thrown(self, error: BaseException) -> bool:
        """Return whether what was thrown in leaves it: it does."""
        return True

    async def _awaitable(self) -> Any:
        error, value = self._end()
        if error is not None:
            raise error
        return value

    def _end(self) -> tuple[BaseException | None, Any]:
        end = self._envelope.outcome
        if isinstance(end, Raised):
            return codec.decode(end.error), None
        assert isinstance(end, Returned)  # noqa: S101 - see `find_repeated`
        return None, codec.decode(end.value)


def find_repeated(envelopes: Iterable[Envelope], name: str, input_body: bytes) -> Envelope | None:
    """Return the last envelope of a name that was given this and can be served once more; None where there is none."""
    latest = None
    for envelope in envelopes:
        if envelope.name != name:
            continue
        plain = isinstance(envelope.outcome, Raised) or (
            isinstance(envelope.outcome, Returned) and envelope.outcome.argument is None
        )
        if (
            plain
            and not envelope.reenters
            and envelope.changed is None
            and envelope.form in _FORMS
            and envelope.input == input_body
        ):
            latest = envelope
    return latest
