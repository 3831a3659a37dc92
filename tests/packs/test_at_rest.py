"""Calls that frameworks make themselves: findings are only on the user's lines that ask for something.

With packs this is asserted wherever a program is recorded (`tests.agents.workshop.record`). Here it is tested without packs,
where network calls are findings, too, and with `autochron check`, which runs nothing.
"""

import json
import re
import shutil
from dataclasses import dataclass, replace
from types import MappingProxyType

import pytest

from autochron import provider
from autochron.provider import Script
from tests.agents import cases
from tests.agents.workshop import Fresh
from tests.packs import (
    harness,
    runs,
    test_bedrock,
    test_google_genai,
    test_langchain,
    test_langgraph,
    test_litellm,
    test_mistral,
    test_openai_agents,
    test_pydantic_ai,
    test_smolagents,
)
from tests.packs.harness import needs

ASKS = re.compile(r"(?<![\w.])(random\.\w+\(|os\.environ\b|datetime\.now\(|hash\()|\.start\(\)")
"""Text in the lines of these programs that ask for a value which the program doesn't determine."""
RACES = re.compile(r"print\((?:about, |call\.function\.name)|print\(city, results\)|results\.update\(")
"""Text in their lines that print, or fill a table, in the order in which several calls end."""


def asking_lines(file, pattern=ASKS):
    """Return the numbers of a program's lines that ask for something themselves."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, start=1) if pattern.search(line)}


def program(name):
    """Return the path of a program by its name."""
    return next(
        file for folder in (harness.PROGRAMS, cases.PROGRAMS) if (file := folder / f"{name}.py").exists()
    )


QUIET = Script()
APART = Script((*runs.SCRIPT.steps[:-1], replace(runs.SCRIPT.steps[-1], latency=0.4)))
"""Sends the events of a stream one by one. If all came at once, the line that reads them would make no network call."""


def usual_variables(model):
    return {"ANTHROPIC_API_BASE": model.origin, **test_litellm.LOCAL}


@dataclass(frozen=True)
class Bare:
    """A program on a framework, recorded without packs.

    Attributes:
        name: the program's name.
        network: maps the numbers of lines whose calls open connections to the package that the line calls.
        idle: the lines that ask for something only according to a scan.
    """

    name: str
    network: MappingProxyType
    script: Script = QUIET
    variables: object = usual_variables
    idle: frozenset = frozenset()


IN_BUILDS = (
    "openai_stream",
    "anthropic_stream",
    "langgraph_async",
    "pydantic_ai_sync",
    "google_async",
    "bedrock_sync",
)


def bare(distributions, name, network, *more, idle=()):
    case = Bare(name, MappingProxyType(network), *more, idle=frozenset(idle))
    weight = () if name in IN_BUILDS else (pytest.mark.thorough,)
    return pytest.param(case, id=name, marks=(*needs(*distributions.split()), *weight))


# anyio opens an asyncio connection in a task of its own.
BARE = [
    bare("openai", "openai_stream", {33: "openai"}),
    bare("anthropic", "anthropic_stream", {21: "anthropic", 43: "anyio"}, idle=[15]),
    bare("langgraph langchain-openai", "langgraph_async", {48: "anyio"}, test_langgraph.TRIP),
    bare("pydantic-ai-slim openai", "pydantic_ai_sync", {62: "anyio"}, test_pydantic_ai.REFUNDS),
    bare("openai-agents", "openai_agents_sync", {60: "anyio"}, test_openai_agents.REFUNDS),
    bare(
        "langchain-openai langchain-anthropic",
        "langchain_tools",
        {63: "langchain_core", 65: "langchain_core", 83: "anyio"},
        test_langchain.ASKED,
    ),
    bare("smolagents openai", "smolagents_tools", {46: "smolagents"}, test_smolagents.TEAM),
    bare("litellm", "litellm_chat", {42: "litellm"}, test_litellm.SHOP),
    bare("google-genai", "google_async", {18: "google", 24: "google"}, APART, test_google_genai.variables),
    bare(
        "mistralai",
        "mistral_async",
        {19: "anyio", 33: "anyio", 44: "anyio"},
        runs.SCRIPT,
        test_mistral.variables,
    ),
    bare(
        "boto3",
        "bedrock_sync",
        {30: "botocore", 71: "botocore", 86: "botocore"},
        runs.SCRIPT,
        test_bedrock.variables,
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("case", BARE)
def test_without_packs_a_network_call_is_found_on_the_users_line(case, tmp_path):
    shutil.copy(program(case.name), tmp_path)
    (tmp_path / "autochron.toml").write_text("version = 1\npacks = []\n", encoding="utf-8")
    arguments = ("run", "--report", "found.json", f"{case.name}.py")
    with provider.serve(script=case.script) as model:
        recorded = Fresh().run(tmp_path, *arguments, model=model, **case.variables(model))
    assert recorded.status == 0, recorded.stderr
    report = json.loads((tmp_path / "found.json").read_bytes())
    findings = [*report["findings"], *report["harmless"]]
    assert {finding["site"]["file"] for finding in findings} == {f"{case.name}.py"}
    own = {finding["site"]["line"] for finding in findings if finding["via"] is None}
    assert own == asking_lines(program(case.name)) - case.idle
    through = {
        (finding["category"], finding["site"]["line"], finding["via"].partition(".")[0])
        for finding in findings
        if finding["via"] is not None
    }
    assert through == {("network", line, package) for line, package in case.network.items()}


def test_check_reports_exactly_the_lines_that_ask_for_something(tmp_path):
    files = [
        *harness.PROGRAMS.glob("*.py"),
        *cases.PROGRAMS.glob("openai_*.py"),
        *cases.PROGRAMS.glob("anthropic_*.py"),
    ]
    for file in files:
        shutil.copy(file, tmp_path)
    (tmp_path / "autochron.toml").write_text("version = 1\n", encoding="utf-8")
    checked = Fresh().run(tmp_path, "check", ".", "--format", "json")
    report = json.loads(checked.stdout)
    assert (checked.status, report["files"], report["unread"]) == (1, len(files), [])
    found = {
        (finding["site"]["file"], finding["site"]["line"])
        for finding in (*report["findings"], *report["harmless"])
    }
    expected = re.compile(f"{ASKS.pattern}|{RACES.pattern}")
    assert found == {(file.name, line) for file in files for line in asking_lines(file, expected)}
    assert {finding["category"] for finding in report["harmless"]} == {"random"}  # pauses by chance
