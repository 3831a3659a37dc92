"""One audit hook for the process, which hands each event on to those who asked for it.

CPython audits what programs do all the time, such as `id`, `sys._getframe` and imports: `copy.deepcopy` of a thousand objects
raises some thousand events. Each hook takes 0.1 µs for each, so there is one. For most events all that it does is a look at
a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

Listener = Callable[[str, tuple[Any, ...]], None]

_listeners: dict[str, tuple[Listener, ...]] = {}
"""From the name of an event to whom it is handed, in the order in which they asked."""

_installed = False


def listen(listener: Listener, events: Iterable[str]) -> None:
    """Hand these events to a listener as long as the process lives; what it raises fails the call that was audited."""
    global _installed  # noqa: PLW0603 - an audit hook belongs to the process, and can't be removed
    for event in events:
        others = _listeners.get(event, ())
        if listener not in others:
            _listeners[event] = (*others, listener)
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(
    event: str,
    arguments: tuple[Any, ...],
    # At hand even while the interpreter takes its modules apart.
    listeners: dict[str, tuple[Listener, ...]] = _listeners,
) -> None:
    found = listeners.get(event)
    if found is not None:
        for listener in found:
            listener(event, arguments)
