"""What each command writes with `--json`: the keys that its help documents, in their order, and nothing else."""

import json
import os

import pytest

from autochron.cli.reference import command_pages
from tests.cli.processes import agreed, autochron, write

PAGES = {page.name: page for page in command_pages()}
RULES = 'version = 1\npacks = []\nproject = ["."]\n[[boundary]]\ndefine = "agent:add"\nname = "add"\nkind = "tool"\n'
AGENT = "import time\n\n\ndef add(a, b):\n    return a + b\n\n\nprint(add(1, 2), time.time() > 0)\n"
CHRONICLE = "from chronicle import boundary\n\n\n@boundary('act')\ndef act(x):\n    return x\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    write(folder, {"agent.py": AGENT, "autochron.toml": RULES, "marked/old.py": CHRONICLE})
    assert autochron(folder, "run", "--quiet", "agent.py").status == 0
    assert autochron(folder, "traces", "export", "last", "carried.jsonl").status == 0
    return folder


def keys(text):
    """Return the keys of each line of JSON, and check that there is no escape sequence."""
    assert "\x1b" not in text
    try:
        return [list(json.loads(text))]
    except json.JSONDecodeError:  # a line for each
        return [list(json.loads(line)) for line in text.splitlines()]


def documented(name):
    return [key for key, _ in PAGES[name].shape]


CASES = {
    "traces list": ["traces", "list"],
    "traces show": ["traces", "show", "last"],
    "traces diff": ["traces", "diff", "last", "last"],
    "traces export": ["traces", "export", "last", "out.jsonl"],
    "check": ["check", "agent.py"],
    "init": ["init", "marked"],
    "adopt": ["adopt", "--check", "marked"],
    "incident new": ["incident", "new", "last", "--no-try", "incidents/sum", "--force"],
    "traces prune": ["traces", "prune", "--max-size", "1B", "--dry-run"],
}


@pytest.mark.parametrize("name", CASES)
def test_the_keys_are_those_of_the_help(home, name):
    done = autochron(home, *CASES[name], "--json", env={"FORCE_COLOR": "1"})
    assert done.status in (0, 1), done.said
    assert keys(done.text) == [documented(name)]


@pytest.mark.parametrize("name", ["run", "replay"])
def test_a_program_s_report_is_on_standard_error(home, name):
    words = ("run", "--json", "-q", "agent.py") if name == "run" else ("replay", "last", "--json")
    done = autochron(home, *words)
    assert (done.status, done.text) == (0, "3 True\n")
    assert keys(done.said) == [documented(name)]


def test_an_import_lists_what_was_imported_and_what_was_there(home, tmp_path):
    file = os.path.join(home, "carried.jsonl")
    done = autochron(tmp_path, "traces", "import", file, "--json")
    assert keys(done.text) == [documented("traces import")]
    (entry,) = json.loads(done.text)["imported"]
    assert list(entry) == ["id", "file", "crossings", "snapshots", "lacks"]
    assert (entry["file"], entry["crossings"]) == (file, 1)


def test_rules_have_a_form_for_each_of_their_three_tables(home):
    shape = documented("rules")
    shown = autochron(home, "rules", "--json").text
    explained = autochron(home, "rules", "--explain", "agent.py:4", "--json").text
    suggested = autochron(home, "rules", "--suggest", "--all", "--json").text
    assert keys(shown) == [shape[:4]]
    assert keys(explained) == [shape[4:8]]
    assert keys(suggested) == [shape[8:]]
    table = json.loads(suggested)
    assert (table["written"], table["sites"]) == (False, ["agent.py:8"])


def test_the_result_of_impact_is_documented(home):
    done = agreed(home, "impact", "last", "--json")
    assert done.status in (0, 1), done.said
    assert keys(done.text) == [[key for key in documented("impact") if key != "fix"]]


def test_json_and_another_form_contradict_each_other(home):
    done = autochron(home, "check", "--json", "--format", "sarif", "agent.py")
    assert (done.status, done.said) == (
        2,
        "autochron: autochron check: --json and --format sarif are two forms; give one of them (usage)\n",
    )


QUIET = {
    "init": ["init", "."],
    "adopt": ["adopt", "--check", "agent.py"],
    "export": ["traces", "export", "last", "quiet.jsonl"],
    "import": ["traces", "import", "carried.jsonl", "--store", "quiet.db"],
    "prune": ["traces", "prune", "--max-age", "900d"],
    "incident": ["incident", "new", "last", "--no-try", "--force", "incidents/quiet"],
}


@pytest.mark.parametrize("name", QUIET)
def test_quiet_commands_confirm_nothing(home, name):
    done = autochron(home, *QUIET[name], "-q")
    assert (done.status, done.text, done.said) == (0, "", "")
