"""Pass the requests to models on to a listener, which is made with the first request that may declare tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched

if TYPE_CHECKING:
    from autochron.http.exchange import Wire
    from autochron.ports import ModelListener


class ModelRequests:
    """The requests to models in one recording.

    Attributes:
        make_listener: makes the listener; None if nobody is to listen.
    """

    __slots__ = ("_listener", "_lock", "make_listener")

    def __init__(self) -> None:
        self.make_listener: Callable[[], ModelListener] | None = None
        self._listener: ModelListener | None = None
        self._lock = unpatched.RLock()

    def sent(self, crossing: Any, wire: Wire) -> None:
        """Note a request of a model crossing that is about to be sent."""
        listener = self._listener
        if listener is None:
            if self.make_listener is None or not crossing.rule.meta.declared:
                return
            listener = self._made_listener(self.make_listener, crossing.root.kernel)
        listener.sent(crossing, wire)

    def _made_listener(self, make: Callable[[], ModelListener], kernel: Any) -> ModelListener:
        """Return the one listener of the recording, whichever thread sends the first request."""
        with self._lock:
            if self._listener is None:
                listener = make()
                if kernel is not None:
                    kernel.is_called = listener.is_called
                self._listener = listener
            return self._listener

    def began(self, crossing: Any, arguments: tuple[Any, ...]) -> bool:
        """Note that a found tool's crossing begins, and return whether it is known to be of the tool."""
        return self._listener is not None and self._listener.began(crossing, arguments)

    def close(self) -> None:
        """Note that the recording ends."""
        if self._listener is not None:
            self._listener.closed()

    def ended(self, seq: int) -> None:
        """Note that the answer to a crossing's request has come to its end."""
        if self._listener is not None:
            self._listener.ended(seq)
