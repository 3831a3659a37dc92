"""`autochron rules` lists the project's rules, then the packs that are in force; what is not installed is one line."""

import importlib.util
import json

import pytest
from msgspec import structs

from autochron.cli.rules import rules
from autochron.model import Footer
from autochron.rules.packs import load_pack, pack_index
from autochron.store import open_store
from tests.cli.processes import write
from tests.store import samples

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
    text = shown({"autochron.toml": OWN, "tools.py": TOOLS, "desk.py": TOOLS}, "-v")
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


NO_RULES = "the project has no rules of its own; tools are found by name, or a pack knows them\n"


def test_without_rules_of_its_own_a_project_has_a_line_for_each_pack(shown):
    text = shown({"agent.py": "import openai\n"})
    assert text.startswith(f"{NO_RULES}pack anthropic  ")
    count = len({rule.id for rule in load_pack("openai").boundaries})
    assert f"\npack openai  {count} rules\n" in text
    assert "openai.chat" not in text
    assert text.endswith("\n-v shows each rule of the packs\n")
    assert "openai.chat  model  model" in shown({}, "-v").splitlines()


AMBIENT = """\
version = 1
packs = []
ambient = ["clock"]

[[boundary]]
kind = "ambient"
call = "time.time"
site = "agent.py:2"

[[ignore]]
site = "agent.py:2"
call = "time.time()"
reason = "it is shown to nobody"
"""


def test_ambient_boundaries_and_other_tables_are_rules_of_the_project(shown):
    text = shown({"autochron.toml": AMBIENT, "agent.py": "import time\nprint(time.time())\n"})
    assert text.splitlines() == [
        "autochron.toml:5  ambient  time.time",
        "  time.time at agent.py:2",
        "ambient values that the project asks for: clock",
        "other tables: 1 [[ignore]]",
    ]


def test_the_crossings_of_a_pack_are_counted_where_several_rules_share_a_place(shown, tmp_path):
    site = "openai._base_client:SyncAPIClient.request"
    sink = open_store(str(tmp_path / ".autochron" / "traces.db")).begin(samples.header(1))
    for seq, name in enumerate(("model", "model", "model", "embeddings"), 1):
        sink.put(structs.replace(samples.small(seq), name=name, kind="model", site=site))
    sink.end(Footer(status=0))
    sink.close()
    text = shown({"autochron.toml": 'version = 1\npacks = ["openai"]\n'})
    count = len({rule.id for rule in load_pack("openai").boundaries})
    assert f"pack openai  {count} rules  ×4 in the latest trace" in text.splitlines()
    lines = shown({}, "-v").splitlines()
    marks = {
        rule: [line.partition("request")[2] for line in lines[lines.index(head) :][:9] if "SyncAPI" in line][
            1:2
        ]
        for rule, head in {
            "openai.chat": "openai.chat  model  model",
            "openai.embeddings": "openai.embeddings  model  embeddings",
        }.items()
    }
    assert marks == {
        "openai.chat": ["  ×4 in the latest trace, by the rules that share this place"],
        "openai.embeddings": ["  ×1 in the latest trace"],
    }


def test_only_the_packs_that_the_rules_name_are_in_force(shown):
    text = shown({"autochron.toml": 'version = 1\npacks = ["openai"]\n'})
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("pack")] == [["pack", "openai"]]
    text = shown({"autochron.toml": "version = 1\npacks = []\n"})
    assert text == NO_RULES


def test_json_has_each_rule_and_says_whether_its_library_is_installed(shown):
    lines = map(json.loads, shown({"autochron.toml": OWN, "tools.py": TOOLS}, "--json").splitlines())
    installed = {(line["rule"]["id"], line["is_installed"]) for line in lines}
    assert {("autochron.toml:3", True), ("autochron.toml:8", False), ("openai.chat", True)} <= installed
