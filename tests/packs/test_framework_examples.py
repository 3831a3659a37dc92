"""The packs of frameworks: their examples, and their targets in the installed libraries."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
import tomli

from autochron.crossing.arguments import bound
from autochron.crossing.conditions import condition
from autochron.matching.definitions import definitions
from autochron.matching.matcher import Matcher
from autochron.model import Rules
from autochron.rules.names import NameFacts, name_template
from autochron.rules.packs import load_pack, pack_texts
from autochron.weaving.gate import Point
from tests.agents.workshop import Fresh
from tests.packs.harness import needs, reported_slugs, version

PACKS = (
    "agno",
    "autogen",
    "claude_agent_sdk",
    "dspy",
    "google_adk",
    "haystack",
    "llama_index",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
)


def examples(key):
    return [
        pytest.param(name, example["rule"], entry, id=f"{example['rule']}-{index}")
        for name in PACKS
        for example in tomli.loads(Path(pack_texts()[name].file).read_text("utf-8"))["example"]
        for index, entry in enumerate(example.get(key, ()))
    ]


class Argument(SimpleNamespace):
    """An object or a dictionary: its members are attributes and items."""

    def __getitem__(self, key):
        return getattr(self, key)


def with_attributes(value):
    """Turn the tables in a call's arguments into objects with attributes."""
    if isinstance(value, dict):
        return Argument(**{key: with_attributes(item) for key, item in value.items()})
    return value


def first_match(name, rule_id, arguments):
    """Return the (id, name) of the first rule that fits a call of a rule's target, or (None, None)."""
    pack = load_pack(name)
    target = next(rule.selector for rule in pack.boundaries if rule.id == rule_id)
    point = Point(target.module, target.qualname, tuple(arguments))
    values = tuple(with_attributes(value) for value in arguments.values())
    for rule in pack.boundaries:
        fits = condition(rule.when, point)
        if rule.selector == target and (fits is None or fits(values)):
            facts = NameFacts(
                name=target.qualname.rpartition(".")[2], qualname=target.qualname, module=target.module
            )
            return rule.id, name_template(rule.name).form(bound(point, values), facts)
    return None, None


@pytest.mark.parametrize(("name", "rule", "example"), examples("matches"))
def test_a_call_crosses_under_its_name(name, rule, example):
    assert first_match(name, rule, example["arguments"]) == (rule, example["name"])


@pytest.mark.parametrize(("name", "rule", "arguments"), examples("misses"))
def test_a_call_that_only_looks_alike_does_not_go_to_the_rule(name, rule, arguments):
    assert first_match(name, rule, arguments)[0] != rule


def in_library(name):
    distribution = load_pack(name).distribution
    return pytest.param(name, marks=needs(distribution))


@pytest.mark.parametrize("name", [in_library(name) for name in PACKS])
def test_targets_and_arguments_are_in_the_installed_library(name):
    pack = load_pack(name)
    assert version(pack.distribution).split(".")[0] in {tested.split(".")[0] for tested in pack.tested}
    matcher = Matcher(Rules(packs=(pack,)))
    parameters = {}
    for module in {rule.selector.module for rule in pack.boundaries}:
        code = importlib.util.find_spec(module).loader.get_code(module)
        matches = matcher.find(module, code, is_project=False)
        assert (matches.absent, matches.ledger) == ((), ())
        expected = {rule.selector.qualname for rule in pack.boundaries if rule.selector.module == module}
        assert {match.qualname for match in matches.matches} == expected
        for qualname, inner in definitions(code):
            count = (
                inner.co_argcount
                + inner.co_kwonlyargcount
                + bool(inner.co_flags & 4)
                + bool(inner.co_flags & 8)
            )
            parameters[module, qualname] = inner.co_varnames[:count]
    for rule in pack.boundaries:
        own = parameters[rule.selector.module, rule.selector.qualname]
        paths = [*rule.capture, *(rule.changes or ()), *(path for path, _ in rule.when)]
        assert {path.partition(".")[0] for path in paths} <= set(own)


OWN = {
    "agents/__init__.py": "",
    "agents/tool.py": "def run():\n    return 'own tools'\n",
    "agents/handoffs.py": "",
    "main.py": "import agents.handoffs\nfrom agents.tool import run\n\nprint(run())\n",
    "autochron.toml": "version = 1\n",
}


def test_a_package_of_the_project_may_have_the_name_of_a_framework(tmp_path):
    for file, text in OWN.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    command = Fresh().run(tmp_path, "run", "main.py")
    assert (command.status, command.stdout) == (0, b"own tools\n")
    assert reported_slugs(command) == set()
