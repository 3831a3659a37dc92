"""The table of docs/how-to/frameworks.md: the libraries and frameworks that work, the versions tried, and what is known."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.frameworks.table import PYTHONS, Framework, read_frameworks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "frameworks.md"
BEGIN, END = "<!-- the table of python -m tests.frameworks -->\n", "<!-- its end -->\n"
HEAD = "| library | tried with | what works |\n|---|---|---|\n"
KINDS = {"model": "model calls", "tool": "tools", "router": "routes", "ambient": "values that it looks up"}
OTHERS = {"context": "contexts of tools", "bookkeeping": "files of its own"}


class MissingPlaceError(ValueError):
    """A page has no place for the table."""


def with_table(page: str) -> str:
    """Return a page with the table as it is now, in the place between the two comments.

    Raises:
        MissingPlaceError: the page has no such place.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise MissingPlaceError(f"the page has no line {BEGIN.strip()!r} with {END.strip()!r} after it")
    return before + begin + table() + end + after


def table() -> str:
    """Return the table: the packs by name, then the frameworks that need none, in the order of the file."""
    frameworks = read_frameworks()
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in (*_packs(frameworks), *_others(frameworks)))


def packs() -> dict[str, dict[str, Any]]:
    """Return the packs by the distributions that they are for."""
    files = [
        tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "rules").glob("*.toml"))
    ]
    return {data["pack"]["distribution"]: data for data in files}


def _packs(frameworks: dict[str, Framework]) -> Iterator[tuple[str, str, str]]:
    for distribution, data in packs().items():
        framework = frameworks.get(distribution)
        what = [
            f"pack `{data['pack']['name']}`: {_kinds(data)}",
            *([framework.says] if framework else []),
        ]
        yield distribution, ", ".join(data["pack"]["tested"]), "; ".join(what)


def _kinds(pack: dict[str, Any]) -> str:
    """Return what a pack has rules for."""
    kinds = {rule["kind"] for rule in pack.get("boundary", ())}
    others = [words for key, words in OTHERS.items() if key in pack or key in pack["pack"]]
    return ", ".join([*(words for kind, words in KINDS.items() if kind in kinds), *others])


def _others(frameworks: dict[str, Framework]) -> Iterator[tuple[str, str, str]]:
    by_name = {data["pack"]["name"]: data for data in packs().values()}
    for framework in frameworks.values():
        if framework.name not in packs():
            on = "" if framework.python == PYTHONS else f"; on Python {', '.join(framework.python)}"
            yield (
                framework.name,
                framework.version,
                f"{_kinds(by_name[framework.family])} by `{framework.family}`: {framework.says}{on}",
            )
