"""Programs on frameworks, as their users write them: recorded, replayed with the provider stopped, and with live tools.

Each framework is tried on each Python in a venv of its own, which takes minutes to make; a few run in the tests' own venv.
"""

import importlib.util
import os
import re
import shutil
import tomllib
from collections import Counter

import pytest

from autochron import provider
from autochron.store import open_store
from tests.agents.footprint import VARIABLE
from tests.agents.tool_reports import choices_in, filled_in, mentions, refused_lines, tables_in, way_told
from tests.agents.workshop import CompletedCommand, assert_same
from tests.cli import processes
from tests.frameworks.case import Case, cases_of
from tests.frameworks.environment import (
    Environment,
    environment_of,
    interpreter,
    is_here,
    own_environment,
)
from tests.frameworks.table import HERE, PYTHONS, Framework, TableError, read_frameworks
from tests.venvs import LIMIT as INSTALLATION

FRAMEWORKS = read_frameworks()
PROGRAMS = HERE / "programs"
SEED = 7
LIMIT = 240
"""Seconds that a run may take. Some frameworks take half a minute to be woven for the first time."""


def variables(model):
    """Return the variables with which SDKs find the provider."""
    keys = (
        "ANTHROPIC_API_KEY",
        "CO_API_KEY",
        "GEMINI_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "OPENAI_API_KEY",
        "XAI_API_KEY",
    )
    urls = {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model.origin,
        "ANTHROPIC_BASE_URL": model.origin,
        "CO_API_URL": model.origin,
        "GOOGLE_GEMINI_BASE_URL": model.origin,
        "GROQ_BASE_URL": model.origin,
        "MISTRAL_URL": f"{model.origin}/mistral",
        "OLLAMA_HOST": model.origin,
        "OPENAI_API_BASE": model.url,
        "OPENAI_BASE_URL": model.url,
        "XAI_API_HOST": model.grpc,
    }
    return dict.fromkeys(keys, "sk-test") | urls


class Agent:
    """A program of a framework in a folder of its own, and the commands that run it."""

    def __init__(self, framework: Framework, case: Case, environment: Environment, folder, footprints):
        self.framework, self.case, self.environment = framework, case, environment
        self.folder, self._footprints = folder / "agent", footprints
        self._home = folder / "home"
        self._home.mkdir()
        self.folder.mkdir()
        for name in (f"{case.program}.py", "footprint.py", *case.files):
            if (PROGRAMS / name).is_dir():
                shutil.copytree(
                    PROGRAMS / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(PROGRAMS / name, self.folder)

    def run(self, *words, model=None):
        """Run Python, and return the command with the footprints that tools left."""
        own = {
            VARIABLE: str(self._footprints.path),
            "AUTOCHRON_CACHE": str(self.environment.woven),
            "HOME": str(self._home),
            "NO_PROXY": "*",
            "PATH": os.environ["PATH"],
            "PYTHONHASHSEED": os.environ["PYTHONHASHSEED"],
        }
        own["CLAUDE_CLI"] = self._command_line() if model else os.devnull
        environment = own | self.framework.environment | (variables(model) if model else {})
        command = [str(self.environment.python), *words]
        process = processes.start_with(environment, command, self.folder, fresh=True)
        done = processes.finish(process, limit=LIMIT)
        printed = self.case.comparable(done.out)
        return CompletedCommand(done.status, printed, done.said), self._footprints.taken()

    def _command_line(self):
        """Return the path of what stands in for Claude's command line. As the real one, it isn't recorded."""
        file = self.folder / "claude"
        if not file.exists():
            script = self.folder / "claude_cli.py"
            file.write_text(
                f'#!/bin/sh\nexec {self.environment.python} -IS {script} "$@"\n', encoding="utf-8"
            )
            file.chmod(0o755)
        return str(file)

    def run_plain(self):
        """Run the program with its provider, and return what it printed."""
        with provider.serve(script=self.case.script(), seed=SEED, grpc=self.framework.grpc) as model:
            done, ran = self.run(f"{self.case.program}.py", model=model)
        assert (done.status, ran) == (0, self.case.recorded_footprints()), done.stderr
        assert done.stdout
        return done.stdout

    def record(self, printed):
        """Record the program, stop its provider, and check that it did what a plain run does."""
        with provider.serve(script=self.case.script(), seed=SEED, grpc=self.framework.grpc) as model:
            recorded, ran = self.run("-m", "autochron", "run", f"{self.case.program}.py", model=model)
            calls = model.calls
        assert (recorded.status, ran) == (0, self.case.recorded_footprints()), recorded.stderr
        assert recorded.stdout == printed, recorded.stderr
        crossed = sum(envelope.kind == "model" for envelope in self.envelopes())
        assert self.framework.models_apart or crossed == calls, recorded.stderr
        return recorded

    def replay(self, *words):
        return self.run("-m", "autochron", "replay", "last", *words)

    def envelopes(self):
        return open_store(str(self.folder / ".autochron" / "traces.db")).load("last").envelopes


def check(agent):
    """Run a program plain and recorded, replay it, and replay it with its tools live."""
    case, printed = agent.case, agent.run_plain()
    recorded = agent.record(printed)
    if refused := assert_known(agent, recorded):
        recorded = assert_refused_until_written(agent, refused, printed)
        if recorded is None:
            return
    replayed, ran = agent.replay()
    assert ran == []
    assert_same(recorded, replayed, 0)
    if any(envelope.kind == "tool" for envelope in agent.envelopes()):
        replayed, ran = agent.replay("--live", "kind:tool")
        assert (replayed.status, replayed.stdout) == (0, printed), replayed.stderr
        assert ran == case.live_footprints(), replayed.stderr


def assert_known(agent, recorded):
    """Check which tools crossed and how they are known, and return those for which a replay is refused."""
    case, python = agent.case, agent.environment.version
    counts = Counter(envelope.name for envelope in agent.envelopes() if envelope.kind == "tool")
    unwoven = refused_lines(recorded.stderr)
    refused = [tool for tool in case.tools if any(mentions(line, tool.name) for line in unwoven)]
    assert bool(refused) == bool(unwoven), recorded.stderr
    assert counts.keys() <= {*(tool.crossed_as for tool in case.tools), *case.others}, recorded.stderr
    forms = [tool.name for tool in case.tools if "form" in tool.allowed(python)]
    assert sorted(filled_in(recorded.stderr)) == sorted(forms)
    for tool in case.tools:
        if tool in refused:
            assert {"refused", "nowhere"} & tool.allowed(python), (
                f"{tool.name} was not found: {recorded.stderr}"
            )
        else:
            way = way_told(recorded.stderr, tool.name) or "pack"
            assert counts[tool.crossed_as] == tool.times, recorded.stderr
            assert not tool.times or way in tool.allowed(python), recorded.stderr
    return refused


def assert_refused_until_written(agent, refused, printed):
    """Check that a replay is refused, and what it says to write. Return the run with it; None if nothing can be written."""
    replayed, ran = agent.replay()
    assert (replayed.status, ran) == (2, []), replayed.stderr
    assert [tool.name for tool in refused if tool.name not in replayed.stderr] == [], replayed.stderr
    python = agent.environment.version
    if any("nowhere" in tool.allowed(python) for tool in refused):
        return None
    tables = tables_in(replayed.stderr)
    assert "boundary" in tomllib.loads(tables) or choices_in(replayed.stderr), replayed.stderr
    if not all(tool.is_writable(python) for tool in refused):
        return None
    (agent.folder / "autochron.toml").write_text(f"version = 1\n\n{tables}", encoding="utf-8")
    recorded = agent.record(printed)
    counts = Counter(envelope.name for envelope in agent.envelopes())
    assert [tool.name for tool in refused if tool.times and not counts[tool.crossed_as]] == []
    return recorded


def trials(python=None):
    """Yield the parameters of each program that is tried in a venv of its framework's own, or in the tests' own venv."""
    for framework in FRAMEWORKS.values():
        for program in framework.programs:
            if python is None and framework.smoke:
                yield pytest.param(framework, program, id=program)
            elif python in framework.python:
                yield pytest.param(framework, program, python, id=f"{program}-{python}")


@pytest.mark.slow
@pytest.mark.timeout(6 * LIMIT)
@pytest.mark.parametrize(("framework", "program"), [*trials()])
def test_a_framework_of_the_build(framework, program, footprints, tmp_path):
    if not is_here(framework):
        pytest.skip(f"{framework.name}=={framework.version} is not installed")
    check(Agent(framework, cases_of(framework)[program], own_environment(), tmp_path, footprints))


@pytest.mark.thorough
@pytest.mark.timeout(6 * LIMIT + INSTALLATION)
@pytest.mark.parametrize(
    ("framework", "program", "python"), [trial for python in PYTHONS for trial in trials(python)]
)
def test_a_framework(framework, program, python, footprints, tmp_path, record_property):
    record_property("framework", (framework.name, framework.version, python))
    if not interpreter(python):
        pytest.skip(f"there is no Python {python}")
    if framework.grpc and importlib.util.find_spec("xai_sdk") is None:
        pytest.skip(
            "the provider's gRPC server needs xai-sdk where the tests run: requirements-packs.txt has it"
        )
    environment = environment_of(framework, python)
    check(Agent(framework, cases_of(framework)[program], environment, tmp_path, footprints))


@pytest.mark.parametrize("framework", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_each_program_of_the_table_has_a_case(framework):
    assert sorted(cases_of(framework)) == sorted(framework.programs)
    for program in framework.programs:
        case = cases_of(framework)[program]
        files = [PROGRAMS / name for name in (f"{program}.py", *case.files)]
        source = "".join(file.read_text("utf-8") for file in files if file.is_file())
        assert "autochron" not in source
        assert [tool.name for tool in case.tools if tool.name not in source] == []


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ('version = "1"\nfamily = "openai"\nprograms = []', "framework x lacks says"),
        (
            'version = "1"\nfamily = "openai"\nprograms = []\nsays = ""\nneed = []',
            "framework x has an unknown key: need",
        ),
        ('version = "1"\nfamily = "openai"\nprograms = []\nsays = "a\\nb"', "`says` is a line of a table"),
    ],
)
def test_an_entry_that_is_malformed_is_refused(table, fault, tmp_path):
    (tmp_path / "frameworks.toml").write_text(f"[framework.x]\n{table}\n", encoding="utf-8")
    with pytest.raises(TableError, match=re.escape(fault)):
        read_frameworks(tmp_path / "frameworks.toml")
