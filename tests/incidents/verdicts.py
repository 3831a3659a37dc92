"""The matrix of verdicts: the verdict of an incident's test on unchanged code, on right and wrong fixes, and on crashes.

`python -m tests.incidents.verdicts` records each case of `verdict_cases.py`, makes an incident of it, and runs the
incident's test on every variant of the code: each run in a process of its own, all in the same folder, in a mixed order.
After every run the files of the project are compared, byte for byte, with what they were before.
"""

import argparse
import hashlib
import importlib.util
import os
import random
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.cli.processes import ROOT, Result, python, write
from tests.incidents.cases.kit import VARIANTS, Case, Plain
from tests.incidents.verdict_cases import CASES

Digests = Mapping[str, str]

UNCHANGED = "unchanged"
EXPECTED = {
    "unchanged": ("reproduced",),
    "right": ("prevented",),
    "wrong_1": ("reproduced", "inconclusive"),
    "wrong_2": ("reproduced", "inconclusive"),
    "crash": ("inconclusive",),
    "unrelated": ("reproduced",),
}
"""The verdicts that are right for each variant. A wrong fix has to be red; either red will do."""

PAGE = os.path.join(ROOT, "docs", "verdicts.md")
BEGIN = "<!-- the table of python -m tests.incidents.verdicts --write -->"
END = "<!-- its end -->"
COLUMNS = ("case", "unchanged", "right fix", "wrong fix 1", "wrong fix 2", "crash", "unrelated", "files")

PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "autochron.pytest_plugin"}
"""Loads only autochron's plugin into pytest. Other plugins take longer to import than the tests take to run."""

_NOT_THE_USERS = frozenset({".autochron", "__pycache__", ".pytest_cache", "incidents"})


# --- one project ------------------------------------------------------------------------------------------------------------


class Project:
    """A case's files in a folder of their own, with the state that the agent works on."""

    def __init__(self, case: Case, folder: str) -> None:
        self.case, self.folder = case, folder
        self._edits = 0
        write(folder, case.files)
        if case.setup:
            done = python(folder, "-c", case.setup)
            if done.status:
                raise AssertionError(f"{case.name}: the setup fails: {done.said}")

    def apply(self, variant: str) -> None:
        """Apply a variant's edits to the original source. `unchanged` restores the source."""
        changed = {} if variant == UNCHANGED else self.case.edited(variant)
        for name, original in self.case.files.items():
            path = os.path.join(self.folder, name)
            text = changed.get(name, original)
            with open(path, encoding="utf-8") as file:
                if file.read() == text:
                    continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            # Python compares bytecode with its source by time in seconds and by size. Edits here follow each other faster.
            self._edits += 1
            os.utime(path, (1_600_000_000 + self._edits * 10,) * 2)

    def narrow(self) -> None:
        """Restrict the test's check to the crossings that went wrong, as its comment asks if several tools acted."""
        path = os.path.join(self.folder, self.incident, f"test_{self.case.name}.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        named = ", ".join(f'"{address}"' for address in self.case.went_wrong)
        narrowed = re.sub(r"assert_not_reproduced\([^)]*\)", f"assert_not_reproduced({named})", text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(narrowed)

    def digests(self) -> Digests:
        """Return the digest of each of the user's files, by path."""
        digests = {}
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in _NOT_THE_USERS]
            # Folders count, too: one may be created or left behind.
            for name in folders:
                digests[os.path.relpath(os.path.join(folder, name), self.folder) + os.sep] = ""
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    digests[os.path.relpath(path, self.folder)] = hashlib.sha256(file.read()).hexdigest()
        return digests

    def run_plainly(self) -> Plain:
        """Run the program without autochron."""
        done = python(self.folder, "agent.py")
        return Plain(self.folder, done.text, done.said, done.status)

    def test(self, *words: str) -> Result:
        """Run the incident's test."""
        options = ("-q", "-p", "no:cacheprovider")
        return python(self.folder, "-P", "-m", "pytest", *options, *(words or (self.incident,)), env=PLUGINS)

    @property
    def incident(self) -> str:
        return f"incidents/{self.case.name}"


def verdict(done: Result) -> str:
    """Return the verdict of one incident's test from its output."""
    if done.status == 0 and "1 passed" in done.text:
        return "prevented"
    for error, name in (("InconclusiveError", "inconclusive"), ("ReproducedError", "reproduced")):
        if error in done.text:
            return name
    return "broken"


def difference(before: Digests, after: Digests) -> list[str]:
    """Return a line for each file that was changed, removed or added."""
    changed = [f"{name} changed" for name in before if name in after and before[name] != after[name]]
    removed = [f"{name} is gone" for name in before if name not in after]
    new = [f"{name} is new" for name in after if name not in before]
    return changed + removed + new


# --- one row ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """The result of one case: the verdicts by variant, the touched files, and pytest's output for wrong verdicts."""

    case: Case
    verdicts: Mapping[str, Sequence[str]]
    touched: Sequence[str]
    outputs: Mapping[str, str]
    failure: str = ""

    @property
    def faults(self) -> list[str]:
        """Return a line for each fault."""
        faults = [self.failure] if self.failure else []
        for variant, verdicts in self.verdicts.items():
            wrong = [verdict for verdict in verdicts if verdict not in EXPECTED[variant]]
            faults += [f"{variant}: {count} times {name}" for name, count in Counter(wrong).items()]
        return faults + list(self.touched)

    def cells(self) -> list[str]:
        """Return the cells of the table's row. A cell with a fault begins with an exclamation mark."""
        if not any(self.verdicts.values()):
            return [self.case.name, "! no incident", *["–"] * (len(COLUMNS) - 2)]
        repeated = [
            _cell(self.verdicts[variant], EXPECTED[variant], colour)
            for variant, colour in ((UNCHANGED, "red"), ("right", "green"))
        ]
        single = [
            _cell(self.verdicts[variant], EXPECTED[variant]) for variant in VARIANTS if variant != "right"
        ]
        files = f"! {len(self.touched)} touched" if self.touched else "untouched"
        return [self.case.name, *repeated, *single, files]


def _cell(verdicts: Sequence[str], expected: Sequence[str], colour: str = "") -> str:
    expected_count = sum(verdict in expected for verdict in verdicts)
    if expected_count == len(verdicts):
        return f"{expected_count}/{len(verdicts)} {colour}" if colour else verdicts[0]
    wrong = "/".join(sorted({verdict for verdict in verdicts if verdict not in expected}))
    return f"! {expected_count}/{len(verdicts)} {wrong}" if colour else f"! {wrong}"


def schedule(case: Case, repeat: int) -> list[str]:
    """Return the variants in the order of their trials: unchanged first, then shuffled in the same way each time."""
    others = [UNCHANGED, "right"] * repeat + [variant for variant in VARIANTS if variant != "right"]
    others.remove(UNCHANGED)
    random.Random(case.name).shuffle(others)
    return [UNCHANGED, *others]


def try_case(case: Case, repeat: int, stepped: "Progress | None" = None) -> Row:
    """Record a case in a fresh folder and try all of its variants."""
    verdicts: dict[str, list[str]] = {variant: [] for variant in (UNCHANGED, *VARIANTS)}
    outputs: dict[str, str] = {}
    touched: list[str] = []
    failure = ""
    with tempfile.TemporaryDirectory(prefix=f"verdicts-{case.name}-") as folder:
        project = Project(case, folder)
        done = python(folder, "-m", "autochron", "run", "agent.py")
        if done.status:
            failure = f"autochron run ends with {done.status}"
            return Row(case, verdicts, touched, {"autochron run": done.said}, failure)
        recorded = project.digests()
        done = python(folder, "-m", "autochron", "incident", "new", "last", project.incident, env=PLUGINS)
        touched += [f"incident new: {line}" for line in difference(recorded, project.digests())]
        if done.status:
            outputs["incident new"] = done.text + done.said
            failure = f"incident new ends with {done.status}"
            if not os.path.isdir(os.path.join(folder, project.incident)):
                return Row(case, verdicts, touched, outputs, failure)
        if case.went_wrong:
            project.narrow()
        for variant in schedule(case, repeat):
            project.apply(variant)
            before = project.digests()
            done = project.test()
            touched += [f"{variant}: {line}" for line in difference(before, project.digests())]
            name = verdict(done)
            verdicts[variant].append(name)
            if name not in EXPECTED[variant]:
                outputs.setdefault(variant, done.text + done.said)
            if stepped is not None:
                stepped.step(case.name, variant)
    return Row(case, verdicts, touched, outputs, failure)


# --- the table --------------------------------------------------------------------------------------------------------------


def as_text(rows: Sequence[Row]) -> str:
    """Return the table for a terminal."""
    table = [list(COLUMNS), *(row.cells() for row in rows)]
    widths = [max(len(line[k]) for line in table) for k in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
    return "\n".join(line.rstrip() for line in lines)


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the table for the page, with a column that says what each case is about."""
    header = [COLUMNS[0], "what it is about", *COLUMNS[1:]]
    lines = [header, ["---"] * len(header)]
    for row in rows:
        name, *cells = row.cells()
        lines.append([f"`{name}`", row.case.about, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def names_on_page(page: str = PAGE) -> list[str]:
    """Return the names of the cases in the page's table."""
    with open(page, encoding="utf-8") as file:
        table = file.read().partition(BEGIN)[2].partition(END)[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [row.split("`")[1] for row in rows]


def write_page(rows: Sequence[Row], repeat: int, page: str = PAGE) -> None:
    """Write the table into the page in place of the old one."""
    with open(page, encoding="utf-8") as file:
        head, begin, after_begin = file.read().partition(BEGIN)
    tail = after_begin.partition(END)[2]
    if not begin:
        raise SystemExit(f"{page} has no line {BEGIN}")
    faultless = sum(not row.faults for row in rows)
    counted = (
        f"{len(rows)} cases, with {repeat} runs of unchanged code and {repeat} of the right fix in each; "
        f"{faultless} of the cases are as they should be."
    )
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n\n{counted}\n\n{as_markdown(rows)}\n\n{END}{tail}")


class Progress:
    """A progress line that is overwritten on standard error if that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._lock = threading.Lock()
        self._shown = sys.stderr.isatty()

    def step(self, name: str, variant: str) -> None:
        with self._lock:
            self._done += 1
            if self._shown:
                print(
                    f"\r\x1b[K{self._done}/{self._total} {name} {variant}",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )

    def end(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def missing(case: Case) -> list[str]:
    """Return the libraries that a case needs and that are not installed."""
    return [name for name in case.needs if importlib.util.find_spec(name) is None]


# --- the cases themselves ---------------------------------------------------------------------------------------------------


def check_case(case: Case) -> Iterator[str]:
    """Run each variant without autochron in a new folder. Yield what differs from the case's description."""
    for variant in (UNCHANGED, *VARIANTS):
        with tempfile.TemporaryDirectory(prefix=f"verdicts-{case.name}-") as folder:
            project = Project(case, folder)
            project.apply(variant)
            run = project.run_plainly()
            harmed, harmful = bool(case.harm(run)), variant not in {"right", "crash"}
            if harmed != harmful:
                yield f"{case.name}, {variant}: the harm is {'done' if harmed else 'not done'}; it said\n{run.out}{run.err}"
            if variant in {UNCHANGED, "unrelated"} and run.status:
                yield f"{case.name}, {variant}: ended with status {run.status}:\n{run.err}"
            crashed = case.crash_says in run.out + run.err
            if crashed != (variant == "crash"):
                yield f"{case.name}, {variant}: {case.crash_says} is {'' if crashed else 'not '}said:\n{run.out}{run.err}"


def main(words: Sequence[str] | None = None) -> int:
    """Try the cases that are named, or all of them, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.incidents.verdicts", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the cases to try; all, where none is named")
    parser.add_argument("--repeat", type=int, default=10, help="runs of unchanged code and of the right fix")
    parser.add_argument("--jobs", type=int, default=2, help="cases that are tried at a time")
    parser.add_argument("--write", action="store_true", help="write the table into docs/verdicts.md, too")
    parser.add_argument("--self-check", action="store_true", help="only run all variants, without autochron")
    parser.add_argument("--verbose", action="store_true", help="show what pytest said where it was wrong")
    options = parser.parse_args(words)
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.write and options.cases:
        parser.error("--write writes the whole table, so it takes no cases")
    cases = [CASES[name] for name in options.cases] or list(CASES.values())
    lacking = {name for case in cases for name in missing(case)}
    if lacking:
        parser.error(f"not installed: {', '.join(sorted(lacking))}")
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.self_check:
            faults = [
                fault
                for case_faults in pool.map(lambda case: list(check_case(case)), cases)
                for fault in case_faults
            ]
            print("\n".join((*faults, f"{len(cases)} cases, {len(faults)} faults")))
            return 1 if faults else 0
        progress = Progress(sum(len(schedule(case, options.repeat)) for case in cases))
        rows = list(pool.map(lambda case: try_case(case, options.repeat, progress), cases))
        progress.end()
    print(as_text(rows))
    if options.write:
        write_page(rows, options.repeat)
    wrong = [row for row in rows if row.faults]
    for row in wrong:
        print(f"\n{row.case.name}:", *row.faults, sep="\n  ")
        for variant, text in row.outputs.items() if options.verbose else ():
            print(f"\n--- {row.case.name}, {variant}\n{text}")
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} cases are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
