"""`autochron rules` lists the project's rules, then the packs that are in force; what is not installed is one line."""

import importlib.util
import json

import pytest

from autochron.cli.rules import rules
from autochron.rules.packs import load_pack, pack_index
from tests.cli.processes import write

OWN = """\
version = 1

[[boundary]]
name = "{__name__}"
kind = "tool"
define = ["tools:*", "desk:*"]

[[boundary]]
name = "quote"
kind = "tool"
target = "nowhere_installed.market:quote"
"""
TOOLS = "def refund(order):\n    return order\n"


@pytest.fixture
def shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def show(files, *options):
        write(tmp_path, files)
        assert rules(list(options)) == 0
        return capsys.readouterr().out

    return show


def test_the_projects_rules_come_first_and_what_is_not_installed_is_one_line(shown):
    text = shown({"autochron.toml": OWN, "tools.py": TOOLS, "desk.py": TOOLS})
    own, _, packs = text.partition("pack ")
    assert own == (
        "autochron.toml:3  tool  {__name__}\n"
        "  tools:*\n"
        "  desk:*\n"
        "    tools.py:1  refund\n"
        "    desk.py:1  refund\n"
        "autochron.toml:8  tool  quote\n"
        "  nowhere_installed.market:quote\n"
        "    nowhere_installed is not installed\n"
    )
    lines = packs.splitlines()
    assert (lines[0], lines[1].split()[0]) == ("anthropic", "anthropic.messages")
    assert "pack openai" in lines
    absent = [line for line in lines if "not installed" in line]
    missing = sorted(
        name
        for name, modules in pack_index().items()
        if load_pack(name).boundaries and not any(map(is_installed, modules))  # some packs have no rules
    )
    expected = f"packs of libraries that are not installed: {', '.join(missing)}"
    assert absent == ([expected] if missing else [])
    assert absent in ([], lines[-1:])


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it is in
        return False


def test_without_rules_of_its_own_a_project_is_led_to_init(shown):
    text = shown({"agent.py": "import openai\n"})
    assert text.startswith("the project has no rules of its own; autochron init writes the first ones\npack ")


def test_only_the_packs_that_the_rules_name_are_in_force(shown):
    text = shown({"autochron.toml": 'version = 1\npacks = ["openai"]\n'})
    assert [line for line in text.splitlines() if line.startswith("pack")] == ["pack openai"]
    text = shown({"autochron.toml": "version = 1\npacks = []\n"})
    assert text == "the project has no rules of its own; autochron init writes the first ones\n"


def test_json_has_each_rule_and_says_whether_its_library_is_installed(shown):
    lines = map(json.loads, shown({"autochron.toml": OWN, "tools.py": TOOLS}, "--json").splitlines())
    installed = {(line["rule"]["id"], line["is_installed"]) for line in lines}
    assert {("autochron.toml:3", True), ("autochron.toml:8", False), ("openai.chat", True)} <= installed
