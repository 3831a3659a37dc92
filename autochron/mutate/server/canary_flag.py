"""Whether a canary has run in this process: its error may be caught by the agent or by the test."""

from __future__ import annotations

_instances: list[str] = []


class CanaryError(NotImplementedError):
    """Raised by the body of a canary."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        _instances.append(text)


def has_run() -> bool:
    """Return whether a canary has raised its error."""
    return bool(_instances)
