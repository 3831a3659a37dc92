"""Programs that make one non-deterministic call each, and programs that must stay silent, as data.

A file `cases/*.cases` has sections: `#### name`, with `needs module` for each library that has to be installed, and the
program. A comment at the end of a line marks it:

- `# → clock`: the program makes its call on this line, and it has to be found here;
- `# ~ clock`: the call may be found here as well, such as where a callable is passed on.

Programs in `traps.cases` have no marks: nothing may be found in them.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
TRAPS = "traps"

_HEAD = re.compile(r"#### (?P<name>[\w-]+)(?P<needs>(?: needs [\w. -]+)?)\n")
_MARKS = re.compile(r"  # (?:→|~) .*")
_WANTED = re.compile(r"→ ([\w-]+)")
_TOLERATED = re.compile(r"~ ([\w-]+)")


class Case(NamedTuple):
    """One program."""

    name: str
    """The name, such as `clock/direct`; its file is then `clock_direct.py`."""
    source: str
    expected: dict[int, str]
    """Maps a line to the category of the call that has to be found there."""
    tolerated: dict[int, str]
    needs: tuple[str, ...]

    @property
    def file(self) -> str:
        """Return the name of the file that the program is written to."""
        return re.sub(r"\W", "_", self.name) + ".py"

    @property
    def is_there(self) -> bool:
        """Return whether the libraries that it needs are installed."""
        return all(importlib.util.find_spec(name) is not None for name in self.needs)

    def missed(self, found: dict[int, set[str]]) -> dict[int, str]:
        """Return the marked calls that were not found."""
        return {
            line: category
            for line, category in self.expected.items()
            if category not in found.get(line, set())
        }

    def wrong(self, found: dict[int, set[str]]) -> dict[int, set[str]]:
        """Return the findings that are neither marked nor tolerated."""
        wrong = {
            line: categories - {self.expected.get(line), self.tolerated.get(line)}
            for line, categories in found.items()
        }
        return {line: categories for line, categories in wrong.items() if categories}


def cases() -> list[Case]:
    """Return the programs with a call whose libraries are installed."""
    return [case for name in files_of(FOLDER) for case in read(name)]


def files_of(folder: str) -> list[str]:
    """Return the names of the files of a corpus, without that of its traps."""
    names = sorted(name.removesuffix(".cases") for name in os.listdir(folder) if name.endswith(".cases"))
    return [name for name in names if name != TRAPS]


def traps() -> list[Case]:
    """Return the programs in which nothing may be found."""
    return list(read(TRAPS))


def read(name: str) -> Iterator[Case]:
    """Yield the programs of one file whose libraries are installed."""
    return (case for case in read_all(name, FOLDER) if case.is_there)


def read_all(name: str, folder: str) -> Iterator[Case]:
    """Yield the programs of one file of a corpus."""
    with open(os.path.join(folder, f"{name}.cases"), encoding="utf-8") as file:
        pieces = _HEAD.split(file.read())
    for head, needs, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        lines = text.splitlines()
        yield Case(
            name=f"{name}/{head}",
            source="".join(f"{_MARKS.sub('', line)}\n" for line in lines),
            expected=_marked(_WANTED, lines),
            tolerated=_marked(_TOLERATED, lines),
            needs=tuple(word for word in needs.split() if word != "needs"),
        )


def _marked(pattern: re.Pattern[str], lines: list[str]) -> dict[int, str]:
    return {
        number: match[1]
        for number, line in enumerate(lines, 1)
        if (match := _MARKS.search(line)) and (match := pattern.search(match[0]))
    }


def write(folder: str, programs: list[Case]) -> dict[str, Case]:
    """Write programs as files; return them by the names of their files."""
    for case in programs:
        with open(os.path.join(folder, case.file), "w", encoding="utf-8") as file:
            file.write(case.source)
    return {case.file: case for case in programs}
