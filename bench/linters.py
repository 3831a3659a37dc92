"""Compare what `check` finds in the labelled corpus with what published tools find: `python -m bench.linters`.

Each tool runs once, one after the other, in an environment that has the versions of `linters-requirements.txt` and every
library that the programs import. What a tool tells counts by file and line, whatever its rule is called; a tool that fails
is told in its row. docs/comparison.md says how to read the table.

Not `semgrep`: the package has no rules, and those that can be fetched change from day to day.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from unittest import mock

from autochron.detect.scan.scan import scan
from tests.detect import corpus

REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "linters-requirements.txt")
BEGIN, END = "<!-- bench.linters: begin -->", "<!-- bench.linters: end -->"
"""The comments in the docs page that the table stands between."""

_WIDE = {
    "ruff": (
        "DTZ* S311 NPY002 S102 S108 S113 S306 S310 S312 S321 S602 S603 S604 S605 S606 S607 S609 PTH* ASYNC210 ASYNC212"
        " ASYNC220 ASYNC221 ASYNC222 ASYNC230 ASYNC240 PLC0208 B008 RUF009 SIM112 SIM115 PLW1508 PLW1509 PLW1510 PLW1514"
        " FURB101 FURB103 FURB177"
    ),
    "bandit": "B311 B108 B113 B306 B310 B312 B321 B602 B603 B604 B605 B606 B607 B609",
    "pylint": "R1732 W1508 E1507 W1509 W1510 W1514 W3101 C0208",
}
"""By tool, the rules that name a call of the corpus for any reason: for its safety, its style, or because it blocks."""

_WORKFLOW = """\
from temporalio import workflow
@workflow.defn
class TheWorkflow:
    @workflow.run
    async def run(self):
        pass"""
"""What a program's statements are put into for a tool that reads nothing but workflows."""

_EFFLUX = '[tool.efflux.boundaries]\n"*" = { forbid = ["IO", "Clock", "Random"] }\n'

_SANDBOX = """\
import ast, json, logging, os, signal, sys, time, types
import temporalio.workflow
from temporalio.worker import workflow_sandbox as sandbox
from temporalio.worker.workflow_sandbox import _importer, _restrictions
programs, log = sys.argv[1:]
logging.disable(logging.CRITICAL)
make_error = sandbox.RestrictedWorkflowAccessError.__init__
def note(what):
    frame, line = sys._getframe(1), 0
    while frame and not line:
        line = frame.f_lineno if frame.f_code.co_filename == path else 0
        frame = frame.f_back
    file = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(file, (json.dumps([path, line, what]) + "\\n").encode())
    os.close(file)
def note_and_go_on(state, name):
    if not temporalio.workflow.unsafe.is_sandbox_unrestricted():
        if state.context.is_runtime and state.matcher.access_matcher(state.context, name):
            note(f"{state.name}.{name}")
def note_builtin(error, name, **more):
    make_error(error, name, **more)
    if name.startswith("__builtins__"):
        note(name)
_restrictions._RestrictionState.assert_child_not_restricted = note_and_go_on
sandbox.RestrictedWorkflowAccessError.__init__ = note_builtin
def is_import(statement):
    parts = statement.body if isinstance(statement, ast.Try) else [statement]
    return all(isinstance(part, ast.Import | ast.ImportFrom) for part in parts)
def run():
    context = _restrictions.RestrictionContext()
    importer = _importer.Importer(sandbox.SandboxRestrictions.default, context)
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    imports = [each for each in body if is_import(each)]
    future = [each for each in imports if getattr(each, "module", None) == "__future__"]
    rest = future + [each for each in body if not is_import(each)]
    module = importer.new_modules["program"] = types.ModuleType("program")
    module.__file__ = path
    first, second = (compile(ast.Module(part, []), path, "exec") for part in (imports, rest))
    temporalio.workflow.unsafe._set_in_sandbox(True)
    with importer.applied():
        exec(first, module.__dict__)
        context.is_runtime = context.in_activation = True
        try:
            exec(second, module.__dict__)
        finally:
            context.is_runtime = context.in_activation = False
nowhere = os.open(os.devnull, os.O_RDWR)
for name in sorted(os.listdir(programs)):
    path = os.path.join(programs, name)
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        signal.alarm(20)
        try:
            run()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""
"""Runs each program of a folder in a child: its imports as Temporal's sandbox loads a workflow's module, and the rest as it
runs the workflow. What it rejects is noted in a file of JSON lines, and let through all but builtins such as `open`."""

Lines = list[tuple[str, int]]
"""A program as it is written for a tool: each line with its number in the corpus, or 0 for one that is added."""

Finding = tuple[str, int, str]
"""The file, the line and the rule of what a tool says."""


class Place(NamedTuple):
    """Where a tool runs."""

    programs: Sequence[corpus.Case]
    folder: str
    """A folder for files, which the tools share."""
    environment: str

    def run(self, words: Sequence[str], folder: str, statuses: Container[int] = (0, 1)) -> str:
        """Run a program of the environment in a folder, and return its output.

        Raises:
            RuntimeError: it ended with a status that doesn't mean that it did its work, or failed without a word.
            TimeoutExpired: it takes too long.
        """
        command = [os.path.join(self.environment, "bin", words[0]), *words[1:]]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=900)
        if done.returncode not in statuses or (done.returncode and not done.stdout):
            raise RuntimeError(f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def written(self, name: str, write: Callable[[str], Lines] | None = None) -> tuple[str, dict[str, Lines]]:
        """Write the programs to a folder of that name; return its path, and the lines by file."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        files = {case.file: (write or _as_it_is)(case.source) for case in self.programs}
        for file, lines in files.items():
            text = "".join(f"{line}\n" for line, _ in lines)
            ast.parse(text)
            with open(os.path.join(folder, file), "w", encoding="utf-8") as opened:
                opened.write(text)
        return folder, files


class Tool(NamedTuple):
    """What is compared."""

    name: str
    find: Callable[[Place], Iterable[Finding]]
    rows: Mapping[str, str]
    """By what the table says of a row, the patterns of the rules that count in it."""
    package: str = ""
    """The package that the version is of, where it has another name."""


_IMPORTS = (ast.Import, ast.ImportFrom)

# --- how programs are written -----------------------------------------------------------------------------------------


def _as_it_is(source: str) -> Lines:
    return [(line, number) for number, line in enumerate(source.splitlines(), 1)]


def _in_workflow(source: str) -> Lines:
    """Put all but the imports into the method of a workflow."""
    lines, tree = _as_it_is(source), ast.parse(source)
    imports = _lines_alone(tree, _IMPORTS)
    above = [line for line in lines if line[1] in imports]
    above.sort(key=lambda line: "__future__" not in line[0])
    inside = [(f"{' ' * 8}{text}", number) for text, number in lines if number not in imports]
    return [*above, *((text, 0) for text in _WORKFLOW.splitlines()), *inside]


def _in_functions(source: str) -> Lines:
    """Put each run of statements between imports, functions and classes into a function."""
    lines, tree = _as_it_is(source), ast.parse(source)
    kept = _lines_alone(tree, (*_IMPORTS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    written: Lines = []
    is_inside = False
    for number in dict.fromkeys(number for statement in tree.body for number in _span(statement)):
        text = lines[number - 1][0]
        if number not in kept and not is_inside:
            written.append((f"def main_{number}() -> None:", 0))
        is_inside = number not in kept
        written.append((f"    {text}" if is_inside else text, number))
    return written


def _lines_alone(tree: ast.Module, kinds: tuple[type[ast.stmt], ...]) -> set[int]:
    """Return the lines of statements of these kinds, and of `try` of nothing but imports, that share none of them."""
    statements = Counter(number for statement in tree.body for number in _span(statement))
    alone: set[int] = set()
    for statement in tree.body:
        parts = statement.body if isinstance(statement, ast.Try) else []
        is_taken = isinstance(statement, kinds) or (
            parts and all(isinstance(part, _IMPORTS) for part in parts)
        )
        if is_taken and all(statements[number] == 1 for number in _span(statement)):
            alone.update(_span(statement))
    return alone


def _span(statement: ast.stmt) -> range:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (statement.end_lineno or statement.lineno) + 1)


# --- the tools --------------------------------------------------------------------------------------------------------


def _check(place: Place) -> Iterable[Finding]:
    for case in place.programs:
        for call in scan(case.source):
            if not call.is_harmless:
                is_strict = any(reached.matters for reached in call.reached)
                yield (case.file, call.line, "strict" if is_strict else "own")


def _ruff(place: Place) -> Iterable[Finding]:
    folder, _ = place.written("programs")
    words = ("check", "--isolated", "--no-cache", "--ignore-noqa", "--target-version=py311", "--preview")
    selected = f"--select={_WIDE['ruff'].replace('*', '').replace(' ', ',')}"
    for told in json.loads(place.run(["ruff", *words, selected, "--output-format=json", "."], folder)):
        yield (os.path.basename(told["filename"]), told["location"]["row"], told["code"])


def _bandit(place: Place) -> Iterable[Finding]:
    folder, _ = place.written("programs")
    told = json.loads(place.run(["bandit", "-r", ".", "-f", "json", "-q", "--ignore-nosec"], folder))
    if told["errors"]:
        raise RuntimeError(f"it could not read {len(told['errors'])} programs")
    for one in told["results"]:
        yield (os.path.basename(one["filename"]), one["line_number"], one["test_id"])


def _flake8(rules: str) -> Callable[[Place], Iterable[Finding]]:
    """Return a run of the plugin of flake8 that has these rules, whose beginnings are given with commas between."""

    def find(place: Place) -> Iterable[Finding]:
        folder, _ = place.written("programs")
        # Not --select: dlint then leaves out the visitors by which it walks into all parts of an expression.
        words = ("--isolated", "--disable-noqa", "-j1", f"--extend-select={rules}")
        told = place.run(
            ["python", "-m", "flake8", *words, "--format=%(path)s\t%(row)d\t%(code)s", "."], folder
        )
        for path, row, code in (line.split("\t") for line in told.splitlines()):
            if code.startswith(tuple(rules.split(","))):
                yield os.path.basename(path), int(row), code

    return find


def _pylint(place: Place) -> Iterable[Finding]:
    folder, files = place.written("programs")
    enabled = ",".join(_WIDE["pylint"].split())
    words = (f"--rcfile={os.devnull}", "-j1", "--persistent=n", "--disable=all", f"--enable={enabled}")
    told = place.run(["pylint", *words, "--output-format=json2", *sorted(files)], folder, range(32))
    for one in json.loads(told)["messages"]:
        yield (os.path.basename(one["path"]), one["line"], one["messageId"])


def _temporalint(place: Place) -> Iterable[Finding]:
    folder, files = place.written("workflows", _in_workflow)
    told = place.run(["temporalint", "."], folder)
    for file, line, rule in re.findall(r"^(?:.*/)?(\w+\.py):(\d+):\d+:? (TPL\d+)", told, re.MULTILINE):
        yield (file, files[file][int(line) - 1][1], rule)


def _efflux(place: Place) -> Iterable[Finding]:
    folder, files = place.written("functions", _in_functions)
    with open(os.path.join(folder, "pyproject.toml"), "w", encoding="utf-8") as file:
        file.write(_EFFLUX)
    for one in json.loads(place.run(["efflux", "--json", "."], folder))["boundaries"]:
        name = os.path.basename(one["file"])
        yield (name, files[name][one["call_line"] - 1][1], one["effect"])


def _temporal_sandbox(place: Place) -> Iterable[Finding]:
    folder, _ = place.written("sandboxed")
    scratch = os.path.join(place.folder, "scratch")
    os.makedirs(scratch)
    log = os.path.join(place.folder, "sandbox.jsonl")
    place.run(["python", "-B", "-c", _SANDBOX, folder, log], scratch, (0,))
    with open(log, encoding="utf-8") as file:
        for path, line, what in map(json.loads, file):
            yield (os.path.basename(path), line, what)


TOOLS = (
    Tool("autochron check", _check, {"all but harmless": "*", "`--strict`": "strict"}, "autochron"),
    Tool("ruff", _ruff, {"`DTZ*`, `S311`": "DTZ* S311", "wide": _WIDE["ruff"]}),
    Tool("bandit", _bandit, {"`B311`": "B311", "wide": _WIDE["bandit"]}),
    Tool("dlint", _flake8("DUO102"), {"`DUO102`": "*"}),
    Tool("flake8-datetimez", _flake8("DTZ"), {"`DTZ*`": "*"}),
    Tool("flake8-bugbear", _flake8("B008,B039"), {"`B008`, `B039`": "*"}),
    Tool("pylint", _pylint, {"wide": "*"}),
    Tool("temporalint", _temporalint, {"`TPL008`": "TPL008"}),
    Tool("efflux", _efflux, {"`Clock`, `Random`": "Clock Random", "all effects": "*"}),
    Tool("Temporal's sandbox", _temporal_sandbox, {"default restrictions": "*"}, "temporalio"),
)


# --- the table --------------------------------------------------------------------------------------------------------


def whole_corpus() -> tuple[list[corpus.Case], list[corpus.Case]]:
    """Return all programs and traps, also those whose libraries only the tools' environment has."""
    with mock.patch.object(corpus.Case, "is_there", new=True):
        return corpus.cases(), corpus.traps()


def make_environment(folder: str) -> None:
    """Make a virtual environment with the tools, unless it is there.

    Raises:
        CalledProcessError: the packages can't be installed; the folder is then removed.
    """
    if os.path.exists(os.path.join(folder, "pyvenv.cfg")):
        return
    python = os.path.join(folder, "bin", "python")
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS], check=True)
    except subprocess.CalledProcessError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def compare(environment: str) -> tuple[str, bool]:
    """Run the tools; return the table with the rules of its wide rows, and whether all of them ran."""
    cases, traps = whole_corpus()
    marked = Counter(category for case in cases for category in case.expected.values()).most_common()
    heads = ["tool", "rules", f"found /{sum(count for _, count in marked)}"]
    heads += [f"{category} /{count}" for category, count in marked]
    heads += [f"traps flagged /{len(traps)}", f"another line flagged /{len(cases)}"]
    rows, is_complete = [heads, ["---", "---", *["--:"] * (len(heads) - 2)]], True
    with tempfile.TemporaryDirectory() as folder:
        place = Place([*cases, *traps], os.path.realpath(folder), environment)
        python = place.run(["python", "--version"], folder).strip()
        for tool in TOOLS:
            sys.stderr.write(f"bench: {tool.name}\n")
            named = f"{tool.name} {_version(tool, environment)}"
            try:
                found = list(tool.find(place))
                if not found:
                    raise RuntimeError("it found nothing at all, which none of the tools does here")
            except Exception as error:
                is_complete = False
                said = _plain(f"{type(error).__name__}: {error}")
                rows.append([named, f"**failed to run**: {said}", *["–"] * (len(heads) - 2)])
                continue
            for said, rules in tool.rows.items():
                hits, others = _score(cases, traps, found, rules.split())
                counts = [hits.total(), *(hits[category] for category, _ in marked), *others]
                rows.append([named, said, *map(str, counts)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    wide = "\n".join(f"- {name}, wide: `{rules}`" for name, rules in _WIDE.items())
    return f"Measured with {python}.\n\n{table}\n\n{wide}\n", is_complete


def _score(
    cases: Sequence[corpus.Case], traps: Sequence[corpus.Case], found: Iterable[Finding], rules: Iterable[str]
) -> tuple[Counter[str], tuple[int, int]]:
    """Return the marked lines that were found, by category; the flagged traps, and programs with another flagged line."""
    lines: dict[str, set[int]] = defaultdict(set)
    for file, line, rule in found:
        if any(fnmatchcase(rule, pattern) for pattern in rules):
            lines[file].add(line)
    hits = Counter(
        category for case in cases for line, category in case.expected.items() if line in lines[case.file]
    )
    elsewhere = (lines[case.file] - case.expected.keys() - case.tolerated.keys() for case in cases)
    return hits, (sum(bool(lines[case.file]) for case in traps), sum(map(bool, elsewhere)))


def _version(tool: Tool, environment: str) -> str:
    """Return the version of a tool that is installed: ours here, the others' in the environment."""
    package = tool.package or tool.name
    if tool.find is _check:
        return importlib.metadata.version(package)
    library = os.path.join(environment, "lib")
    paths = [os.path.join(library, name, "site-packages") for name in os.listdir(library)]
    found = importlib.metadata.distributions(name=package, path=paths)
    return next((each.version for each in found), "(not installed)")


def _plain(text: str) -> str:
    """Return the last line of an error for a cell of the table, without paths of this machine."""
    return re.sub(r"(?:/[\w.+-]+){2,}", "…", text.strip().splitlines()[-1]).replace("|", "\\|")[:200]


def write(path: str, table: str) -> None:
    """Replace what stands between the two comments of a docs page.

    Raises:
        ValueError: the page lacks one of them.
    """
    with open(path, encoding="utf-8") as file:
        before, found, rest = file.read().partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{path} has no {BEGIN} with {END} after it, so there is no place for the table")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{table}\n{END}{after}")


def main(arguments: Sequence[str]) -> int:
    """Print the table, and write it if asked to; 1 where a tool failed to run."""
    parser = argparse.ArgumentParser(prog="python -m bench.linters", description=main.__doc__)
    parser.add_argument("--environment", metavar="FOLDER", help="where the tools are, or are to be installed")
    parser.add_argument("--write", metavar="PAGE", help="replace the table of this docs page")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        environment = os.path.realpath(options.environment or os.path.join(temporary, "environment"))
        make_environment(environment)
        table, is_complete = compare(environment)
    sys.stdout.write(table)
    if options.write:
        write(options.write, table)
    return int(not is_complete)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
