"""The matrix of verdicts: what an incident's test says of unchanged code, of fixes right and wrong, and of crashes.

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
"""Of pytest's plugins ours alone: others take longer to import than the tests take."""

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
        """Change the source as a variant does, from the source as it was; `unchanged` puts that back."""
        changed = {} if variant == UNCHANGED else self.case.edited(variant)
        for name, original in self.case.files.items():
            path = os.path.join(self.folder, name)
            text = changed.get(name, original)
            with open(path, encoding="utf-8") as file:
                if file.read() == text:
                    continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            # Python takes bytecode for fresh by the second and the size of its source; edits here are closer than that.
            self._edits += 1
            os.utime(path, (1_600_000_000 + self._edits * 10,) * 2)

    def narrow(self) -> None:
        """Leave in the test's check what went wrong, as its comment asks where several tools acted."""
        path = os.path.join(self.folder, self.incident, f"test_{self.case.name}.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        named = ", ".join(f'"{address}"' for address in self.case.went_wrong)
        narrowed = re.sub(r"assert_not_reproduced\([^)]*\)", f"assert_not_reproduced({named})", text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(narrowed)

    def digests(self) -> Digests:
        """Return the digest of each file that is the user's, by path."""
        found = {}
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in _NOT_THE_USERS]
            # A folder that is made or left behind counts, too.
            for name in folders:
                found[os.path.relpath(os.path.join(folder, name), self.folder) + os.sep] = ""
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.folder)] = hashlib.sha256(file.read()).hexdigest()
        return found

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
    """Return what the test of one incident said."""
    if done.status == 0 and "1 passed" in done.text:
        return "prevented"
    for error, name in (("InconclusiveError", "inconclusive"), ("ReproducedError", "reproduced")):
        if error in done.text:
            return name
    return "broken"


def difference(before: Digests, after: Digests) -> list[str]:
    """Return what happened to which file."""
    changed = [f"{name} changed" for name in before if name in after and before[name] != after[name]]
    gone = [f"{name} is gone" for name in before if name not in after]
    new = [f"{name} is new" for name in after if name not in before]
    return changed + gone + new


# --- one row ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What became of one case: the verdicts by variant, what happened to files, and what pytest said where it was wrong."""

    case: Case
    verdicts: Mapping[str, Sequence[str]]
    touched: Sequence[str]
    said: Mapping[str, str]
    failure: str = ""

    @property
    def faults(self) -> list[str]:
        """Return what is not as it should be, a line each."""
        found = [self.failure] if self.failure else []
        for variant, verdicts in self.verdicts.items():
            wrong = [given for given in verdicts if given not in EXPECTED[variant]]
            found += [f"{variant}: {count} times {name}" for name, count in Counter(wrong).items()]
        return found + list(self.touched)

    def cells(self) -> list[str]:
        """Return the row of the table; what is not as it should be begins with an exclamation mark."""
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
    right = sum(given in expected for given in verdicts)
    if right == len(verdicts):
        return f"{right}/{len(verdicts)} {colour}" if colour else verdicts[0]
    wrong = "/".join(sorted({given for given in verdicts if given not in expected}))
    return f"! {right}/{len(verdicts)} {wrong}" if colour else f"! {wrong}"


def schedule(case: Case, repeat: int) -> list[str]:
    """Return the variants in the order in which they are tried: mixed, the same each time, an unchanged one first."""
    rest = [UNCHANGED, "right"] * repeat + [variant for variant in VARIANTS if variant != "right"]
    rest.remove(UNCHANGED)
    random.Random(case.name).shuffle(rest)
    return [UNCHANGED, *rest]


def try_case(case: Case, repeat: int, stepped: "Progress | None" = None) -> Row:
    """Record a case in a fresh folder and try all of its variants."""
    verdicts: dict[str, list[str]] = {variant: [] for variant in (UNCHANGED, *VARIANTS)}
    said: dict[str, str] = {}
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
            said["incident new"] = done.text + done.said
            failure = f"incident new ends with {done.status}"
            if not os.path.isdir(os.path.join(folder, project.incident)):
                return Row(case, verdicts, touched, said, failure)
        if case.went_wrong:
            project.narrow()
        for variant in schedule(case, repeat):
            project.apply(variant)
            before = project.digests()
            done = project.test()
            touched += [f"{variant}: {line}" for line in difference(before, project.digests())]
            given = verdict(done)
            verdicts[variant].append(given)
            if given not in EXPECTED[variant]:
                said.setdefault(variant, done.text + done.said)
            if stepped is not None:
                stepped.step(case.name, variant)
    return Row(case, verdicts, touched, said, failure)


# --- the table --------------------------------------------------------------------------------------------------------------


def as_text(rows: Sequence[Row]) -> str:
    """Return the table for a terminal."""
    table = [list(COLUMNS), *(row.cells() for row in rows)]
    widths = [max(len(line[k]) for line in table) for k in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
    return "\n".join(line.rstrip() for line in lines)


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the table for the page, which also says what each case is about."""
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
    """Write the table into the page, in the place of the one that is there."""
    with open(page, encoding="utf-8") as file:
        head, begin, rest = file.read().partition(BEGIN)
    tail = rest.partition(END)[2]
    if not begin:
        raise SystemExit(f"{page} has no line {BEGIN}")
    right = sum(not row.faults for row in rows)
    counted = (
        f"{len(rows)} cases, with {repeat} runs of unchanged code and {repeat} of the right fix in each; "
        f"{right} of the cases are as they should be."
    )
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n\n{counted}\n\n{as_markdown(rows)}\n\n{END}{tail}")


class Progress:
    """A line on standard error that is written over, where that is a terminal."""

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
    """Return the libraries that a case needs and that aren't installed."""
    return [name for name in case.needs if importlib.util.find_spec(name) is None]


# --- the cases themselves ---------------------------------------------------------------------------------------------------


def check_case(case: Case) -> Iterator[str]:
    """Run each variant without autochron, in a fresh folder; yield what is not as the case says."""
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
    asked = parser.parse_args(words)
    unknown = [name for name in asked.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    if asked.write and asked.cases:
        parser.error("--write writes the whole table, so it takes no cases")
    cases = [CASES[name] for name in asked.cases] or list(CASES.values())
    lacking = {name for case in cases for name in missing(case)}
    if lacking:
        parser.error(f"not installed: {', '.join(sorted(lacking))}")
    with ThreadPoolExecutor(asked.jobs) as pool:
        if asked.self_check:
            faults = [
                fault for found in pool.map(lambda case: list(check_case(case)), cases) for fault in found
            ]
            print("\n".join((*faults, f"{len(cases)} cases, {len(faults)} faults")))
            return 1 if faults else 0
        progress = Progress(sum(len(schedule(case, asked.repeat)) for case in cases))
        rows = list(pool.map(lambda case: try_case(case, asked.repeat, progress), cases))
        progress.end()
    print(as_text(rows))
    if asked.write:
        write_page(rows, asked.repeat)
    wrong = [row for row in rows if row.faults]
    for row in wrong:
        print(f"\n{row.case.name}:", *row.faults, sep="\n  ")
        for variant, text in row.said.items() if asked.verbose else ():
            print(f"\n--- {row.case.name}, {variant}\n{text}")
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} cases are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
