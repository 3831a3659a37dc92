"""The programs of `programs/`: what the model answers, and which tools are found how.

Each framework has a module in `cases/`, named as it is with `_` for `-`, with a tuple `CASES`.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from autochron.provider import Script, Step
from tests.frameworks.table import Framework

FIRST_TO_LEARN = "3.12"
"""The first Python that finds tools by value."""


@dataclass(frozen=True)
class Tool:
    """A tool that the model asks for.

    Attributes:
        name: its name in the model's requests, which its footprints have, too.
        times: how many crossings it has.
        how: the ways in which it may be known, separated by spaces: `name` or `value`, as it was found; `pack`, by a rule
            of a pack; `refused`, by the table that a refused replay says to write; `nowhere`, where nothing can be written;
            `form`, where it is a class of data that the model has to fill in, and `free-form`, where it may: on 3.11 nobody
            knows that it is one.
        crossing: the name of its crossings, where that is another one.
        runs: how often it really runs in a recording; None for as often as it crosses.
        live_runs: how often it runs where tools are live; None for as often as in a recording.
    """

    name: str
    times: int = 1
    how: str = "name"
    crossing: str = ""
    runs: int | None = None
    live_runs: int | None = None

    def allowed(self, python: str) -> frozenset[str]:
        """Return the ways in which a version of Python may know it."""
        ways = {*self.how.split()}
        if "value" in ways and _numbers(python) < _numbers(FIRST_TO_LEARN):
            ways = ways - {"value"} | {"refused"}
        if "free-form" in ways:
            ways = ways - {"free-form"} | {
                "form" if _numbers(python) >= _numbers(FIRST_TO_LEARN) else "nowhere"
            }
        return frozenset(ways)

    def is_writable(self, python: str) -> bool:
        """Return whether a refusal's table must work as it is. What only values tell, Python 3.11 can't know."""
        return _numbers(python) >= _numbers(FIRST_TO_LEARN) or "value" not in self.how.split()

    @property
    def crossed_as(self) -> str:
        """The name of its crossings."""
        return self.crossing or self.name


@dataclass(frozen=True)
class Case:
    """A program and what is to come of it.

    Attributes:
        program: its file in `programs/`, without `.py`.
        steps: the model's answers. Without texts that the provider draws, a plain and a recorded run print the same.
        tools: the tools that the answers ask for.
        files: further files or folders of `programs/` that it needs.
        times: a pattern of the output that tells how long something took, which differs in each run; empty for none.
        others: names of crossings of kind `tool` that are no tools of the model, such as a framework's own.
    """

    program: str
    steps: tuple[Step, ...]
    tools: tuple[Tool, ...] = ()
    files: tuple[str, ...] = ()
    times: str = ""
    others: tuple[str, ...] = ()

    def comparable(self, output: bytes) -> bytes:
        """Return what the program printed without the times in it."""
        return re.sub(self.times.encode(), b"", output) if self.times else output

    def script(self) -> Script:
        """Return the script for the provider."""
        return Script(self.steps)

    def recorded_footprints(self) -> list[str]:
        """Return the footprints of a plain or recorded run."""
        return _repeated((tool.name, tool.times if tool.runs is None else tool.runs) for tool in self.tools)

    def live_footprints(self) -> list[str]:
        """Return the footprints of a replay in which the tools are live."""
        runs = Counter(self.recorded_footprints())
        return _repeated(
            (tool.name, runs[tool.name] if tool.live_runs is None else tool.live_runs) for tool in self.tools
        )


def cases_of(framework: Framework) -> dict[str, Case]:
    """Return the cases of a framework's programs, by their files."""
    module = importlib.import_module(f"tests.frameworks.cases.{framework.name.replace('-', '_')}")
    return {case.program: case for case in module.CASES}


def _repeated(counts: Iterable[tuple[str, int]]) -> list[str]:
    return sorted(name for name, count in counts for _ in range(count))


def _numbers(python: str) -> tuple[int, ...]:
    return tuple(map(int, python.split(".")))
