"""What `[[effect]]` and `--allow-effects` let be in a replay."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autochron.model import EffectRule


class AllowedEffects:
    """Which effects outside every boundary a replay lets be; those that were let be are counted."""

    def __init__(self, rules: Sequence[EffectRule], *, everything: bool = False) -> None:
        self._rules = rules
        self._everything = everything
        self._met: set[tuple[str, str, str]] = set()

    @property
    def count(self) -> int:
        """How many were let be; what one line does again counts once."""
        return len(self._met)

    def include(self, kind: Literal["program", "host", "path", "signal"], what: str, site: str) -> bool:
        """Return whether an effect is let be: a program by its name, a connection as `host:port`, a file by its path."""
        found = self._everything or any(_fits(rule, kind, what, site) for rule in self._rules)
        if found:
            self._met.add((kind, what, site))
        return found


def _fits(rule: EffectRule, kind: str, what: str, site: str) -> bool:
    pattern = None if kind == "signal" else getattr(rule, kind)
    if pattern is None:
        return False
    names = [what, what.rpartition(":")[0]] if kind == "host" else [what]
    if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
        return False
    return rule.site is None or site == rule.site or site.rpartition(":")[0] == rule.site
