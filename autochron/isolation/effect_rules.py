"""Decide which effects `[[effect]]` tables and `--allow-effects` allow in a replay."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autochron.model import EffectRule


class AllowedEffects:
    """The effects outside every boundary that a replay allows, with a count of those that it has allowed."""

    def __init__(self, rules: Sequence[EffectRule], *, everything: bool = False) -> None:
        """Allow what the [[effect]] tables name, or everything."""
        self._rules = rules
        self._everything = everything
        self._met: set[tuple[str, str, str]] = set()

    @property
    def count(self) -> int:
        """How many effects were allowed. The same effect of the same line counts once."""
        return len(self._met)

    def include(self, kind: Literal["program", "host", "path", "signal"], target: str, site: str) -> bool:
        """Return whether an effect is allowed, and count it if so.

        Args:
            kind: the key of an [[effect]] table that names such effects; `signal` has no key.
            target: the program's name, the connection as `host:port`, or the file's path.
            site: the project's line, as `file:line`.
        """
        is_allowed = self._everything or any(_fits(rule, kind, target, site) for rule in self._rules)
        if is_allowed:
            self._met.add((kind, target, site))
        return is_allowed


def _fits(rule: EffectRule, kind: str, target: str, site: str) -> bool:
    pattern = None if kind == "signal" else getattr(rule, kind)
    if pattern is None:
        return False
    names = [target, target.rpartition(":")[0]] if kind == "host" else [target]
    if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
        return False
    return rule.site is None or site == rule.site or site.rpartition(":")[0] == rule.site
