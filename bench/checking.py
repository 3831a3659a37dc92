"""How fast `check` reads source: for the first time, again, and after one file has changed."""

from __future__ import annotations

import ast
import os
import sysconfig
import tempfile
from collections.abc import Iterable

from autochron.diagnostics.check import check
from autochron.model import Rules
from bench.measure import Figure, Size, medians, turn_about

WARM = 50.0
"""Microseconds per line: 20,000 lines a second."""
COLD = 2.0
"""A first check beside parsing and walking the same files."""
_LEAST, _MOST = 200, 2_000
"""Lines of a module that is taken: neither tables nor stubs."""


def run(size: Size) -> Iterable[Figure]:
    """Measure on modules of the standard library, copied to a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        lines = _copy(folder, 4 if size.rounds == 1 else 80)
        rules, cache = Rules(root=folder), os.path.join(folder, ".autochron")
        changed = os.path.join(folder, min(name for name in os.listdir(folder) if name.endswith(".py")))
        with open(changed, encoding="utf-8") as file:
            text = file.read()

        def edited() -> object:
            nonlocal text
            text += "# edited\n"
            with open(changed, "w", encoding="utf-8") as file:
                file.write(text)
            return check([folder], rules, cache=cache)

        check([folder], rules, cache=cache)
        times = turn_about(
            {
                "cold": lambda: check([folder], rules),
                "edited": edited,
                "warm": lambda: check([folder], rules, cache=cache),
                "walk": lambda: _walk(folder),
            },
            max(1, size.rounds // 4),
        )
        middle = medians(times)
        for case, name, target in (
            ("warm", "a check where nothing has changed", WARM),
            ("edited", "a check where one file has changed", None),
            ("cold", "a first check", None),
        ):
            yield Figure(
                benchmark="checking",
                name=f"{name}, per line",
                value=middle[case] / lines * 1e6,
                unit="µs",
                against=f"{lines:,} lines; {lines / middle[case]:,.0f} lines a second",
                target=target,
                samples={case: middle[case]},
            )
        yield Figure(
            benchmark="checking",
            name="a first check beside parsing and walking the same files",
            value=middle["cold"] / middle["walk"],
            unit="×",
            against=f"{lines / middle['walk']:,.0f} lines a second",
            target=COLD,
            samples={"walk": middle["walk"]},
        )


def _walk(folder: str) -> None:
    """Parse each module, and go through its nodes."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as file:
                for _ in ast.walk(ast.parse(file.read())):
                    pass


def _copy(folder: str, most: int) -> int:
    """Copy some modules, and count their lines."""
    library = sysconfig.get_paths()["stdlib"]
    total = copied = 0
    for name in sorted(os.listdir(library)):
        if copied == most or not name.endswith(".py"):
            continue
        with open(os.path.join(library, name), "rb") as file:
            source = file.read()
        if _LEAST <= source.count(b"\n") <= _MOST:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(source)
            total += source.count(b"\n")
            copied += 1
    return total
