"""Carry writers and connections over `os.fork`.

SQLite must not see a fork: a child would inherit the belief that it holds locks which only its parent holds.
So everything registered here comes to rest before a fork and starts anew after it. `subprocess` forks without
these hooks, and needs none, since what it starts is another program.
"""

from __future__ import annotations

import weakref
from typing import Protocol

from autochron._runtime.unpatched import os

PATIENCE = 5.0
"""Seconds to wait for a write under way before a fork."""


class Forking(Protocol):
    """Something that must come to rest before a fork."""

    fork_order: int
    """Lower ones come to rest first: a writer before the sink it writes to."""

    def before_fork(self) -> None:
        """Come to rest."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Start anew: what waits belongs to the parent, and locks may be held by threads that are gone."""


_members: weakref.WeakSet[Forking] = weakref.WeakSet()
_resting: list[Forking] = []
_hooked = False


def register(member: Forking) -> None:
    """Call `member` after each fork from now on."""
    global _hooked  # noqa: PLW0603 - hooks can't be taken back, so they are set once a process
    _members.add(member)
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def unregister(member: Forking) -> None:
    """Forget a member that is closed."""
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
