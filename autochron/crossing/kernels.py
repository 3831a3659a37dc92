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
    """What hears of a call that has a trace of its own. What it calls of the program crosses nothing."""

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for an argument that its point says may be replaced."""

    def item(self, item: Any) -> None:
        """Note an item of a stream."""

    def returned(self, value: Any) -> None:
        """Note that the call returned, which ends it."""

    def raised(self, error: BaseException) -> None:
        """Note that the call raised, which ends it."""

    def served(self) -> None:
        """Note that a replay serves the call as a whole, which ends it."""


class Kernels:
    """The handler of woven code where rules make traces of calls.

    Attributes:
        main: the kernel of the session's own trace.
        open: those of the traces of calls that are under way.
    """

    def __init__(
        self, main: Kernel, begin: Callable[[Point, tuple[Any, ...]], TracedCallToken | None]
    ) -> None:
        """Take `begin`, which opens the trace of a call, or gives None where it belongs to what is there."""
        self.main = main
        self.open: set[Kernel] = set()
        self._begin = begin

    def enter(self, point: Point, arguments: tuple[Any, ...]) -> Any:
        """Begin a crossing, after its trace if the call has one of its own."""
        ident = unpatched.get_ident()
        if not point.trace or is_paused() or ident in BUSY:
            return self._kernel().enter(point, arguments)
        BUSY.add(ident)
        try:
            part = self._begin(point, arguments)
        finally:
            BUSY.discard(ident)
        if part is None:
            return self._kernel().enter(point, arguments)
        token = part.kernel.enter(point, arguments) if point.rules else None
        if token is not None and not token:
            part.served()
            return token
        part.inner = token
        return part

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""
        return self._kernel().current()

    def _kernel(self) -> Kernel:
        current = CURRENT.get(None)
        kernel = None if current is None else current.root.kernel
        return kernel if kernel in self.open else self.main


class TracedCallToken:
    """The token of a call that has a trace of its own, or that one is replayed for.

    Attributes:
        kernel: in which its crossings are.
        inner: the token of the call's own crossing, where a rule makes it one.
    """

    __slots__ = ("_call", "_previous", "inner", "kernel")

    def __init__(self, kernel: Kernel, call: CallHandler) -> None:
        """Make the kernel's lane current; `call` hears how the call goes on."""
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
        self._tell(self._call.returned, value)
        return value

    def raised(self, error: BaseException) -> None:
        """End with an error."""
        if self.inner is not None:
            self.inner.raised(error)
        self.leave()
        self._tell(self._call.raised, error)

    def served(self) -> None:
        """End a call that a replay serves as a whole."""
        self.leave()
        self._call.served()

    def yielded(self, item: Any) -> None:
        """Leave until `resumed`."""
        if self.inner is not None:
            self.inner.yielded(item)
        self.leave()
        self._tell(self._call.item, item)

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Enter again."""
        self._previous = CURRENT.get(None)
        CURRENT.set(self.kernel.base)
        if self.inner is not None:
            self.inner.resumed(sent, thrown)

    def leave(self) -> None:
        """Make current again what was before."""
        current = CURRENT.get(None)
        if current is not None and current.root.kernel is self.kernel:
            CURRENT.set(self._previous)

    @staticmethod
    def _tell(hear: Callable[[Any], None], value: Any) -> None:
        ident = unpatched.get_ident()
        BUSY.add(ident)
        try:
            hear(value)
        finally:
            BUSY.discard(ident)
