"""What a secret looks like by value: the formats of `secrets.toml`, compiled when a needle turns up."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

MASK = "[masked]"
"""What stands in the place of a secret, whatever type it had."""


class Pattern:
    """One format."""

    __slots__ = ("_exact", "_probe", "_table", "loose", "name", "needles")

    def __init__(self, table: dict[str, Any]) -> None:
        self.name: str = table["name"]
        self.needles: tuple[str, ...] = tuple(table["needle"])
        self.loose: bool = table.get("loose", False)
        self._table = table
        self._exact: re.Pattern[str] | None = None
        self._probe: re.Pattern[str] | None = None

    @property
    def example(self) -> str:
        """Give a text that it masks."""
        return "".join(self._table["example"])

    def near(self, text: str, runs: str | None = None) -> bool:
        """Tell whether raw JSON text may hold a match in one of its strings; never wrong when it says no.

        No boundary is asked for: in raw text the letter of an escape can stand where a boundary will be.
        With `runs` (see `dense_runs`) needles are sought there only.
        """
        where = text if runs is None else runs
        if not any(needle in where for needle in self.needles):
            return False
        if self._probe is None:
            self._probe = re.compile(self._table.get("probe", self._table["regex"]), re.ASCII)
        return self._probe.search(text) is not None

    def mask(self, text: str) -> str:
        """Mask every match in a decoded string."""
        if not any(needle in text for needle in self.needles):
            return text
        if self._exact is None:
            boundary = r"(?<![A-Za-z0-9_])" if self._table.get("boundary") else ""
            self._exact = re.compile(boundary + f"(?:{self._table['regex']})", re.ASCII)
        return self._exact.sub(_masked, text)


def _masked(match: re.Match[str]) -> str:
    if "secret" not in match.re.groupindex:
        return MASK
    start, end = match.span("secret")
    text = match.string
    return text[match.start() : start] + MASK + text[end : match.end()]


@cache
def load_patterns() -> tuple[Pattern, ...]:
    """Read `secrets.toml`, once, and not before there is something to look through."""
    import tomllib  # lazy: with `importlib.resources` it was a fifth of the start of a run

    loader: Any = __spec__.loader  # which may be that of a zip file
    data = loader.get_data(os.path.join(os.path.dirname(__file__), "secrets.toml"))
    return tuple(Pattern(table) for table in tomllib.loads(data.decode())["pattern"])


# What may stand in a secret, by byte: 1 for letters, digits, `_` and `-`, 2 for what clings to those, 0 for all else.
_DENSE = bytes(
    1 if code < 128 and (chr(code).isalnum() or chr(code) in "_-") else 2 if chr(code) in ".:" else 0
    for code in range(256)
)
_RUN = b"\1" * 16


def dense_runs(text: str) -> str:
    """Give the parts of a text with sixteen letters, digits, `_` or `-` in a row, and what clings to them.

    Most text has none, which `translate` tells a hundred times faster than a regex.
    """
    raw = text.encode("utf-8", "surrogatepass")
    kinds = raw.translate(_DENSE)
    at = kinds.find(_RUN)
    if at < 0:
        return ""
    runs = []
    while at >= 0:
        end = kinds.find(b"\0", at)
        if end < 0:
            end = len(raw)
        runs.append(raw[kinds.rfind(b"\0", 0, at) + 1 : end])
        at = kinds.find(_RUN, end)
    return b" ".join(runs).decode()
