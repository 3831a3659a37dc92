"""How a provider is set up, and what it has counted: the two values that pass between it and its parent."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from autochron.provider.errors import ProviderError
from autochron.provider.script import Script


@dataclass(frozen=True, slots=True)
class Settings:
    """What makes one provider differ from another.

    `latency` is a range in seconds, `rate_limit` the probability of a 429. With `seed` None,
    each start differs.
    """

    seed: int | None = None
    script: Script = field(default_factory=Script)
    latency: tuple[float, float] = (0.0, 0.0)
    rate_limit: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a range or a probability that can't be drawn from."""
        low, high = self.latency
        if not 0 <= low <= high:
            raise ProviderError(f"latency must be two seconds with 0 <= low <= high, not {low}, {high}")
        if not 0 <= self.rate_limit <= 1:
            raise ProviderError(f"rate_limit must be between 0 and 1, not {self.rate_limit}")

    def to_json(self) -> str:
        """Write one line that `from_json` reads."""
        fields = {"seed": self.seed, "latency": list(self.latency), "rate_limit": self.rate_limit}
        return json.dumps({**fields, "script": self.script.to_data()})

    @classmethod
    def from_json(cls, line: str) -> "Settings":
        """Read what `to_json` wrote."""
        data: dict[str, Any] = json.loads(line)
        low, high = data["latency"]
        return cls(data["seed"], Script.from_data(data["script"]), (low, high), data["rate_limit"])


@dataclass(frozen=True, slots=True)
class Stats:
    """The live calls so far, by endpoint and by status (`disconnect` and `stall` count as such)."""

    calls: int
    by_endpoint: tuple[tuple[str, int], ...]
    by_status: tuple[tuple[str, int], ...]
    seed: int

    def to_data(self) -> dict[str, Any]:
        """Return the JSON form of `GET /stats`."""
        return {**asdict(self), "by_endpoint": dict(self.by_endpoint), "by_status": dict(self.by_status)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Stats":
        """Read the JSON form of `GET /stats`."""
        endpoints, statuses = (tuple(data[field].items()) for field in ("by_endpoint", "by_status"))
        return cls(data["calls"], endpoints, statuses, data["seed"])
