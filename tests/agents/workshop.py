"""Run programs under autochron, each in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import autochron
from tests.agents.cases import PROGRAMS, Case

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LIMIT = 110.0
_PRIVATE = (
    "OPENAI_",
    "ANTHROPIC_",
    "AUTOCHRON_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)


@dataclass(frozen=True)
class Ran:
    """How a process ended."""

    status: int
    stdout: bytes
    stderr: str


def environment(model=None, **more):
    """Return what a process finds around it: a provider and a key with `model`, else neither."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
    found["AUTOCHRON_CACHE"] = os.environ["AUTOCHRON_CACHE"]
    found |= {"PYTHONPATH": str(ROOT), "NO_PROXY": "*", "PYTHONUTF8": "1"}
    if model is not None:
        keys = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
        found |= {"OPENAI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.origin, **keys}
    return found | more


class Fresh:
    """Starts a new interpreter for each command."""

    def run(self, folder, *arguments, model=None, stdin="", module="autochron", **more):
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env=environment(model, **more),
            input=stdin.encode(),
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())


class Forked:
    """Forks for each command from a process that has imported the SDKs."""

    def __init__(self, folder):
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.agents.zygote"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, folder, *arguments, model=None, stdin="", module="autochron.cli", **more):
        files = {name: str(self._folder / name) for name in ("stdin", "stdout", "stderr")}
        Path(files["stdin"]).write_text(stdin, encoding="utf-8")
        place = {"folder": str(folder), "environment": environment(model, **more)}
        command = {**files, **place, "arguments": arguments, "module": module}
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        stderr = Path(files["stderr"]).read_text(encoding="utf-8", errors="replace")
        return Ran(answer["status"], Path(files["stdout"]).read_bytes(), stderr)

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Block:
    """Records and replays calls in this process."""

    def __init__(self, rules):
        self.rules = rules

    def record(self, function):
        """Return what a function gave, and the trace."""
        with autochron.record(store="memory:", rules=self.rules) as recording:
            given = function()
        assert not recording.problems
        return given, recording.trace()

    def replay(self, trace, function, *, check=True):
        """Return what a function gives, and how replay and record disagree."""
        with autochron.replay(trace, rules=self.rules, check=check) as replaying:
            given = function()
        return given, replaying.divergences


def set_up(case: Case, folder: Path) -> Path:
    """Lay a program out in a folder, with its rules."""
    name = case.module.partition(".")[0]
    if (PROGRAMS / name).is_dir():
        shutil.copytree(PROGRAMS / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(PROGRAMS / f"{name}.py", folder)
    (folder / "autochron.toml").write_text(case.rule_file(), encoding="utf-8")
    return folder


def write(folder: Path, source: str, tools: str = "", rules: str = "", name: str = "agent") -> Path:
    """Write a program of a test's own, with its rules."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / "autochron.toml").write_text(Case(name, tools, rules).rule_file(), encoding="utf-8")
    return folder


def record(runner, case, folder, model=None):
    """Record a program, which must end as it should, lose nothing, and let nothing escape but what it says of itself."""
    ran = runner.run(folder, "run", "--report", "found.json", *case.program(), model=model, stdin=case.stdin)
    assert ran.status == case.status, ran.stderr
    slugs = ("lost", "opaque", "unwoven-tool", "rule-without-match", "not-woven", "unmarked-network")
    said = tuple(slug for slug in slugs if f"({slug})" in ran.stderr)
    assert (said, found(folder / "found.json")) == (case.slugs, case.findings), ran.stderr
    return ran


def found(report):
    """Return what a report tells of: line, call, and the library's function that the line called."""
    findings = json.loads(report.read_bytes())["findings"]
    lines = (f"{each['site']['file']}:{each['site']['line']} {each['call']}" for each in findings)
    vias = (f" via {each['via']}" if each["via"] else "" for each in findings)
    return tuple(map(str.__add__, lines, vias))


def assert_same(recorded, replayed, status):
    """Check that a replay said and ended as the recorded program did."""
    assert replayed.stdout == recorded.stdout, replayed.stderr
    assert replayed.status == 0, replayed.stderr
    assert f"exit status {status}" in replayed.stderr, replayed.stderr
    assert "autochron: the same" in replayed.stderr, replayed.stderr
