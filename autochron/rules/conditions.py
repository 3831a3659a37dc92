"""`when`: whether the bound arguments of a call make it a crossing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from autochron.rules.globs import TextGlob, text_glob
from autochron.rules.paths import Step, find, parse_path, spelled


class Condition(Struct, frozen=True):
    """The (path, glob) pairs of a rule, parsed; without any it fits every call."""

    tests: tuple[tuple[tuple[Step, ...], TextGlob], ...] = ()

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Tell whether each path holds a scalar that fits its glob."""
        return all(_fits(arguments, steps, glob) for steps, glob in self.tests)


def condition(when: tuple[tuple[str, str], ...]) -> Condition:
    """Parse the `when` of a rule."""
    return Condition(tuple((parse_path(path), text_glob(glob)) for path, glob in when))


def _fits(arguments: Mapping[str, Any], steps: tuple[Step, ...], glob: TextGlob) -> bool:
    for value in find(arguments, steps, attributes=True):
        text = spelled(value)
        if text is not None and glob.fits(text):
            return True
    return False
