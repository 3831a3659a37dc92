"""How each side marks a crossing, and opens a session."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import autochron
from autochron.model import Rules
from autochron.ports import Store

RULES = Rules(auto=False)
"""No rules: what is recorded is marked by hand."""


def ours(name: str, kind: str) -> Callable[[Any], Any]:
    """Mark a function for autochron."""
    return autochron.boundary(name, kind="model" if kind == "model" else "tool")


def theirs(name: str, kind: str) -> Callable[[Any], Any]:
    """Mark a function for agent-chronicle, in its plainest form."""
    from chronicle.boundary import boundary

    mark: Callable[[Any], Any] = boundary(name, kind="llm" if kind == "model" else kind)
    return mark


@contextlib.contextmanager
def their_session(path: str | None = None) -> Iterator[None]:
    """Record with agent-chronicle, as its own benchmark does: in memory, or into a file."""
    from chronicle.session import reset_session

    session = reset_session()
    if path is None:
        session.store = None
    else:
        from pathlib import Path

        from chronicle.envelope.store import EnvelopeStore

        session.store = EnvelopeStore(Path(path))
    session.begin_trace("bench")
    yield


def our_session(store: Store, rules: Rules = RULES) -> Any:
    """Record with autochron."""
    return autochron.record("bench", store=store, rules=rules)
