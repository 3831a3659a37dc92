"""Helpers that run programs under autochron, most of them in processes of their own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import autochron
from tests.agents.cases import PROGRAMS, Case
from tests.cli import processes

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
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
class CompletedCommand:
    """The exit status and the output of a command."""

    status: int
    stdout: bytes
    stderr: str


def environment(model=None, **more):
    """Return the environment of a process, with a provider's URL and a key if there is a `model`."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
    variables["AUTOCHRON_CACHE"] = os.environ["AUTOCHRON_CACHE"]
    variables |= {"PYTHONPATH": str(ROOT), "NO_PROXY": "*"}
    if model is not None:
        keys = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
        variables |= {"OPENAI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.origin, **keys}
    return variables | more


class Fresh:
    """Runs each command in a process that has not imported the SDKs."""

    def run(self, folder, *arguments, model=None, stdin="", module="autochron", **more):
        words = [sys.executable, "-m", module, *arguments]
        done = processes.finish(
            processes.start_with(environment(model, **more), words, folder), stdin.encode()
        )
        return CompletedCommand(done.status, done.out, done.said)


class Forked:
    """Runs each command in a fork of a process that has imported the SDKs."""

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
        return CompletedCommand(answer["status"], Path(files["stdout"]).read_bytes(), stderr)

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Block:
    """Records and replays calls in this process."""

    def __init__(self, rules):
        self.rules = rules

    def record(self, function):
        """Return a function's result and the trace of its run."""
        with autochron.record(store="memory:", rules=self.rules) as recording:
            result = function()
        assert not recording.problems, recording.problems
        return result, recording.trace()

    def replay(self, trace, function, *, check=True):
        """Return a function's result in a replay, and the divergences."""
        with autochron.replay(trace, rules=self.rules, check=check) as replaying:
            result = function()
        return result, replaying.divergences


def set_up(case: Case, folder: Path) -> Path:
    """Copy a case's program into a folder and write its rules. Return the folder."""
    name = case.module.partition(".")[0]
    if (PROGRAMS / name).is_dir():
        shutil.copytree(PROGRAMS / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(PROGRAMS / f"{name}.py", folder)
    (folder / "autochron.toml").write_text(case.rule_file(), encoding="utf-8")
    return folder


def write(folder: Path, source: str, tools: str = "", rules: str = "", name: str = "agent") -> Path:
    """Write a test's own program and its rules. Return the folder."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / "autochron.toml").write_text(Case(name, tools, rules).rule_file(), encoding="utf-8")
    return folder


def record(runner, case, folder, model=None):
    """Record a case's program. Check its exit status and that it reports only the findings and slugs of the case."""
    completed = runner.run(
        folder, "run", "--report", "found.json", *case.program(), model=model, stdin=case.stdin
    )
    assert completed.status == case.status, completed.stderr
    slugs = ("lost", "opaque", "unwoven-tool", "rule-without-match", "not-woven", "unmarked-network")
    reported_slugs = tuple(slug for slug in slugs if f"({slug})" in completed.stderr)
    assert (reported_slugs, findings_of(folder / "found.json")) == (case.slugs, case.findings), (
        completed.stderr
    )
    return completed


def findings_of(report):
    """Return a report's findings as texts: line, call, and the library's function that the line called."""
    findings = json.loads(report.read_bytes())["findings"]
    lines = (f"{finding['site']['file']}:{finding['site']['line']} {finding['call']}" for finding in findings)
    vias = (f" via {finding['via']}" if finding["via"] else "" for finding in findings)
    return tuple(map(str.__add__, lines, vias))


def assert_same(recorded, replayed, status):
    """Check that a replay printed and ended as the recorded program did."""
    assert replayed.stdout == recorded.stdout, replayed.stderr
    assert replayed.status == 0, replayed.stderr
    assert f"exit status {status}" in replayed.stderr, replayed.stderr
    assert "autochron: the same" in replayed.stderr, replayed.stderr
