"""The table of what the tests say on each version of Python: `python -m bench.pythons --write docs/pythons.md`.

`make pythons-test` runs them on each Python that is there, and keeps what came of it in `tests/results/pythons-*.json`. This
puts these files side by side.
"""

import argparse
import json
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
    arguments = parser.parse_args()
    kept = results()
    if not kept:
        print("there are no results; run make pythons-test first", file=sys.stderr)
        return 2
    if arguments.write is None:
        print(table(kept), end="")
    else:
        Path(arguments.write).write_text(_HEAD + table(kept) + _TAIL, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
