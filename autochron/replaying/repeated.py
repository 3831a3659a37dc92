"""A crossing without a record that is served the outcome of another one with the same name and input.

A fixed `transfer` may call `balance()` first, which it did not in the recording. Inside a live crossing, this call is served
if the trace has an answer to it. Otherwise it runs live.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from autochron.envelope import codec
from autochron.model import Envelope, Raised, Returned

_FORMS = frozenset({"value", "awaitable"})


class Repeated:
    """Serves the outcome of an envelope once more.

    Its truth value is false, by which woven code knows not to run the body.
    """

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
        """Return (error, value) for a coroutine function. The value may be an awaitable."""
        return self.outcome()

    def items(self) -> Generator[Any, Any, tuple[BaseException | None, Any]]:
        """Return (error, value) for a generator function. There are no items: `find_repeated` selects no streams."""
        yield from ()
        return self._end()

    async def step_async(self, _sent: Any = None) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item) for an asynchronous generator function. There are no items, as in `items`."""
        return True, self._end()[0], None

    def thrown(self, error: BaseException) -> bool:
        """Return True: there is no body that could catch the error."""
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
    """Return the last envelope of a name and input that can be served once more; None if there is none.

    Streams and envelopes with changes, recorded requests or a returned argument can't.
    """
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
