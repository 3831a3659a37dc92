"""Recognise what libraries do for themselves: they send telemetry, and they write caches and records of runs.

The program does not use the answers to telemetry, so refusing it changes nothing that a replay compares. What a library
writes for its own next run differs in each run, so it is not compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
"""Modules that send telemetry. Packs name further modules of their libraries under `telemetry`."""


def is_called_by(frame: Any, modules: Iterable[str]) -> bool:
    """Return whether one of these modules, or a submodule, is a frame's module or among its callers."""
    known = tuple(modules)
    while frame is not None:
        if _is_of(frame, known):
            return True
        frame = frame.f_back
    return False


def senders(packs: Iterable[Any]) -> tuple[str, ...]:
    """Return the modules that send telemetry, including those that packs name."""
    return (*SENDERS, *(module for pack in packs for module in pack.telemetry))


def keeps_books(frame: Any, packs: Iterable[Any], owns: Callable[[str], bool]) -> bool:
    """Return whether a library writes a file of its own, as packs say it, and no code of the project that it calls.

    Args:
        frame: the innermost frame.
        packs: the packs in force.
        owns: returns whether a file belongs to the project.
    """
    modules = tuple(module for pack in packs for module in pack.bookkeeping)
    if not modules:
        return False
    while frame is not None and not owns(frame.f_code.co_filename):
        if _is_of(frame, modules):
            return True
        frame = frame.f_back
    return False


def _is_of(frame: Any, modules: Iterable[str]) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return any(name == module or name.startswith(f"{module}.") for module in modules)
