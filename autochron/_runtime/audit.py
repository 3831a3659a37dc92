"""One audit hook for the process, which dispatches each event to the listeners of it.

CPython audits frequent operations such as `id`, `sys._getframe` and imports: `copy.deepcopy` of a thousand objects raises
some thousand events. Each hook takes 0.1 µs for each event, so there is only one. For most events it does a single look-up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

Listener = Callable[[str, tuple[Any, ...]], None]

_listeners: dict[str, tuple[Listener, ...]] = {}
"""The listeners by name of an event, in the order in which they were added."""

_installed = False


def listen(listener: Listener, events: Iterable[str]) -> None:
    """Call a listener for these events as long as the process lives.

    Args:
        listener: called with the event's name and its arguments. The audited call fails with what it raises.
        events: names of audit events.
    """
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
    # A default, because at the interpreter's end the module's globals are gone.
    listeners: dict[str, tuple[Listener, ...]] = _listeners,
) -> None:
    listeners_of_event = listeners.get(event)
    if listeners_of_event is not None:
        for listener in listeners_of_event:
            listener(event, arguments)
