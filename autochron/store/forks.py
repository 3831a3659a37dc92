"""Pause writers and connections around `os.fork`.

SQLite must not see a fork: the child's copy would believe that it holds locks which only the parent holds. So every
registered object pauses before a fork, and resumes or starts anew after it. `subprocess` forks without these hooks; it needs
none, since it starts another program.
"""

from __future__ import annotations

import weakref
from typing import Protocol

from autochron._runtime.unpatched import os

PATIENCE = 5.0
"""Seconds that a fork waits for a write that is under way."""


class Forking(Protocol):
    """An object that has to pause before a fork."""

    fork_order: int
    """Objects with lower numbers pause first: a writer pauses before the sink it writes to."""

    def before_fork(self) -> None:
        """Pause."""

    def after_fork_in_parent(self) -> None:
        """Resume."""

    def after_fork_in_child(self) -> None:
        """Start anew: pending work belongs to the parent, and locks may be held by threads that do not exist here."""


_members: weakref.WeakSet[Forking] = weakref.WeakSet()
_resting: list[Forking] = []
_hooked = False


def register(member: Forking) -> None:
    """Call the methods of `member` around each fork from now on."""
    global _hooked  # noqa: PLW0603 - hooks can't be taken back, so they are set once a process
    _members.add(member)
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def unregister(member: Forking) -> None:
    """Forget a member; to be called when it is closed."""
    _members.discard(member)


def _before() -> None:
    for member in sorted(_members, key=lambda member: member.fork_order):
        member.before_fork()
        _resting.append(member)


def _in_parent() -> None:
    while _resting:
        _resting.pop().after_fork_in_parent()


def _in_child() -> None:
    while _resting:
        _resting.pop().after_fork_in_child()
