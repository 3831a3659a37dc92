"""Traces of the calls of a service, one for each call: what `[[trace]]` rules add to a recording."""

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
        """Make the kernel of the call's trace."""

    def note_call(self, point: Point, arguments: tuple[Any, ...]) -> None:
        """Note the arguments of the call that the trace is of."""

    def forget_call(self, error: Exception) -> None:
        """Drop the recorded call because noting it failed on our side, and report the error."""

    def flush(self, status: int | None) -> None:
        """Write everything that waits."""

    def close_part(self, error: str | None) -> None:
        """Close the trace of a call."""

    def drop(self) -> bool:
        """Drop the trace; return whether that succeeded."""


class Requests:
    """Opens a trace when a call begins, and closes it when the call ends.

    Closing waits for the store, so it is done on a thread of its own. Meanwhile the service answers other calls.

    Attributes:
        count: number of calls that had a trace.
        only_failed: whether the traces of calls that returned are dropped.
    """

    def __init__(
        self,
        activation: Activation,
        problem: Callable[[str], None],
        open_trace: Callable[[Header], CallTrace],
    ) -> None:
        """Make one.

        Args:
            activation: the rules in force.
            problem: called with a message if something is wrong on our side.
            open_trace: opens a recording beside that of the process.
        """
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
        """Return the handler that leads each traced call to the kernel of its own trace."""
        self._kernels = Kernels(main, self.begin)
        return self._kernels

    def begin(self, point: Point, arguments: tuple[Any, ...]) -> TracedCallToken | None:
        """Open the trace of a call. Return None, and note a problem, if that fails."""
        target = f"{point.module}:{point.called}"
        try:
            rules = self._activation.rules
            command = Command("block", target, (), header.folder_of(rules))
            trace = self._open_trace(header.header(rules, command, target))
            kernel = trace.make_kernel()
        except Exception as error:  # a fault of ours must not keep the service from answering
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
        """Return what notes the effects of the traced call that is running; None outside such calls."""
        current = CURRENT.get(None)
        kernel = None if current is None else current.root.kernel
        trace = None if kernel is None else self._under_way.get(kernel)
        return None if trace is None else trace.effects

    def flush(self) -> None:
        """Write everything that waits, also of calls that are under way."""
        self._close_ended()
        for trace in list(self._under_way.values()):
            trace.flush(None)

    def finish(self) -> None:
        """Close all traces, also those of calls that are under way."""
        for kernel in list(self._under_way):
            self.end(kernel, None, cut_off=True)
        self._close_ended()

    def end(self, kernel: Kernel, error: BaseException | None, *, cut_off: bool = False) -> None:
        """Close the trace of a call.

        Args:
            kernel: the kernel of the call's trace.
            error: what the call raised.
            cut_off: whether the call is still running. Then the caller closes the trace; otherwise a thread does.
        """
        trace = self._under_way.pop(kernel, None)
        if trace is None:
            return
        self._kernels.open.discard(kernel)
        self._ending.append((trace, None if error is None else type(error).__qualname__))
        if not cut_off:
            from autochron.store.threads import HiddenThread  # lazy: with the first call

            try:
                HiddenThread(self._close_ended)
            except RuntimeError:  # no thread can be started; `finish` closes the trace
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
    """Observes a call that has a trace of its own."""

    __slots__ = ("_kernel", "_requests", "_trace")

    def __init__(self, requests: Requests, kernel: Kernel, trace: CallTrace) -> None:
        self._requests = requests
        self._kernel = kernel
        self._trace = trace

    def substituted(self, argument: Any) -> Any:
        """Return what the body gets in the place of an argument.

        For the channel of a request, that is a channel that records the request's body.
        """
        request = None if self._trace.call is None else self._trace.call.request
        return argument if request is None else request.substitute(argument)

    def item(self, item: Any) -> None:
        """Note an item of a stream."""
        self._note("item", item)

    def returned(self, value: Any) -> None:
        """Note the result, and close the trace."""
        self._note("returned", value)
        self._requests.end(self._kernel, None)

    def raised(self, error: BaseException) -> None:
        """Note the error, and close the trace."""
        self._note("raised", error)
        self._requests.end(self._kernel, error)

    def served(self) -> None:
        """Close the trace. A recording serves nothing, so there is no outcome."""
        self._requests.end(self._kernel, None)

    def _note(self, method: str, value: Any) -> None:
        call = self._trace.call
        if call is None:
            return
        try:
            getattr(call, method)(value)
        except Exception as error:
            if is_interruption(error):
                raise
            self._trace.forget_call(error)
