"""Tokens for the requests that an HTTP client makes inside a model crossing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron._runtime.signals import is_interruption

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.http.exchange import Wire
    from autochron.recording.drafts import Draft


class Request:
    """The token of one request inside a model crossing.

    `ended` is called with the crossing when the response body was read or dropped, `fault` when noting the request failed.
    """

    __slots__ = ("_crossing", "_ended", "_fault", "_wire")

    def __init__(
        self,
        crossing: Crossing[Draft],
        wire: Wire,
        ended: Callable[[Crossing[Draft]], None],
        fault: Callable[[Crossing[Draft], Exception], None],
    ) -> None:
        self._crossing = crossing
        self._wire = wire
        self._ended = ended
        self._fault = fault

    def returned(self, response: Any) -> Any:
        """Note the response, and observe the reading of its body."""
        try:
            self._wire.door.attend(self._wire, response, lambda _wire: self._ended(self._crossing))
        except Exception as error:
            if is_interruption(error):
                raise
            self._fault(self._crossing, error)
        return response

    def raised(self, error: BaseException) -> None:
        """Note the error that the transport raised: the exchange is over."""
        self._wire.error = error
        self._wire.closed = True

    def yielded(self, item: Any) -> None:
        """Do nothing: a request is no stream."""

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Do nothing: a request is no stream."""


class UnnotedToken:
    """The token of a call that is not recorded."""

    __slots__ = ()

    def returned(self, value: Any) -> Any:
        """Return the value unchanged."""
        return value

    def raised(self, error: BaseException) -> None:
        """Do nothing: the error is noted elsewhere, if at all."""

    def yielded(self, item: Any) -> None:
        """Do nothing: a request is no stream."""

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Do nothing: a request is no stream."""


UNNOTED = UnnotedToken()
