"""Several traces in one process: each call goes to the kernel of the trace that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from autochron._runtime import unpatched
from autochron.crossing.crossing import BUSY
from autochron.crossing.kernel import Kernel
from autochron.crossing.lanes import CURRENT, is_paused
from autochron.weaving.gate import Point


class CallHandler(Protocol):
    """The listener to a call that has a trace of its own. Program code that it calls makes no crossings."""

    def substituted(self, argument: Any) -> Any:
        """Return what the body receives for an argument that its point marks as replaceable."""

    def item(self, item: Any) -> None:
        """Note an item of a stream."""

    def returned(self, value: Any) -> None:
        """Note that the call returned, which ends it."""

    def raised(self, error: BaseException) -> None:
        """Note that the call raised, which ends it."""

    def served(self) -> None:
        """Note that a replay serves the call as a whole, which ends it."""


class Kernels:
    """The handler of woven code where rules make traces of single calls.

    Attributes:
        main: the kernel of the session's own trace.
        open: the kernels of the traces of calls that have not ended.
    """

    def __init__(
        self, main: Kernel, begin: Callable[[Point, tuple[Any, ...]], TracedCallToken | None]
    ) -> None:
        """Make a handler over a session's kernel.

        Args:
            main: the kernel of the session's own trace.
            begin: opens the trace of a call; returns None for a call that belongs to the current trace.
        """
        self.main = main
        self.open: set[Kernel] = set()
        self._begin = begin

    def enter(self, point: Point, arguments: tuple[Any, ...]) -> Any:
        """Begin a crossing; open its trace first if the call has a trace of its own.

        Returns:
            A token (true) if the body is to run, a serving (false) if it must not run, None if the call is no crossing.
        """
        ident = unpatched.get_ident()
        if not point.trace or is_paused() or ident in BUSY:
            return self._kernel().enter(point, arguments)
        BUSY.add(ident)
        try:
            traced = self._begin(point, arguments)
        finally:
            BUSY.discard(ident)
        if traced is None:
            return self._kernel().enter(point, arguments)
        token = traced.kernel.enter(point, arguments) if point.rules else None
        if token is not None and not token:
            traced.served()
            return token
        traced.inner = token
        return traced

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""
        return self._kernel().current()

    def _kernel(self) -> Kernel:
        current = CURRENT.get(None)
        kernel = None if current is None else current.root.kernel
        return kernel if kernel in self.open else self.main


class TracedCallToken:
    """The token of a call that has a trace of its own, or that is replayed from one.

    Attributes:
        kernel: the kernel of the call's trace.
        inner: the token of the call's own crossing; None where no rule makes the call a crossing.
    """

    __slots__ = ("_call", "_previous", "inner", "kernel")

    def __init__(self, kernel: Kernel, call: CallHandler) -> None:
        """Make the kernel's lane current; `call` is notified of the call's events."""
        self.kernel = kernel
        self.inner: Any = None
        self._call = call
        self._previous = CURRENT.get(None)
        CURRENT.set(kernel.base)

    def substituted(self, argument: Any) -> Any:
        """Return the object that the body receives for an argument."""
        if self.inner is not None:
            argument = self.inner.substituted(argument)
        return self._call.substituted(argument)

    def returned(self, value: Any) -> Any:
        """End with a value."""
        if self.inner is not None:
            value = self.inner.returned(value)
        self.leave()
        self._notify(self._call.returned, value)
        return value

    def raised(self, error: BaseException) -> None:
        """End with an error."""
        if self.inner is not None:
            self.inner.raised(error)
        self.leave()
        self._notify(self._call.raised, error)

    def served(self) -> None:
        """End a call that a replay serves as a whole."""
        self.leave()
        self._call.served()

    def yielded(self, item: Any) -> None:
        """Leave until `resumed`."""
        if self.inner is not None:
            self.inner.yielded(item)
        self.leave()
        self._notify(self._call.item, item)

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Enter again."""
        self._previous = CURRENT.get(None)
        CURRENT.set(self.kernel.base)
        if self.inner is not None:
            self.inner.resumed(sent, thrown)

    def leave(self) -> None:
        """Make current again what was current before, if the kernel's lane still is."""
        current = CURRENT.get(None)
        if current is not None and current.root.kernel is self.kernel:
            CURRENT.set(self._previous)

    @staticmethod
    def _notify(listener: Callable[[Any], None], value: Any) -> None:
        ident = unpatched.get_ident()
        BUSY.add(ident)
        try:
            listener(value)
        finally:
            BUSY.discard(ident)
