"""Settings and counters of a provider: the two values that pass between it and its parent process."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from autochron.provider.errors import ProviderError
from autochron.provider.script import Script


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a provider.

    Attributes:
        seed: makes the answers repeatable; None for other answers after each start.
        script: the scripted answers.
        latency: the range of the latency, in seconds.
        rate_limit: the probability of a 429, from 0 to 1.
    """

    seed: int | None = None
    script: Script = field(default_factory=Script)
    latency: tuple[float, float] = (0.0, 0.0)
    rate_limit: float = 0.0

    def __post_init__(self) -> None:
        """Raise ProviderError for an invalid range or probability."""
        low, high = self.latency
        if not 0 <= low <= high:
            raise ProviderError(f"latency must be two seconds with 0 <= low <= high, not {low}, {high}")
        if not 0 <= self.rate_limit <= 1:
            raise ProviderError(f"rate_limit must be between 0 and 1, not {self.rate_limit}")

    def to_json(self) -> str:
        """Return the settings as one line of JSON, which `from_json` reads."""
        fields = {"seed": self.seed, "latency": list(self.latency), "rate_limit": self.rate_limit}
        return json.dumps({**fields, "script": self.script.to_data()})

    @classmethod
    def from_json(cls, line: str) -> "Settings":
        """Return the settings in a line that `to_json` made."""
        data: dict[str, Any] = json.loads(line)
        low, high = data["latency"]
        return cls(data["seed"], Script.from_data(data["script"]), (low, high), data["rate_limit"])


@dataclass(frozen=True, slots=True)
class Stats:
    """The counts of calls so far.

    Attributes:
        calls: the number of calls.
        by_endpoint: pairs of path and count.
        by_status: pairs of HTTP status and count; `disconnect` and `stall` count as statuses.
        seed: the seed in use.
    """

    calls: int
    by_endpoint: tuple[tuple[str, int], ...]
    by_status: tuple[tuple[str, int], ...]
    seed: int

    def to_data(self) -> dict[str, Any]:
        """Return the JSON form of `GET /stats`."""
        return {**asdict(self), "by_endpoint": dict(self.by_endpoint), "by_status": dict(self.by_status)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Stats":
        """Return the counts from the JSON form of `GET /stats`."""
        endpoints, statuses = (tuple(data[field].items()) for field in ("by_endpoint", "by_status"))
        return cls(data["calls"], endpoints, statuses, data["seed"])
