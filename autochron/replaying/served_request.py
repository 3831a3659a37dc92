"""A request of an HTTP client that is answered from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.errors import AutochronError, DivergenceError
from autochron.http.exchange import AwaitedLater
from autochron.replaying.serving import ServedCrossing

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.http import exchange
    from autochron.model import Envelope
    from autochron.replaying.replay_state import ReplayState
    from autochron.replaying.running import Running
    from autochron.replaying.running_crossings import RunningCrossings


class ServedRequest:
    """A request of an HTTP client that is answered from the record.

    Its truth value is false, by which woven code knows not to send the request.
    """

    __slots__ = ("_arguments", "_crossing", "_point", "_running", "_runs", "_state")

    def __init__(
        self,
        state: ReplayState,
        runs: RunningCrossings,
        running: Running,
        crossing: Crossing[Running],
        point: Any,
        arguments: tuple[Any, ...],
    ) -> None:
        """Prepare the answer to a request.

        Args:
            state: of the replay.
            runs: the crossings whose body runs.
            running: what is kept with the crossing that sends the request.
            crossing: the same crossing, as the kernel knows it.
            point: the client's function that sends the request.
            arguments: those of this function.
        """
        self._state = state
        self._runs = runs
        self._crossing = crossing
        self._running = running
        self._point = point
        self._arguments = arguments

    def __bool__(self) -> bool:
        return False

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, response)."""
        wire = self._compared()
        serving = self._serving()
        serving.wait()
        error, response = self._answer(wire)
        if issubclass(type(response), AwaitedLater):
            response.turn = serving.wait_async
        return error, response

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, response) to an asynchronous client."""
        wire = self._compared()
        await self._serving().wait_async()
        return self._answer(wire)

    @property
    def _envelope(self) -> Envelope:
        envelope = self._running.envelope
        assert envelope is not None  # noqa: S101 - only a crossing with a record is answered
        return envelope

    def _compared(self) -> exchange.Wire:
        wire: exchange.Wire = self._point.transport.sent(self._point.parameters, self._arguments)
        self._runs.compare_request(self._running, wire, self._crossing)
        if self._state.listener is not None:
            self._state.listener.sent(self._crossing, wire)
        return wire

    def _serving(self) -> ServedCrossing:
        return ServedCrossing(self._state, self._crossing, (), self._envelope)

    def _answer(self, wire: exchange.Wire) -> tuple[BaseException | None, Any]:
        try:
            return self._response(wire)
        finally:
            if self._crossing.point.transport:  # the crossing is this request, and has no body that will end
                self._runs.end(self._crossing)

    def _response(self, wire: exchange.Wire) -> tuple[BaseException | None, Any]:
        envelope = self._envelope
        path = self._state.inputs.path_of(wire)
        answer = self._running.next(wire.method, path)
        if answer is None:
            message = f"{envelope.address} sends {wire.method} {path}, which was not recorded"
            self._state.divergence_log.note("extra", envelope.address, message, envelope=envelope)
            return DivergenceError(message), None
        if self._state.listener is not None:
            self._state.listener.answered(self._crossing, answer)
        try:
            door = self._point.transport
            if answer.status == 0 and answer.error is not None:
                return door.ended(answer, self._point.parameters, self._arguments), None
            return None, door.rebuilt(answer, self._point.parameters, self._arguments)
        except AutochronError as error:
            self._state.not_rebuilt(envelope, error)
            return error, None
