"""Programs that make one non-deterministic call each, and programs that must stay silent, as data.

A file `cases/*.cases` holds sections: `#### name`, with `needs module` for each library that has to be installed, and the
program. A comment at the end of a line says what stands there:

- `# → clock`: the program's call is made on this line, and is to be found there;
- `# ~ clock`: it may be named here as well, such as where a callable is passed on; neither wanted nor wrong.

What is in `traps.cases` has no marks: nothing may be found in it.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
TRAPS = "traps"

_HEAD = re.compile(r"#### (?P<name>[\w-]+)(?P<needs>(?: needs \w+)*)\n")
_MARKS = re.compile(r"  # (?:→|~) .*")
_WANTED = re.compile(r"→ ([\w-]+)")
_TOLERATED = re.compile(r"~ ([\w-]+)")


class Case(NamedTuple):
    """One program."""

    name: str
    """`clock/direct`, which also names its file: `clock_direct.py`."""
    source: str
    expected: dict[int, str]
    """Line to category."""
    tolerated: dict[int, str]
    needs: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name the file that the program is written to."""
        return re.sub(r"\W", "_", self.name) + ".py"

    @property
    def is_there(self) -> bool:
        """Return whether the libraries that it needs are installed."""
        return all(importlib.util.find_spec(name) is not None for name in self.needs)

    def missed(self, found: dict[int, set[str]]) -> dict[int, str]:
        """Return what was to be found and wasn't."""
        return {
            line: category
            for line, category in self.expected.items()
            if category not in found.get(line, set())
        }

    def wrong(self, found: dict[int, set[str]]) -> dict[int, set[str]]:
        """Return what was found where nothing of the kind is."""
        wrong = {
            line: categories - {self.expected.get(line), self.tolerated.get(line)}
            for line, categories in found.items()
        }
        return {line: categories for line, categories in wrong.items() if categories}


def cases() -> list[Case]:
    """Read every program with a call in it whose libraries are installed."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".cases"))
    return [case for name in names if name != f"{TRAPS}.cases" for case in read(name.removesuffix(".cases"))]


def traps() -> list[Case]:
    """Read the programs that must stay silent."""
    return list(read(TRAPS))


def read(name: str) -> Iterator[Case]:
    """Read the programs of one file."""
    with open(os.path.join(FOLDER, f"{name}.cases"), encoding="utf-8") as file:
        pieces = _HEAD.split(file.read())
    for head, needs, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        lines = text.splitlines()
        case = Case(
            name=f"{name}/{head}",
            source="".join(f"{_MARKS.sub('', line)}\n" for line in lines),
            expected=_marked(_WANTED, lines),
            tolerated=_marked(_TOLERATED, lines),
            needs=tuple(needs.split()[1::2]),
        )
        if case.is_there:
            yield case


def _marked(pattern: re.Pattern[str], lines: list[str]) -> dict[int, str]:
    return {
        number: match[1]
        for number, line in enumerate(lines, 1)
        if (match := _MARKS.search(line)) and (match := pattern.search(match[0]))
    }


def write(folder: str, some: list[Case]) -> dict[str, Case]:
    """Write programs as files; gives each by the name of its file."""
    for case in some:
        with open(os.path.join(folder, case.file), "w", encoding="utf-8") as file:
            file.write(case.source)
    return {case.file: case for case in some}
