"""Crossings whose body runs on a replay, and the requests in them that are answered from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.errors import AutochronError, DivergenceError
from autochron.http import exchange
from autochron.replaying.serving import Served

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.model import Envelope, Exchange, Mode
    from autochron.replaying.director import Director
    from autochron.replaying.log import Met


class Running:
    """What the director keeps with a crossing whose body runs.

    Attributes:
        envelope: its record; None where it has none.
        mode: `served` where its exchanges are, `opened` where something inside is live or it is only compared, or `live`.
        met: what is kept of it for who asks.
        compared: whether its request was compared.
    """

    __slots__ = ("compared", "envelope", "met", "mode", "served")

    def __init__(self, envelope: Envelope | None, mode: Mode, met: Met) -> None:
        self.envelope = envelope
        self.mode = mode
        self.met = met
        self.served: dict[int, int] = {}
        self.compared = False

    @property
    def answers(self) -> bool:
        """Whether requests inside are answered from the record."""
        return self.mode != "live" and self.envelope is not None and self.envelope.reenters

    def next(self, method: str, path: str) -> Exchange | None:
        """Return the exchange that answers a request: the next one of its method and path, masked as it was recorded."""
        last: int | None = None
        exchanges = () if self.envelope is None else self.envelope.exchanges
        for index, each in enumerate(exchanges):
            if each.method == method and exchange.path_of(each.url) == path:
                last = index
                if index not in self.served:
                    self.served[index] = 1
                    return each
        # An attempt more than was kept: attempts of one request collapse into the last.
        if last is None or not _is_failed(exchanges[last]):
            return None
        self.served[last] += 1
        return exchanges[last]

    def attempts(self) -> tuple[int, int] | None:
        """Return how often a request without an answer was sent when it was recorded, and now, where these differ."""
        if not self.answers or self.envelope is None:
            return None
        for index, each in enumerate(self.envelope.exchanges):
            sent = self.served.get(index, each.attempts)
            # One that was answered is answered at once on replay, a refusal with the word that it shan't be tried again.
            if each.status == 0 and sent != each.attempts:
                return each.attempts, sent
        return None


def _is_failed(each: Exchange) -> bool:
    return each.status == 0 or each.status >= 400


class ServedRequest:
    """One request of an HTTP client that is answered from the record. It is false, which tells woven code so."""

    __slots__ = ("_arguments", "_crossing", "_director", "_point", "_running")

    def __init__(
        self,
        director: Director,
        running: Running,
        crossing: Crossing[Running],
        point: Any,
        arguments: tuple[Any, ...],
    ) -> None:
        self._director = director
        self._crossing = crossing
        self._running = running
        self._point = point
        self._arguments = arguments

    def __bool__(self) -> bool:
        return False

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, response)."""
        wire = self._compared()
        self._serving().wait()
        return self._answer(wire)

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, response) to an asynchronous client."""
        wire = self._compared()
        await self._serving().wait_async()
        return self._answer(wire)

    @property
    def _envelope(self) -> Envelope:
        envelope = self._running.envelope
        assert envelope is not None  # noqa: S101 - only what has a record answers
        return envelope

    def _compared(self) -> exchange.Wire:
        wire: exchange.Wire = self._point.transport.sent(self._point.parameters, self._arguments)
        self._director.compare_request(self._running, wire, self._crossing)
        return wire

    def _serving(self) -> Served:
        return Served(self._director, self._crossing, (), self._envelope)

    def _answer(self, wire: exchange.Wire) -> tuple[BaseException | None, Any]:
        try:
            return self._found(wire)
        finally:
            if self._crossing.point.transport:  # the request is all that there is of the crossing
                self._director.ended(self._crossing)

    def _found(self, wire: exchange.Wire) -> tuple[BaseException | None, Any]:
        envelope = self._envelope
        path = self._director.given.path_of(wire)
        found = self._running.next(wire.method, path)
        if found is None:
            message = f"{envelope.address} sends {wire.method} {path}, which was not recorded"
            self._director.note("extra", envelope.address, message, envelope=envelope)
            return DivergenceError(message), None
        try:
            door = self._point.transport
            if found.status == 0 and found.error is not None:
                return door.ended(found, self._point.parameters, self._arguments), None
            return None, door.rebuilt(found, self._point.parameters, self._arguments)
        except AutochronError as error:
            self._director.not_rebuilt(envelope, error)
            return error, None
