"""Mutants of a guard as autochron, mutmut 3 and plain cosmic-ray make and judge them, each in a copy of the incident."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autochron.mutate.bytecode import fingerprint
from autochron.mutate.generating import mutated
from autochron.mutate.model import Mutant

ROOT = Path(__file__).resolve().parents[1]
FILE, TEST = "guarded.py", "test_incident.py"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "baselines", "fixes", "test_mocks.py")

# Its check that mutants run at all raises an `Exception`, which is a refusal to the test of an incident.
_CONFTEST = """\
import mutmut.core

mutmut.core.MutmutProgrammaticFailException.__bases__ = (BaseException,)
"""

# A plain fork is made of a process that has run the test: its event loop waits for threads that a fork does not have.
_SETUP = """\
[mutmut]
process_isolation=forkserver
source_paths={file}
pytest_add_cli_args_test_selection={test}
also_copy=
{copied}
"""

_MUTMUT = "from mutmut.__main__ import cli; cli()"

_VERDICTS = {0: "survived", 1: "killed", 3: "killed", 24: "timeout", -24: "timeout", 36: "timeout"}
"""mutmut's verdicts by the exit status of a trial."""

_COSMIC_RAY = """\
[cosmic-ray]
module-path = "{file}"
timeout = 120
excluded-modules = []
test-command = "{python} -B -m pytest -x -q -p no:cacheprovider {test}"

[cosmic-ray.distributor]
name = "local"
"""


class Made(Struct, frozen=True):
    """A mutant of a tool.

    Attributes:
        name: its name in the tool.
        operator: the operator, or for mutmut a description of the change.
        line: the first line that is changed.
        before: the text there before.
        after: the text there afterwards.
        tree: the tree of the whole changed file.
        program: the fingerprint of its bytecode.
        verdict: `killed`, `survived` or another word of the tool; empty where it was not tried.
    """

    name: str
    operator: str
    line: int
    before: str
    after: str
    tree: str
    program: tuple[Any, ...]
    verdict: str = ""


class Tried(Struct, frozen=True):
    """The mutants of a tool for one guard.

    Attributes:
        mutants: the mutants.
        tried: how many trials were made.
        seconds: how long they took with all that the tool does before and after.
        trial: what a trial of the cut-point test took on average, by the tool's own account; 0 where it has none.
        load: the load of the machine at the start.
    """

    mutants: list[Made]
    tried: int
    seconds: float
    trial: float
    load: float


# --- The texts of mutants ---


def made(name: str, operator: str, source: str, text: str, verdict: str) -> Made:
    """Return a mutant by the text of its file."""
    tree = ast.parse(text)
    line, before, after = changed(source, text)
    return Made(name, operator, line, before, after, ast.dump(tree), program_of(tree), verdict)


def program_of(tree: ast.Module) -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler warns of mutants such as `0 is b`
        return fingerprint(compile(tree, FILE, "exec", dont_inherit=True, optimize=0))


def changed(source: str, text: str) -> tuple[int, str, str]:
    """Return the line in which two texts begin to differ, and what stands there in each, in whole words."""
    shorter = min(len(source), len(text))
    first = next((number for number in range(shorter) if source[number] != text[number]), shorter)
    rest = shorter - first
    last = next((number for number in range(rest) if source[-1 - number] != text[-1 - number]), rest)
    while first and source[first - 1] not in " \n([{,":
        first -= 1
    while last and source[-last] not in " \n)]},:":
        last -= 1
    line = source.count("\n", 0, first) + 1
    return line, source[first : len(source) - last].strip(), text[first : len(text) - last].strip()


def function_of(source: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return the function of a module by its name."""
    return next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    )


def _lines_of(source: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """Return where a function begins and ends in the lines of its module."""
    return function.lineno - 1, function.end_lineno or function.lineno


def described(source: str, text: str) -> str:
    """Return in words how a mutant of mutmut changes the source."""
    above, before, after = _smallest(ast.Module([], []), ast.parse(source), ast.parse(text))
    if isinstance(before, ast.Constant) and isinstance(after, ast.Constant):
        if isinstance(before.value, str) and isinstance(after.value, str):
            words = {
                f"XX{before.value}XX": "text with marks",
                before.value.upper(): "text in upper case",
                before.value.lower(): "text in lower case",
            }
            return words.get(after.value, "another text")
        return "another constant"
    if isinstance(before, ast.Call) and isinstance(after, ast.Call) and len(before.args) != len(after.args):
        return "argument removed"
    if isinstance(after, ast.Constant) and after.value is None:
        return "None assigned" if isinstance(above, ast.Assign | ast.AnnAssign) else "None as an argument"
    return "operator replaced"


def _smallest(above: ast.AST, before: ast.AST, after: ast.AST) -> tuple[ast.AST, ast.AST, ast.AST]:
    """Return the innermost nodes that hold all that differs between two trees, with the node above them."""
    if type(before) is type(after):
        children = [list(ast.iter_child_nodes(tree)) for tree in (before, after)]
        if len(children[0]) == len(children[1]):
            pairs = zip(*children, strict=True)
            differing = [(left, right) for left, right in pairs if ast.dump(left) != ast.dump(right)]
            if len(differing) == 1:
                return _smallest(before, *differing[0])
    return above, before, after


def copied(folder: Path, scratch: Path) -> Path:
    """Return a copy of an incident whose only test is the cut-point test: it belongs to none of the parts."""
    copy = scratch / folder.name
    shutil.copytree(folder, copy, ignore=LEFT_OUT)
    tests = copy / TEST
    lines_left = tests.read_text(encoding="utf-8").splitlines(keepends=True)
    for node in reversed(ast.parse("".join(lines_left)).body):
        if isinstance(node, ast.FunctionDef) and any(map(_is_of_part, node.decorator_list)):
            del lines_left[node.decorator_list[0].lineno - 1 : node.end_lineno]
    tests.write_text("".join(lines_left), encoding="utf-8")
    return copy


def _is_of_part(mark: ast.expr) -> bool:
    return isinstance(mark, ast.Call) and any(keyword.arg == "part" for keyword in mark.keywords)


# --- autochron ---


def by_autochron(folder: Path, scratch: Path) -> Tried:
    """Return the mutants of `autochron mutate`, with the verdicts of the cut-point test."""
    out = scratch / "autochron"
    copy = copied(folder, scratch / "of autochron")
    command = [sys.executable, "-m", "autochron", "mutate", str(copy), "--out", str(out), "--quiet"]
    options = ["--jobs", "1", "--crosscheck", "0", "--inputs", "1"]
    seconds, load = run([*command, *options], ROOT, accepted=(0, 1))
    source = (copy / FILE).read_text(encoding="utf-8")
    mutants = []
    for line in (out / "mutants.jsonl").read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        mutant = msgspec.convert(result["mutant"], Mutant)
        verdict = "killed" if result["verdicts"]["cut-point"]["is_killed"] else "survived"
        mutants.append(made(mutant.id, mutant.operator, source, mutated(source, mutant), verdict))
    journal = (out / "journal" / f"{folder.name}.jsonl").read_text(encoding="utf-8")
    entries = [json.loads(line) for line in journal.splitlines()]
    replies = [entry for entry in entries if entry.get("type") == "tried"]
    ids = {mutant.name for mutant in mutants}
    cut = [
        entry["reply"]["seconds"]
        for entry in replies
        if entry["server"] == "cut" and entry["reply"]["id"] in ids
    ]
    return Tried(mutants, len(replies), seconds, sum(cut) / len(cut), load)


# --- mutmut ---


def by_mutmut(folder: Path, scratch: Path, python: str) -> Tried:
    """Return the mutants of mutmut 3."""
    copy = copied(folder, scratch / "of mutmut")
    source = (copy / FILE).read_text(encoding="utf-8")
    (copy / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    others = sorted(path.name for path in copy.iterdir() if path.name not in {FILE, TEST})
    listed = "\n".join(f"    {name}" for name in others)
    (copy / "setup.cfg").write_text(_SETUP.format(file=FILE, test=TEST, copied=listed), encoding="utf-8")
    seconds, load = run([python, "-c", _MUTMUT, "run", "--max-children", "1"], copy)
    meta = json.loads((copy / "mutants" / f"{FILE}.meta").read_text(encoding="utf-8"))
    generated = (copy / "mutants" / FILE).read_text(encoding="utf-8")
    mutants = []
    for key, status in meta["exit_code_by_key"].items():
        text = _applied(source, generated, key.rpartition(".")[2])
        verdict = _VERDICTS.get(status, f"status {status}")
        mutants.append(made(key, described(source, text), source, text, verdict))
    durations = meta["durations_by_key"].values()
    return Tried(mutants, len(mutants), seconds, sum(durations) / len(durations), load)


def _applied(source: str, generated: str, mutant: str) -> str:
    """Return a source with one of the functions that mutmut has written beside each other in the place of its own."""
    name = mutant.removeprefix("x_").partition("__mutmut_")[0]
    first, last = _lines_of(source, function_of(source, name))
    lines = source.splitlines(keepends=True)
    begins, ends = _lines_of(generated, function_of(generated, mutant))
    body = "".join(generated.splitlines(keepends=True)[begins:ends]).replace(mutant, name, 1)
    return "".join(lines[:first]) + body + "".join(lines[last:])


# --- cosmic-ray ---


def by_cosmic_ray(folder: Path, scratch: Path, wanted: Callable[[Made], bool]) -> Tried:
    """Return the mutants of cosmic-ray's own operators, and those that are wanted; plain cosmic-ray tries the latter.

    Args:
        folder: the folder of the incident.
        scratch: the folder to work in.
        wanted: whether a mutant is tried; of those with the same bytecode only the first is.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator
    from cosmic_ray.work_db import WorkDB, use_db

    copy = copied(folder, scratch / "of cosmic-ray")
    source = (copy / FILE).read_text(encoding="utf-8")
    text = _COSMIC_RAY.format(file=FILE, python=sys.executable, test=TEST)
    (copy / "cosmic-ray.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "cosmic_ray.cli"]
    run([*command, "baseline", "cosmic-ray.toml"], copy)
    run([*command, "init", "cosmic-ray.toml", "all.sqlite"], copy)
    with use_db(str(copy / "all.sqlite"), WorkDB.Mode.open) as database:
        items = {item.job_id: item for item in database.work_items}
    mutants: dict[str, Made] = {}
    for job, item in items.items():
        operator, occurrence = item.mutations[0].operator_name, item.mutations[0].occurrence
        text = mutate_code(source, get_operator(operator)(), occurrence)
        mutant = made(f"{operator} {occurrence}", operator, source, text, "")
        if operator.startswith("core/") or wanted(mutant):
            mutants[job] = mutant
    chosen: dict[tuple[Any, ...], str] = {}
    for job, mutant in sorted(mutants.items(), key=lambda each: each[1].name):
        if wanted(mutant):
            chosen.setdefault(mutant.program, job)
    with use_db(str(copy / "chosen.sqlite"), WorkDB.Mode.create) as database:
        for job in chosen.values():
            database.add_work_item(items[job])
    seconds, load = run([*command, "exec", "cosmic-ray.toml", "chosen.sqlite"], copy)
    with use_db(str(copy / "chosen.sqlite"), WorkDB.Mode.open) as database:
        outcomes = {job: result.test_outcome.value for job, result in database.results}
    tried = [
        msgspec.structs.replace(mutant, verdict=outcomes.get(job, "")) for job, mutant in mutants.items()
    ]
    return Tried(tried, len(outcomes), seconds, 0.0, load)


def run(command: Sequence[str], folder: Path, accepted: Sequence[int] = (0,)) -> tuple[float, float]:
    """Run a command, and return its seconds and the load of the machine before it."""
    load, began = os.getloadavg()[0], time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in accepted:
        raise SystemExit(
            f"comparison: {' '.join(command[1:])} ends with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}"
        )
    return time.monotonic() - began, load
