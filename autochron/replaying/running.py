"""A crossing whose body runs in a replay, and the recorded exchanges that answer its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autochron.http import exchange

if TYPE_CHECKING:
    from autochron.model import Envelope, Exchange, Mode
    from autochron.replaying.log import LogEntry


class Running:
    """What the director keeps with a crossing whose body runs.

    Attributes:
        envelope: its record; None if it has none.
        mode: `served` if its requests are served, `opened` if something inside is live or the crossing is only compared,
            `live`, or `invented` if it returns an ambient value that was not recorded.
        entry: its entry in the log.
        served: how often each recorded exchange was served, by its index.
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
        """Return the recorded exchange that answers a request: the next one of the same method and path.

        Args:
            method: of the request.
            path: of the request, masked as in the recording.

        Returns:
            The exchange. If all were served, the last one once more if it failed, else None.
        """
        last: int | None = None
        exchanges = () if self.envelope is None else self.envelope.exchanges
        for index, recorded in enumerate(exchanges):
            if recorded.method == method and exchange.path_of(recorded.url) == path:
                last = index
                if index not in self.served:
                    self.served[index] = 1
                    return recorded
        # The client tries again. The attempts of one request are recorded as one exchange, the last.
        if last is None or not _is_failed(exchanges[last]):
            return None
        self.served[last] += 1
        return exchanges[last]

    def attempts(self) -> tuple[int, int] | None:
        """Return (recorded, replayed) numbers of attempts of a request that got no answer; None if they are equal."""
        if not self.answers or self.envelope is None:
            return None
        for index, recorded in enumerate(self.envelope.exchanges):
            sent = self.served.get(index, recorded.attempts)
            # Only exchanges without an answer: one with an answer is served at once, and a refusal says not to try again.
            if recorded.status == 0 and sent != recorded.attempts:
                return recorded.attempts, sent
        return None


def _is_failed(recorded: Exchange) -> bool:
    return recorded.status == 0 or recorded.status >= 400
