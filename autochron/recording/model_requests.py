"""Pass the requests to models on to a listener, which is made with the first request that declares tools without a rule."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched

if TYPE_CHECKING:
    from autochron.http.exchange import Wire
    from autochron.ports import ModelListener
    from autochron.recording.declared_tools import DeclaredTools


class ModelRequests:
    """The requests to models in one recording."""

    __slots__ = ("_covered", "_declared", "_listener", "_lock", "_make")

    def __init__(self) -> None:
        self._make: Callable[[DeclaredTools], ModelListener] | None = None
        self._covered: Callable[[], Collection[str]] = tuple
        self._declared: DeclaredTools | None = None
        self._listener: ModelListener | None = None
        self._lock = unpatched.RLock()

    def listen(
        self, make: Callable[[DeclaredTools], ModelListener], covered: Callable[[], Collection[str]]
    ) -> None:
        """Pass the requests on from now on.

        Args:
            make: makes the listener, which gets what notices new tools.
            covered: returns the names of the functions that rules of the project cover now.
        """
        self._make, self._covered = make, covered

    def sent(self, crossing: Any, wire: Wire) -> None:
        """Note a request of a model crossing that is about to be sent."""
        listener = self._listener
        if listener is None:
            make, paths = self._make, crossing.rule.meta
            if make is None or not paths.declared or crossing.rule.kind != "model":
                return
            declared = self._declared or self._first_declared()
            if declared.new(paths, wire.content) is None:
                return
            listener = self._made_listener(make, declared, crossing.root.kernel)
        listener.sent(crossing, wire)

    def _first_declared(self) -> DeclaredTools:
        """Return what notices new tools, whichever thread sends the first request."""
        from autochron.recording.declared_tools import (
            DeclaredTools,
        )  # lazy: with the first request to a model

        with self._lock:
            if self._declared is None:
                self._declared = DeclaredTools(self._covered)
            return self._declared

    def _made_listener(
        self, make: Callable[[DeclaredTools], ModelListener], declared: DeclaredTools, kernel: Any
    ) -> ModelListener:
        """Return the one listener of the recording, whichever thread sends the first request."""
        with self._lock:
            if self._listener is None:
                listener = make(declared)
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
