"""Libraries that talk in the background: what they send is nobody's answer, so a refusal changes nothing that is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

SENDERS = (
    *(
        "posthog",
        "sentry_sdk",
        "opentelemetry.exporter",
        "opentelemetry.sdk.trace.export",
        "ddtrace",
        "langfuse",
    ),
    *("langsmith", "logfire", "mixpanel", "segment.analytics", "amplitude", "statsig", "scarf", "newrelic"),
)
"""Modules that send telemetry, whatever they are used by; a pack names its library's own under `telemetry`."""


def is_telemetry(frame: Any, modules: Iterable[str]) -> bool:
    """Return whether a module that sends telemetry is among the callers of a frame."""
    known = tuple(modules)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if any(name == each or name.startswith(f"{each}.") for each in known):
            return True
        frame = frame.f_back
    return False


def senders(packs: Iterable[Any]) -> tuple[str, ...]:
    """Return the modules that send telemetry, with those that packs name."""
    return (*SENDERS, *(each for pack in packs for each in pack.telemetry))
