"""Run the steps of action.yml as GitHub's runner does: expressions are replaced, and each script runs under bash."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.cli.processes import ROOT, environment

ACTION = yaml.safe_load((Path(ROOT) / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")


class Said(NamedTuple):
    """The result of a step: its status and output."""

    status: int
    text: str


@dataclass
class Runner:
    """A job that has the steps of the action, in a checkout."""

    workspace: Path
    temporary: Path
    inputs: dict = field(default_factory=dict)
    context: dict = field(default_factory=dict)

    def __post_init__(self):
        self.temporary.mkdir()
        known = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
        assert self.inputs.keys() <= known.keys()
        given = {**known, "python": sys.executable, "install": "false", **self.inputs}
        self.context |= {f"inputs.{name}": value for name, value in given.items()}
        self.context["github.action_path"] = ROOT

    def value(self, text):
        """Replace the expressions in a text."""
        return EXPRESSION.sub(lambda match: self.context.get(match[1], ""), text)

    def file(self, name):
        return self.temporary / name

    @property
    def summary(self):
        return self.file("summary").read_text(encoding="utf-8")

    @property
    def report(self):
        return Path(self.context["steps.prepare.outputs.report"])

    def run(self, name):
        """Run a step; what it writes to GITHUB_OUTPUT is there for the later ones."""
        step = STEPS[name]
        script = self.file("script.sh")
        script.write_text(self.value(step["run"]), encoding="utf-8")
        for file in ("output", "summary"):
            self.file(file).touch()
        variables = environment(
            RUNNER_TEMP=str(self.temporary),
            GITHUB_ACTION="autochron",
            GITHUB_WORKSPACE=str(self.workspace),
            GITHUB_OUTPUT=str(self.file("output")),
            GITHUB_STEP_SUMMARY=str(self.file("summary")),
            **{key: self.value(str(value)) for key, value in step["env"].items()},
        )
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.workspace,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=100,
        )
        for line in self.file("output").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            self.context[f"steps.{step.get('id')}.outputs.{key}"] = value
        self.file("output").unlink()
        return Said(done.returncode, done.stdout)

    def outputs(self):
        """Return the outputs of the action."""
        return {name: self.value(about["value"]) for name, about in ACTION["outputs"].items()}


def names(folder):
    """Return the names of all files below a folder."""
    return {os.path.relpath(file, folder) for file in folder.rglob("*") if file.is_file()}
