"""Agents without a rules file: their tools are found, or refused with the table to write."""

import shutil
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

from autochron.store import open_store
from tests.agents.footprint import VARIABLE
from tests.agents.tool_reports import choices_in, filled_in, mentions, refused_lines, tables_in, way_told
from tests.agents.unruled_breakers import BREAKERS
from tests.agents.unruled_cases import ALIKE, CASES, FAST, LEARNS, UNRULED
from tests.agents.workshop import assert_same, environment


class Agent:
    """A case's program in a folder of its own, and the commands that run it."""

    def __init__(self, case, runner, folder, footprints, provider):
        self.case, self.folder, self.provider = case, folder, provider
        self._runner, self._footprints = runner, footprints
        name = case.program.partition(".")[0]
        if (UNRULED / name).is_dir():
            shutil.copytree(UNRULED / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(UNRULED / f"{name}.py", folder)

    def run(self, *words, model=None):
        """Run a command, and return it with the footprints that tools left."""
        variables = {VARIABLE: str(self._footprints.path)}
        completed = self._runner.run(self.folder, *words, model=model, **variables)
        return completed, self._footprints.taken()

    def record(self):
        """Record the program, stop its provider, and check that each tool ran as often as it was asked for."""
        with self.provider.serve(script=self.case.script()) as model:
            recorded, ran = self.run("run", *self.case.command(), model=model)
        assert (recorded.status, ran) == (self.case.status, self.case.recorded_footprints()), recorded.stderr
        return recorded

    def replay(self, *words):
        return self.run("replay", "last", *words)

    def crossings(self):
        """Return the crossings of the last trace that are no calls of models."""
        trace = open_store(str(self.folder / ".autochron" / "traces.db")).load("last")
        return [envelope for envelope in trace.envelopes if envelope.kind != "model"]


def by_name(*names):
    return [case for case in CASES if case.program in names]


def tried(case):
    if case.program in FAST:
        return case
    return pytest.param(case, marks=pytest.mark.thorough if case.program in ALIKE else pytest.mark.slow)


@pytest.mark.parametrize("case", [tried(case) for case in (*CASES, *BREAKERS)], ids=str)
def test_tools_without_a_rule_are_found_or_refused(case, forked, footprints, provider, tmp_path):
    check(Agent(case, forked, tmp_path, footprints, provider))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        *by_name("weather_dict", "bank_ladder"),
        *(pytest.param(case, marks=pytest.mark.thorough) for case in by_name("anthropic_stream_agent")),
    ],
    ids=str,
)
def test_tools_are_found_where_the_program_imports_the_sdk(case, fresh, footprints, provider, tmp_path):
    check(Agent(case, fresh, tmp_path, footprints, provider))


def check(agent):
    """Record an agent, replay it, and replay it with its tools live."""
    case, recorded = agent.case, agent.record()
    refused = assert_found(agent, recorded)
    if refused:
        recorded = assert_refused_until_written(agent, refused)
        if recorded is None:
            return
    replayed, ran = agent.replay()
    assert ran == case.replayed_footprints()
    if case.is_opaque:
        assert "(opaque)" in recorded.stderr
        assert (replayed.status, "(opaque)" in replayed.stderr) == (1, True), replayed.stderr
    else:
        assert_same(recorded, replayed, case.status)
    if any(envelope.kind == "tool" for envelope in agent.crossings()):
        replayed, ran = agent.replay("--live", "kind:tool")
        assert (replayed.status, replayed.stdout) == (0, recorded.stdout), replayed.stderr
        assert ran == case.live_footprints(), replayed.stderr


def assert_found(agent, recorded):
    """Check which tools crossed and how they were found, and return those that the run says were not found."""
    case, envelopes = agent.case, agent.crossings()
    assert_only_tools(case, envelopes)
    counts = Counter(envelope.name for envelope in envelopes)
    unwoven = refused_lines(recorded.stderr)
    refused = [tool for tool in case.tools if any(mentions(line, tool.name) for line in unwoven)]
    assert bool(refused) == bool(unwoven), recorded.stderr
    forms = [tool.name for tool in case.tools if "form" in tool.allowed()]
    assert sorted(filled_in(recorded.stderr)) == sorted(forms)
    for tool in case.tools:
        allowed = tool.allowed()
        if tool in refused:
            assert {"refused", "nowhere"} & {*allowed}, f"{tool.name} was not found: {recorded.stderr}"
        else:
            assert counts[tool.name] in {tool.times, tool.or_times}, recorded.stderr
            assert not tool.times or way_told(recorded.stderr, tool.name) in allowed, recorded.stderr
    return refused


def assert_only_tools(case, envelopes):
    """Check that each crossing is of a tool that the model asked for, and defined where expected."""
    sites = {tool.name: tool.sites.split() for tool in case.tools}
    left_alone = [envelope.site for envelope in envelopes if envelope.site in case.left_alone]
    assert left_alone == []
    assert {(envelope.name, envelope.kind) for envelope in envelopes} <= {(name, "tool") for name in sites}
    elsewhere = [e.site for e in envelopes if sites[e.name] and e.site not in sites[e.name]]
    assert elsewhere == []


def assert_refused_until_written(agent, refused):
    """Check that a replay is refused, and what it says to write. Return the run with it; None if nothing can be written."""
    replayed, ran = agent.replay()
    assert (replayed.status, ran) == (2, []), replayed.stderr
    named = [*(tool.name for tool in refused), *(agent.case.candidates if LEARNS else ())]
    assert [name for name in named if name not in replayed.stderr] == [], replayed.stderr
    if any("nowhere" in tool.allowed() for tool in refused):
        return None
    tables, choices = tables_in(replayed.stderr), choices_in(replayed.stderr)
    assert "boundary" in tomllib.loads(tables) or choices, replayed.stderr
    if not all(tool.is_writable() for tool in refused):
        return None
    tables += "".join(table for tool in refused for table in fitting(choices, tool))
    (agent.folder / "autochron.toml").write_text(f"version = 1\n\n{tables}", encoding="utf-8")
    recorded = agent.record()
    counts = Counter(envelope.name for envelope in agent.crossings())
    assert [tool.name for tool in agent.case.tools if tool.times and not counts[tool.name]] == []
    return recorded


def fitting(choices, tool):
    """Return the first of the tables that is of a function that the tool may be."""
    targets = [site.replace("/", ".").replace(".py:", ":") for site in tool.sites.split()]
    tables = [(table, tomllib.loads(table)["boundary"][0]) for table in choices]
    return [table for table, rule in tables if rule["name"] == tool.name and rule["target"] in targets][:1]


@pytest.mark.thorough
@pytest.mark.parametrize("case", [*CASES, *BREAKERS], ids=str)
def test_the_programs_run_their_tools_as_the_table_says(case, forked, footprints, provider, tmp_path):
    agent = Agent(case, forked, tmp_path, footprints, provider)
    with provider.serve(script=case.script()) as model:
        variables = environment(model, **{VARIABLE: str(footprints.path)})
        command = [sys.executable, *case.command()]
        completed = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert (completed.returncode, footprints.taken()) == (case.status, case.recorded_footprints()), (
        completed.stderr
    )
    assert agent.record().stdout.decode() == completed.stdout
