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
def test_examples_make_the_crossings_that_they_name(pack, tmp_path):
    (tmp_path / "autochron.toml").write_text("version = 1\n", encoding="utf-8")
    local = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    arguments = (pack, str(tmp_path / "autochron.toml"))
    command = Fresh().run(tmp_path, *arguments, module="tests.packs.run_examples", **local)
    assert command.status == 0, command.stderr
    rules = load_pack(pack).boundaries
    ambient = {rule.name for rule in rules if rule.kind == "ambient"}
    data = tomli.loads(Path(pack_texts()[pack].file).read_text("utf-8"))
    results = json.loads(command.stdout)
    assert len(results) == sum(
        len(example["crosses"] + example.get("passes", [])) for example in data["example"]
    )
    names = {example["rule"]: example["names"] for example in data["example"]}
    for rule_id, kind, code, crossed in results:
        expected = names[rule_id] if kind == "crosses" else []
        crossings = [(name, site) for name, site in crossed if name in expected or name not in ambient]
        assert [name for name, _ in crossings] == expected, (rule_id, code)
        own = [rule for rule in rules if rule.id == rule_id]
        if own[0].argument is None:  # otherwise the passed callable crossed
            assert {site for _, site in crossings} <= {str(rule.selector) for rule in own}, (rule_id, code)


@pytest.mark.parametrize(
    "pack", [pytest.param(pack, marks=needs(load_pack(pack).distribution)) for pack in PACKS]
)
def test_the_installed_library_has_a_tested_version(pack):
    version = importlib.metadata.version(load_pack(pack).distribution)
    assert version.partition(".")[0] in {tested.partition(".")[0] for tested in load_pack(pack).tested}
