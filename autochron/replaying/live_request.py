"""The token of a model's request that is really sent in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron._runtime.signals import is_interruption

if TYPE_CHECKING:
    from autochron.http.exchange import Wire
    from autochron.ports import ModelListener


class LiveRequest:
    """Observes the answer for the listener. It changes nothing."""

    __slots__ = ("_listener", "_seq", "_wire")

    def __init__(self, seq: int, wire: Wire, listener: ModelListener) -> None:
        self._seq = seq
        self._wire = wire
        self._listener = listener

    def returned(self, response: Any) -> Any:
        """Observe the reading of the response's body, and return the response."""
        try:
            self._wire.door.attend(self._wire, response, lambda _wire: self._listener.ended(self._seq))
        except Exception as error:
            if is_interruption(error):
                raise
        return response

    def raised(self, error: BaseException) -> None:
        """Note that there is no answer."""
        self._wire.error = error
        self._wire.closed = True
        self._listener.ended(self._seq)

    def yielded(self, item: Any) -> None:
        """Do nothing: a request is no stream."""

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Do nothing: a request is no stream."""
