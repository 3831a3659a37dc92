"""Packs whose examples are calls: each call goes to its rule, and each target is in the installed library."""

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
PACKS = [
    name for name, data in DATA.items() if any("calls" in example for example in data.get("example", ()))
]


def installed(name):
    """Return the version of a pack's library, or skip the test."""
    distribution = load_pack(name).distribution
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")


def code_of(module):
    """Return the code of a module. Its package is not imported: some SDKs import half of the others."""
    top, *rest = module.split(".")
    for folder in importlib.util.find_spec(top).submodule_search_locations:
        for file in (Path(folder, *rest).with_suffix(".py"), Path(folder, *rest, "__init__.py")):
            if file.is_file():
                return compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
    raise AssertionError(module)


def point_of(target):
    """Return the point of a target in the installed library. Of several of its name the last counts: overloads come first."""
    codes = [code for name, code in definitions(code_of(target.module)) if name == target.qualname]
    parameters, variadic = parameter_names(codes[-1])
    return Point(target.module, target.qualname, parameters, function_kind(codes[-1]), variadic=variadic)


def bound(point, call):
    """Return the arguments of an example's call by position. Those that it doesn't name are None."""
    caught = {name: value for name, value in call.items() if name not in point.parameters}
    return tuple(caught if name == point.variadic[1] else call.get(name, None) for name in point.parameters)


def rule_that_takes(pack, target, point, call):
    """Return the id of the first rule that fits a call of a target, or None."""
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


def rules_that_take(pack, rule, call):
    installed(pack)
    targets = {boundary.selector for boundary in load_pack(pack).boundaries if boundary.id == rule}
    assert targets
    return {rule_that_takes(pack, target, point_of(target), call) for target in targets}


@pytest.mark.parametrize(("pack", "rule", "call"), cases("calls"))
def test_a_call_goes_to_its_rule(pack, rule, call):
    assert rules_that_take(pack, rule, call) == {rule}


@pytest.mark.parametrize(("pack", "rule", "call"), cases("others"))
def test_another_call_does_not_go_to_the_rule(pack, rule, call):
    assert rule not in rules_that_take(pack, rule, call)


@pytest.mark.parametrize("pack", PACKS)
def test_every_rule_has_examples_of_its_calls_and_of_others(pack):
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
        matches = Matcher(Rules(packs=(loaded,))).find(module, code_of(module), is_project=False)
        assert (matches.absent, matches.ledger) == ((), ())
        targets = {str(rule.selector) for rule in loaded.boundaries if rule.selector.module == module}
        assert {f"{module}:{match.qualname}" for match in matches.matches} == targets
    assert version.split(".")[0] in {tested.split(".")[0] for tested in loaded.tested}
