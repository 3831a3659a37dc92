"""The tables of what tests and benchmarks say on each version of Python: `python -m bench.pythons --write docs/pythons.md`.

`make pythons-test` runs the tests on each Python that is there, and keeps what came of it in `tests/results/pythons-*.json`.
`python -m bench.pythons --measure` runs the benchmarks of cost on each, and keeps them in `bench/results`. This puts these
files side by side.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
_CORPORA = {
    "weaving": "probes of transparency, tracing, locations; both assemblers",
    "binding": "call sites in every form",
    "cpython": "CPython's own tests, woven",
    "crossing": "lanes of threads, pools, tasks",
    "recording": "what a recording changes in a program: nothing",
    "replaying": "what is served, and what is refused",
    "envelope": "values, exceptions, streams",
    "detect": "calls that escape the record",
    "incidents": "incident tests, the twelve among them",
    "agents": "agents, child processes, services",
    "mutate": "mutation",
    "pytest_plugin": "the marker and the plugin",
}
"""The folders of tests that are shown, and what is in them; all others are one line."""
_HEAD = """# Versions of Python

What the tests say on each version, by folder of `tests/`: how many passed, and how many failed. Tests for which a version
lacks the libraries or the syntax are not counted. The numbers differ where a version has tests of its own.

"""
_COSTS = {
    "weaving": (
        "a woven function, nothing recorded",
        "a woven function, a handler that passes through",
        "a call site whose check at run time fails",
        "the portable assembler, a function of argparse",
    ),
    "startup": ("autochron run empty.py", "the .pth file, in an interpreter that is not recorded"),
    "recording": ("a crossing, in a session of 600, in memory",),
}
"""By benchmark: the figures that are shown."""
_COST_HEAD = """
## Cost

What `python -m bench` measured on each, on the days below: a call of a woven function over the plain call, the start of an
empty program over Python's own, and a recorded crossing over the plain one. The limits are for a machine that does nothing
else.

"""
_TAIL = """
Written by `python -m bench.pythons --write docs/pythons.md` from what `make pythons-test` has kept in `tests/results`.

**3.11 to 3.15** are verified: our own assembler weaves there, the probes of weaving hold by it and by the portable one, and
CPython's own tests fail in nothing woven that `tests/cpython/expected.toml` doesn't name and explain. On 3.15 the libraries
of some packs have no wheels yet. The packs are tested on 3.11.

**Later versions** are woven by the `bytecode` package, which is slower. Seven small programs run first, each in a process of
its own, once for each build of the interpreter. A shape of code whose program does not hold is refused by name, and what
weaves is said once (`portable-weaving`). `AUTOCHRON_ASSEMBLER=portable` forces that assembler.

**Refused in one line** are Python 3.10 and older, other implementations than CPython, builds without the GIL (3.14t) and
debug builds. `-X jit` works. What runs in subinterpreters is not recorded, and a recording says so (`subinterpreter`).

`make pythons` gets 3.14 and 3.15 on Debian: its packages, with the libraries that they need, unpacked into the user's cache.

**`sys.monitoring`** is used to find tools by value: it sees calls of functions that nothing has woven, and is on only while a
call of an unknown tool is under way. It is not used to weave, since a callback can't replace what a call returns. It is not
used to watch for calls that escape the record, either: it would see every call of the project, at 25 to 66 ns each, without
its arguments and its result, and 3.11 lacks it. A function of the catalogue that is patched costs nothing until it is called.
"""


def results() -> list[dict[str, Any]]:
    """Return what was kept of each version, in the order of the versions."""
    files = (_ROOT / "tests" / "results").glob("pythons-*.json")
    kept = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return sorted(
        (each for each in kept if "folders" in each),
        key=lambda each: [int(part) for part in each["python"].split(".")],
    )


def table(kept: Sequence[dict[str, Any]]) -> str:
    """Return the table, as Markdown."""
    rows = [
        ("", "", *(each["python"] for each in kept)),
        ("---", "---", *("---:" for _ in kept)),
        *_ran(
            [
                (f"`{name}`", about, *(_cell(each, [name]) for each in kept))
                for name, about in _CORPORA.items()
            ]
        ),
        *_ran([("the others", "", *(_cell(each, _others(each)) for each in kept))]),
        ("**all**", "", *(_cell(each, each["folders"]) for each in kept)),
        ("run on", "", *(each["date"] for each in kept)),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def costs() -> str:
    """Return the table of costs, as Markdown; empty where nothing was measured."""
    kept = {
        file.name: json.loads(file.read_text(encoding="utf-8"))
        for file in (_ROOT / "bench" / "results").glob("*.json")
    }
    versions = sorted(
        {name.rpartition("-")[2][: -len(".json")] for name in kept if name.startswith("weaving-")},
        key=_numbers,
    )
    rows = [("", "limit", *versions), ("---", "---:", *("---:" for _ in versions))]
    for benchmark, names in _COSTS.items():
        measured = [_figures(kept.get(f"{benchmark}-{version}.json")) for version in versions]
        for name in names:
            figures = [each.get(name) for each in measured]
            limit = next(
                (
                    _amount(figure["target"], figure["unit"])
                    for figure in figures
                    if figure and figure["target"]
                ),
                "",
            )
            cells = (_amount(figure["value"], figure["unit"]) if figure else "-" for figure in figures)
            rows.append((name, limit, *cells))
    days = (kept[f"weaving-{version}.json"]["day"] for version in versions)
    rows.append(("measured on", "", *days))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) if versions else ""


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _figures(result: dict[str, Any] | None) -> dict[str, Any]:
    return {} if result is None else {figure["name"]: figure for figure in result["figures"]}


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 20 else 1 if value >= 2 else 2
    return f"{value:,.{digits}f} {unit}"


def measure_costs() -> int:
    """Run the benchmarks on each version whose venv is there; return 0 where all could be run."""
    failed = 0
    for python in sorted(_ROOT.glob(".venv*/bin/python")):
        command = [str(python), "-m", "bench", *_COSTS]
        print(f"{python.parent.parent.name}: python -m bench {' '.join(_COSTS)}", flush=True)
        failed += subprocess.run(command, cwd=_ROOT, check=False).returncode not in (
            0,
            1,
        )  # 1: a limit is missed
    return int(failed > 0)


def _ran(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows in which a test ran on some version."""
    return [row for row in rows if any(cell != "-" for cell in row[2:])]


def _others(result: dict[str, Any]) -> list[str]:
    return [name for name in result["folders"] if name.partition("/")[0] not in _CORPORA]


def _cell(result: dict[str, Any], folders: Iterable[str]) -> str:
    counts = [
        count
        for name, count in result["folders"].items()
        if any(name == each or name.startswith(f"{each}/") for each in folders)
    ]
    passed, failed = (sum(count[kind] for count in counts) for kind in ("passed", "failed"))
    if not passed + failed:
        return "-"
    return f"{passed:,}" if not failed else f"{passed:,}, **{failed} failed**"


def main() -> int:
    """Print the table, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.pythons", description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="write the page there instead of printing the table")
    parser.add_argument(
        "--measure", action="store_true", help="run the benchmarks of cost first, on each version's venv"
    )
    arguments = parser.parse_args()
    if arguments.measure and measure_costs():
        return 1
    kept = results()
    if not kept:
        print("there are no results; run make pythons-test first", file=sys.stderr)
        return 2
    if arguments.write is None:
        print(f"{table(kept)}\n{costs()}", end="")
    else:
        Path(arguments.write).write_text(_HEAD + table(kept) + _COST_HEAD + costs() + _TAIL, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
