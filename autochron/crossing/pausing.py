"""Step out of a session for a while: what runs in a pause crosses nothing, and reaches out unwatched.

A pause is a lane, so it goes where lanes go: into the threads, pools and tasks that are started in it. What is still open
from before, such as a generator of the program's, is not in it and goes on as it was. It is for autochron's own errands
in the middle of a recorded or replayed program; for a program's own code it would be a gap in the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from autochron._runtime.unpatched import os
from autochron.crossing.lanes import CURRENT, PAUSE
from autochron.crossing.processes import VARIABLE

PLACEHOLDER = "autochron-replay"
"""What a credential is set to on replay, so that an SDK can be constructed."""

_replaced: dict[str, tuple[str | None, str]] = {}
"""What stood in the environment before a replay set a variable, and what it was set to."""


class Surroundings(NamedTuple):
    """An environment as it would be without a session."""

    environment: dict[str, str]
    placeholders: tuple[str, ...]
    """The variables that are left out because they hold no more than a replay's placeholder."""


@contextmanager
def paused() -> Iterator[None]:
    """Pause the session in this thread, and in what the block starts; nothing where none is under way."""
    token = CURRENT.set(PAUSE)
    try:
        yield
    finally:
        CURRENT.reset(token)


def replace_variable(name: str, value: str) -> None:
    """Set an environment variable for a replay, and remember what it was."""
    before = os.environ.get(name)
    _replaced.setdefault(name, (before, value))
    os.environ[name] = value


def put_back_variable(name: str) -> None:
    """Set an environment variable back to what it was before a replay, unless the program has set it since."""
    before, value = _replaced.pop(name, (None, None))
    if value is None or os.environ.get(name) != value:
        return
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before


def surroundings() -> Surroundings:
    """Return the environment without what a session put there; what the program has set since stays."""
    found = dict(os.environ)
    found.pop(VARIABLE, None)
    for name, (before, value) in _replaced.items():
        if found.get(name) == value and value != before:
            del found[name]
            if before is not None:
                found[name] = before
    # A process that a replayed program started inherits placeholders, and remembers nothing.
    left = (name for name, value in os.environ.items() if value == PLACEHOLDER)
    placeholders = tuple(name for name in left if found.get(name, PLACEHOLDER) == PLACEHOLDER)
    for name in placeholders:
        found.pop(name, None)
    return Surroundings(found, placeholders)
