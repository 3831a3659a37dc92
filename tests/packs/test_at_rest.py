"""Frameworks at rest: whatever they ask of the world themselves, findings stand on lines of the user's that ask for it.

With the packs that is asserted wherever a program is recorded (`tests.agents.workshop.record`). Here is the rest: without any
pack, where what crosses the network escapes, too; and without running anything.
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
"""What a line of these programs says that asks for something which is not determined by the program."""


def asking(file):
    """Return the numbers of the lines of a program that ask for something themselves."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, start=1) if ASKS.search(line)}


def program(name):
    """Return the path of a program."""
    return next(
        file for folder in (harness.PROGRAMS, cases.PROGRAMS) if (file := folder / f"{name}.py").exists()
    )


QUIET = Script()
APART = Script((*runs.SCRIPT.steps[:-1], replace(runs.SCRIPT.steps[-1], latency=0.4)))
"""The events of a stream come one by one: where all come at once, the line that reads them asks the network for nothing."""


def usual(model):
    return {"ANTHROPIC_API_BASE": model.origin, **test_litellm.LOCAL}


@dataclass(frozen=True)
class Bare:
    """A program on a framework that no rule knows.

    Attributes:
        name: of the program.
        network: by number the lines whose calls open connections, and the package that the line called.
        idle: the lines that only a scan knows to ask for something.
    """

    name: str
    network: MappingProxyType
    script: Script = QUIET
    variables: object = usual
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


# A connection that asyncio makes is tried in a task of anyio's own.
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


@pytest.mark.parametrize("case", BARE)
def test_without_packs_the_network_is_found_on_the_line_that_reaches_for_it(case, tmp_path):
    shutil.copy(program(case.name), tmp_path)
    (tmp_path / "autochron.toml").write_text("version = 1\npacks = []\n", encoding="utf-8")
    arguments = ("run", "--report", "found.json", f"{case.name}.py")
    with provider.serve(script=case.script) as model:
        ran = Fresh().run(tmp_path, *arguments, model=model, **case.variables(model))
    assert ran.status == 0, ran.stderr
    findings = json.loads((tmp_path / "found.json").read_bytes())["findings"]
    assert {each["site"]["file"] for each in findings} == {f"{case.name}.py"}
    own = {each["site"]["line"] for each in findings if each["via"] is None}
    assert own == asking(program(case.name)) - case.idle
    through = {
        (each["category"], each["site"]["line"], each["via"].partition(".")[0])
        for each in findings
        if each["via"] is not None
    }
    assert through == {("network", line, package) for line, package in case.network.items()}


def test_a_check_tells_of_the_lines_that_ask_for_something_and_of_no_others(tmp_path):
    files = [
        *harness.PROGRAMS.glob("*.py"),
        *cases.PROGRAMS.glob("openai_*.py"),
        *cases.PROGRAMS.glob("anthropic_*.py"),
    ]
    for file in files:
        shutil.copy(file, tmp_path)
    (tmp_path / "autochron.toml").write_text("version = 1\n", encoding="utf-8")
    checked = Fresh().run(tmp_path, "check", ".", "--format", "json")
    said = json.loads(checked.stdout)
    assert (checked.status, said["files"], said["unread"]) == (1, len(files), [])
    assert {(each["site"]["file"], each["site"]["line"]) for each in said["findings"]} == {
        (file.name, line) for file in files for line in asking(file)
    }
