"""Pauses: code that runs in a pause of the session makes no crossings, and what it does to the outside is not watched.

A pause is a lane, so it is carried into the threads, pools and tasks that are started in it. Code that was suspended
before, such as a generator of the program, is not in the pause. Pauses are for autochron's own work in the middle of a
recorded or replayed program. For a program's code a pause would be a gap in the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from autochron._runtime.unpatched import os
from autochron.crossing.lanes import CURRENT, PAUSE
from autochron.crossing.processes import VARIABLE

PLACEHOLDER = "autochron-replay"
"""The value that a replay gives to a credential, so that an SDK can be constructed."""

_replaced: dict[str, tuple[str | None, str]] = {}
"""The variables that a replay has set: the value before (None: unset), and the value that was set."""


class Surroundings(NamedTuple):
    """The environment as it would be without a session.

    Attributes:
        environment: its variables.
        placeholders: variables that are left out, since they hold only the placeholder of a replay.
    """

    environment: dict[str, str]
    placeholders: tuple[str, ...]
    """The variables that are left out because they hold no more than a replay's placeholder."""


@contextmanager
def paused() -> Iterator[None]:
    """Pause the session in this thread, and in what the block starts. Without a session it does nothing."""
    token = CURRENT.set(PAUSE)
    try:
        yield
    finally:
        CURRENT.reset(token)


def replace_variable(name: str, value: str) -> None:
    """Set an environment variable for a replay, and remember its value before."""
    before = os.environ.get(name)
    _replaced.setdefault(name, (before, value))
    os.environ[name] = value


def put_back_variable(name: str) -> None:
    """Restore the value that an environment variable had before the replay, unless the program has set it since."""
    before, value = _replaced.pop(name, (None, None))
    if value is None or os.environ.get(name) != value:
        return
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before


def surroundings() -> Surroundings:
    """Return the environment without the variables that a session has set. What the program has set since stays."""
    environment = dict(os.environ)
    environment.pop(VARIABLE, None)
    for name, (before, value) in _replaced.items():
        if environment.get(name) == value and value != before:
            del environment[name]
            if before is not None:
                environment[name] = before
    # A process that a replayed program started has inherited placeholders, and `_replaced` is empty in it.
    inherited = (name for name, value in os.environ.items() if value == PLACEHOLDER)
    placeholders = tuple(name for name in inherited if environment.get(name, PLACEHOLDER) == PLACEHOLDER)
    for name in placeholders:
        environment.pop(name, None)
    return Surroundings(environment, placeholders)
