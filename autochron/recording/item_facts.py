"""The facts that the items of a model's stream tell, such as its usage and the tools that ran at its other end.

They are read as the items pass: a stream is never in memory as a whole.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.json import decode

from autochron.model import MetaPaths
from autochron.redaction.json_paths import read_steps
from autochron.rules.paths import PathStep, parse_path

_ROOT = "item"


class ItemFacts:
    """The facts of one stream so far."""

    __slots__ = ("_inside", "_latest", "_paths")

    def __init__(self, paths: MetaPaths) -> None:
        self._paths = _steps(paths)
        self._latest: dict[str, Any] = {}
        self._inside: dict[str, None] = {}

    @staticmethod
    def are_told(paths: MetaPaths) -> bool:
        """Return whether a rule says that items tell facts."""
        return bool(_steps(paths))

    def note(self, body: bytes) -> None:
        """Read an item, which is masked."""
        sources = {_ROOT: decode(body)}
        for name, steps in self._paths:
            values = read_steps(sources, steps)
            if name == "inside":
                self._inside.update(dict.fromkeys(value for value in values if isinstance(value, str)))
            elif values:
                self._latest[name] = values[-1]

    def fields(self) -> dict[str, Any]:
        """Return the facts for the `meta` of the stream's envelope."""
        return {**self._latest, **({"inside": [*self._inside]} if self._inside else {})}


@lru_cache(maxsize=64)
def _steps(paths: MetaPaths) -> tuple[tuple[str, tuple[PathStep, ...]], ...]:
    """Return the paths into items, each with the name of its fact."""
    named = (("model", paths.model), ("usage", paths.usage), ("inside", paths.inside or ()))
    parsed = ((name, parse_path(path)) for name, group in named for path in group)
    return tuple((name, steps) for name, steps in parsed if steps[0].key == _ROOT)
