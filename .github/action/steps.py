"""The steps of action.yml: replay the incidents, look for non-deterministic calls, collect what is kept.

The inputs are environment variables, `INPUT_NAME`. The exit status is the one that the step ends with. Problems are
annotations, which are workflow commands on standard output; the summary of the job goes to the file GITHUB_STEP_SUMMARY.
"""

import contextlib
import html
import json
import os
import secrets
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

AUTOCHRON = (sys.executable, "-m", "autochron")
MOST_ANNOTATIONS = 10
"""GitHub shows no more of a step."""
MOST_PAGES = 50
NO_TESTS = 5
"""The exit status of pytest where it found no test."""


class Failure(NamedTuple):
    """A test that failed: its name, its file from the root of the repository, its line, and its message."""

    name: str
    file: str
    line: int
    message: str


def main() -> int:
    """Run the step that the argument names, and return its exit status."""
    return {"replay": replay, "check": check, "collect": collect}[sys.argv[1]]()


def replay() -> int:
    """Run the tests of the incidents, and annotate those that failed. The status is pytest's."""
    named = lines("INPUT_INCIDENTS")
    if not named:
        return 0
    missing = [name for name in named if not (project() / name).exists()]
    if missing:
        annotate(
            "error", f"no incidents here: {', '.join(missing)}; the input `incidents` names their folders"
        )
        return 2
    file = report() / "junit.xml"
    options = ["-o", "junit_family=xunit1", f"--junitxml={file}", *lines("INPUT_PYTEST_ARGS")]
    if has_pages():
        options.append(f"--autochron-html={report() / 'failed'}")
    with commands_stopped():
        status = call([sys.executable, "-m", "pytest", *options, *map(as_path, named)], project())
    tests, failures = read_results(file, named) if file.is_file() else (0, [])
    output("tests", tests)
    output("failed", len(failures))
    for failure in failures[:MOST_ANNOTATIONS]:
        place = {"file": failure.file, "line": str(failure.line)} if failure.file else {}
        annotate("error", failure.message, title=f"incident: {failure.name}", **place)
    if status and not failures:
        says = "found no incident test" if status == NO_TESTS else f"ended with status {status}; see the log"
        annotate("error", f"pytest {says}")
    summarise("### Incidents", f"{tests - len(failures)} of {tests} tests passed.", *table(failures))
    return status


def check() -> int:
    """Annotate non-deterministic calls, and write them as SARIF; return 0, unless the check fails or findings are to."""
    named = lines("INPUT_CHECK")
    if not named:
        return 0
    command = [*AUTOCHRON, "check", *map(from_workspace, named)]
    for name in lines("INPUT_BASELINE"):
        command += ["--baseline", from_workspace(name)]
    file = report() / "findings.sarif"
    with open(file, "wb") as stream:
        status = call([*command, "--format", "sarif"], workspace(), stream)
    if status not in (0, 1):
        file.unlink()
        annotate("error", f"autochron check ended with status {status}; see the log")
        return status
    call([*command, "--format", "github"], workspace())
    log = json.loads(file.read_text(encoding="utf-8"))
    found = sum(len(run["results"]) for run in log["runs"])
    output("findings", found)
    output("sarif", file)
    summarise("### Non-deterministic calls", f"{found} outside every boundary.")
    return status if os.environ["INPUT_FAIL_ON_FINDINGS"] == "true" else 0


def collect() -> int:
    """Copy the traces of the incidents and the store of recorded runs into the report, and write a page of each trace."""
    can_view = has_pages()
    files = [file for name in lines("INPUT_INCIDENTS") for file in traces(project() / name)]
    for number, file in enumerate(files):
        name = os.path.relpath(file, project()).replace(f"..{os.sep}", "")
        keep(file, report() / "traces" / name)
        if can_view and number < MOST_PAGES:
            page = (report() / "pages" / name).with_suffix(".html")
            page.parent.mkdir(parents=True, exist_ok=True)
            call([*AUTOCHRON, "view", str(file), "--out", str(page)], project(), subprocess.DEVNULL)
    for file in sorted(
        (project() / ".autochron").glob("traces.db*")
    ):  # with the journal, where a run was killed
        keep(file, report() / "store" / file.name)
    return 0


def read_results(file: Path, named: Sequence[str]) -> tuple[int, list[Failure]]:
    """Read pytest's results: how many tests ran, and those that failed."""
    cases = list(ET.parse(file).getroot().iter("testcase"))
    failures = []
    for case in cases:
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        if wrong is None:
            continue
        message = (wrong.get("message") or "failed").strip()
        place = find(case.get("file") or "", named)
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        failures.append(Failure(name, place, int(case.get("line") or 0) + 1, message))
    return len(cases), failures


def has_pages() -> bool:
    """Return whether the installed version draws pages: the input `version` may name an older one."""
    return call([*AUTOCHRON, "view", "--help"], project(), subprocess.DEVNULL, subprocess.DEVNULL) == 0


def find(name: str, named: Sequence[str]) -> str:
    """Return a test's file from the root of the repository; pytest names it from its own root, which may be an incident."""
    for folder in (".", *named):
        for base in (project() / folder, (project() / folder).parent):
            if name and (base / name).is_file():
                return os.path.relpath(base / name, workspace())
    return ""


def traces(top: Path) -> list[Path]:
    """Return the trace files of an incident or a folder of incidents; links are no traces, wherever they lead."""
    folder = top if top.is_dir() else top.parent
    return [file for file in sorted(folder.rglob("*.jsonl")) if file.is_file() and not file.is_symlink()]


def keep(file: Path, copy: Path) -> None:
    """Copy a file into the report."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)


def lines(variable: str) -> list[str]:
    """Return the lines of an input, without those that are empty."""
    return [line.strip() for line in os.environ.get(variable, "").splitlines() if line.strip()]


def as_path(name: str) -> str:
    """Return a path that no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name


def from_workspace(name: str) -> str:
    """Return a path of the project from the root of the repository."""
    return as_path(os.path.normpath(os.path.join(os.environ["INPUT_FOLDER"], name)))


def workspace() -> Path:
    """Return the root of the repository."""
    return Path(os.environ["GITHUB_WORKSPACE"])


def project() -> Path:
    """Return the folder of the project."""
    return workspace() / os.environ["INPUT_FOLDER"]


def report() -> Path:
    """Return the folder of what is kept."""
    return Path(os.environ["AUTOCHRON_REPORT"])


def call(
    command: Sequence[str], folder: Path, out: int | IO[Any] | None = None, err: int | None = None
) -> int:
    """Run a command, and return its exit status."""
    sys.stdout.flush()
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False
    ).returncode


@contextlib.contextmanager
def commands_stopped() -> Iterator[None]:
    """Keep the runner from obeying workflow commands during a block: a trace may hold such lines, and tests print traces."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"\n::{token}::", flush=True)


def annotate(level: str, message: str, **properties: str) -> None:
    """Print an annotation."""
    words = ",".join(f"{key}={escaped(value, in_property=True)}" for key, value in properties.items())
    print(f"::{level} {words}::{escaped(message)}" if words else f"::{level}::{escaped(message)}", flush=True)


def escaped(text: str, *, in_property: bool = False) -> str:
    """Escape a text as the runner's own toolkit does."""
    characters = "%\r\n:," if in_property else "%\r\n"
    return "".join(f"%{ord(character):02X}" if character in characters else character for character in text)


def output(name: str, value: object) -> None:
    """Set an output of the step."""
    append("GITHUB_OUTPUT", f"{name}={value}")


def summarise(*paragraphs: str) -> None:
    """Add to the summary of the job."""
    append("GITHUB_STEP_SUMMARY", "\n\n".join(paragraphs) + "\n")


def append(variable: str, text: str) -> None:
    """Append a line to the file that a variable names."""
    with open(os.environ[variable], "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def table(failures: Sequence[Failure]) -> list[str]:
    """Return a table of the tests that failed, as HTML: in a table of Markdown, a bar in a name would end the cell."""
    if not failures:
        return []
    rows = "".join(
        f"<tr><td><code>{html.escape(failure.name)}</code></td><td>{html.escape(failure.message.splitlines()[0])}</td></tr>"
        for failure in failures
    )
    return [f"<table><tr><th>test</th><th>what it says</th></tr>{rows}</table>"]


if __name__ == "__main__":
    sys.exit(main())
