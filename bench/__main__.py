"""`python -m bench [NAME ...]`."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Console
from rich.table import Table

from bench.measure import FULL, TINY, Figure, Size, has_peer

BENCHMARKS = (
    "recording",
    "conversation",
    "startup",
    "snapshots",
    "weaving",
    "importing",
    "replaying",
    "checking",
    "watching",
    "impact",
    "mutating",
    "masking",
    "graphs",
    "finding",
    "viewing",
)
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def measure(name: str, size: Size) -> list[Figure]:
    """Run one benchmark."""
    figures: Iterable[Figure] = importlib.import_module(f"bench.{name}").run(size)
    return list(figures)


def table(figures: Sequence[Figure]) -> Table:
    """Draw figures."""
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    drawn.add_column("benchmark")
    drawn.add_column("figure")
    for heading in ("measured", "target", "agent-chronicle"):
        drawn.add_column(heading, justify="right")
    drawn.add_column("")
    last = ""
    for figure in figures:
        style = {"ok": "green", "MISSED": "bold red"}.get(figure.verdict, "")
        drawn.add_row(
            figure.benchmark if figure.benchmark != last else "",
            f"{figure.name}\n[dim]{figure.against}[/dim]",
            shown(figure.value, figure.unit),
            "" if figure.target is None else f"≤ {shown(figure.target, figure.unit)}",
            "" if figure.peer is None else shown(figure.peer, figure.unit),
            f"[{style}]{figure.verdict}[/{style}]" if style else "",
        )
        last = figure.benchmark
    return drawn


def shown(value: float, unit: str) -> str:
    """Write a number with three digits that matter."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def write(name: str, figures: Sequence[Figure], folder: str) -> None:
    """Keep the figures of one benchmark and interpreter, with what they were measured on; no names of machines."""
    version = ".".join(str(part) for part in sys.version_info[:2])
    kept = {
        "benchmark": name,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "figures": [{**msgspec.to_builtins(figure), "verdict": figure.verdict} for figure in figures],
    }
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}-{version}.json"), "w", encoding="utf-8") as file:
        json.dump(_rounded(kept), file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def main(arguments: Sequence[str]) -> int:
    """Run what is named, or all; 1 where a target is missed, 2 for a name that is none, or a package that is missing."""
    tiny = "--tiny" in arguments
    names = [name for name in arguments if name != "--tiny"] or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            sys.stderr.write(f"bench: there is no benchmark {name!r}; they are {', '.join(BENCHMARKS)}\n")
            return 2
    console = Console(width=None if sys.stdout.isatty() else 132)
    if not has_peer():
        console.print(
            "agent-chronicle is not installed, so its column stays empty: pip install autochron[bench]",
            markup=False,
        )
    figures: list[Figure] = []
    for name in names:
        try:
            found = measure(name, TINY if tiny else FULL)
        except ModuleNotFoundError as error:
            sys.stderr.write(
                f"bench: {name} needs {error.name}, which isn't installed: `make venv` installs what benchmarks need"
                " (missing-extra)\n"
            )
            return 2
        if found and not tiny:
            write(name, found, RESULTS)
        figures += found
    console.print(table(figures))
    return int(not tiny and any(figure.verdict == "MISSED" for figure in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
