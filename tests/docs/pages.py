"""Read the pages of the documentation, and run their commands and code as a reader does.

A page is a list of scenarios. A scenario is a folder, in which the blocks run in order, in one shell. An HTML comment
above a block says what the test needs to know beyond the text:

    <!-- test: folder=refund -->   begin a scenario in a new folder; `FOLDERS` says what is in it
    <!-- test: file=agent.py -->   write the block to this file
    <!-- test: edit=tools.py -->   put the block's definitions in the place of those of the same names in this file
    <!-- test: status=1 -->        the block's last command ends with this status; the others end with 0
    <!-- test: needs=langgraph --> the scenario needs this module, and is skipped without it
    <!-- test: slow -->            the scenario takes long, so it runs where slow tests do
    <!-- not run: REASON -->       the block is not run

A block of Python without a file is run as a program. `...` in a shown output stands for any text.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autochron import provider
from autochron.provider import Call, Script, Step
from incidents.suite import reaching

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
REFUND = ROOT / "incidents" / "refund"
FENCE = re.compile(
    r"(?:^<!-- (?P<kind>test|not run): (?P<says>.*?) -->\n)?^```(?P<language>[\w{}-]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("console", "python")
LIMIT = 300
EXAMPLE = "example.py"
"""The file of a block of Python that has no file of its own."""
WAIT = "until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        place: the page and the line, as `README.md:12`.
        says: what the comment above the block says, by word.
        why_not: why it is not run; empty if it is.
    """

    place: str
    language: str
    text: str
    says: dict[str, str]
    why_not: str = ""


@dataclass(frozen=True)
class Scenario:
    """Blocks that run in one folder, one after the other."""

    place: str
    folder: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_slow(self) -> bool:
        return any("slow" in block.says for block in self.blocks)

    @property
    def needs(self) -> list[str]:
        """The modules that it imports beyond those of each build."""
        return [block.says["needs"] for block in self.blocks if "needs" in block.says]


@dataclass(frozen=True)
class Command:
    """A command that ran: as it is typed, what the page shows of its output, and what came of it."""

    place: str
    typed: str
    shown: str
    expected_status: int
    status: int
    printed: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text("utf-8")
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        place = f"{page.relative_to(ROOT)}:{line}"
        is_test = match["kind"] == "test"
        says = dict(word.partition("=")[::2] for word in match["says"].split("; ")) if is_test else {}
        why_not = match["says"] if match["kind"] == "not run" else ""
        found.append(Block(place, match["language"], match["text"], says, why_not))
    return found


def scenarios(page: Path) -> list[Scenario]:
    """Return the scenarios of a page that have something to run."""
    found: list[Scenario] = []
    for block in blocks(page):
        if block.why_not or (block.language not in RUN and "file" not in block.says):
            continue
        if not found or "folder" in block.says:
            found.append(Scenario(block.place, block.says.get("folder", "empty")))
        found[-1].blocks.append(block)
    return found


# --- folders ----------------------------------------------------------------------------------------------------------


TUTORIAL = ROOT / "docs" / "tutorial" / "first-replay.md"
MESSAGE = "Please refund order 48213, both mugs are broken."
WEATHER = Script(
    (Step(turn=0, calls=(Call.of("get_weather", city="Lisbon"),)), Step(turn=1, text="It is sunny."))
)
"""What a model says to the programs of the guide on frameworks."""
POLITE, RUDE = '{"reason": "It thanks.", "score": 0.9}', '{"reason": "It is curt.", "score": 0.2}'
JUDGE = Script((Step(when=("thank you",), text=POLITE), Step(text=RUDE)))
SCRIPTS = {"model": WEATHER, "judge": JUDGE}


@contextlib.contextmanager
def prepared(name: str, folder: Path) -> Iterator[dict[str, str]]:
    """Prepare the folder of a scenario, and yield the environment of its commands.

    empty: nothing is in it.
    model: nothing is in it, and a model answers that asks for the weather first.
    judge: nothing is in it, and a model answers that judges replies.
    agent: the agent of `incidents/refund` and its tools; a model answers as in the incident, and there is a key for it.
    recorded: the same after `autochron run agent.py`; the model is stopped, and there is no key.
    tutorial: the files of the tutorial's first page and the trace that is recorded there, in a git repository; there is no
        model and no key.
    incident: the same with the incident of the tutorial's second page, before the fix.
    """
    variables = _variables()
    folder.mkdir()
    if name == "empty":
        yield variables
        return
    script: Script | Path = REFUND / "provider.json"
    words = ["agent.py"]
    if name in SCRIPTS:
        script = SCRIPTS[name]
    elif name in {"tutorial", "incident"}:
        for block in blocks(TUTORIAL):
            if file := block.says.get("file"):
                (folder / file).write_text(block.text, "utf-8")
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        script, words = folder / "answers.json", ["agent.py", MESSAGE]
    else:
        for file in ("agent.py", "tools.py", "provider.json"):
            shutil.copy(REFUND / file, folder)
    autochron = [sys.executable, "-m", "autochron"]
    with provider.serve(script=script) as model:
        with_model = {**variables, **reaching(model)}
        if name in {*SCRIPTS, "agent"}:
            yield with_model
            return
        command = [*autochron, "run", *words]
        subprocess.run(command, cwd=folder, env=with_model, check=True, capture_output=True)
    if name == "incident":
        command = [
            *autochron,
            "incident",
            "new",
            "last",
            "--live",
            "refund[1]",
            "--no-try",
            "incidents/refund",
        ]
        subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
    yield variables


def _variables() -> dict[str, str]:
    """Return an environment without keys and models, for a terminal of a known width."""
    without = ("OPENAI_", "ANTHROPIC_", "AUTOCHRON_JUDGE")
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(without)},
        "PATH": os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"])),
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "120",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "commit.gpgsign",
        "GIT_CONFIG_VALUE_0": "false",
    }


# --- running ----------------------------------------------------------------------------------------------------------


def run(scenario: Scenario, parent: Path) -> list[Command]:
    """Run a scenario in a new folder of a parent, and return its commands with what came of them."""
    folder = parent / "page"
    script = ShellScript(scenario, folder, parent)
    with prepared(scenario.folder, folder) as variables:
        shell = subprocess.Popen(
            ["bash", "-c", script.text],
            cwd=folder,
            env={**variables, "TMPDIR": str(parent)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            printed, _ = shell.communicate(timeout=LIMIT)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    parts = re.split(r"^::(\d+):(\d+)\n", printed, flags=re.MULTILINE)
    statuses = [int(status) for status in parts[2::3]]
    assert len(statuses) == len(script.commands), f"{scenario.place}: the shell ended early: {printed}"
    return [
        Command(*command, status, text)
        for command, status, text in zip(script.commands, statuses, parts[0::3], strict=False)
    ]


class ShellScript:
    """A scenario as a script of bash, which prints a line `::NUMBER:STATUS` after each command."""

    def __init__(self, scenario: Scenario, folder: Path, parent: Path) -> None:
        self.commands: list[tuple[str, str, str, int]] = []
        self._lines = ["exec 2>&1"]
        self._folder = folder
        self._parent = parent
        self._ports: dict[str, str] = {}
        for number, block in enumerate(scenario.blocks):
            if block.language == "console":
                self._type(block)
            elif "file" in block.says or "edit" in block.says:
                self._write(block, number)
            else:
                self._lines.append(f"cp {self._saved(block, number)} {EXAMPLE}")
                self._add(block.place, f"python {EXAMPLE}", f"python {EXAMPLE}", "", 0)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def _type(self, block: Block) -> None:
        typed = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
        assert typed, f"{block.place}: no line begins with `$ `"
        for number, (line, shown) in enumerate(typed):
            is_last = number == len(typed) - 1
            command = line.partition("    #")[0].strip()
            status = int(block.says.get("status", "0")) if is_last else 0
            self._add(block.place, command, self._here(command), shown, status)

    def _here(self, command: str) -> str:
        """Return a command with ports that are free, and with folders of the test in the place of those of the page."""
        for port in re.findall(r"\b8\d{3}\b", command):
            self._ports.setdefault(port, _free_port())
        for port, free in self._ports.items():
            command = re.sub(rf"\b{port}\b", free, command)
        return command.replace("/tmp/", f"{self._parent}/")

    def _add(self, place: str, typed: str, command: str, shown: str, status: int) -> None:
        self._lines += [command, "status=$?"]
        if command.endswith("&"):
            port = next(free for free in self._ports.values() if free in command)
            self._lines.append(WAIT.format(port=port))
        self._lines.append(f"printf '\\n::%s:%s\\n' {len(self.commands)} $status")
        self.commands.append((place, typed, shown, status))

    def _saved(self, block: Block, number: int) -> Path:
        file = self._parent / f"block{number}.py"
        file.write_text(block.text, "utf-8")
        return file

    def _write(self, block: Block, number: int) -> None:
        file = self._saved(block, number)
        if name := block.says.get("file"):
            self._lines.append(f"mkdir -p $(dirname {name}) && cp {file} {name}")
        else:
            module = "tests.docs.pages"
            words = f"python -m {module} {block.says['edit']} {file}"
            self._add(block.place, words, words, "", 0)


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def replaced(source: str, definitions: str) -> str:
    """Return a source with some of its definitions replaced by those of the same names, and its imports and values kept.

    Definitions that the source lacks are added at its end, and imports at its beginning.
    """
    lines = source.splitlines()
    places = {node.name: node for node in ast.parse(source).body if isinstance(node, _DEFINITION)}
    imports, added = [], []
    edits = []
    for node in ast.parse(definitions).body:
        text = _lines_of(definitions.splitlines(), node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += text
        elif isinstance(node, _DEFINITION) and node.name in places:
            edits.append((places[node.name], text))
        else:
            added += ["", "", *text]
    for old, text in sorted(edits, key=lambda edit: edit[0].lineno, reverse=True):
        lines[_first(old) - 1 : old.end_lineno] = text
    return "\n".join([*imports, *lines, *added]) + "\n"


_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _lines_of(lines: list[str], node: ast.stmt) -> list[str]:
    return lines[_first(node) - 1 : node.end_lineno]


# --- comparing --------------------------------------------------------------------------------------------------------


def missing(command: Command) -> str:
    """Return the first piece of a shown output that was not printed, in order; empty if all was."""
    at, printed = 0, plain(command.printed)
    for piece in command.shown.split("..."):
        text = plain(piece)
        position = printed.find(text, at)
        if position < 0:
            return text
        at = position + len(text)
    return ""


def plain(text: str) -> str:
    """Return a text on one line, with ids of traces, dates, durations and folders of a test replaced."""
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?", "DATE", text)
    text = re.sub(r"\b\d+(?:\.\d+)? (?:µs|ms|s|min)\b", "TIME", text)
    text = re.sub(r"\b\d+\.\d+s\b", "TIME", text)
    return " ".join(text.split())


if __name__ == "__main__":
    target, new = map(Path, sys.argv[1:])
    target.write_text(replaced(target.read_text("utf-8"), new.read_text("utf-8")), "utf-8")
