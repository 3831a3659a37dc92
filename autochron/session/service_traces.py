"""A trace for each call of a service: what `[[trace]]` rules make of a recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from autochron._runtime import unpatched
from autochron._runtime.signals import is_interruption
from autochron.crossing.kernel import Kernel
from autochron.crossing.kernels import Kernels, TracedCallToken
from autochron.crossing.lanes import CURRENT
from autochron.model import Command
from autochron.session import header

if TYPE_CHECKING:
    from autochron.instrument.activation import Activation
    from autochron.model import Header
    from autochron.recording.calls import CallDraft
    from autochron.session.recorded_effects import RecordedEffects
    from autochron.weaving.gate import Point


class CallTrace(Protocol):
    """The recording of one call."""

    call: CallDraft | None
    effects: RecordedEffects

    def make_kernel(self) -> Kernel:
        """Make the kernel of a trace that is one call's."""

    def note_call(self, point: Point, arguments: tuple[Any, ...]) -> None:
        """Note the arguments of the call that the trace is of."""

    def forget_call(self, error: Exception) -> None:
        """Go on without the call that the trace is of, and say why: noting it failed on our side."""

    def flush(self, status: int | None) -> None:
        """Write what waits."""

    def close_part(self, error: str | None) -> None:
        """Close the trace of a call."""

    def drop(self) -> bool:
        """Drop the trace; return whether that is done."""


class Requests:
    """Opens a trace when a call begins, and closes it when it ends.

    Closing waits for the store, and so it is done on a thread of its own: a service answers other calls meanwhile.

    Attributes:
        count: how many calls had a trace.
        only_failed: whether the traces of calls that returned are dropped.
    """

    def __init__(
        self,
        activation: Activation,
        problem: Callable[[str], None],
        open_trace: Callable[[Header], CallTrace],
    ) -> None:
        """Take who is told what is wrong on our side, and what opens a recording beside that of the process."""
        self.count = 0
        self.only_failed = False
        self._activation = activation
        self._problem = problem
        self._open_trace = open_trace
        self._kernels: Kernels
        self._under_way: dict[Kernel, CallTrace] = {}
        self._ending: deque[tuple[CallTrace, str | None]] = deque()
        self._lock = unpatched.RLock()

    def over(self, main: Kernel) -> Kernels:
        """Return the handler that knows the traces of calls."""
        self._kernels = Kernels(main, self.begin)
        return self._kernels

    def begin(self, point: Point, arguments: tuple[Any, ...]) -> TracedCallToken | None:
        """Open the trace of a call."""
        target = f"{point.module}:{point.called}"
        try:
            rules = self._activation.rules
            command = Command("block", target, (), header.folder_of(rules))
            trace = self._open_trace(header.header(rules, command, target))
            kernel = trace.make_kernel()
        except Exception as error:  # the service answers, whatever is wrong with us
            self._problem(
                f"a call of {target} has no trace of its own: {type(error).__name__}: {error} (trace-not-opened)"
            )
            return None
        self.count += 1
        self._under_way[kernel] = trace
        self._kernels.open.add(kernel)
        trace.note_call(point, arguments)
        return TracedCallToken(kernel, _Call(self, kernel, trace))

    def effects_of_call(self) -> RecordedEffects | None:
        """Return what notes the effects of the call that runs now; None outside of calls."""
        current = CURRENT.get(None)
        kernel = None if current is None else current.root.kernel
        trace = None if kernel is None else self._under_way.get(kernel)
        return None if trace is None else trace.effects

    def flush(self) -> None:
        """Write what waits, also of calls that are under way."""
        self._close_ended()
        for trace in list(self._under_way.values()):
            trace.flush(None)

    def finish(self) -> None:
        """Close every trace; calls that are under way are cut off there."""
        for kernel in list(self._under_way):
            self.end(kernel, None, cut_off=True)
        self._close_ended()

    def end(self, kernel: Kernel, error: BaseException | None, *, cut_off: bool = False) -> None:
        """Close the trace of a call, on a thread of its own."""
        trace = self._under_way.pop(kernel, None)
        if trace is None:
            return
        self._kernels.open.discard(kernel)
        self._ending.append((trace, None if error is None else type(error).__qualname__))
        if not cut_off:
            from autochron.store.threads import HiddenThread  # lazy: with the first call

            try:
                HiddenThread(self._close_ended)
            except RuntimeError:  # no thread to be had: `finish` does it
                return

    # --- inside ------------------------------------------------------------------------------------------------------

    def _close_ended(self) -> None:
        with self._lock:
            while self._ending:
                trace, error = self._ending.popleft()
                trace.close_part(error)
                if self.only_failed and error is None:
                    trace.drop()


class _Call:
    """Hears of a call that has a trace of its own."""

    __slots__ = ("_kernel", "_requests", "_trace")

    def __init__(self, requests: Requests, kernel: Kernel, trace: CallTrace) -> None:
        self._requests = requests
        self._kernel = kernel
        self._trace = trace

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets for a channel of a request: the request's body is heard through it."""
        request = None if self._trace.call is None else self._trace.call.request
        return argument if request is None else request.substitute(argument)

    def item(self, item: Any) -> None:
        """Note an item of a stream."""
        self._note("item", item)

    def returned(self, value: Any) -> None:
        """Note the outcome, and close the trace."""
        self._note("returned", value)
        self._requests.end(self._kernel, None)

    def raised(self, error: BaseException) -> None:
        """Note the error, and close the trace."""
        self._note("raised", error)
        self._requests.end(self._kernel, error)

    def served(self) -> None:
        """Close the trace: nothing is served while one is recorded."""
        self._requests.end(self._kernel, None)

    def _note(self, what: str, value: Any) -> None:
        call = self._trace.call
        if call is None:
            return
        try:
            getattr(call, what)(value)
        except Exception as error:
            if is_interruption(error):
                raise
            self._trace.forget_call(error)
