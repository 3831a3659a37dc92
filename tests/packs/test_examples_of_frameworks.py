"""The examples of packs for frameworks, run on the real library."""

import importlib.metadata
import json
from pathlib import Path

import pytest
import tomli

from autochron.rules.packs import load_pack, pack_texts
from tests.agents.workshop import Fresh
from tests.packs.harness import needs

PACKS = ("langchain", "langgraph", "litellm")


@pytest.mark.parametrize("pack", PACKS)
def test_every_rule_has_an_example_that_crosses(pack):
    data = tomli.loads(Path(pack_texts()[pack].file).read_text("utf-8"))
    assert {rule.id for rule in load_pack(pack).boundaries} == {
        example["rule"] for example in data["example"] if example["crosses"]
    }


@pytest.mark.parametrize(
    "pack", [pytest.param(pack, marks=needs(load_pack(pack).distribution)) for pack in PACKS]
)
def test_examples_cross_as_they_say(pack, tmp_path):
    (tmp_path / "autochron.toml").write_text("version = 1\n", encoding="utf-8")
    local = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    arguments = (pack, str(tmp_path / "autochron.toml"))
    ran = Fresh().run(tmp_path, *arguments, module="tests.packs.run_examples", **local)
    assert ran.status == 0, ran.stderr
    rules = load_pack(pack).boundaries
    ambient = {rule.name for rule in rules if rule.kind == "ambient"}
    data = tomli.loads(Path(pack_texts()[pack].file).read_text("utf-8"))
    said = json.loads(ran.stdout)
    assert len(said) == sum(
        len(example["crosses"] + example.get("passes", [])) for example in data["example"]
    )
    names = {example["rule"]: example["names"] for example in data["example"]}
    for rule_id, kind, code, crossed in said:
        wanted = names[rule_id] if kind == "crosses" else []
        found = [(name, site) for name, site in crossed if name in wanted or name not in ambient]
        assert [name for name, _ in found] == wanted, (rule_id, code)
        own = [rule for rule in rules if rule.id == rule_id]
        if own[0].argument is None:  # else it is what was passed that crossed
            assert {site for _, site in found} <= {str(rule.selector) for rule in own}, (rule_id, code)


@pytest.mark.parametrize(
    "pack", [pytest.param(pack, marks=needs(load_pack(pack).distribution)) for pack in PACKS]
)
def test_the_installed_library_is_of_a_version_that_was_tested(pack):
    version = importlib.metadata.version(load_pack(pack).distribution)
    assert version.partition(".")[0] in {each.partition(".")[0] for each in load_pack(pack).tested}
