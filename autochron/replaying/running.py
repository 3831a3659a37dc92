"""One crossing whose body runs on a replay, and the recorded exchanges that answer its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autochron.http import exchange

if TYPE_CHECKING:
    from autochron.model import Envelope, Exchange, Mode
    from autochron.replaying.log import LogEntry


class Running:
    """What the director keeps with a crossing whose body runs.

    Attributes:
        envelope: its record; None where it has none.
        mode: `served` where its exchanges are, `opened` where something inside is live or it is only compared, or `live`.
        entry: what is kept of it for who asks.
        compared: whether its request was compared.
    """

    __slots__ = ("compared", "entry", "envelope", "mode", "served")

    def __init__(self, envelope: Envelope | None, mode: Mode, entry: LogEntry) -> None:
        self.envelope = envelope
        self.mode = mode
        self.entry = entry
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
        for index, recorded in enumerate(exchanges):
            if recorded.method == method and exchange.path_of(recorded.url) == path:
                last = index
                if index not in self.served:
                    self.served[index] = 1
                    return recorded
        # An attempt more than was kept: attempts of one request collapse into the last.
        if last is None or not _is_failed(exchanges[last]):
            return None
        self.served[last] += 1
        return exchanges[last]

    def attempts(self) -> tuple[int, int] | None:
        """Return how often a request without an answer was sent when it was recorded, and now, where these differ."""
        if not self.answers or self.envelope is None:
            return None
        for index, recorded in enumerate(self.envelope.exchanges):
            sent = self.served.get(index, recorded.attempts)
            # One that was answered is answered at once on replay, a refusal with the word that it shan't be tried again.
            if recorded.status == 0 and sent != recorded.attempts:
                return recorded.attempts, sent
        return None


def _is_failed(recorded: Exchange) -> bool:
    return recorded.status == 0 or recorded.status >= 400
