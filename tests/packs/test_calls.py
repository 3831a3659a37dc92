"""Packs whose examples are calls: each goes to its rule, each target is in the installed library."""

import importlib.metadata
import importlib.util
from pathlib import Path

import pytest
import tomli

from autochron._runtime.codeflags import function_kind, parameter_names
from autochron.crossing.conditions import condition
from autochron.matching.definitions import definitions
from autochron.matching.matcher import Matcher
from autochron.model import Rules
from autochron.rules.packs import load_pack, pack_index, pack_texts
from autochron.weaving.gate import Point

DATA = {name: tomli.loads(Path(pack_texts()[name].file).read_text("utf-8")) for name in pack_index()}
PACKS = [name for name, data in DATA.items() if any("calls" in example for example in data["example"])]


def installed(name):
    """Return the library's name for `tested`, or skip."""
    distribution = load_pack(name).distribution
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")


def code_of(module):
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    return spec.loader.get_code(spec.name)


def point_of(target):
    """Describe a target as it is in the installed library; of several of its name the last, which overloads precede."""
    found = [code for name, code in definitions(code_of(target.module)) if name == target.qualname]
    parameters, variadic = parameter_names(found[-1])
    return Point(target.module, target.qualname, parameters, function_kind(found[-1]), variadic=variadic)


def bound(point, call):
    """Bind what an example gives; the rest is None."""
    caught = {name: value for name, value in call.items() if name not in point.parameters}
    return tuple(caught if name == point.variadic[1] else call.get(name, None) for name in point.parameters)


def taken_by(pack, target, point, call):
    """Return the id of the first rule that takes a call of a target, as a crossing has it."""
    for rule in load_pack(pack).boundaries:
        fits = condition(rule.when, point)
        if rule.selector == target and (fits is None or fits(bound(point, call))):
            return rule.id
    return None


def cases(key):
    return [
        pytest.param(name, example["rule"], call, id=f"{example['rule']}-{index}")
        for name in PACKS
        for example in DATA[name]["example"]
        for index, call in enumerate(example.get(key, ()))
    ]


def takers(pack, rule, call):
    installed(pack)
    targets = {each.selector for each in load_pack(pack).boundaries if each.id == rule}
    assert targets
    return {taken_by(pack, target, point_of(target), call) for target in targets}


@pytest.mark.parametrize(("pack", "rule", "call"), cases("calls"))
def test_a_call_goes_to_its_rule(pack, rule, call):
    assert takers(pack, rule, call) == {rule}


@pytest.mark.parametrize(("pack", "rule", "call"), cases("others"))
def test_another_call_does_not(pack, rule, call):
    assert rule not in takers(pack, rule, call)


@pytest.mark.parametrize("pack", PACKS)
def test_every_rule_has_examples_of_both(pack):
    examples = {example["rule"]: example for example in DATA[pack]["example"]}
    for rule in load_pack(pack).boundaries:
        assert examples[rule.id]["calls"]
        # A rule that takes every call of its target has no others.
        assert rule.when == () or examples[rule.id]["others"]


@pytest.mark.parametrize("pack", PACKS)
def test_targets_are_in_the_installed_library(pack):
    version = installed(pack)
    loaded = load_pack(pack)
    for module in {rule.selector.module for rule in loaded.boundaries}:
        found = Matcher(Rules(packs=(loaded,))).find(module, code_of(module), is_project=False)
        assert (found.absent, found.ledger) == ((), ())
        targets = {str(rule.selector) for rule in loaded.boundaries if rule.selector.module == module}
        assert {f"{module}:{match.qualname}" for match in found.matches} == targets
    assert version.split(".")[0] in {each.split(".")[0] for each in loaded.tested}
